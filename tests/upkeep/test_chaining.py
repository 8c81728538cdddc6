"""What holds an answer is found before it is recorded again, and marked after."""

from __future__ import annotations

import json

from onetake.model import Request, Response
from onetake.testing.provider import openai_response
from onetake.upkeep.chaining import chained, mark
from onetake.upkeep.mends import Command
from onetake.upkeep.statuses import status

URL = "https://api.openai.com/v1/responses"
JSON = (("content-type", "application/json"),)


def call(asked, said, previous=""):
    body = {"model": "m", "input": asked, **({"previous_response_id": previous} if previous else {})}
    reply = openai_response(said)
    return Request("POST", URL, JSON, json.dumps(body).encode()), Response(200, JSON, b"".join(reply.pieces))


def identity(made):
    return json.loads(made[1].body)["id"]


def talk(folder):
    """Record three turns that go on by ids, and another call; returns the files of the three and the first call."""
    one = call("a", "one")
    two = call("b", "two", identity(one))
    three = call("c", "three", identity(two))
    files = {}
    for path in folder.record(one, two, three, call("d", "one"), contract=None):
        asked = json.loads(folder.load(path).request.body)["input"]
        files[asked] = path
    return [files[name] for name in "abc"], one


def test_what_goes_on_from_an_answer_is_found_in_order(folder):
    (first, second, third), _ = talk(folder)
    assert chained(first, folder.load(first)).holders == (second, third)
    assert chained(second, folder.load(second)).holders == (third,)
    assert chained(third, folder.load(third)).holders == ()


def test_what_holds_an_old_answer_is_marked_and_named_without_git(folder):
    (first, second, third), one = talk(folder)
    chain = chained(first, folder.load(first))
    folder.record((one[0], call("a", "another")[1]), contract=None, mode="all")
    marked = mark([chain])
    assert [(each.path, each.origin, each.why) for each in marked] == [(second, first, ""), (third, first, "")]
    assert folder.load(second).provenance["chained"]["from"] == f"{folder.load(first).key}-0"
    found = status(folder.root).chained
    assert [(each.path, each.origin) for each in found] == [(second, first), (third, first)]
    assert all(isinstance(each.mend, Command) for each in marked)
    assert [each.finding.mend for each in found] == [each.mend for each in marked]


def test_the_same_answer_again_marks_nothing(folder):
    (first, second, _), _ = talk(folder)
    before = second.read_bytes()
    assert mark([chained(first, folder.load(first))]) == []
    assert second.read_bytes() == before


def test_a_mark_counts_for_nothing_once_the_old_answer_is_back(folder):
    (first, _, _), one = talk(folder)
    before = first.read_bytes()
    chain = chained(first, folder.load(first))
    folder.record((one[0], call("a", "another")[1]), contract=None, mode="all")
    mark([chain])
    first.write_bytes(before)
    assert status(folder.root).chained == ()


def test_one_that_is_gone_meanwhile_is_told(folder):
    (first, second, third), one = talk(folder)
    chain = chained(first, folder.load(first))
    folder.record((one[0], call("a", "another")[1]), contract=None, mode="all")
    second.unlink()
    gone, left = mark([chain])
    assert (gone.path, gone.why) == (second, "there is no such file")
    assert (left.path, left.why) == (third, "")
