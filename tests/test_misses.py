import pickle
import threading
from dataclasses import replace
from fnmatch import fnmatchcase
from multiprocessing.pool import ThreadPool
from textwrap import dedent

import pytest

from onetake import misses, modes
from onetake.cassette import Cassette
from onetake.contract import Contract
from onetake.errors import InteractionNotFound, InteractionNotFoundAsException, UnreadableEntry
from onetake.key import Keyer
from onetake.model import Cut, Request, Response
from onetake.scrub import Scrubber
from onetake.settings import KeyRules, MaxAge
from onetake.stores.memory import MemoryStore
from onetake.testing.project import Project

SECRET = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2


def miss(talk, request):
    with pytest.raises(InteractionNotFound) as caught:
        talk.ask(request)
    return caught.value


def test_a_miss_says_what_was_asked_where_what_is_near_and_what_mends_it(direct):
    recording = direct()
    recording.call("list three colours", "a")
    error = miss(direct(recording.store, "none", test="tests/test_x.py::test_a"), "list seven colours")
    reason, asked, looked, near, mend = error.args
    assert reason == "no interaction is stored for this request"
    assert asked.startswith("POST https://api.openai.com/v1/chat/completions (gpt-5, 1 message, ")
    assert looked == "cassette"
    assert "$.messages[0].content" in near
    assert "pytest --record-mode=new_episodes tests/test_x.py::test_a" in mend


def test_br_044_a_turn_after_a_new_answer_names_the_message_that_differs(direct):
    def second_turn(first_answer):
        return direct.chat(
            "q", history=[{"role": "assistant", "content": first_answer}, {"role": "user", "content": "?"}]
        )

    recording = direct()
    recording.call("first", "Hello."), recording.call(second_turn("Hello."), "a")
    direct(recording.store, "all").call("first", "Hi there!")
    replaying = direct(recording.store, "none")
    answer = replaying.call("first")
    assert answer == "Hi there!"
    assert '$.history[0].content: asked "Hi there!", stored "Hello."' in str(miss(replaying, second_turn(answer)))


LABEL = {"type": "object", "properties": {"label": {"enum": ["bug", "idea"]}}, "required": ["label"]}
LABELLED = '{"label": "bug"}'
WIDER = {**LABEL, "properties": {"label": {"enum": ["bug", "idea", "chore"]}}}


@pytest.mark.parametrize(
    ("recorded", "asked", "is_offered"),
    [
        (LABEL, LABEL, True),
        (LABEL, WIDER, False),  # which the answer satisfies
        (None, LABEL, False),
        (None, None, True),
        (LABEL, None, True),  # what the settings say of it is for `adopt` to see
    ],
)
def test_adopt_is_not_offered_where_it_would_refuse_another_contract(direct, recorded, asked, is_offered):
    def contracts(schema):
        return (Contract(schema, name="label"),) if schema else ()

    recording = direct(contracts=contracts(recorded))
    recording.call("a", LABELLED)
    replaying = direct(recording.store, "none", contracts=contracts(asked))
    assert ("`onetake adopt`" in str(miss(replaying, direct.chat("a", store=False)))) is is_offered


WHO = {"recorded_at": "2026-01-02T03:04:05Z", "commit": "31c3f4c0aa", "test": "tests/test_x.py::test_a"}


@pytest.mark.parametrize(
    ("changes", "policy", "reason", "broken"),
    [
        (
            {},
            {"contracts": (Contract(LABEL, name="labels", schema_version=2),)},
            "the stored interaction is stale, as it was recorded under labels schema_version 1, which is 2 today",
            [],
        ),
        (
            {},
            {"contracts": (Contract(LABEL, name="labels"),)},
            "the stored interaction is stale, as it breaks today's contract (violation)",
            ['$.label: expected one of "bug", "idea", found "noise"'],
        ),
        (
            {},
            {"max_age": MaxAge(0.5, "fail")},
            "the stored interaction is too old, as it was recorded * days ago, and max_age allows 0.5",
            [],
        ),
        (
            {"verdict": "kept:length"},
            {},
            "the stored answer is not for this session, as it was kept as 'length', and this session does not keep that"
            ' (keep=["length"] would)',
            [],
        ),
    ],
    ids=["version", "contract", "age", "kind"],
)
def test_what_is_stored_and_not_valid_is_named_with_who_recorded_it(direct, changes, policy, reason, broken):
    loose = {"type": "object", "properties": {"label": {"type": "string"}}}
    recording = direct(contracts=(Contract(loose, name="labels"),))
    recording.call("q", '{"label": "noise"}')
    (entry,) = recording.entries()
    recording.engine.cassette.put(replace(entry, **changes, provenance=WHO))
    error = miss(direct(recording.store, "none", **policy), "q")
    said, _, looked, near, mend = error.args
    assert fnmatchcase(said.replace("[", "("), reason.replace("[", "("))
    assert looked == "cassette"
    assert near.splitlines() == [
        recording.store.locate(entry.key, 0),
        "recorded 2026-01-02T03:04:05Z at commit 31c3f4c0aa by tests/test_x.py::test_a",
        *broken,
    ]
    assert mend
    assert error.recordable == ("stale" in said), "what new_episodes mends"
    assert str(error).count(reason.rpartition(" as ")[2].partition("*")[0]) == 1


def test_what_recording_mends_is_known_in_every_form_of_a_refusal(direct):
    recording = direct()
    recording.call("q", "a")
    absent = miss(direct(recording.store, "none"), "other")
    replaying = direct(recording.store, "none")
    replaying.call("q")
    for error in (absent, miss(replaying, "q")):
        assert error.recordable
        assert error.as_exception().recordable
        assert pickle.loads(pickle.dumps(error)).recordable
    assert not miss(direct(recording.store, "none", unrecorded="cannot judge the contract x"), "other").recordable
    replaying.engine.closed = True
    assert not miss(replaying, "q").recordable


def test_an_exhausted_miss_says_its_counts_once(direct):
    recording = direct()
    recording.call("q", "a")
    replaying = direct(recording.store, "none")
    replaying.call("q")
    text = str(miss(replaying, "q"))
    assert (text.count("once"), text.count("twice"), text.count("the request is the same")) == (1, 1, 1)


def test_an_empty_cassette_says_so(direct):
    error = miss(direct(mode="none"), "q")
    assert error.args[2:4] == ("cassette (empty)", "")


def test_what_speaks_no_models_api_is_told_the_ways_past_the_cassette(direct):
    recording = direct()
    recording.call("q", "a")
    replaying = direct(recording.store, "none")
    mend = miss(replaying, Request("GET", "https://example.org/x")).args[4]
    assert mend.startswith('mode="new_episodes"')
    assert "`ignore` lets it out, `quiet` refuses it without a word" in mend
    assert "`quiet`" not in miss(replaying, "another").args[4]


def test_a_child_that_may_not_record_says_why_and_does_not_send_in_a_circle(direct):
    why = "cannot judge the contract T"
    reason, *_, mend = miss(direct(mode="none", unrecorded=why, test="tests/test_x.py::test_a"), "q").args
    assert reason == (
        "no interaction is stored for this request, and this child process cannot judge the contract T, "
        "so it records nothing"
    )
    assert "in the session's own process" in mend
    assert "--record-mode" not in mend


@pytest.mark.whole
@pytest.mark.slow
def test_the_child_of_a_recording_test_under_a_type_names_the_contract(tmp_path, provider):
    source = """
        import subprocess, sys
        import pydantic, pytest

        class Triage(pydantic.BaseModel):
            label: str

        @pytest.mark.cassette(contract=Triage)
        def test_kid():
            subprocess.run([sys.executable, "kid.py"])
    """
    kid = """
        import os, httpx
        httpx.post(os.environ["PROVIDER"] + "/v1/chat/completions", json={"model": "m", "messages": []})
    """
    files = {"onetake.toml": "", "kid.py": dedent(kid), "test_app.py": dedent(source)}
    done = Project(tmp_path, files, env={"PROVIDER": provider.url}).pytest("--record-mode=once")
    assert done.code == 1
    assert "this child process cannot judge the contract Triage, so it records nothing" in done.out
    assert "--record-mode" not in done.out
    assert provider.count == 0


@pytest.mark.parametrize("sealed", ["none", "replay"])
def test_a_sealed_program_is_told_to_unset_it_first(direct, monkeypatch, sealed):
    monkeypatch.setenv("ONETAKE_MODE", sealed)
    assert miss(direct(mode="none"), "q").args[4].startswith("unset ONETAKE_MODE first")


def test_no_secret_is_in_a_miss(direct):
    recording = direct()
    recording.call("q", "a")
    asked = direct.chat(f"my key is {SECRET}", headers=(("authorization", f"Bearer {SECRET}"),))
    error = miss(direct(recording.store, "none"), asked)
    assert SECRET[8:20] not in str(error)
    assert "[openai key 1]" in str(error)


def test_other_cassettes_that_hold_the_key_are_named(direct):
    talk = direct(mode="none", elsewhere=["cassettes/b"])
    assert "the same request is stored in cassettes/b" in str(miss(talk, "q"))


def test_of_a_run_program_the_option_that_takes_the_other_cassette_is_named(direct, monkeypatch):
    monkeypatch.setattr(modes, "_switch", "onetake run --mode {mode} -- x")
    own = miss(direct(mode="none", elsewhere=["cassettes/b", "c"], is_program=True), "q")
    assert "the same request is stored in cassettes/b, c\n" in own.args[3]
    assert own.args[3].endswith("`--cassette cassettes/b` replays it")
    assert "--cassette" not in str(miss(direct(mode="none", elsewhere=["cassettes/b"]), "q"))


def test_a_gap_before_another_answer_is_called_a_gap(direct):
    recording = direct()
    recording.call("q", "a"), recording.call("q", "b")
    recording.store.delete(recording.entries()[0].key, 0)
    error = miss(direct(recording.store, "none"), "q")
    assert error.args[0] == "answer number 0 to this request is missing, and number 1 is there"
    assert "no interaction is stored" not in str(error)


def test_an_unreadable_entry_is_told_its_advice_once(direct):
    recording = direct()
    recording.call("q", "a")
    (entry,) = recording.entries()
    recording.store.replace(entry.key, 0, b'{"onetake": 1,')
    with pytest.raises(UnreadableEntry) as caught:
        direct(recording.store, "none").ask("q")
    assert caught.value.args[1].startswith("torn: ")
    assert str(caught.value).count("version control") == 1


def test_a_stream_that_was_left_says_where_it_ends(direct):
    talk = direct()
    talk.answer(talk.ask("q"), Response(200, (("content-type", "text/event-stream"),), b"data: 1\n\n", cut=Cut.LEFT))
    error = misses.left_early(talk.entries()[0], talk.engine.policy)
    assert error.args[0] == "the stream ends here: when it was recorded its caller left after 9 bytes"
    assert error.args[4] == 'record it again and read it to its end: mode="all"'


def test_the_line_of_a_request_that_nobody_looked_up_has_no_secret(direct):
    asked = Request("GET", f"https://api.example/x?api_key={SECRET}")
    assert misses.line_of(asked, direct().engine.policy) == "GET https://api.example/x"


def test_only_the_workers_of_multiprocessings_pools_get_the_twin(direct):
    talk = direct(mode="none")
    with ThreadPool(1) as pool, pytest.raises(InteractionNotFoundAsException):
        pool.apply_async(talk.ask, ("q",)).get(timeout=20)
    assert [type(line) for line in talk.ledger.open] == [InteractionNotFoundAsException]
    found = []
    thread = threading.Thread(target=lambda: found.append(misses.in_pool_worker()))
    thread.start()
    thread.join()
    assert (found, misses.in_pool_worker()) == ([False], False)


@pytest.mark.parametrize(
    ("url", "headers", "is_one"),
    [
        ("wss://api.openai.com/v1/realtime", (), True),
        ("WS://127.0.0.1/x", (), True),
        ("https://api.openai.com/v1/realtime", (("Upgrade", "WebSocket"),), True),
        ("https://api.openai.com/v1/realtime", (("upgrade", "h2c"),), False),
        ("https://api.openai.com/v1/realtime", (), False),
        ("function:ws", (), False),
    ],
)
def test_a_web_socket_is_known_by_its_scheme_or_its_upgrade(url, headers, is_one):
    assert misses.is_web_socket(Request("GET", url, headers)) == is_one


@pytest.mark.parametrize("mode", ["once", "new_episodes", "all", "none"])
def test_a_web_socket_is_refused_in_every_mode_by_a_way_out_that_works(direct, mode):
    error = miss(direct(mode=mode), Request("GET", f"wss://api.openai.com/v1/realtime?api_key={SECRET}"))
    assert error.args[0] == "a web socket cannot be recorded"
    assert "`ignore`" in error.args[4]
    assert "mode=" not in error.args[4]
    assert SECRET not in str(error)


def test_an_entry_that_was_imported_before_its_header_counted_is_imported_anew(direct, tmp_path):
    (tmp_path / "a.yaml").touch()
    asked = direct.chat("hello")
    asked = replace(asked, headers=(*asked.headers, ("x-tenant", "T")))
    recording = direct()
    recording.call(asked, "Hi.")
    (stored,) = recording.entries()
    came = replace(stored, provenance={"imported_from": {"path": "a.yaml", "position": 0}})
    names = ("x-tenant",)
    rules = {"keyer": Keyer(KeyRules(headers=names)), "scrubber": Scrubber(key_headers=names), "test": "t.py::t"}
    again = "`onetake import vcr a.yaml` once more: it was imported before `headers` in `key` named what differs"
    told = {}
    for name, entry, root, text in (
        ("imported", came, tmp_path, "hello"),
        ("recorded", stored, tmp_path, "hello"),
        ("its file is gone", came, tmp_path / "gone", "hello"),
        ("edited besides", came, tmp_path, "hello!"),
    ):
        store = MemoryStore("cassette")
        Cassette(store).add(entry)
        error = miss(direct(store, "none", root=root, **rules), replace(asked, body=direct.chat(text).body))
        told[name] = error.args[-1] == again, error.recordable
    assert told == dict.fromkeys(told, (False, True)) | {"imported": (True, False)}
