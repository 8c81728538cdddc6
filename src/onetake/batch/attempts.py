"""What a batch's ledger of intents holds: runs, the attempts of each, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum


class State(IntEnum):
    """How far an attempt came."""

    OPEN = 0
    """Nothing is known but that it was to be sent."""
    ANSWERED = 1
    """An answer, or a fault, came; its reply is not known to be stored."""
    STORED = 2
    UNSTORED = 3
    """It ended with nothing to store."""
    LOST = 4
    """It may have been billed, and no reply of it is stored: its run was killed, or no whole answer came in time."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What an attempt took.

    Args:
        input: Tokens of the request, as the provider counts them; None where it does not.
        output: Tokens of the reply; None likewise.
        cost: US dollars; None where no price is known.
    """

    input: int | None = None
    output: int | None = None
    cost: Decimal | None = None


NOTHING = Spent()
"""What an attempt took that ended before anything was counted."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run.

    Args:
        id: Its number, from 1.
        began: Seconds since 1970.
        ended: Likewise; None for one that is under way, or was killed.
        job_digest: Of the job, see `Job.digest`.
        input_digest: SHA-256 of the input's bytes.
        job_file: The job's; empty for one that Python code made.
        input_file: `-` for standard input.
        output_file: The output's.
        store: Where the replies are.
        why: Why it stopped before its end; else empty.
        exit_code: What it ended with; None as in *ended*.
    """

    id: int
    began: float
    ended: float | None
    job_digest: str
    input_digest: str
    job_file: str
    input_file: str
    output_file: str
    store: str
    why: str
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class Intent:
    """An attempt of a run that was killed, of which nobody knows yet what came.

    Args:
        id: The attempt's number.
        run: The run's.
        key: The request's key.
        line: The record's number.
        at: When it was to be sent, seconds since 1970.
        state: `OPEN` or `ANSWERED`.
    """

    id: int
    run: int
    key: str
    line: int
    at: float
    state: State


@dataclass(frozen=True, slots=True)
class Totals:
    """What attempts add up to.

    Args:
        attempts: How many there were.
        stored: Of these, those whose reply was stored.
        lost: Those that may have been billed and left no reply: of killed runs, timed out, or broken off.
        unsettled: Those of which it is not known yet: in flight, or of a killed run that was not settled.
        classes: How many came to what, by class.
        input: Tokens of requests.
        output: Tokens of replies.
        cost: US dollars of all attempts whose price is known, exact.
        unpriced: Attempts that took tokens and have no known price.
    """

    attempts: int = 0
    stored: int = 0
    lost: int = 0
    unsettled: int = 0
    classes: dict[str, int] = field(default_factory=dict)
    input: int = 0
    output: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of the intents of killed runs.

    Args:
        stored: Those whose reply is stored.
        lost: Those that may have been billed without a stored reply.
    """

    stored: int
    lost: int
