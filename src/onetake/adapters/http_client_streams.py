"""The live bodies that http.client hands to its callers, watched as they pass."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from functools import cache
from http.client import HTTPResponse, IncompleteRead
from typing import Any

from onetake.adapters.http_client_wire import Chunked
from onetake.bodies import broken_by
from onetake.model import Cut
from onetake.passage import Passage
from onetake.streams import Ending


class Passing:
    """A response's file that passes a live body on as it is read, and has it judged at its end.

    Below the response, as every way to read one, iterating included, comes down to this file, once.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._passage: Passage | None = None
        self._length: int | None = None
        self._chunked: Chunked | None = None
        self._received = 0
        self._ran_dry = False
        self.broke_off = False
        """Whether a chunked body ended before its last chunk, or went on as none, before its answer was whole."""
        self._response: Callable[[], Any] = lambda: None

    def watch(self, response: Any, passage: Passage) -> None:
        """Watch from here on: the response has read its head. A body that needs no reading is kept now.

        Args:
            response: What reads this file.
            passage: The call.

        Raises:
            Refusal: There is no body to come, and the answer is a reject or could not be written.
        """
        self._response, self._passage = weakref.ref(response), passage
        self._length = response.length
        self._chunked = Chunked() if response.chunked else None
        if passage.complete or response.length == 0:
            self._end(Ending.END)

    def read(self, size: int | None = -1) -> Any:
        """Read as the file does."""
        data = self._guarded(self._file.read, size)
        self._took(data, short=size is None or size < 0 or len(data) < size)
        return data

    def read1(self, size: int = -1) -> Any:
        """Read as the file does."""
        data = self._guarded(self._file.read1, size)
        self._took(data, short=not data and size != 0)
        return data

    def readinto(self, buffer: Any) -> Any:
        """Read as the file does."""
        count = self._guarded(self._file.readinto, buffer)
        self._took(bytes(buffer[:count]), short=count < len(buffer))
        return count

    def readline(self, limit: int | None = -1) -> Any:
        """Read as the file does."""
        line = self._guarded(self._file.readline, limit)
        unlimited = limit is None or limit < 0
        self._took(line, short=not line.endswith(b"\n") and (unlimited or len(line) < (limit or 0)))
        return line

    def close(self) -> None:
        """Close the file; a body that was not read to its end is left here."""
        passage, ending = self._passage, None
        if passage is not None and not passage.over:
            ending = self._ending(passage)
        try:
            self._file.close()
        except BaseException:
            if passage is not None:
                passage.keep(Ending.INTERRUPTED)
            raise
        if passage is not None and ending is not None:
            passage.keep(ending)

    def forget(self) -> None:
        """End the call of a response that nobody holds any more."""
        passage, self._passage = self._passage, None
        if passage is not None:
            passage.forget()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __del__(self) -> None:
        self.forget()

    def _guarded(self, read: Callable[[Any], Any], argument: Any) -> Any:
        try:
            return read(argument)
        except BaseException as error:
            if self._passage is not None:
                self._passage.keep(broken_by(error))
            raise

    def _took(self, data: bytes, *, short: bool) -> None:
        """Take in what was read; *short* tells that the connection has ended."""
        if self._passage is None or self._passage.over:
            return
        body = data if self._chunked is None else self._chunked.feed(data)
        if body:
            self._received += len(body)
            self._passage.feed(body)
        if self._is_read(short=short):
            self._end(Ending.END)
        elif self._chunked is not None and (short or self._chunked.broken):
            self._end(Ending.FAILED)  # the response raises for it
            came = self._passage.came
            self.broke_off = came is None or came.cut is not Cut.NO
        self._ran_dry = self._ran_dry or short

    def _is_read(self, *, short: bool) -> bool:
        if self._chunked is not None:
            return self._chunked.ended or (short and self._chunked.in_trailer)
        return short if self._length is None else self._received >= self._length

    def _ending(self, passage: Passage) -> Ending:
        if not self._ran_dry:
            return passage.left()
        # A body shorter than declared: `read()` raises for it while it closes this, the other ways end silently.
        return Ending.FAILED if isinstance(sys.exc_info()[1], IncompleteRead) else Ending.END

    def _end(self, ending: Ending) -> None:
        try:
            if self._passage is not None:
                self._passage.keep(ending)
        except BaseException:
            response = self._response()
            if response is not None:
                response.close()  # or its connection would wait for it to be read
            raise


def own(response: Any) -> None:
    """Have a live response tell its file when nobody holds it any more, rather than close it in the collector.

    Args:
        response: http.client's own; one of another class is left as it is.
    """
    if isinstance(response, HTTPResponse):
        response.__class__ = _watched(type(response))


@cache
def _watched(cls: type[HTTPResponse]) -> Any:
    return type(cls.__name__, (_Watched, cls), {"__module__": cls.__module__, "__slots__": ()})


class _Watched:
    """What a live response does otherwise than its class."""

    __slots__ = ()
    fp: Any

    def peek(self, size: int = -1) -> bytes:
        """Look ahead; where a chunked body broke off, say so: the class does not, and lines would end silently.

        Args:
            size: As the class takes it, a hint.

        Raises:
            IncompleteRead: The body ended before its last chunk.
        """
        file = self.fp
        found: bytes = super().peek(size)  # type: ignore[misc]
        if isinstance(file, Passing) and file.broke_off:
            raise IncompleteRead(b"")
        return found

    def __del__(self) -> None:
        # The collector, which may run at any moment and must not block, would close the response and its file.
        if isinstance(self.fp, Passing):
            self.fp.forget()
        super().__del__()  # type: ignore[misc]
