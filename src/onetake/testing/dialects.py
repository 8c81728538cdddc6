"""The conformance suite of dialects: subclass it, name the dialect, fill the tables.

    class TestMyDialect(DialectConformance):
        dialect = DIALECT
        speaks = (("POST", "https://api.example/v1/ask"),)
        silent = (("GET", "https://api.example/v1/ask"),)
        cases = (DialectCase("one word", request, reading, whole=…, stream=…),)

pytest runs every test of the suite for every row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from onetake.dialects import Dialect, Promise, Reading
from onetake.events import SSE, Event, events, framing
from onetake.eventstream import frames
from onetake.model import Request, Response

if TYPE_CHECKING:
    import pytest

_ODD_BODIES = (
    b"",
    b"null",
    b"[]",
    b"{",
    b"\xff\xfe\x00",
    b"NaN",
    b'{"choices": NaN}',
    b'{"a": 1, "a": 2}',
    b"[" * 100_000,
    b'"\\ud800"',
    b"9" * 5_000,
    b"data:\n\n",
    b"event: error\ndata:\n\n",
    b"data: [1]\n\ndata: {\n\ndata: null\n\n",
    b"data: \xff\n\n",
)
_STREAM_TYPES = ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream")
_ODD_VALUES: tuple[Any, ...] = (None, True, -1, 2.5, "", "{", [], [None], [[{}]], {}, {"a": [1]})


@dataclass(frozen=True, slots=True)
class DialectCase:
    """One answer of an API, in the forms in which it comes.

    Args:
        name: Names the case in the report.
        request: The request that it answers.
        reading: What both forms must give.
        whole: The unstreamed form, if the API has one for this.
        stream: The streamed form of the same answer, if the API has one for this.
        after: How many events come behind the terminal one: the usage, in APIs that send it last.
        promises: The schemas that the request carried.
        model_asked: The model that the request names.
        length: Whether a token limit cut the answer's first choice.
        refusal: Whether the answer's first choice is a refusal.
    """

    name: str
    request: Request
    reading: Reading
    whole: Response | None = None
    stream: Response | None = None
    after: int = 0
    promises: tuple[Promise, ...] = ()
    model_asked: str | None = None
    length: bool = False
    refusal: bool = False


class DialectConformance:
    """What every dialect must do. Subclass it in a test module and set `dialect` and the three tables."""

    dialect: Dialect
    speaks: Sequence[tuple[str, str]]
    """(method, URL) pairs that are of this API."""
    silent: Sequence[tuple[str, str]]
    """(method, URL) pairs that look like it and are not."""
    cases: Sequence[DialectCase]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test for every row of the table that it names."""
        rows = {
            "case": self.cases,
            "whole": [case for case in self.cases if case.whole],
            "stream": [case for case in self.cases if case.stream],
        }
        for name in rows.keys() & set(metafunc.fixturenames):
            metafunc.parametrize(name, rows[name], ids=[case.name for case in rows[name]])

    def test_its_label_fits_an_entry(self) -> None:
        """Entries name their dialect as `name/version`, file names hold its operation."""
        assert re.fullmatch("[a-z0-9-]+", self.dialect.name)
        assert re.fullmatch("[a-z0-9_-]+", self.dialect.operation)
        assert self.dialect.version >= 1

    def test_it_speaks_its_api_and_no_other(self) -> None:
        """Method and path decide."""
        assert [pair for pair in self.speaks if not self.dialect.speaks(*pair)] == []
        assert [pair for pair in self.silent if self.dialect.speaks(*pair)] == []

    def test_it_reads_the_request(self, case: DialectCase) -> None:
        """The model and the schemas that the request carried."""
        assert self.dialect.model_asked(case.request) == case.model_asked
        assert self.dialect.promises(case.request) == case.promises

    def test_it_reads_the_whole_form(self, whole: DialectCase) -> None:
        """Answer, error, model and usage of an unstreamed body."""
        assert self.dialect.read(whole.request, _given(whole.whole)) == whole.reading

    def test_it_reads_the_streamed_form(self, stream: DialectCase) -> None:
        """The same reading from the streamed form, however its lines end and whatever comments it holds."""
        response = _given(stream.stream)
        assert self.dialect.read(stream.request, response) == stream.reading
        if framing(response.headers, response.body) == SSE:
            unix = re.sub(b"\r\n?", b"\n", response.body)
            for body in (unix, unix.replace(b"\n", b"\r\n"), unix.replace(b"\n", b"\r"), b": hello\n\n" + unix):
                assert self.dialect.read(stream.request, replace(response, body=body)) == stream.reading

    def test_it_tells_how_the_answer_ended(self, case: DialectCase) -> None:
        """Cut by a limit, refused, or neither."""
        first = case.reading.answer.choices[:1] if case.reading.answer else ()
        assert any(map(self.dialect.is_length, first)) is case.length
        assert any(map(self.dialect.is_refusal, first)) is case.refusal

    def test_the_terminal_event_is_the_last(self, stream: DialectCase) -> None:
        """Found at the end, nothing behind it but `after`; a stream that an error ends has none."""
        terminal = [self.dialect.is_terminal(event) for event in events(_given(stream.stream))]
        last = len(terminal) - 1 - stream.after
        assert terminal[: last + 1] == [False] * last + [stream.reading.terminal]

    def test_no_cut_stream_is_terminal(self, stream: DialectCase) -> None:
        """Cut at any byte before its terminal event's end, as long as enough is left to show that it is a stream."""
        response = _given(stream.stream)
        behind = [event.raw for event in events(response)][-stream.after :] if stream.after else []
        for end in range(len(response.body.removesuffix(b"".join(behind)).rstrip(b"\r\n"))):
            cut = replace(response, body=response.body[:end])
            terminal = self.dialect.read(stream.request, cut).terminal
            assert not terminal or framing(cut.headers, cut.body) is None, f"terminal after {end} bytes"

    def test_a_cut_body_reads_as_no_stream(self, whole: DialectCase) -> None:
        """Cut anywhere, an unstreamed body gives no answer and never waits for a terminal event."""
        response = _given(whole.whole)
        for end in range(len(response.body.rstrip())):
            cut = replace(response, body=response.body[:end])
            assert self.dialect.read(whole.request, cut) == Reading(), f"read something in {end} bytes"

    def test_odd_bodies_never_raise(self, case: DialectCase) -> None:
        """Bytes of no sense give a reading without an answer; in requests nothing, but a model that the URL names."""
        in_url = self.dialect.model_asked(replace(case.request, body=b""))
        assert in_url in (None, case.model_asked)
        for body in _ODD_BODIES:
            for kind in ("application/json", *_STREAM_TYPES):
                reading = self.dialect.read(case.request, Response(200, (("content-type", kind),), body))
                assert reading.answer is None
            odd = replace(case.request, body=body)
            assert (self.dialect.model_asked(odd), self.dialect.promises(odd)) == (in_url, ())

    def test_odd_values_never_raise(self, case: DialectCase) -> None:
        """Any value of the wrong type anywhere, in the request, the body or an event."""
        for body in _spoilt(case.request.body):
            odd = replace(case.request, body=body)
            assert isinstance(self.dialect.model_asked(odd), str | None)
            assert all(isinstance(promise.schema, dict) for promise in self.dialect.promises(odd))
        for response in _spoilt_responses(case):
            reading = self.dialect.read(case.request, response)
            for choice in reading.answer.choices if reading.answer else ():
                assert isinstance(choice.text, str | None)
                assert all(isinstance(call.name, str) for call in choice.tool_calls)


def _given(response: Response | None) -> Response:
    assert response is not None
    return response


def _spoilt_responses(case: DialectCase) -> Iterator[Response]:
    if case.whole:
        yield from (replace(case.whole, body=body) for body in _spoilt(case.whole.body))
    if case.stream:
        streamed = events(case.stream)
        for number, event in enumerate(streamed):
            before = b"".join(each.raw for each in streamed[:number])
            after = b"".join(each.raw for each in streamed[number + 1 :])
            for data in _spoilt(event.data.encode()):
                yield replace(case.stream, body=before + _saying(event, data) + after)


def _saying(event: Event, data: bytes) -> bytes:
    frame = next(frames(event.raw), None)
    return frame.saying(data).raw if frame else event.raw.replace(event.data.encode(), data)


def _spoilt(body: bytes) -> Iterator[bytes]:
    """Yield a JSON body once for every place and odd value: that value in that place. Nothing for no JSON."""
    try:
        value = json.loads(body)
    except ValueError:
        return
    for path in _paths(value):
        for odd in _ODD_VALUES:
            yield json.dumps(_with(value, path, odd)).encode()


def _paths(value: Any) -> Iterator[tuple[str | int, ...]]:
    yield ()
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from ((key, *path) for path in _paths(inner))


def _with(value: Any, path: tuple[str | int, ...], odd: Any) -> Any:
    if not path:
        return odd
    changed = value.copy()
    changed[path[0]] = _with(value[path[0]], path[1:], odd)
    return changed
