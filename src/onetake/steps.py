"""What the engine and the adapters say to each other: policy, steps, and the calls that are under way."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from onetake.contract import Contract
from onetake.decide import Action
from onetake.gate import Judgement
from onetake.key import Keyer
from onetake.model import Entry, Mode, Repeats, Request, Response
from onetake.preparing import Preparing
from onetake.scrub import Scrubber, Scrubbing
from onetake.settings import ContractSettings, MaxAge
from onetake.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Policy:
    """What one session goes by; all of it is fixed while the session is open."""

    mode: Mode
    root: Path
    repeats: Repeats = Repeats.SEQUENCE
    match: str = "whole"
    """What of a request is compared: `whole`, or `legacy` for imported entries, by method and URL."""
    contracts: tuple[Contract, ...] = ()
    declared: Mapping[str, ContractSettings] = field(default_factory=dict)
    """The contracts that the settings declare, for decorated functions that name theirs."""
    keep: tuple[str, ...] = ()
    on_reject: str = "raise"
    keyer: Keyer = field(default_factory=Keyer)
    scrubber: Scrubber = field(default_factory=Scrubber)
    traffic: Traffic = field(default_factory=Traffic)
    max_age: MaxAge | None = None
    node: str = ""
    """The test as its runner is told it from the current folder, for the remedies; empty outside tests."""
    test: str = ""
    """The test's id, for the provenance and the remedies; empty outside tests."""
    mode_by: str = ""
    """Who said the mode: as `modes.said_by` tells it, or one of `modes.VCR_PLACES`; empty where nobody did."""
    is_program: bool = False
    """True for the session of a whole program, whose cassette is named from outside."""
    prefix: str = "tool.onetake."
    """What stands before the name of a table in the project's settings, for the remedies."""
    unrecorded: str = ""
    """Why this process records nothing although its session does: `cannot judge the contract T`; else empty."""
    preparing: Preparing = field(default_factory=Preparing)
    """What the suite does to requests and answers; child processes know nothing of it."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Who asks: a caller never waits for a call that it leads itself, nor blocks a thread that runs an event loop.

    `who` is the thread's identity, or the task; `may_wait` is False for a blocking call on a thread that runs a loop.
    """

    who: object
    may_wait: bool = True


@dataclass(slots=True)
class Asked:
    """A request's identity: its key, and the days that its key counted as today."""

    request: Request
    """As it left the client."""
    contracts: tuple[Contract, ...]
    """What its answer must satisfy: the session's contracts, or those of the decorated function."""
    key: str
    days: tuple[date, ...] | None
    keyed: Request
    """The form that the key is of: the request as it came, or scrubbed."""
    scrubber: Scrubber
    _scrub: tuple[Scrubbing, Request] | None = None

    @property
    def scrubbed(self) -> Request:
        """The request without its secrets; scrubbed once, when it is first asked for: a hit needs none."""
        return self._scrubbed_once()[1]

    @property
    def scrubbing(self) -> Scrubbing:
        """The scrubbing of this interaction, its request behind it."""
        return self._scrubbed_once()[0]

    def _scrubbed_once(self) -> tuple[Scrubbing, Request]:
        if self._scrub is None:
            scrubbing = self.scrubber.begin()
            self._scrub = scrubbing, scrubbing.request(self.request)
        return self._scrub


@dataclass(frozen=True, slots=True)
class Replay:
    """Answer from the cassette."""

    entry: Entry

    @property
    def response(self) -> Response:
        """The stored response."""
        return self.entry.response


@dataclass(frozen=True, slots=True)
class Wait:
    """Another caller asks the same just now: wait for the future, then begin again."""

    future: Future[None]


@dataclass(slots=True, eq=False)
class Live:
    """A call that goes to the provider; it ends in `commit` or `abandon`, once, in the process where it began."""

    asked: Asked
    action: Action
    ordinal: int
    flow: Flow
    client: str
    shared: bool
    """True under `repeats="same"`: a caller whose call lost a race gets the answer that was added first."""
    started: float = field(default_factory=time.monotonic)
    first_byte: float | None = None
    ended: bool = False
    _process: int = field(default_factory=os.getpid)

    @property
    def is_ours(self) -> bool:
        """Whether it began in this process: the copy that a forked child has is not a second call."""
        return self._process == os.getpid()

    def saw_first_byte(self) -> None:
        """Note when the answer began to arrive."""
        if self.first_byte is None:
            self.first_byte = time.monotonic()


@dataclass(frozen=True, slots=True)
class Judged:
    """One live call's response, as it came, and what the gate said of it."""

    call: Live
    response: Response
    judgement: Judgement | Exception
    """The error, where what judges (a contract's own code, a dialect) broke on this response."""
