"""A word in an entry by which nothing puts it away, and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onetake.model import Entry
from onetake.provenance import now
from onetake.upkeep import secrets
from onetake.upkeep.amending import amend
from onetake.upkeep.checking import examine
from onetake.upkeep.findings import Code


def pin(path: Path, entry: Entry, reason: str) -> bool:
    """Note in an entry that nothing prunes it, and why.

    Args:
        path: Its file.
        entry: What is in it.
        reason: Its secrets scrubbed; may be empty. A pin that is there is written anew where it says another one.

    Returns:
        False if the file holds another interaction by now, or none; nothing was written.

    Raises:
        FormatError, SecretLeftError, SecretThereError, StoreError: As for `amend`; nothing was written.
    """
    note = {"at": now(), **({"reason": reason} if reason else {})}

    def change(provenance: Mapping[str, Any]) -> Mapping[str, Any]:
        there = provenance.get("pinned")
        is_said = isinstance(there, dict) and (not reason or there.get("reason") == reason)
        return provenance if is_said else {**provenance, "pinned": note}

    return amend(path, entry, change)


def unpin(path: Path, entry: Entry) -> bool:
    """Take back what `pin` noted.

    Args:
        path: The entry's file.
        entry: What is in it.

    Returns:
        As `pin` does; True also where nothing was noted.

    Raises:
        FormatError, SecretLeftError, StoreError: As for `pin`.
    """
    return amend(path, entry, lambda provenance: {name: one for name, one in provenance.items() if name != "pinned"})


def secret_there(path: Path) -> str:
    """Say of an entry that holds a secret itself why it is not changed, and what the check says mends that."""
    here = (one for one in examine(path.parent, importing=False) if one.path == path)
    found = next((found for one in here for found in one.findings if found.code is Code.SECRET), None)
    return f"the entry itself holds a secret, and is not changed: {found.mend if found else secrets.MEND}"
