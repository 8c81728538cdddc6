"""A probe from its choice to its report: what is asked, what is remembered, and that no cassette is touched."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import onetake
from onetake.cassette_files import read_entry
from onetake.errors import UsageError
from onetake.exits import Exit
from onetake.key import Keyer
from onetake.model import Request
from onetake.probing.accepting import accept
from onetake.probing.asking import Asker, Terms
from onetake.probing.report import Outcome, Selection
from onetake.probing.running import Wanted, probe, run
from onetake.settings_start import set_start
from onetake.stores.directory import DirectoryStore
from onetake.testing.provider import Provider, openai_chat, openai_error
from onetake.upkeep.probed import ProbeBook
from onetake.writing import write


def outcomes(report):
    return {case.entry.rpartition("-")[2]: report.outcome(case).value for case in report.cases}


def files(root):
    return {path: path.read_bytes() for path in (root / "cassettes").rglob("*") if path.is_file()}


def repointed(path, url, **fields):
    """Write an entry anew as if its request had gone elsewhere, its key right; returns the file."""
    entry = read_entry(path)
    request = replace(entry.request, url=url)
    other = replace(entry, request=request, key=Keyer().key(request), **fields)
    store = DirectoryStore(path.parent)
    assert write(store, other, {}, over=False)
    path.unlink()
    return path.parent / store.locate(other.key, 0).rpartition("/")[2]


def test_the_sample_is_asked_as_it_is_and_no_cassette_is_touched(chats, provider):
    provider.script(lambda request: openai_chat('{"a": 1}', model="m-1"))
    chats(*"abcdefg")
    before, count = files(chats.root), provider.count
    report = probe(sample=3)
    assert (report.sampled, report.count(Outcome.AGREED), report.exit_code) == (3, 3, Exit.OK)
    assert provider.count == count + 3
    stored = {json.loads(read_entry(path).request.body)["messages"][0]["content"]: 0 for path in before}
    for request in provider.requests[count:]:
        stored[request.json()["messages"][0]["content"]] += 1
        assert request.header("authorization") is None
    assert sorted(stored.values()) == [0, 0, 0, 0, 1, 1, 1]
    assert files(chats.root) == before
    assert [case.entry for case in probe(sample=3).cases] == [case.entry for case in report.cases]


def test_an_entry_that_was_changed_to_point_elsewhere_gets_no_credential_and_is_counted_by_name(
    chats, provider, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open-secret")
    monkeypatch.setenv("GATEWAY_KEY", "gate-secret")
    chats.settings(f'[credentials]\n"{provider.url}" = "GATEWAY_KEY"\n')
    own, evil, here = chats("own", "evil", "here")
    count = provider.count
    with Provider() as other:
        evil = repointed(evil, "https://api.openai.com.evil.example/v1/chat/completions")
        here = repointed(here, f"{other.url}/v1/chat/completions")
        report = probe()
        (elsewhere,) = other.requests
    assert provider.requests[count:][0].header("authorization") == "Bearer gate-secret"
    assert elsewhere.header("authorization") is None
    cases = {case.entry: case for case in report.cases}
    refused = cases[evil.relative_to(chats.root).as_posix()]
    assert report.outcome(refused) is Outcome.UNASKABLE
    assert refused.came.why.startswith("https://api.openai.com.evil.example is no provider's own origin")
    assert report.count(Outcome.UNASKABLE) == 1
    assert {own.name, here.name} == {name.rpartition("/")[2] for name in cases if name != refused.entry}
    assert "secret" not in json.dumps(report.document())


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (openai_error(401), "status 401"),
        (openai_error(429), "status 429"),
        (openai_error(503), "status 503"),
        (openai_chat(""), "an empty answer"),
        (None, "ConnectionRefusedError"),
    ],
    ids=["401", "429", "503", "empty", "dead"],
)
def test_br_179_could_not_check_is_not_the_same_as_changed(chats, provider, reply, why):
    chats("a", "b")
    if reply is None:
        provider.close()
    else:
        provider.script(lambda request: reply)
    report = probe()
    assert (report.count(Outcome.FAILED), report.count(Outcome.DRIFTED)) == (2, 0)
    assert report.exit_code is Exit.INCONCLUSIVE
    assert all(why in case.came.why for case in report.cases)
    assert report.findings == ()


def test_br_182_a_probe_sends_no_parameter_that_the_recording_never_had(chats, provider):
    provider.script(lambda request: openai_error(400) if {"temperature", "top_p"} <= request.json().keys() else None)
    chats("a", temperature=0)
    chats("b", top_p=0.5)
    assert probe().count(Outcome.FAILED) == 0


def test_another_model_is_asked_and_being_served_by_it_is_no_drift(chats, provider):
    provider.script(lambda request: openai_chat("said", model=request.json()["model"]))
    chats("a")
    report = probe(model="m-2")
    assert provider.requests[-1].json()["model"] == "m-2"
    assert (report.exit_code, [case.model_asked for case in report.cases]) == (Exit.OK, ["m-2"])


def test_labels_are_compared_and_their_noise_is_told_apart(chats, provider):
    said = iter(
        ['{"label": "a"}', '{"label": "a"}', '{"label": "b"}', '{"label": "b"}', '{"label": "c"}', '{"label": "a"}']
    )
    provider.script(lambda request: openai_chat(next(said), model="m-1"))
    schema = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
    (chats.root / "items.json").write_text(json.dumps(schema), encoding="utf-8")
    chats.settings('[contracts.items]\nschema = "items.json"\nlabel_paths = ["$.label"]\n')
    chats("one", "two", contract="items")
    report = probe(repeat=2)
    assert provider.count == 6
    assert (report.labelled().differing, report.labelled().of) == (2, 2)
    assert report.noise().differing == 1
    assert {case.contract.name for case in report.cases} == {"items"}


def test_status_remembers_it_and_a_probe_moves_no_age(chats, provider):
    provider.script(lambda request: openai_chat("said", model="m-1"))
    first, second = chats("one", "two")
    provider.script(lambda request: openai_chat("said", model="m-2" if "two" in request.body.decode() else "m-1"))
    probe()
    book = ProbeBook(chats.root)
    assert {"sampled": 2, "agreed": 1, "drifted": 1, "exit": 3}.items() <= book.last.items()
    assert book.of(first.read_bytes()).agreed
    assert not book.of(second.read_bytes()).agreed
    assert book.of(b"another file") is None
    at = datetime.fromisoformat(read_entry(first).provenance["recorded_at"])
    assert datetime.now(UTC) - at < timedelta(minutes=5)
    chats.settings("max_age = { days = 0.000000001, then = 'fail' }")
    # Probed or not: its age counts from the recording.
    before = set_start(chats.root / "program.py")
    try:
        with (
            pytest.raises(onetake.InteractionNotFound, match="recorded"),
            onetake.use_cassette("cassettes/a", mode="none") as session,
        ):
            chats.ask(json.loads(session.entries[0].request.body))
    finally:
        set_start(before)


def test_each_project_has_the_notes_of_its_own_entries_and_the_first_knows_the_probe(chats, provider):
    provider.script(lambda request: openai_chat("said", model="m-1"))
    (outer,) = chats("one")
    (chats.root / "inner").mkdir()
    (chats.root / "inner/onetake.toml").write_text("", encoding="utf-8")
    (inner,) = chats("two", folder="inner/cassettes")
    assert probe().count(Outcome.AGREED) == 2
    books = [ProbeBook(root) for root in (chats.root, chats.root / "inner")]
    known = [[book.of(path.read_bytes()) is not None for path in (outer, inner)] for book in books]
    assert known == [[True, False], [False, True]]
    assert [book.last["sampled"] for book in books] == [2, 2]


def test_what_another_model_answers_tells_nothing_of_the_entry(chats, provider):
    provider.script(lambda request: openai_chat("said", model=request.json()["model"]))
    (path,) = chats("one")
    assert probe(model="m-2").exit_code == 0
    book = ProbeBook(chats.root)
    assert (book.last["agreed"], book.last["model"]) == (1, "m-2")
    assert book.of(path.read_bytes()) is None
    assert probe().exit_code == 0
    assert "model" not in ProbeBook(chats.root).last
    assert ProbeBook(chats.root).of(path.read_bytes()).agreed


def test_what_is_sealed_asks_nothing(chats, provider, monkeypatch):
    chats("one")
    count = provider.count
    with (
        onetake.use_cassette(chats.root / "cassettes/a", mode="none"),
        pytest.raises(UsageError, match="a session is open that lets nothing be asked"),
    ):
        probe()
    monkeypatch.setenv("ONETAKE_MODE", "none")
    with pytest.raises(UsageError, match="ONETAKE_MODE=none"):
        probe()
    assert provider.count == count


@pytest.mark.parametrize("word", ["none", "replay"])
def test_a_seal_is_told_in_its_own_word(chats, monkeypatch, word):
    chats("one")
    monkeypatch.setenv("ONETAKE_MODE", word)
    with pytest.raises(UsageError, match=f"ONETAKE_MODE={word} lets nothing be asked"):
        probe()


@pytest.mark.parametrize(
    "given",
    [
        {"sample": 0},
        {"repeat": 3},
        {"select": ["model:none"]},
        {"select": "model:m-1"},
        {"timeout": float("nan")},
        {"rpm": 0},
        {"max_cost": -1},
    ],
)
def test_what_chooses_nothing_is_said(chats, given):
    chats("one")
    with pytest.raises(UsageError):
        probe(**given)


def test_a_budget_without_prices_is_refused_before_anything_is_asked(chats, provider, monkeypatch):
    (path,) = chats("one")
    count = provider.count
    monkeypatch.setattr("onetake.prices.is_installed", lambda: False)
    for ask in (lambda: probe(max_cost=1), lambda: accept([path], Asker(Terms(max_cost=1)))):
        with pytest.raises(UsageError, match="a budget cannot be kept"):
            ask()
    assert provider.count == count


def test_a_folder_without_entries_is_said(chats):
    with pytest.raises(UsageError, match="no entries under"):
        probe()


def test_an_environment_of_ones_own(chats, provider):
    chats.settings(f'[credentials]\n"{provider.url}" = "GATEWAY_KEY"\n')
    chats("one")
    wanted = Wanted(Selection(1))
    missing = run(chats.root, wanted, asker=Asker(), environ={})
    assert (missing.exit_code, "GATEWAY_KEY is not set" in missing.cases[0].came.why) == (Exit.INCONCLUSIVE, True)
    assert run(chats.root, wanted, asker=Asker(), environ={"GATEWAY_KEY": "k"}).exit_code in (Exit.OK, Exit.DRIFT)
    assert provider.requests[-1].key == "k"


def test_a_decorated_functions_entries_are_counted(chats):
    (path,) = chats("one")
    entry = read_entry(path)
    request = Request("CALL", "function:app.label", (), b'{"arguments":{}}')
    other = replace(entry, request=request, key=Keyer().key(request), dialect=None, answer=None)
    assert write(DirectoryStore(path.parent), other, {}, over=False)
    report = probe()
    assert (report.count(Outcome.UNASKABLE), report.sampled) == (1, 1)
