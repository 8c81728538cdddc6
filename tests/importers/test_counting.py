"""What vcrpy's default matching makes of a file."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onetake.importers.counting import SAME_REQUEST, Groups, by_request, groups_of, identity, notes_of
from onetake.importers.reading import Interaction
from onetake.model import Request, Response

URL = "https://api.openai.com/v1/chat/completions"
JSON = (("content-type", "application/json"),)


def one(asked, said="ok", *, status=200, number=0, **marks):
    body = json.dumps({"messages": [asked]}).encode()
    choices = [{"message": {"content": said}, "finish_reason": "stop"}]
    answer = json.dumps({"choices": choices, **marks}).encode()
    return Interaction(number, Request("POST", URL, JSON, body), Response(status, JSON, answer), "", False)


def test_bodies_and_repeats_are_counted():
    found = [one("a"), one("b"), one("a", "other"), one("c"), one("c"), one("d"), one("d", status=401)]
    assert groups_of(by_request(found)) == Groups(distinct=4, url_only=1, repeated=3, other_answers=2, other_statuses=1)


@pytest.mark.parametrize("url", [f"{URL}?beta=", URL.replace(".com", ".com:443")])
def test_urls_that_vcrpy_takes_for_one_are_one(url):
    def at(found, place):
        return replace(found, request=replace(found.request, url=place))

    assert groups_of(by_request([one("a"), at(one("b"), url)])).url_only == 1
    assert groups_of(by_request([one("a"), at(one("a"), url)])).url_only == 0
    assert groups_of(by_request([one("a"), at(one("b"), f"{URL}?beta=1")])).url_only == 0


def test_ids_and_times_make_no_other_answer():
    found = [one("a", id="1", created=1, usage={"n": 1}), one("a", id="2", created=2, usage={"n": 2})]
    assert groups_of(by_request(found)) == Groups(distinct=1, repeated=1)


def test_of_what_no_dialect_reads_the_bytes_count_without_ids():
    def get(body):
        return Interaction(0, Request("GET", "https://h/jobs/1"), Response(200, JSON, body), "", False)

    same = [get(b'{"id": "1", "s": "x"}'), get(b'{"id": "2", "s": "x"}')]
    other = [get(b'{"id": "1", "s": "running"}'), get(b'{"id": "1", "s": "done"}')]
    assert [groups_of(by_request(group)).other_answers for group in (same, other)] == [0, 1]


def test_what_has_no_body_or_cannot_be_read_is_left_out():
    lost = replace(one("a"), bodyless=True)
    broken = replace(one("a"), request=None, problem="x")
    assert groups_of(by_request([lost, lost, broken])) == Groups()
    assert groups_of(by_request([replace(one("a"), response=None, problem="x")])) == Groups(distinct=1)


def test_spaces_and_headers_make_no_other_request():
    asked = one("a").request
    spaced = replace(asked, body=json.dumps(json.loads(asked.body), indent=2).encode(), headers=(*JSON, ("x", "y")))
    assert identity(asked) == identity(spaced)
    assert identity(asked) != identity(replace(asked, body=b"{}"))
    assert identity(asked) != identity(replace(asked, url=f"{URL}?a=b"))


def test_groups_of_several_files_add_up():
    assert Groups(1, 2, 3, 4, 5, 6) + Groups(10, 20, 30, 40, 50, 60) == Groups(11, 22, 33, 44, 55, 66)


def test_another_status_of_the_same_request_is_noted_at_both():
    found = [one("a", status=401, number=0), one("a", number=1), one("b", number=2), one("a", number=3)]
    assert notes_of(by_request(found)) == {
        0: [f"{SAME_REQUEST} 200 (position 1)"],
        1: [f"{SAME_REQUEST} 401 (position 0)"],
        3: [f"{SAME_REQUEST} 401 (position 0)"],
    }


@pytest.mark.parametrize("status", [200, 404])
def test_one_status_needs_no_note(status):
    assert notes_of(by_request([one("a", status=status), one("a", status=status)])) == {}


def test_urls_that_differ_only_in_credentials_are_one_request_and_noted_where_their_answers_differ():
    def get(number, token, said):
        url = f"https://h/items?token={token}&n=1"
        return Interaction(number, Request("GET", url), Response(200, JSON, said), "", False)

    found = by_request([get(0, "one", b'{"a": 1}'), get(1, "two", b'{"a": 2}'), get(2, "one", b'{"a": 1}')])
    assert groups_of(found) == Groups(distinct=1, repeated=1, other_answers=1, only_credentials=1)
    note = "its URL differs from that of position {} only in token: they have one key"
    assert notes_of(found) == {0: [note.format(1)], 1: [note.format(0)], 2: [note.format(1)]}
    same = by_request([get(0, "one", b"{}"), get(1, "two", b"{}")])
    assert (groups_of(same).only_credentials, notes_of(same)) == (0, {})
    plain = [replace(get(n, "x", b"%d" % n), request=Request("GET", f"https://h/?key={'ab'[n]}")) for n in range(2)]
    assert groups_of(by_request(plain)) == Groups(distinct=2)


@pytest.mark.parametrize(
    ("urls", "names"),
    [
        (["https://alice:p@h/me", "https://bob:p@h/me"], "userinfo"),
        (["https://h/me?token=a&token=z", "https://h/me?token=b&token=z"], "token"),
        (["https://h/me?authToken=a", "https://h/me?authToken=b"], "authtoken"),
    ],
)
def test_two_accounts_in_the_url_are_told_apart_by_nothing_but_credentials(urls, names):
    found = by_request(
        Interaction(number, Request("GET", url), Response(200, JSON, b'{"a": %d}' % number), "", False)
        for number, url in enumerate(urls)
    )
    assert groups_of(found) == Groups(distinct=1, repeated=1, other_answers=1, only_credentials=1)
    assert notes_of(found)[1] == [f"its URL differs from that of position 0 only in {names}: they have one key"]
