"""The suite must find a dialect that is wrong: each row breaks one thing and names the test that says so."""

import json
from dataclasses import replace

import pytest

from onetake.dialects import Reading
from onetake.dialects.openai_chat import OpenAIChat
from onetake.model import Answer, Choice, Request, Response
from onetake.testing.dialects import DialectCase, DialectConformance

URL = "https://api.example/chat/completions"
CASE = DialectCase(
    "text",
    Request("POST", URL, body=b'{"model": "m"}'),
    Reading(Answer((Choice("hi", finish="length"),))),
    whole=Response(200, (), b'{"choices": [{"message": {"content": "hi"}, "finish_reason": "length"}]}'),
    stream=Response(
        200,
        (("content-type", "text/event-stream"),),
        b'data: {"choices": [{"delta": {"content": "h"}}]}\n\n'
        b'data: {"choices": [{"delta": {"content": "i"}, "finish_reason": "length"}]}\n\n'
        b"data: [DONE]\n\n",
    ),
    model_asked="m",
    length=True,
)


class Suite(DialectConformance):
    __test__ = False
    dialect = OpenAIChat()
    speaks = (("POST", URL),)
    silent = (("GET", URL),)
    cases = (CASE,)


class SpeaksEverything(OpenAIChat):
    def speaks(self, method, url):
        return True


class NeverEnds(OpenAIChat):
    def is_terminal(self, event):
        return False


class EndsAtTheFinish(OpenAIChat):
    def is_terminal(self, event):
        return "finish_reason" in event.data


class EndsTwice(OpenAIChat):
    def is_terminal(self, event):
        return "finish_reason" in event.data or super().is_terminal(event)


class ForgetsTheFinish(OpenAIChat):
    def read(self, request, response):
        found = super().read(request, response)
        choices = tuple(replace(choice, finish=None) for choice in found.answer.choices) if found.answer else ()
        return replace(found, answer=Answer(choices) if choices else None)


class WaitsForever(OpenAIChat):
    def read(self, request, response):
        found = super().read(request, response)
        return found if found.answer else replace(found, terminal=False)


class Trusts(OpenAIChat):
    def read(self, request, response):
        if b"[" in response.body[:1]:
            raise TypeError("list indices must be integers")
        return super().read(request, response)


class ForgetsTheModel(OpenAIChat):
    def model_asked(self, request):
        return None


class TrustsTheRequest(OpenAIChat):
    def model_asked(self, request):
        return json.loads(request.body)["model"]


class NoLimit(OpenAIChat):
    def is_length(self, choice):
        return False


class Shouts(OpenAIChat):
    name = "OpenAI Chat"


BROKEN = (
    (Shouts, "test_its_label_fits_an_entry", ()),
    (SpeaksEverything, "test_it_speaks_its_api_and_no_other", ()),
    (ForgetsTheModel, "test_it_reads_the_request", (CASE,)),
    (ForgetsTheFinish, "test_it_reads_the_whole_form", (CASE,)),
    (ForgetsTheFinish, "test_it_reads_the_streamed_form", (CASE,)),
    (NeverEnds, "test_it_reads_the_streamed_form", (CASE,)),
    (NoLimit, "test_it_tells_how_the_answer_ended", (CASE,)),
    (EndsTwice, "test_the_terminal_event_is_the_last", (CASE,)),
    (EndsAtTheFinish, "test_no_cut_stream_is_terminal", (CASE,)),
    (WaitsForever, "test_a_cut_body_reads_as_no_stream", (CASE,)),
    (Trusts, "test_odd_bodies_never_raise", (CASE,)),
    (TrustsTheRequest, "test_odd_bodies_never_raise", (CASE,)),
    (Trusts, "test_odd_values_never_raise", (CASE,)),
    (TrustsTheRequest, "test_odd_values_never_raise", (CASE,)),
)


@pytest.mark.parametrize("dialect, test, rows", BROKEN, ids=[f"{row[0].__name__}-{row[1]}" for row in BROKEN])
def test_the_suite_finds_what_is_wrong(dialect, test, rows):
    suite = Suite()
    getattr(suite, test)(*rows)
    suite.dialect = dialect()
    with pytest.raises((AssertionError, TypeError, ValueError)):
        getattr(suite, test)(*rows)


def test_every_test_of_the_suite_is_broken_once():
    tests = {name for name in vars(DialectConformance) if name.startswith("test_")}
    assert tests == {test for _, test, _ in BROKEN}


def test_rows_go_to_the_tests_that_name_them():
    class Metafunc:
        def __init__(self, *names):
            self.fixturenames, self.rows = names, {}

        def parametrize(self, name, rows, ids):
            self.rows[name] = list(zip(ids, rows, strict=True))

    suite = Suite()
    streamless = replace(CASE, name="no stream", stream=None)
    suite.cases = (CASE, streamless)
    asked = [Metafunc("case"), Metafunc("whole"), Metafunc("stream"), Metafunc("tmp_path")]
    for metafunc in asked:
        suite.pytest_generate_tests(metafunc)
    both = [("text", CASE), ("no stream", streamless)]
    assert [each.rows for each in asked] == [{"case": both}, {"whole": both}, {"stream": [("text", CASE)]}, {}]


def test_what_comes_behind_the_terminal_event_must_be_said():
    suite, late = Suite(), replace(CASE, after=1)
    suite.dialect = EndsAtTheFinish()
    suite.test_the_terminal_event_is_the_last(late)
    suite.test_no_cut_stream_is_terminal(late)
    with pytest.raises(AssertionError):
        suite.test_the_terminal_event_is_the_last(CASE)
    suite.dialect = OpenAIChat()
    with pytest.raises(AssertionError):
        suite.test_the_terminal_event_is_the_last(late)
