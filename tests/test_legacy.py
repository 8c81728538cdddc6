from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import pytest
import vcr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vcr.request import Request as VcrRequest

from onetake import key_specs
from onetake.errors import InteractionNotFound, UnreadableEntry
from onetake.format import dump_entry
from onetake.key import Keyer
from onetake.model import Entry, Request, Response
from onetake.preparing import Preparing
from onetake.scrub import Scrubber
from onetake.settings import KeyRules, Replace
from onetake.steps import Live
from onetake.stores.memory import MemoryStore
from onetake.vcrwords import functions

LEGACY = {"mode": "none", "match": "legacy"}


def imported(recording, *, extra=None, path="tests/cassettes/a.yaml"):
    """Have everything that was recorded come from an import, in the order of recording."""
    for position, entry in enumerate(recording.engine.recorded):
        came = replace(entry, provenance={"imported_from": {"path": path, "position": position}}, extra=extra or {})
        data, _ = dump_entry(came)
        recording.store.replace(entry.key, entry.ordinal, data)
    return recording.store


@pytest.fixture
def abc(direct):
    """Three questions to one URL and their answers, imported."""
    recording = direct()
    for letter in "ABC":
        recording.call(letter, f"to {letter}")
    return imported(recording)


def told(replaying):
    return [one for one in replaying.ledger.differing if one["counts"]]


def test_answers_come_in_recorded_order_whatever_is_asked_and_each_that_differs_is_told(direct, abc):
    replaying = direct(abc, **LEGACY)
    assert [replaying.call(text) for text in ("A", "new", "B")] == ["to A", "to B", "to C"]
    new, other = told(replaying)
    assert (new["kinds"], new["imported_from"], new["position"]) == (["prompt"], "tests/cassettes/a.yaml", 1)
    assert new["differences"] == [
        {"what": "prompt", "path": "body$.messages[0].content", "kind": "changed", "asked": '"new"', "stored": '"B"'}
    ]
    assert new["own"] == ""
    # Its own answer went to another request: under strict matching both are right.
    assert other["asked"].startswith('POST https://api.openai.com/v1/chat/completions (gpt-5, 1 message, "B")')
    assert other["own"] == new["entry"]
    assert replaying.ledger.notes[0].splitlines() == [
        f"legacy: {new['asked']} was answered by an entry that differs (prompt): {new['entry']}",
        '  body$.messages[0].content: asked "new", stored "B"',
    ]


def test_what_was_played_is_not_played_again(direct, abc):
    replaying = direct(abc, **LEGACY)
    for _ in "ABC":
        replaying.call("A")
    with pytest.raises(InteractionNotFound) as caught:
        replaying.ask("A")
    assert caught.value.args[0] == (
        '3 interactions with this method and URL were imported, and all have been played (match = "legacy")'
    )
    assert caught.value.recordable


def test_another_method_or_url_is_a_miss_that_says_so(direct, abc):
    replaying = direct(abc, **LEGACY)
    for other in (
        direct.chat("A", url="https://api.openai.com/v2/chat/completions"),
        replace(direct.chat("A"), method="PUT"),
    ):
        with pytest.raises(InteractionNotFound, match="no imported interaction has the method and the URL"):
            replaying.ask(other)
    assert replaying.call("A") == "to A"
    assert not told(replaying)


@pytest.mark.parametrize(
    ("recorded", "asked", "is_found"),
    [
        ("?b=2&a=1", "?a=1&b=2", True),
        ("?a=1", "?a=1&empty=&bare", True),
        ("?a=x%20y", "?a=x+y", True),
        ("?a=1&api_key=s3cr3t", "?a=1&api_key=other", True),
        ("?a=1&key=alice", "?a=1&key=bob", False),
        ("?a=1", "?a=2", False),
        ("?a=1&a=2", "?a=1", False),
    ],
)
def test_the_query_is_compared_as_vcrpy_does_without_credentials(direct, recorded, asked, is_found):
    base = "https://api.example.com/v1/chat/completions"
    recording = direct()
    recording.call(direct.chat("A", url=base + recorded), "to A")
    replaying = direct(imported(recording), **LEGACY)
    if is_found:
        assert replaying.call(direct.chat("A", url=base + asked)) == "to A"
    else:
        with pytest.raises(InteractionNotFound):
            replaying.ask(direct.chat("A", url=base + asked))


def test_same_gives_the_first_of_a_url_to_everyone_as_playback_repeats_do(direct, abc):
    replaying = direct(abc, **LEGACY, repeats="same")
    assert [replaying.call(text) for text in ("B", "C", "B")] == ["to A"] * 3
    assert [one["kinds"] for one in told(replaying)] == [["prompt"]] * 3


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({"model": "gpt-6"}, ["model"]),
        ({"temperature": 0.5}, ["parameter"]),
        (
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "string"}}}]},
            ["tool schema"],
        ),
        ({"tool_choice": "auto"}, ["parameter"]),
        ({"response_format": {"type": "json_object"}}, ["answer schema"]),
        ({"user": "me"}, ["another field"]),
        ({"model": "gpt-6", "temperature": 0.5, "messages": []}, ["prompt", "model", "parameter"]),
    ],
)
def test_how_a_request_differs_is_said_in_words(direct, abc, fields, kinds):
    replaying = direct(abc, **LEGACY)
    assert replaying.call(direct.chat("A", **fields)) == "to A"
    assert [one["kinds"] for one in told(replaying)] == [kinds]


def test_the_first_difference_of_each_kind_is_told_before_the_rest(direct, abc):
    replaying = direct(abc, **LEGACY)
    replaying.call(direct.chat("new", temperature=0.5, top_p=1, model="gpt-6"))
    (one,) = told(replaying)
    assert [(each["what"], each["path"]) for each in one["differences"]] == [
        ("prompt", "body$.messages[0].content"),
        ("model", "body$.model"),
        ("parameter", "body$.temperature"),
        ("parameter", "body$.top_p"),
    ]


def test_a_header_that_counts_is_named(direct, abc):
    replaying = direct(abc, **LEGACY)
    assert replaying.call(direct.chat("A", headers=(("openai-beta", "x=1"),))) == "to A"
    assert [one["kinds"] for one in told(replaying)] == [["header"]]


def test_only_bytes_are_the_same_request_and_do_not_count(direct, abc):
    replaying = direct(abc, **LEGACY)
    asked = direct.chat("A")
    assert replaying.call(replace(asked, body=asked.body.replace(b'": ', b'":'))) == "to A"
    (one,) = replaying.ledger.differing
    assert (one["kinds"], one["counts"], one["differences"]) == (["only bytes"], False, [])
    assert replaying.ledger.notes == ()


def test_a_body_that_is_no_json_differs_as_a_body(direct):
    recording = direct()
    recording.call(replace(direct.chat("A"), headers=(("content-type", "text/plain"),), body=b"one"), "to one")
    replaying = direct(imported(recording), **LEGACY)
    asked = replace(direct.chat("A"), headers=(("content-type", "text/plain"),), body=b"two")
    assert replaying.call(asked) == "to one"
    assert [one["kinds"] for one in told(replaying)] == [["body"]]


def test_a_rule_that_came_after_the_import_makes_the_request_the_same_but_not_its_key(direct, abc):
    keyer = Keyer(KeyRules(replace=(Replace("run-[0-9]+", "run"),)))
    recording = direct()
    recording.call("run-1", "to it")
    replaying = direct(imported(recording), **LEGACY, keyer=keyer)
    assert replaying.call("run-2") == "to it"
    (one,) = replaying.ledger.differing
    assert (one["kinds"], one["counts"]) == (["key rules"], False)


@pytest.mark.parametrize("mode", ["new_episodes", "all"])
def test_it_records_nothing_and_where_a_mode_records_whole_requests_are_compared(direct, abc, mode):
    recording = direct(abc, mode, match="legacy")
    assert isinstance(recording.ask("new"), Live)
    assert not recording.ledger.differing


def test_what_was_recorded_here_answers_its_own_request_alone(direct, abc):
    mending = direct(abc, "new_episodes", match="legacy")
    mending.call("new", "to new")
    replaying = direct(abc, **LEGACY)
    assert [replaying.call(text) for text in ("A", "new", "B", "C")] == ["to A", "to new", "to B", "to C"]
    assert not replaying.ledger.differing


def test_a_cassette_of_which_nothing_was_imported_is_matched_strictly(direct):
    recording = direct()
    recording.call("A", "to A"), recording.call("B", "to B")
    replaying = direct(recording.store, **LEGACY)
    assert not replaying.engine.legacy.is_on
    assert (replaying.call("B"), replaying.call("A")) == ("to B", "to A")
    with pytest.raises(InteractionNotFound):
        replaying.ask("C")


def test_a_damaged_entry_may_be_the_one_whose_turn_it_is(direct, abc):
    key, ordinal = sorted(abc.names())[1]
    abc.replace(key, ordinal, b"{")
    replaying = direct(abc, **LEGACY)
    with pytest.raises(UnreadableEntry):
        replaying.ask("A")


def test_a_kept_answer_is_for_a_session_that_keeps_its_kind_and_has_had_its_turn(direct):
    recording = direct(keep=("status:401",))
    recording.answer(recording.ask("A"), direct.said("no", status=401))
    recording.call("A", "yes")
    store = imported(recording)
    keeping = direct(store, **LEGACY, keep=("status:401",))
    assert [keeping.ask("A").response.status for _ in range(2)] == [401, 200]
    refusing = direct(store, **LEGACY)
    with pytest.raises(InteractionNotFound, match="status:401"):
        refusing.ask("A")
    assert refusing.call("A") == "yes"


def test_files_are_played_one_after_the_other_by_their_positions(direct):
    recording = direct()
    recording.call("A", "first file"), recording.call("B", "second file")
    store = imported(recording)
    for entry, path in zip(recording.entries(), ("b.yaml", "a.yaml"), strict=True):
        came = {"imported_from": {"path": path, "position": 10 if path == "a.yaml" else 2}}
        store.replace(entry.key, entry.ordinal, dump_entry(replace(entry, provenance=came))[0])
    by_path = {e.provenance["imported_from"]["path"]: e for e in direct(store).entries()}
    replaying = direct(store, **LEGACY)
    assert [replaying.ask("Z").entry for _ in range(2)] == [by_path["a.yaml"], by_path["b.yaml"]]


def test_what_was_imported_twice_under_other_key_rules_is_played_once(direct, abc):
    rules = {"keyer": Keyer(KeyRules(ignore=("$.model",)))}
    again = direct(**rules)
    for letter in "ABC":
        again.call(letter, f"to {letter} again")
    imported(again)
    for key, ordinal in again.store.names():
        abc.replace(key, ordinal, again.store.get(key, ordinal))
    for of_today, answers in (({}, ["to A", "to B", "to C"]), (rules, ["to A again", "to B again", "to C again"])):
        replaying = direct(abc, **LEGACY, **of_today)
        assert [replaying.call(str(number)) for number in range(3)] == answers
        with pytest.raises(InteractionNotFound, match="3 interactions with this method and URL were imported, and all"):
            replaying.ask("D")


def test_what_it_replays_counts_as_used(direct, abc):
    replaying = direct(abc, **LEGACY)
    replaying.call("Z")
    (slot,) = replaying.engine.played
    assert slot in replaying.engine.asked


def test_a_suites_own_rule_is_asked_of_the_first_that_was_not_played_and_a_miss_is_told_in_its_terms(direct):
    recording = direct()
    for number in range(30):
        recording.call(str(number), f"to {number}")
    compared = []

    def matches(asked, stored, keeps):
        compared.append((asked, stored))
        return asked.method == stored.method

    replaying = direct(imported(recording), **LEGACY, preparing=Preparing(matches=matches))
    assert [replaying.call("any") for _ in range(30)] == [f"to {number}" for number in range(30)]
    assert len(compared) == 30
    with pytest.raises(InteractionNotFound) as played:
        replaying.ask("any")
    assert played.value.args[0] == (
        '30 interactions found by the suite\'s match_on were imported, and all have been played (match = "legacy")'
    )
    with pytest.raises(InteractionNotFound) as other:
        replaying.ask(replace(direct.chat("any"), method="PUT"))
    assert other.value.args[0] == (
        'no imported interaction is found for this request by the suite\'s match_on (match = "legacy")'
    )


def test_who_asks_at_once_gets_what_the_other_did_not(direct, abc):
    first_is_at_it, second_is_done = Event(), Event()

    def matches(asked, stored, keeps):
        if b"waits" in asked.body and not first_is_at_it.is_set():
            first_is_at_it.set()
            assert second_is_done.wait(20)
        return True

    replaying = direct(abc, **LEGACY, preparing=Preparing(matches=matches))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(replaying.call, "waits")
        assert first_is_at_it.wait(20)
        assert replaying.call("other") == "to A"
        second_is_done.set()
        assert waiting.result(20) == "to B"


_METHODS = st.sampled_from(["GET", "POST"])
_URLS = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["https", "http"]),
    st.sampled_from(["h.example", "h.example:443", "H.example"]),
    st.sampled_from(["", "/", "/a"]),
    st.sampled_from(["", "?x=1&y=2", "?y=2&x=1", "?x=1&e=", "?x=1"]),
)
_TARGETS = st.lists(st.tuples(_METHODS, _URLS), min_size=1, max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # `direct` is a class
@given(recorded=_TARGETS, asked=_TARGETS)
def test_it_gives_the_very_interaction_that_vcrpy_gives(direct, recorded, asked):
    """Beside vcrpy itself: which of the recorded ones answers each request, or none."""
    rule = [vcr.VCR().matchers[name] for name in vcr.VCR().match_on]
    theirs = vcr.cassette.Cassette("unused.yaml", record_mode=vcr.mode.NONE, match_on=rule)
    store = MemoryStore("cassette")
    for position, (method, url) in enumerate(recorded):
        theirs.append(VcrRequest(method, url, b"", {}), {"status": {"code": 200, "message": ""}, "body": position})
        request = Request(method, url, (), str(position).encode())
        entry = Entry("good", request, Response(200), Keyer().key(request), 0, key_specs.current({}))
        entry = replace(entry, provenance={"imported_from": {"path": "a.yaml", "position": position}})
        store.add(entry.key, 0, dump_entry(entry)[0])
    theirs.rewind()
    theirs._loaded_count, theirs.rewound = len(recorded), True
    ours = direct(store, **LEGACY)
    for method, url in asked:
        there = VcrRequest(method, url, b"", {})
        if there in theirs:
            assert ours.ask(Request(method, url)).entry.request.body == b"%d" % theirs.play_response(there)["body"]
        else:
            with pytest.raises(InteractionNotFound):
                ours.ask(Request(method, url))


def _same_user(asked, stored):
    return asked.url == stored.url and asked.headers.get("X-User") == stored.headers.get("X-User")


@pytest.mark.parametrize("headers", [[], ["x-user"]])
def test_a_suites_matcher_gives_no_answer_by_a_header_that_was_not_kept(direct, headers):
    def asked_by(user):
        return replace(direct.chat("hi"), headers=(("X-User", user),), url="https://api.openai.com/v1/items?key=k1")

    recording = direct(keyer=Keyer(KeyRules(headers=tuple(headers))), scrubber=Scrubber(key_headers=headers))
    for user in "ab":
        recording.call(asked_by(user), f"to {user}")
    preparing = Preparing(matches=functions.matches(_same_user))
    # What was imported before the rule came does not have the header.
    replaying = direct(imported(recording), **LEGACY, preparing=preparing, scrubber=Scrubber(key_headers=["x-user"]))
    if headers:
        assert [replaying.call(asked_by(user)) for user in "ba"] == ["to b", "to a"]
        with pytest.raises(InteractionNotFound, match="no imported interaction is found"):
            replaying.ask(asked_by("c"))
    else:
        with pytest.raises(InteractionNotFound) as refused:
            replaying.ask(asked_by("b"))
        assert "own match_on looks at the header X-User, and entries do not keep that" in str(refused.value)
        assert "name it in `headers` of `key` and import the cassettes anew" in str(refused.value)
