"""What lies in one cassette."""

from __future__ import annotations

import gzip

import pytest

from onetake.doctor.cassettes import Recorded
from onetake.importers.reading import read
from onetake.vcrwords.matching import DEFAULT


@pytest.fixture
def recorded(tmp_path, cassette):
    """Return a function that writes a cassette and reads it as recorded, compared by vcrpy's default."""

    def make(*interactions, words=DEFAULT):
        path = tmp_path / "a.yaml"
        path.write_text(cassette(*interactions), encoding="utf-8")
        return Recorded(read(path), words)

    return make


def test_different_bodies_on_one_url_are_a_group(recorded, interaction):
    (group,) = recorded(interaction("a"), interaction("a"), interaction("b", "{}")).groups
    assert (group.asked, group.bodies, group.shapes, group.position) == (
        "POST https://api.openai.com/v1/chat/completions",
        2,
        ("text", "JSON"),
        2,
    )


def test_json_that_is_only_spelled_otherwise_is_one_body(recorded, interaction):
    found = recorded(interaction(body='{"a": 1, "b": 2}'), interaction(body='{"b":2,"a":1.0}'))
    assert (found.groups, found.repeats, found.has_crowds) == ((), (), True)


def test_what_is_compared_says_what_one_place_is(recorded, interaction):
    url = "https://api.openai.com/v1/chat/completions"
    calls = (
        interaction("a", url=f"{url}?b=1&a=2"),
        interaction("b", url=f"{url}?a=2&b=1"),
        interaction("c", url=f"{url}?a=3"),
    )
    assert [group.bodies for group in recorded(*calls).groups] == [2]
    assert [group.bodies for group in recorded(*calls, words=("method", "path")).groups] == [3]
    assert recorded(*calls, words=("uri",)).groups == ()


@pytest.mark.parametrize("more", ["?beta=", ":443", "?b=2&a=1"])
def test_urls_that_vcrpy_takes_for_one_are_one_place(recorded, interaction, more):
    host = "https://api.openai.com"
    other = f"{host}:443/v1" if more == ":443" else f"{host}/v1{more}"
    calls = interaction("a", url=f"{host}/v1{'?a=1&b=2' if '&' in more else ''}"), interaction("b", url=other)
    assert [group.bodies for group in recorded(*calls).groups] == [2]
    assert recorded(*calls, words=("uri",)).groups == ()


def test_answers_to_refused_requests_have_no_shape_of_their_own(recorded, interaction):
    (group,) = recorded(interaction("a"), interaction("b", status=429)).groups
    assert group.shapes == ("text",)


def test_one_request_with_different_answers_is_a_repeat(recorded, interaction):
    calls = interaction("a", "x"), interaction("a", "x"), interaction("a", "y"), interaction("a", status=401)
    (repeat,) = recorded(*calls).repeats
    assert (repeat.times, repeat.answers, repeat.statuses, repeat.position) == (4, 3, (200, 401), 2)
    assert recorded(calls[0], calls[1]).repeats == ()


def test_telemetry_is_left_out(recorded, interaction):
    url = "https://us.i.posthog.com/batch/"
    assert recorded(interaction("a", url=url), interaction("b", url=url)).groups == ()


def test_credentials_of_a_url_are_not_told(recorded, interaction):
    url = "https://x.example/v1?api_key=a8f3k29dk20dk39dk2"
    (group,) = recorded(interaction("a", url=url), interaction("b", url=url)).groups
    assert group.asked == "POST https://x.example/v1"


@pytest.mark.parametrize(
    ("headers", "kinds"),
    [
        ({"authorization": ["Bearer a8f3k29dk20dk39dk2"]}, {"credential": (1, 0)}),
        ({"authorization": ["Bearer sk-proj-abcdefghij0123456789ABCDEFGHIJ"]}, {"credential": (1, 0)}),
        ({"authorization": ["**REDACTED**"]}, {}),
        ({"authorization": ["Bearer test_openai_api_key"]}, {}),
        ({"x-api-key": ["XXXXXXXXXXXX"]}, {}),
        ({"cookie": ["session=a8f3k29dk20dk39dk2"]}, {}),
        ({"openai-organization": ["org-abcdefghij0123456789abcd"]}, {}),
    ],
)
def test_secrets_are_counted_by_kind_and_stand_ins_are_none(recorded, interaction, headers, kinds):
    assert recorded(interaction(headers=headers)).secrets == kinds


def test_secrets_in_bodies_count_and_those_taken_out_do_not(recorded, interaction):
    calls = interaction(body='{"api_key": "FILTERED"}'), interaction(body='{"api_key": "a8f3k29dk20dk39dk2"}')
    assert recorded(*calls).secrets == {"secret": (1, 1)}


@pytest.mark.parametrize("indent", [0, 2])
def test_the_line_of_an_interaction(recorded, interaction, tmp_path, indent):
    found = recorded(interaction("a"), interaction("b"), interaction("c"))
    text = found.path.read_text().replace("\n- request", "\n" + " " * indent + "- request")
    found.path.write_text(text, encoding="utf-8")
    lines = text.splitlines()
    assert [lines[found.line(position) - 1].strip() for position in range(3)] == ["- request:"] * 3
    assert len({found.line(position) for position in range(3)}) == 3
    found.path.write_bytes(gzip.compress(text.encode()))
    assert found.line(2) == 1


def test_python_objects_are_found_with_their_line(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(
        "interactions:\n- request:\n    body: null\n    headers:\n      !!python/object/new:x.istr\n      - a: [b]\n"
        "    method: GET\n    uri: https://x.example/\n  response:\n    body: {string: ''}\n    headers: {}\n"
        "    status: {code: 200, message: OK}\nversion: 1\n",
        encoding="utf-8",
    )
    found = Recorded(read(path), DEFAULT)
    assert (found.objects, found.line_of_object()) == ((0,), 5)


def test_requests_without_a_body_are_named_and_no_group(recorded, interaction):
    calls = [interaction(str(number)) for number in range(2)]
    for one in calls:
        one["request"]["body"] = None
    found = recorded(*calls)
    assert (found.bodyless, found.groups, found.repeats) == ((0, 1), (), ())
