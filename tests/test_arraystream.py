import json

import pytest

from onetake.arraystream import Elements, starts_array
from onetake.events import ARRAY, Splitter, events, framing
from onetake.model import Cut, Request, Response
from onetake.streams import Ending, Watch
from onetake.testing.provider import gemini_stream

JSON = (("content-type", "application/json; charset=UTF-8"),)
URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent"
BODY = (
    b'[{\n  "candidates": [{"content": {"parts": [{"text": "}]\\"[{\\\\"}]}}]\n}\n'
    b',\r\n{\n  "candidates": [{"content": {"parts": [{"text": "\xe4\xba\xac"}]}, "finishReason": "STOP"}]\n}\n]\n'
)


def split(chunks):
    splitter = Splitter(ARRAY)
    found = [event for chunk in chunks for event in splitter.feed(chunk)]
    return found + splitter.close(), splitter.rest


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
def test_any_chunk_borders_give_the_same_events(size):
    found, rest = split([BODY[at : at + size] for at in range(0, len(BODY), size)])
    assert [json.loads(event.data)["candidates"][0]["content"]["parts"][0]["text"] for event in found] == [
        '}]"[{\\',
        "京",
    ]
    assert b"".join(event.raw for event in found) + rest == BODY
    assert rest == b"\n]\n"
    assert found[1].raw.startswith(b"\n,\r\n{")


def test_an_element_comes_with_its_last_byte():
    splitter = Splitter(ARRAY)
    end = BODY.index(b"\n,")
    assert splitter.feed(BODY[: end - 1]) == []
    assert len(splitter.feed(BODY[end - 1 : end])) == 1


def test_elements_of_other_kinds_and_what_is_no_json():
    assert Elements().feed(b"[1, [2], {}, null]") == [(4, 7), (9, 11)]
    assert Elements().feed(b"]]}}[[[1]]]\\") == [(5, 10)]
    assert Elements().feed(b'["{", {"a": "\\\\"}]') == [(6, 17)]


@pytest.mark.parametrize(
    "body",
    [
        b'[{"candidates": []}]',
        b' [ {\r\n "promptFeedback" : {}}]',
        b'[{"usageMetadata": {',
        b'[{"modelVersion":"x"}]',
    ],
)
def test_what_starts_with_a_field_of_gemini_is_a_stream(body):
    assert starts_array(body)
    assert framing(JSON, body) == ARRAY


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"[{",
        b'[{"candidat',
        b'[{"embedding": [0.1]}]',
        b'[{"error": {"code": 400}}]',
        b'[[{"candidates": 1}]]',
        b'{"candidates": []}',
        b'["candidates"]',
    ],
)
def test_an_ordinary_array_is_no_stream(body):
    assert framing(JSON, body) is None
    assert events(Response(200, JSON, body)) == []


def test_an_array_that_is_still_compressed_is_no_stream():
    assert framing((*JSON, ("content-encoding", "gzip")), b"\x1f\x8b\x08") is None


def watch(*chunks):
    watching = Watch(Request("POST", URL), 200, JSON)
    for chunk in chunks:
        watching.feed(chunk)
    return watching


def test_a_stream_is_complete_with_its_finish_reason():
    pieces = gemini_stream("one two", array=True).pieces
    assert not watch(*pieces[:-2]).terminal
    seen = watch(*pieces[:-1])
    assert (seen.terminal, seen.complete) == (True, True)
    assert seen.finish(Ending.LEFT).cut is Cut.NO


def test_a_stream_without_it_is_cut_or_left():
    cut = gemini_stream("one two three", array=True, ending="cut")
    assert watch(*cut.pieces).finish(Ending.END).cut is Cut.PROVIDER
    assert watch(*cut.pieces).finish(Ending.LEFT).cut is Cut.LEFT
    assert watch(b'[{"a": 1}]').finish(Ending.END).cut is Cut.NO, "an array that is no stream is whole"
