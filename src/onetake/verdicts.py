"""Which verdicts a stored entry can have: what the gate gives to such a response, and nothing that only looks so."""

from __future__ import annotations

from onetake.model import Cut, Entry, Response
from onetake.settings_values import BAD

_KEPT = frozenset((*BAD, "secret"))
"""Why a bad answer is kept, but for its status; a batch keeps that there was one which held a secret."""


def is_given(entry: Entry) -> bool:
    """Tell whether the gate gives an entry's verdict to such a response; of a reject only that it says why."""
    kind, _, reason = entry.verdict.partition(":")
    match kind:
        case "kept":
            return reason in _KEPT or (reason == _by_status(entry.response.status) != "")
        case "left":
            return _is_left(entry, reason)
        case "reject":
            return bool(reason)
    return entry.verdict == "good"


def restated(verdict: str, response: Response) -> str:
    """Return a verdict as it is once the response was scrubbed: what its caller left is as long as what is stored.

    Args:
        verdict: Of the response as it was.
        response: As it is now.
    """
    return f"left:{len(response.body)}" if verdict.startswith("left:") else verdict


def _by_status(status: int) -> str:
    """Return the reason for which an answer of a status is kept; empty where that is never a reason."""
    return f"status:{status}" if 100 <= status < 600 and not 200 <= status < 300 else ""


def _is_left(entry: Entry, reason: str) -> bool:
    response = entry.response
    if response.cut is not Cut.LEFT or not 200 <= response.status < 400:
        return False
    if reason == str(len(response.body)):
        return True
    # What was scrubbed before `restated` did it still says how many bytes had come.
    was_scrubbed = any(where.startswith("response.body") for where in entry.scrubbed)
    return was_scrubbed and reason.isascii() and reason.isdecimal() and str(int(reason[:18])) == reason
