"""Files that were checked but for secrets, which are looked for in many at once: to begin a look costs most of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from onetake.scrub import Scrubber
from onetake.upkeep import secrets
from onetake.upkeep.findings import Finding
from onetake.upkeep.holding import Held
from onetake.upkeep.limits import SECONDS, at_most, cannot_be_checked

MOST = 32
"""Files that are looked through at once, at most."""
_LARGEST = 1 << 18
"""Bytes of files behind which no other one is looked through with them."""


class Checked(NamedTuple):
    """A file, and what is found of it before secrets and behind them.

    Args:
        held: The file.
        before: What is told first.
        behind: What is told last.
        scrubber: Of its entry; None where no secrets are to be looked for any more.
        is_verified: Whether its answer holds nothing but what the response does.
    """

    held: Held
    before: list[Finding]
    behind: Sequence[Finding] = ()
    scrubber: Scrubber | None = None
    is_verified: bool = False


def few(files: Iterable[Checked], most: int) -> Iterator[list[Checked]]:
    """Yield files, as many at once as are looked through together.

    Args:
        files: Each is read, and checked, when it is asked for.
        most: How many at most, 1 or more.
    """
    some: list[Checked] = []
    size = 0
    for one in files:
        some.append(one)
        size += len(one.held.data)
        if len(some) >= most or size >= _LARGEST:
            yield some
            some, size = [], 0
    if some:
        yield some


def clear_of(some: Sequence[Checked], scrubber: Scrubber) -> list[bool]:
    """Tell of which files it is certain that a look for secrets would find nothing.

    Args:
        some: Files of one project.
        scrubber: The project's.
    """
    looked = {id(one): (one.held, one.held.entry) for one in some if one.is_verified and one.held.entry}
    try:
        with at_most(SECONDS):
            clear = dict(zip(looked, secrets.clear_together(list(looked.values()), scrubber), strict=True))
    except Exception:  # noqa: BLE001 - each is looked through by itself then, and what breaks on one is told of that
        clear = {}
    return [one.scrubber is None or clear.get(id(one), False) for one in some]


def secrets_in(one: Checked) -> list[Finding]:
    """Return the secrets in a file whose entry can be read."""
    held, entry = one.held, one.held.entry
    if entry is None or one.scrubber is None:
        return []
    try:
        with at_most(SECONDS):
            return list(secrets.in_entry(held, entry, one.scrubber, verified=one.is_verified))
    except Exception as error:  # noqa: BLE001 - as for every check of a file
        return [cannot_be_checked(held.path, error)]
