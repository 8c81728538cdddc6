"""The one decision: what to do with a request. Nothing else asks for the mode.

What others need to know of a mode (does it record at all, does it read anything) is asked of the decision, by name.
"""

from __future__ import annotations

from enum import StrEnum

from onetake.model import Mode


class Found(StrEnum):
    """What the cassette holds for a request, and whether that meets today's contract."""

    ABSENT = "absent"
    EXHAUSTED = "exhausted"
    STALE = "stale"
    UNREADABLE = "unreadable"
    UNKEPT = "unkept"
    """A kept answer, in a session that does not keep that kind."""
    EXPIRED = "expired"
    """Older than `max_age` allows, where that fails."""
    PENDING = "pending"
    """Recorded by an earlier run of this test, which failed: it answers first when the test is tried again, unless
    everything is asked anew."""
    VALID = "valid"


class Action(StrEnum):
    """What to do with a request."""

    REPLAY = "replay"
    RECORD = "record"
    REPLACE = "replace"
    PASS = "pass"
    REFUSE = "refuse"


def decide(mode: Mode, found: Found, *, being_made: bool) -> Action:
    """Say what to do with a request. Total: every combination has an answer.

    Args:
        mode: The session's mode.
        found: What the cassette holds for it, and whether that meets today's contract.
        being_made: True while the cassette is being made: it held no entry when a session first recorded into it, and
            no such session has ended well yet.

    Returns:
        The action; `REPLACE` is a live call whose answer takes the place of the one that is there.
    """
    if mode is Mode.OFF:
        return Action.PASS
    missing = found in (Found.ABSENT, Found.EXHAUSTED)
    if mode is Mode.ALL:
        return Action.RECORD if missing else Action.REPLACE
    if found is Found.PENDING:
        return Action.REFUSE if mode is Mode.NONE else Action.REPLAY
    if found is Found.VALID:
        return Action.REPLAY
    if mode is Mode.NEW_EPISODES and found is Found.STALE:
        return Action.REPLACE
    may_record = mode is Mode.NEW_EPISODES or (mode is Mode.ONCE and being_made)
    return Action.RECORD if missing and may_record else Action.REFUSE


def records(mode: Mode) -> bool:
    """Tell whether a mode ever records: whether it has something to keep of a call."""
    return decide(mode, Found.ABSENT, being_made=True) is Action.RECORD


def replaces_everything(mode: Mode) -> bool:
    """Tell whether a mode asks even for what is stored and valid, so that no old answer is left in use."""
    return decide(mode, Found.VALID, being_made=False) is Action.REPLACE


def reads_nothing(mode: Mode) -> bool:
    """Tell whether a mode lets every call pass untouched: nothing is read, written or counted."""
    return decide(mode, Found.VALID, being_made=False) is Action.PASS


def refuses(mode: Mode, found: Found) -> bool:
    """Tell whether a mode refuses a request in a finished cassette."""
    return decide(mode, found, being_made=False) is Action.REFUSE


def never_goes_live(mode: Mode) -> bool:
    """Tell whether a mode is sealed: whatever the cassette holds, no call goes out."""
    return not records(mode) and not reads_nothing(mode)
