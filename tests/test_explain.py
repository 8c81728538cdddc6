from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest

from onetake.asked_lines import asked_line
from onetake.compare import Difference
from onetake.decide import Action, Found, decide
from onetake.errors import InteractionNotFound
from onetake.explain import Candidate, describe, identify, nearest, remedy
from onetake.format.sidecar import REMEDY
from onetake.key import Keyer, volatile
from onetake.model import Mode, Request

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "reading-a-miss.md"
NODE = "tests/test_triage.py::test_label"
URL = "https://api.openai.com/v1/chat/completions"


def chat(*texts, **more):
    messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    return {"model": "gpt-5", "messages": messages, **more}


def request(body, url=URL):
    return Request("POST", url, (("content-type", "application/json"),), json.dumps(body).encode())


def parts(body, url=URL):
    return Keyer().parts(request(body, url))


def candidate(body, place="cassettes/triage/chat-gpt-5-0a.json", **more):
    known = {
        "parts": parts(body),
        "place": place,
        "ordinal": 0,
        "played": False,
        "recorded_at": "2026-11-20T10:00:00Z",
        "commit": "31c3f4c0aa",
        "test": NODE,
    }
    return Candidate(**{**known, **more})


def miss(body, *candidates):
    """Build a whole miss, as the engine does."""
    return InteractionNotFound(
        "no interaction is stored for this request",
        asked_line(request(body), body["model"]),
        "tests/cassettes/test_triage/test_label",
        describe(*nearest(parts(body), candidates)),
        remedy(Mode.NONE, Found.ABSENT, pytest_node=NODE, cassette="tests/cassettes/test_triage/test_label"),
    )


def test_the_nearest_is_the_one_with_the_fewest_characters_changed():
    texts = [f"Ticket {n}: " + chr(97 + n) * 8000 + " Please label it." for n in range(20)]
    candidates = [candidate(chat(text), place=f"{n}.json", played=n % 2 == 0) for n, text in enumerate(texts)]
    asked = chat(texts[13].replace("Please label it.", "Kindly sort that."))
    found, differences = nearest(parts(asked), candidates)
    assert found.place == "13.json"
    assert [d.path for d in differences] == ["body$.messages[0].content"]


def test_at_equal_distance_one_that_was_not_played_is_nearer():
    played, waiting = candidate(chat("Hello A"), played=True), candidate(chat("Hello B"))
    assert nearest(parts(chat("Hello C")), [played, waiting])[0] is waiting
    assert nearest(parts(chat("Hello A")), [played, waiting])[0] is played
    assert nearest(parts(chat("Hello")), []) is None


def test_one_that_is_in_use_goes_before_one_that_was_passed_over_and_then_the_newest():
    passed = candidate(chat("Hello A"), is_passed=True)
    old, new = (candidate(chat(f"Hello {day}"), recorded_at=f"2026-01-0{day}") for day in (1, 2))
    assert nearest(parts(chat("Hello A")), [passed, old, new])[0] is new
    assert nearest(parts(chat("Hello A")), [passed])[0] is passed


def test_only_two_hundred_candidates_are_looked_at():
    candidates = [candidate(chat("other")) for _ in range(200)]
    exact = candidate(chat("Hello"))
    assert nearest(parts(chat("Hello")), [*candidates, exact])[0] is candidates[0]
    assert nearest(parts(chat("Hello")), [*candidates[1:], exact])[0] is exact
    later = iter([*candidates, exact])
    nearest(parts(chat("Hello")), later)
    assert list(later) == [exact]


def test_br_046_a_miss_names_the_path_and_shows_the_change():
    filler = "The quick brown fox jumps over the lazy dog. " * 180
    stored = candidate(chat(filler + "Answer in English, please." + filler), place="cassettes/a.json")
    asked = parts(chat(filler + "Answer in French, please." + filler))
    assert describe(*nearest(asked, [stored])) == (
        "cassettes/a.json (not played yet)\n"
        f"recorded 2026-11-20T10:00:00Z at commit 31c3f4c0aa by {NODE}\n"
        "body$.messages[0].content:\n"
        '  asked  "… over the lazy dog. Answer in French, please.The quick brown fox …"\n'
        '  stored "… over the lazy dog. Answer in English, please.The quick brown fox …"'
    )


def test_short_differences_take_one_line_each():
    stored = candidate(chat("Hi", temperature=0, n=1, tools=[{"name": "a"}, {"name": "b"}]))
    asked = chat("Hi", temperature=0.7, seed=7, tools=[{"name": "b"}, {"name": "a"}])
    assert describe(*nearest(parts(asked), [stored])).split("\n")[2:] == [
        "body$.seed: only asked: 7",
        "body$.temperature: asked 0.7, stored 0",
        "body$.tools: only the order of tools differs: asked b, a, stored a, b",
        "body$.n: only stored: 1",
    ]


def test_br_017_the_miss_of_a_shuffled_list_says_so():
    def body(names):
        return chat("Hi", tools=[{"name": "paint", "input_schema": {"properties": {"colour": {"enum": names}}}}])

    text = describe(*nearest(parts(body(["red", "green"])), [candidate(body(["green", "red"]))]))
    assert "only the order of enum differs" in text


@pytest.mark.parametrize("ordinals", [[0], [0, 1], [0, 1, 2, 3]])
def test_br_047_of_the_same_request_the_last_that_was_played_is_shown(ordinals):
    candidates = [candidate(chat("Hi"), place=f"{n}.json", ordinal=n, played=True) for n in ordinals]
    text = describe(*nearest(parts(chat("Hi")), candidates))
    assert text.startswith(f"{ordinals[-1]}.json (already played)\n")
    assert text.endswith("\nthe request is the same")
    way_out = remedy(Mode.NONE, Found.EXHAUSTED, pytest_node=NODE, cassette="c")
    assert 'repeats = "same"' in way_out


def test_the_same_request_that_was_not_played_is_called_the_same():
    assert describe(candidate(chat("Hi")), []).endswith("\nthe request is the same")


def test_br_042_a_miss_after_midnight_shows_the_date_and_names_the_rule():
    today = volatile.today()[0]
    stored = candidate(chat("Today is 2026-03-04. Label this."), recorded_at="2026-03-04T12:00:00Z")
    text = describe(*nearest(parts(chat(f"Today is {today}. Label this.")), [stored]))
    assert f'body$.messages[0].content:\n  asked  "Today is {today}. Label this."\n' in text
    keyed = "in [tool.onetake.key], once `onetake rekey` has keyed it anew"
    assert text.endswith(f'this makes it match, {keyed}:\n  volatile = ["today"]')


def test_br_014_a_miss_over_a_random_message_id_names_the_path_to_list():
    def body(*ids):
        return {"messages": [{"id": i, "role": "user", "content": "Hi"} for i in ids]}

    stored = candidate(body("mVDEy6MXiFvzKQm4o3fsGF", "aVDEy6MXiFvzKQm4o3fsGF"))
    asked = parts(body("HzoDj9nLm7mBz5Mf3uGcgk", "bzoDj9nLm7mBz5Mf3uGcgk"))
    text = describe(*nearest(asked, [stored]))
    assert "body$.messages[0].id: asked" in text
    assert " this makes it match, in [tool.onetake.key], once `onetake rekey`" in text.replace("\n", " ")
    assert text.endswith(':\n  ids = ["$.messages[*].id"]')


def test_br_111_a_login_body_that_changes_each_run_is_named():
    bodies = [{"grant": "jwt", "assertion": start + "x9Y" * 60} for start in ("eyJhA1", "eyJhB2")]
    text = describe(*nearest(parts(bodies[0]), [candidate(bodies[1])]))
    assert text.endswith('  ignore = ["$.assertion"]')


@pytest.mark.parametrize(
    ("asked", "more", "offered"),
    [
        (chat("a", store=False), {}, True),
        (chat("a", store=False), {"played": True}, False),
        (chat("a", store=False), {"is_under_another": True}, False),
        (chat("a", store=False, tier=1), {}, False),
        (chat("a", seed=7), {}, False),
        (chat("a", system="b"), {}, False),
        (chat("b"), {}, False),
        (chat(), {}, False),
    ],
)
def test_adopt_is_offered_where_one_field_that_no_api_counts_was_added(asked, more, offered):
    assert ("`onetake adopt` takes the stored one" in str(miss(asked, candidate(chat("a"), **more)))) is offered


def test_a_rule_that_explains_only_some_differences_says_so():
    stored = {"id": "run-8f3ab2c1", "n": 1}
    text = describe(*nearest(parts({"id": "run-77aa01b2", "n": 2}), [candidate(stored)]))
    assert "this takes away 1 of these" in text


def test_a_description_is_at_most_twenty_lines():
    stored = chat(*(f"Text number {n} of the conversation, long enough for its own line." for n in range(60)))
    asked = copy.deepcopy(stored)
    for message in asked["messages"]:
        message["content"] = message["content"].replace("Text number", "Line no.")
    text = describe(*nearest(parts(asked), [candidate(stored)]))
    assert len(text.split("\n")) <= 20
    assert "\nand 45 or more further differences" in text


def test_a_miss_over_a_long_conversation_fits_a_screen():
    turns = [f"Turn {n}: " + "".join(chr(97 + (n * 7 + k) % 26) for k in range(200)) for n in range(813)]
    stored = chat(*turns)
    asked = copy.deepcopy(stored)
    del asked["messages"][400]
    for message in asked["messages"][500::10]:
        message["content"] = "Changed. " + message["content"][::-1]
    others = [candidate(chat(*turns[n:]), place=f"{n}.json") for n in range(1, 12)]
    text = str(miss(asked, *others, candidate(stored)))
    assert len(json.dumps(asked)) > 190_000
    assert "chat-gpt-5-0a.json (not played yet)" in text
    assert "body$.messages[400]: only stored:" in text
    assert len(text.split("\n")) <= 40
    assert len(text.encode()) <= 6 * 1024


def test_a_hostile_miss_is_printable_and_fits_a_screen():
    evil = "\x1b]8;;https://evil.example\x07\x1b[31m\u202e\x00\ud800\n" * 20_000
    stored = {"model": evil, "messages": [{"role": "user", "content": evil, evil: evil}], evil: 1}
    asked = {"model": "gpt-5", "messages": [{"role": "user", "content": "x" + evil}], evil + "2": 2}
    text = str(miss(asked, candidate(stored, place=evil, recorded_at=evil, commit=evil, test=evil)))
    assert text.replace("\n", "").isprintable()
    assert len(text.split("\n")) <= 40
    assert len(text.encode()) <= 6 * 1024


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("found", list(Found))
def test_a_remedy_is_offered_exactly_where_the_mode_refuses_and_what_it_offers_works(mode, found):
    text = remedy(mode, found, pytest_node=NODE, cassette="c")
    refused = decide(mode, found, being_made=False) is Action.REFUSE
    assert bool(text) is refused
    for other in Mode:
        if f"--record-mode={other} " in text:
            assert decide(other, found, being_made=False) is not Action.REFUSE


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Found.ABSENT, "{new}\n{all}"),
        (
            Found.EXHAUSTED,
            '{new}\n{all}\nor set repeats = "same", where one answer is meant for every identical request',
        ),
        (Found.STALE, "{new}\n{all}"),
        (Found.UNREADABLE, "{all}\nor " + REMEDY),
        (Found.UNKEPT, "{all}\nor name the kind of that answer in keep"),
        (Found.EXPIRED, "{all}\nor allow a greater max_age"),
        (Found.PENDING, "{new}\n{all}\nit waits for this test to pass: the run that recorded it failed"),
    ],
)
def test_the_remedies_in_mode_none(found, text):
    new = f"pytest --record-mode=new_episodes {NODE} (records what is missing or stale, replays the rest)"
    everything = f"pytest --record-mode=all {NODE} (records every request anew, in the place of the old)"
    assert remedy(Mode.NONE, found, pytest_node=NODE, cassette="c") == text.format(new=new, all=everything)


def test_br_148_an_empty_cassette_is_told_apart_and_made_with_one_command():
    said = remedy(Mode.NONE, Found.ABSENT, pytest_node=NODE, cassette="c", empty=True)
    assert said == f"no entry for this test yet: pytest --record-mode=once {NODE}"
    said = remedy(Mode.NONE, Found.ABSENT, pytest_node=None, cassette="cassettes/triage", empty=True)
    assert said == 'no entry for cassettes/triage yet: mode="once"'


def test_the_remedies_of_a_program_and_of_a_sealed_process():
    said = remedy(Mode.ONCE, Found.ABSENT, pytest_node=None, cassette="c")
    assert said.startswith('mode="new_episodes" (')
    said = remedy(Mode.NONE, Found.ABSENT, pytest_node=NODE, cassette="c", sealed=True)
    assert said.startswith("unset ONETAKE_MODE first: its none wins over every other mode\npytest ")


def test_the_remedy_of_a_program_is_the_command_it_was_given_and_says_what_ci_did():
    switch = "onetake run --mode {mode} --cassette c -- app {mode}"
    said = remedy(Mode.NONE, Found.ABSENT, pytest_node=None, cassette="c", by_ci=True, switch=switch)
    assert said.splitlines() == [
        "CI is set, so the mode is none where nobody says another",
        "onetake run --mode new_episodes --cassette c -- app {mode}"
        " (records what is missing or stale, replays the rest)",
    ]
    assert "CI is set" not in remedy(Mode.NONE, Found.ABSENT, pytest_node=NODE, cassette="c", by_ci=True)
    assert "CI is set" not in remedy(Mode.NONE, Found.ABSENT, pytest_node=None, cassette="c", by_ci=True, sealed=True)


@pytest.mark.parametrize("prefix", ["", "tool.onetake."])
def test_the_table_is_named_as_the_settings_file_has_it(prefix):
    changed = Difference("body$.id", "changed", '"run-8f3ab2c1"', '"run-77aa01b2"')
    assert f"in [{prefix}key], once `onetake rekey` has" in describe(candidate(chat("Hi")), [changed], prefix)


@pytest.mark.parametrize(
    ("node", "argument"),
    [
        ("t.py::test_a", "t.py::test_a"),
        ("t.py::test_a[b c-1]", '"t.py::test_a[b c-1]"'),
        ("t.py::test_a[$HOME]", "'t.py::test_a[$HOME]'"),
        ("t.py::test_a[x\x1b[31m;rm]", "$'t.py::test_a[x\\x1b[31m;rm]'"),
    ],
)
def test_a_test_id_is_quoted_for_the_shell(node, argument):
    assert f"--record-mode=new_episodes {argument} (" in remedy(Mode.NONE, Found.ABSENT, pytest_node=node, cassette="c")


def test_the_page_shows_a_miss_as_it_is_printed():
    system = "You label support tickets. Answer with one word."
    stored = candidate(
        chat("The printer is on fire.", system=system, temperature=0),
        place="tests/cassettes/test_triage/test_label/chat-gpt-5-5f0c1d2e3a4b5c6d.json",
    )
    asked = chat("The printer is on fire.", system=system.replace("one word", "one lower-case word"), temperature=0.2)
    assert f"```\n{miss(asked, stored)}\n```" in PAGE.read_text("utf-8")


def test_the_page_shows_a_stale_interaction_as_it_is_printed():
    stored = candidate(
        chat("The printer is on fire."),
        place="tests/cassettes/test_triage/test_label/chat-gpt-5-5f0c1d2e3a4b5c6d.json",
    )
    said = InteractionNotFound(
        "the stored interaction is stale, as it breaks today's contract (violation)",
        asked_line(request(chat("The printer is on fire.")), "gpt-5"),
        "tests/cassettes/test_triage/test_label",
        f'{identify(stored)}\n$.label: expected one of "bug", "idea", found "noise"',
        remedy(Mode.NONE, Found.STALE, pytest_node=NODE, cassette="c"),
    )
    assert f"```\n{said}\n```" in PAGE.read_text("utf-8")


def test_what_is_known_of_a_candidate_is_said_and_nothing_else():
    bare = replace(candidate(chat("Hi")), recorded_at="", commit="", test="")
    assert identify(bare) == "cassettes/triage/chat-gpt-5-0a.json"
    assert identify(candidate(chat("Hi"))).split("\n")[1:] == [
        f"recorded 2026-11-20T10:00:00Z at commit 31c3f4c0aa by {NODE}"
    ]
    assert describe(bare, [Difference("body$.n", "added", "1", "")]).split("\n") == [
        "cassettes/triage/chat-gpt-5-0a.json (not played yet)",
        "body$.n: only asked: 1",
    ]
