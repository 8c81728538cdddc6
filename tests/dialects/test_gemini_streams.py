"""Where a stream of Gemini ends: with the last of its candidates."""

import json

import pytest

from onetake.dialects.gemini import DIALECT
from onetake.gate import judge
from onetake.model import Answer, Choice, Cut, Request, Response
from onetake.streams import Ending, Watch

HOST = "https://generativelanguage.googleapis.com/v1beta"
URL = f"{HOST}/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
JSON = (("content-type", "application/json; charset=UTF-8"),)
STREAM = (("content-type", "text/event-stream"),)
BLOCKED = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}


def asking(url=URL, **more):
    return Request("POST", url, body=json.dumps({"contents": [{"parts": [{"text": "hi"}]}], **more}).encode())


def stream(*chunks):
    return Response(200, STREAM, "".join(f"data: {json.dumps(one)}\r\n\r\n" for one in chunks).encode())


def _watching(request, *chunks):
    watched = Watch(request, 200, STREAM)
    for each in chunks:
        watched.feed(each)
    return watched


def _one(text, index, finish=None):
    candidate = {"content": {"parts": [{"text": text}]}, "index": index}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})]}


@pytest.mark.parametrize("config", [{"candidateCount": 2}, {"candidate_count": 2}])
def test_a_stream_ends_with_the_last_of_the_candidates_that_were_asked_for(config):
    two = asking(generationConfig=config)
    chunks = (_one("a", 0, "STOP"), _one("b", 1), _one("c", 1, "STOP"))
    ends = [DIALECT.read(two, stream(*chunks[:count])).terminal for count in (1, 2, 3)]
    assert ends == [False, False, True]
    assert DIALECT.read(two, stream(*chunks)).answer == Answer(
        (Choice("a", finish="STOP"), Choice("bc", finish="STOP"))
    )


def test_candidates_that_nobody_counted_have_all_to_end():
    assert not DIALECT.read(asking(), stream(_one("a", 0), _one("b", 1, "STOP"))).terminal
    assert DIALECT.read(asking(), stream(_one("a", 0), _one("b", 1, "STOP"), _one("", 0, "STOP"))).terminal


def test_a_blocked_prompt_ends_a_stream_of_several():
    assert DIALECT.read(asking(generationConfig={"candidateCount": 2}), stream(BLOCKED)).terminal


@pytest.mark.parametrize("kind", [JSON, STREAM])
@pytest.mark.parametrize("body", [b"[]", b"[\r\n]\n"])
def test_an_array_without_an_element_is_a_cut_stream(tmp_path, body, kind):
    asked = asking(f"{HOST}/models/g:streamGenerateContent")
    assert judge(asked, Response(200, kind, body), root=tmp_path).verdict == "reject:cut"
    assert judge(asking(f"{HOST}/models/g:generateContent"), Response(200, JSON, body), root=tmp_path).verdict == "good"


def test_a_stream_of_two_candidates_is_complete_with_the_last():
    url = "https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent?alt=sse"
    asked = Request("POST", url, body=b'{"generationConfig": {"candidateCount": 2}}')
    ends = [
        b'data: {"candidates": [{"index": %d, "content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}]}\n\n' % n
        for n in (0, 1)
    ]
    watched = _watching(asked, ends[0])
    assert not watched.complete
    assert _watching(asked, ends[0]).finish(Ending.FAILED).cut is Cut.PROVIDER
    assert _watching(asked, ends[0]).finish(Ending.END).cut is Cut.PROVIDER
    assert _watching(asked, ends[0]).finish(Ending.LEFT).cut is Cut.LEFT
    watched.feed(ends[1])
    assert watched.complete and watched.finish(Ending.FAILED).cut is Cut.NO
