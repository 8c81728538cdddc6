"""Live bodies on their way to their callers, as most clients read them: iterated, and closed at the end.

An adapter mixes these into its client's own class of bodies. A client that reads in more ways than one, or from a file,
has bodies of its own, which use the functions here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from onetake import waiting
from onetake.errors import Refusal
from onetake.events import framing
from onetake.model import Headers
from onetake.passage import Passage
from onetake.steps import Live
from onetake.streams import Ending


class Passing:
    """Passes a live body on as it comes, and has it judged at its end.

    Args:
        inner: The client's own body.
        passage: The call.
    """

    def __init__(self, inner: Any, passage: Passage) -> None:
        self._inner, self.passage = inner, passage

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._inner:
                self.passage.feed(chunk)
                yield chunk
        except GeneratorExit:
            raise  # `close` follows, and ends it
        except BaseException as error:
            self.passage.keep(broken_by(error))
            raise
        try:
            self.passage.keep(Ending.END)
        except (Exception, Refusal):
            self._inner.close()  # or the connection would wait for a caller who has had an error instead of an end
            raise

    def close(self) -> None:
        """Let the connection go, then end the call, which may raise."""
        ending = self.passage.left()
        try:
            self._inner.close()
        except BaseException:
            self.passage.keep(Ending.INTERRUPTED)
            raise
        self.passage.keep(ending)

    def __del__(self) -> None:
        self.passage.forget()


class AsyncPassing:
    """Passes a live body on as `Passing` does, awaited, and has it judged off the loop."""

    def __init__(self, inner: Any, passage: Passage) -> None:
        self._inner, self.passage = inner, passage

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self.passage.feed(chunk)
                yield chunk
        except GeneratorExit:
            raise  # `aclose` follows, and ends it
        except BaseException as error:
            await ended(self.passage, broken_by(error))
            raise
        try:
            await ended(self.passage, Ending.END)
        except (Exception, Refusal):
            await self._inner.aclose()
            raise

    async def aclose(self) -> None:
        """Let the connection go, then end the call, which may raise."""
        ending = self.passage.left()
        try:
            await self._inner.aclose()
        except BaseException:
            await ended(self.passage, Ending.INTERRUPTED)
            raise
        await ended(self.passage, ending)

    def __del__(self) -> None:
        self.passage.forget()


async def ended(passage: Passage, ending: Ending) -> None:
    """Have what came judged and kept as `Passage.keep` does, off the loop, if that was not done yet.

    Args:
        passage: The call.
        ending: How the reading ended. An interrupted body that is not complete ends here and now, without a thread: its
            caller is being cancelled.

    Raises:
        Refusal: The answer is a reject, or could not be written.
    """
    if ending is Ending.INTERRUPTED and not passage.complete:
        passage.drop()
    elif not passage.over:
        await waiting.in_thread(passage.keep, ending)


def broken_by(error: BaseException) -> Ending:
    """Say how a body ends whose reading raised: it failed, or its caller is being cancelled."""
    return Ending.FAILED if isinstance(error, Exception) else Ending.INTERRUPTED


def reads_whole(call: Live, status: int, headers: Headers) -> bool:
    """Tell whether a body is read before its caller sees it: where another call's answer may take its place.

    Never a stream, nor what is no answer (the body of a 101 is a web socket and has no end).

    Args:
        call: What `begin` returned.
        status: The live response's, 100 to 599.
        headers: The live response's.
    """
    return call.shared and 200 <= status < 300 and framing(headers, b"") is None
