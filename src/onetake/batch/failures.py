"""The classes of rows without an answer, and what helps against each. Light, as the command line names them all."""

from __future__ import annotations

from enum import StrEnum


class Failure(StrEnum):
    """Why a record has no answer."""

    BAD_LINE = "bad-line"
    MISSING_FIELD = "missing-field"
    REFUSED = "refused"
    """The provider refused the request (400, 404, 413, 422)."""
    TRUNCATED = "truncated"
    REFUSAL = "refusal"
    FILTERED = "filtered"
    INVALID = "invalid"
    GAVE_UP = "gave-up"
    """No reply is stored: the calls failed, or were never made."""


FIXES = {
    Failure.BAD_LINE: "mend the line of the input",
    Failure.MISSING_FIELD: "give the record that field, or take it out of the prompt",
    Failure.REFUSED: "read the provider's words: the request breaks a rule of its API",
    Failure.TRUNCATED: "raise params.max_tokens in the job",
    Failure.REFUSAL: "read what the model said; reword the prompt or the record",
    Failure.FILTERED: "reword the prompt or the record",
    Failure.INVALID: "raise `repairs`, or say the schema in the prompt",
    Failure.GAVE_UP: "run the batch again",
}
"""What most often mends a class of failures."""
ASKED_AGAIN = frozenset({Failure.REFUSED, Failure.TRUNCATED, Failure.REFUSAL, Failure.FILTERED, Failure.INVALID})
"""Classes whose reply is stored, so that only `retry` has it asked again."""
