"""A live body on its way to its caller: watched as it passes, judged and kept at its end, however it ends, once."""

from __future__ import annotations

import sys
from contextlib import suppress
from threading import Thread

from onetake import forking, gate, misses
from onetake.engine import Engine
from onetake.errors import OnetakeError, Refusal
from onetake.model import Response
from onetake.steps import Live
from onetake.streams import Ending, Watch


class Passage:
    """One live call from its first byte to its end, for the stream wrappers of the adapters.

    Args:
        engine: Whose call it is.
        call: What `begin` returned.
        watch: The response in passing.
    """

    def __init__(self, engine: Engine, call: Live, watch: Watch) -> None:
        self._engine, self._call, self._watch = engine, call, watch
        self._lock = forking.Lock()
        self._over = False
        self.came: Response | None = None
        """The response as it came, once the call was judged."""
        self.response: Response | None = None
        """The response for the caller: under `repeats="same"` it may be the one that another call added first."""

    @property
    def over(self) -> bool:
        """Whether its end has begun; whatever comes after that changes nothing."""
        return self._over

    def feed(self, chunk: bytes) -> None:
        """Take in the next bytes, as `Watch.feed`."""
        self._call.saw_first_byte()
        self._watch.feed(chunk)

    def keep(self, ending: Ending) -> None:
        """Judge and keep what came. Blocks until it is on disk.

        Args:
            ending: How the reading ended. An interrupted body is kept only if it was complete by then.

        Raises:
            Refusal: The answer is a reject, or could not be written; not where another error is on its way, such as the
                client's own about an encoding that it cannot undo.
        """
        if ending is Ending.INTERRUPTED and not self._watch.complete:
            self.drop()
        if not self._claim():
            return
        try:
            self.came = self._watch.finish(ending)
            judged = self._engine.judge(self._call, self.came)
            raising = ending not in (Ending.FAILED, Ending.INTERRUPTED) and not self._watch.undecodable
            self.response = self._engine.commit(judged, raising=raising)
        finally:
            self._engine.abandon(self._call)

    def drop(self) -> None:
        """End the call without keeping anything: its ordinal is free, and those who wait for it begin again."""
        if self._claim():
            self._engine.abandon(self._call)

    def forget(self) -> None:
        """End the call of a body that nobody holds any more. What had come whole is paid for: it is kept.

        Of the rest nothing can be judged, so it is not, and that is said. Runs in the garbage collector, which must
        neither block nor raise; a thread does what may.
        """
        is_ours = self._call.is_ours and not (self._over or self._call.ended)
        is_whole = is_ours and self._watch.complete
        if not is_whole:
            self.drop()
        if not is_ours:
            return
        try:
            Thread(target=self._keep_quietly if is_whole else self._say_dropped, name="onetake").start()
        except RuntimeError:  # the interpreter is going down
            self.drop()

    def _keep_quietly(self) -> None:
        with suppress(Refusal):  # the ledger has it
            self.keep(Ending.LEFT)

    def _say_dropped(self) -> None:
        judgement = self._engine.judge(self._call, self._watch.finish(Ending.LEFT)).judgement
        if isinstance(judgement, Exception) or judgement.kind is not gate.Kind.PASS:  # of which nothing is ever written
            asked = misses.asked_line(self._call.asked)
            self._engine.ledger.say(
                f"an answer was dropped unread, so it is not recorded: read it to its end, or close it: {asked}"
            )

    def left(self) -> Ending:
        """Say how a body ends that is closed here and now: left by its caller, or interrupted together with it."""
        return Ending.INTERRUPTED if is_interrupted() else Ending.LEFT

    @property
    def complete(self) -> bool:
        """Whether nothing that matters can follow."""
        return self._watch.complete

    def _claim(self) -> bool:
        """Begin the end; True for the first only. A caller cancelled during `keep` closes the body a second time."""
        with self._lock.held:
            claimed, self._over = not self._over, True
        return claimed


def is_interrupted() -> bool:
    """Tell whether a cancellation, Ctrl-C or exit is on its way through the calling code.

    A caller that leaves a stream has read what it wants; one that is torn out of it has not, and what came until then
    depends on the clock. An ordinary error of the caller counts as leaving: it comes again at replay.
    """
    error = sys.exc_info()[1]
    if isinstance(error, GeneratorExit):
        error = error.__context__  # a generator between the caller and the stream is being closed: ask why
    return error is not None and not isinstance(error, Exception | GeneratorExit | OnetakeError)
