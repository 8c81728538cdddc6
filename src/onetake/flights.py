"""The same request, asked by several processes at once: one of them asks, and the others wait for its answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from onetake import forking
from onetake.errors import StoreError
from onetake.steps import Live, Replay, Wait

_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.1


class Names(Protocol):
    """Names that one process of this machine holds at a time, freed when it ends."""

    def take(self, name: str) -> bool:
        """Hold a name; False where it is held."""

    def free(self, name: str) -> None:
        """Let go of a name."""

    def is_held(self, name: str) -> bool:
        """Tell whether a name is held."""


class Flights:
    """The keys that this session asks just now, as other processes see them.

    Args:
        names: Opens the keys that are asked by all who share the cassette; None where nobody else gets this session's
            answers.
    """

    def __init__(self, names: Callable[[], Names] | None) -> None:
        self._open = names
        self._names: Names | None = None
        self._mine: set[str] = set()
        self._awaited: dict[str, Future[None]] = {}
        self._lock = forking.Lock()
        forking.remember(self)

    def renew(self) -> None:
        """Begin anew in a forked child: what is under way is the parent's."""
        self._mine, self._awaited = set(), {}

    def alone(self, call: Live, look: Callable[[], Replay | Live]) -> Replay | Live | Wait:
        """Let a call go out, unless another process asks the same, or has done so since this one looked.

        Args:
            call: The call; `end` follows once it is over.
            look: Looks into the cassette again.
        """
        if self._open is None:
            return call
        try:
            taken = self._take(call.asked.key)
        except (
            StoreError
        ):  # where no lock file can be written, both ask, and the answer that is stored first serves both
            return call
        if not taken:
            return Wait(self._awaiting(call.asked.key)) if call.flow.may_wait else call
        step = look()
        return step if isinstance(step, Replay) else call

    def _take(self, key: str) -> bool:
        with self._lock.held:
            if self._names is None and self._open is not None:
                self._names = self._open()
            if self._names is None or not self._names.take(key):
                return False
            self._mine.add(key)
            return True

    def _awaiting(self, key: str) -> Future[None]:
        """Return what is done when the process that asks a key has its answer, or none."""
        with self._lock.held:
            if key not in self._awaited:
                self._awaited[key] = Future()
                threading.Thread(target=self._watch, args=(key,), name="onetake", daemon=True).start()
            return self._awaited[key]

    def end(self, key: str) -> None:
        """Let go of a key: its answer is stored, or there is none."""
        with self._lock.held:
            if self._names is not None and key in self._mine:
                self._mine.remove(key)
                self._names.free(key)

    def end_all(self) -> None:
        """Let go of all: the session has ended, and what still comes is not waited for."""
        for key in list(self._mine):
            self.end(key)

    def _watch(self, key: str) -> None:
        pause = _PAUSE_S
        while self._names is not None and self._names.is_held(key):
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        with self._lock.held:
            future = self._awaited.pop(key, None)
        if future is not None and not future.done():
            future.set_result(None)
