"""Entries that are recorded again on purpose: through the gate, by the one writer, and nothing else changes."""

from __future__ import annotations

import json

import pytest

from onetake.cassette_files import read_entry
from onetake.errors import UsageError
from onetake.probing.accepting import accept
from onetake.probing.asking import Asker
from onetake.probing.findings import Outcome
from onetake.stores.sqlite import SqliteStore
from onetake.testing.provider import Reply, json_reply, openai_chat, openai_error
from onetake.upkeep.checking import check
from onetake.writing import write

SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}


@pytest.fixture
def judged(chats, provider):
    """A project with two entries under a contract that its settings declare: the files."""
    (chats.root / "items.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    chats.settings('[contracts.items]\nschema = "items.json"\nschema_version = 2\n')
    provider.script(lambda request: openai_chat('{"label": "old"}', model="m-1"))
    return chats("one", "two", contract="items")


def said(path):
    return read_entry(path).answer.choices[0].text


def faults(root):
    return [one for one in check(root).findings if one.severity == "error"]


def test_the_answer_of_today_takes_the_place_of_the_old_one(chats, judged, provider):
    first, second = judged
    old, other = read_entry(first), second.read_bytes()
    provider.script(lambda request: openai_chat('{"label": "new"}', model="m-2"))
    (one,) = accept([first], Asker())
    assert (one.why, one.path, one.key, one.ordinal) == ("", first, old.key, 0)
    assert [finding.kind for finding in one.came.findings] == ["model"]
    new = read_entry(first)
    assert (said(first), new.verdict, new.contract) == ('{"label": "new"}', "good", old.contract)
    assert (new.request, new.key, new.ordinal, new.key_spec) == (old.request, old.key, old.ordinal, old.key_spec)
    assert new.provenance["client"] == "onetake probe"
    assert new.provenance["model_served"] == "m-2"
    assert new.provenance["recorded_at"] >= old.provenance["recorded_at"]
    assert new.metrics["output_tokens"] > 0
    assert second.read_bytes() == other
    assert faults(chats.root) == []


def test_the_gate_refuses_what_breaks_the_contract_and_the_old_answer_stays(chats, judged, provider):
    before = judged[0].read_bytes()
    provider.script(lambda request: openai_chat('{"label": 1}', model="m-1"))
    (one,) = accept([judged[0]], Asker())
    assert "answer refused (violation, contract items)" in one.why
    assert ".onetake/rejects/" in one.why
    assert judged[0].read_bytes() == before
    (reject,) = (chats.root / ".onetake/rejects").rglob("chat-*.json")
    assert read_entry(reject).verdict == "reject:violation"


@pytest.mark.parametrize("reply", [openai_error(401), openai_error(429), openai_error(503)])
def test_an_error_of_the_provider_stores_nothing(chats, judged, provider, reply):
    before = judged[0].read_bytes()
    provider.script(lambda request: reply)
    (one,) = accept([judged[0]], Asker())
    assert one.why.startswith(f"status {reply.status}")
    assert judged[0].read_bytes() == before
    assert not (chats.root / ".onetake/rejects").exists()


def test_what_cannot_be_asked_stays(chats, judged, provider):
    count, text = provider.count, judged[0].read_text(encoding="utf-8")
    judged[0].write_text(text.replace(provider.url, "https://evil.example"), encoding="utf-8")
    (one,) = accept([judged[0]], Asker())
    assert "does not give the stored key" in one.why
    assert provider.count == count


def test_a_secret_in_the_new_answer_is_scrubbed(chats, judged, provider):
    key = "sk-proj-" + "Ab3" * 20
    provider.script(lambda request: openai_chat(json.dumps({"label": key}), model="m-1"))
    (one,) = accept([judged[0]], Asker())
    assert one.why == ""
    assert key not in judged[0].read_text(encoding="utf-8")
    assert "[" in said(judged[0])


def test_the_schema_beside_an_entry_judges_where_nothing_is_declared(chats, judged, provider):
    chats.settings("")
    old = read_entry(judged[0])
    provider.script(lambda request: openai_chat('{"label": "new"}', model="m-1"))
    (one,) = accept([judged[0]], Asker())
    assert (one.why, read_entry(judged[0]).contract) == ("", old.contract)
    provider.script(lambda request: openai_chat('{"name": "new"}', model="m-1"))
    assert "answer refused" in next(accept([judged[0]], Asker())).why
    for schema in judged[0].parent.glob("_schemas/*"):
        schema.unlink()
    assert "nothing judges its answer" in next(accept([judged[0]], Asker())).why


def test_an_answer_that_was_kept_on_purpose_may_be_bad_in_that_way_again(chats, provider):
    provider.script(lambda request: openai_chat("cut sh", finish="length", model="m-1"))
    (path,) = chats("one", keep=["length"])
    assert read_entry(path).verdict == "kept:length"
    provider.script(lambda request: openai_chat("cut again", finish="length", model="m-1"))
    assert next(accept([path], Asker())).why == ""
    assert (read_entry(path).verdict, said(path)) == ("kept:length", "cut again")


def test_each_ordinal_has_an_answer_of_its_own(chats, provider):
    provider.script(lambda request: openai_chat(f"answer {request.number}", model="m-1"))
    chats("one", "one")
    first, second = sorted((chats.root / "cassettes/a").glob("*.json"), key=lambda path: read_entry(path).ordinal)
    before = first.read_bytes()
    assert next(accept([second], Asker())).why == ""
    assert (read_entry(second).ordinal, said(second)) == (1, f"answer {provider.count}")
    assert first.read_bytes() == before


def test_rules_of_the_sessions_own_stay_in_force(chats, provider):
    chats.settings('[key]\nvolatile = ["today"]\nignore = ["$.user"]\n')
    provider.script(lambda request: openai_chat("old", model="m-1"))
    (path,) = chats("one", user="u")
    old = read_entry(path)
    chats.settings("")
    provider.script(lambda request: openai_chat("new", model="m-1"))
    assert next(accept([path], Asker())).why == ""
    new = read_entry(path)
    assert (new.key, new.key_spec, said(path)) == (old.key, old.key_spec, "new")


def test_a_store_in_one_file(chats, judged, provider):
    store = SqliteStore(chats.root / "calls.db")
    for path in judged:
        assert write(store, read_entry(path), {}, over=False)
    store.close()
    provider.script(lambda request: openai_chat('{"label": "new"}', model="m-1"))
    place = chats.root / "calls.db" / judged[0].name
    assert next(accept([place], Asker())).why == ""
    assert said(place) == '{"label": "new"}'
    assert said(chats.root / "calls.db" / judged[1].name) == '{"label": "old"}'


def test_an_entry_that_changes_meanwhile_is_not_written_over(chats, judged, provider):
    def answer(request):
        judged[0].write_bytes(judged[0].read_bytes() + b"\n")
        return openai_chat('{"label": "new"}', model="m-1")

    provider.script(answer)
    assert next(accept([judged[0]], Asker())).why == "it was changed while it was asked"
    assert said(judged[0]) == '{"label": "old"}'


def test_nothing_is_asked_where_one_file_is_no_entry_or_all_is_sealed(chats, judged, provider, monkeypatch):
    count = provider.count
    with pytest.raises(UsageError, match=r"items\.json"):
        accept([judged[0], chats.root / "items.json"], Asker())
    monkeypatch.setenv("ONETAKE_MODE", "none")
    with pytest.raises(UsageError, match="ONETAKE_MODE=none"):
        accept(judged, Asker())
    assert provider.count == count


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, (("content-type", "text/html"),), (b"<html>Please log in</html>",)),
        json_reply({}),
        json_reply(None),
        json_reply({"queued": True}, status=202),
        openai_chat(""),
    ],
    ids=["login page", "no fields", "null", "queued", "nothing said"],
)
def test_what_a_probe_calls_no_answer_replaces_none(chats, provider, reply):
    provider.script(lambda request: openai_chat("old", model="m-1"))
    (path,) = chats("one")
    before = path.read_bytes()
    provider.script(lambda request: reply)
    (one,) = accept([path], Asker())
    assert (one.came.outcome, one.why) == (Outcome.FAILED, one.came.why)
    assert path.read_bytes() == before


def test_an_answer_that_stands_elsewhere_is_drift_and_can_be_accepted(chats, provider):
    provider.script(lambda request: openai_chat("old", model="m-1"))
    (path,) = chats("one")
    moved = json.loads(openai_chat("new", model="m-1").body)
    moved["outputs"] = moved.pop("choices")
    provider.script(lambda request: json_reply(moved))
    (one,) = accept([path], Asker())
    assert (one.why, one.came.findings[0].kind) == ("", "answer")
    assert json.loads(read_entry(path).response.body) == moved


def test_the_answer_that_is_replaced_lies_in_the_trash(chats, judged, provider):
    store = SqliteStore(chats.root / "calls.db")
    assert write(store, read_entry(judged[0]), {}, over=False)
    store.close()
    before = judged[0].read_bytes()
    provider.script(lambda request: openai_chat('{"label": "new"}', model="m-1"))
    assert [one.why for one in accept([judged[0], chats.root / "calls.db" / judged[0].name], Asker())] == ["", ""]
    for cassette in ("cassettes/a", "calls.db"):
        (old,) = (chats.root / ".onetake/trash" / cassette).glob("chat-*.json")
        assert old.read_bytes() == before
        assert said(old) == '{"label": "old"}'
    provider.script(lambda request: openai_chat('{"label": 1}', model="m-1"))
    assert next(accept([judged[1]], Asker())).why
    assert len(list((chats.root / ".onetake/trash/cassettes/a").glob("chat-*.json"))) == 1


@pytest.mark.parametrize("field", ["model", "content"])
def test_the_credential_that_was_sent_reaches_no_entry(chats, provider, field):
    key = "gateway word 1234".replace(" ", "-")  # no pattern knows it
    chats.settings(f'[credentials]\n"{provider.url}" = "GATEWAY_KEY"\n')
    provider.script(lambda request: openai_chat("old", model="m-1"))
    (path,) = chats("one")

    def echo(request):
        heard = request.header("authorization")
        return openai_chat("new", model=heard) if field == "model" else openai_chat(f"you are {heard}", model="m-1")

    provider.script(echo)
    (one,) = accept([path], Asker(), environ={"GATEWAY_KEY": key})
    assert one.why == ""
    assert provider.requests[-1].header("authorization") == f"Bearer {key}"
    assert not any(key in file.read_text("utf-8") for file in chats.root.rglob("*") if file.is_file())
    assert key not in repr(one)
    assert read_entry(path).request == read_entry(next((chats.root / ".onetake/trash").rglob("chat-*.json"))).request


def test_wrong_settings_are_said_before_anything_is_asked(chats, judged, provider):
    (path,) = chats("three")
    (chats.root / "items.json").unlink()
    count = provider.count
    with pytest.raises(UsageError, match=r"items\.json"):
        accept([path, *judged], Asker())
    assert provider.count == count
