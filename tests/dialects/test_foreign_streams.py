"""Streams of others at a path of an API that we know are whole when they end; its own are cut without theirs."""

from pathlib import Path

import pytest

from onetake import dialects, gate
from onetake.model import Cut, Request, Response
from onetake.streams import Ending, Watch
from onetake.testing import provider

SSE = (("content-type", "text/event-stream"),)
LINES = (("content-type", "application/x-ndjson"),)
OWN = {
    "/api/chat": provider.ollama_stream("a b c", ending="cut"),
    "/api/generate": provider.ollama_stream("a b c", generate=True, ending="cut"),
    "/v2/chat": provider.cohere_stream("a b c", ending="cut"),
    "/v1/chat": provider.cohere_v1_stream("a b c", ending="cut"),
    "/v1/conversations": Response(200, SSE, b'event: message.output.delta\ndata: {"content": "a"}\n\n'),
    "/survey/v1/responses": provider.openai_response_stream("a b c", ending="cut"),
    "/todo/completions": provider.openai_completion_stream("a b c", ending="cut"),
    "/v1/audio/transcriptions": provider.openai_transcription_stream("a b c", ending="cut"),
    "/v1/audio/speech": provider.openai_speech_stream(ending="cut"),
    "/v1/images/generations": provider.openai_image_stream(ending="cut"),
}
WITHOUT_STREAMS = ("/v1/files", "/v1/batches", "/x/embeddings", "/v1/embed", "/v1/rerank", "/v1/moderations")
FOREIGN = {
    "events": Response(200, SSE, b'data: {"delta": "he"}\n\ndata: {"delta": "llo"}\n\n'),
    "words": Response(200, SSE, b"data: he\n\ndata: llo\n\n"),
    "lines": Response(200, LINES, b'{"name": "x"}\n{"name": "y"}\n'),
}


def passed(path, response, ended=Ending.END):
    """Let a response pass, and return what the gate says of it."""
    request = Request("POST", "https://app.acme.example" + path, body=b"{}")
    assert dialects.find(request.method, request.url) is not None
    watch = Watch(request, response.status, response.headers)
    watch.feed(response.body)
    came = watch.finish(ended)
    return came.cut, gate.judge(request, came, root=Path()).verdict


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("path", [*OWN, *WITHOUT_STREAMS])
def test_a_stream_without_an_event_of_the_api_is_whole_when_it_ends(path, kind):
    assert passed(path, FOREIGN[kind]) == (Cut.NO, "good")


@pytest.mark.parametrize("path", OWN)
def test_br_063_one_with_an_event_of_the_api_is_cut_without_the_terminal_one(path):
    reply = OWN[path]
    response = Response(200, reply.headers, reply.body)
    assert passed(path, response) == (Cut.PROVIDER, "reject:cut")


@pytest.mark.parametrize("body", [b"", b": hello\n\n", b'data: {"del'])
@pytest.mark.parametrize("path", OWN)
def test_br_063_one_without_any_event_was_cut(path, body):
    assert passed(path, Response(200, SSE, body)) == (Cut.PROVIDER, "reject:cut")


@pytest.mark.parametrize("path", [*OWN, *WITHOUT_STREAMS])
def test_a_foreign_stream_that_breaks_off_or_is_left_is_so(path):
    assert passed(path, FOREIGN["events"], Ending.FAILED) == (Cut.PROVIDER, "reject:cut")
    cut, verdict = passed(path, FOREIGN["events"], Ending.LEFT)
    assert (cut, verdict) == (Cut.LEFT, f"left:{len(FOREIGN['events'].body)}")
