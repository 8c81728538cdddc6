"""What is wrong with what a killed process left in a folder: that it is there, and secrets in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from onetake.format.entryjson import LARGEST
from onetake.stores import files, leftovers
from onetake.upkeep import mends, secrets
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.limits import SECONDS, at_most, cannot_be_checked

WHY = "a process that was killed left it here, and nothing needs it"


def check_left_over(folder: Path) -> Iterator[Finding]:
    """Name the temporary files in a folder whose writers are dead, and the secrets in them."""
    mend = mends.prune(folder, "--sidecars --yes")
    for path in leftovers.left_over(folder):
        yield finding(Code.UNUSED_SIDECAR, path, WHY, mend)
        try:
            with at_most(SECONDS):
                found = list(secrets.in_file(path, files.read(path, LARGEST) or b""))
        except Exception as error:  # noqa: BLE001 - whatever a file was made to do to what reads it, it is told
            found = [cannot_be_checked(path, error)]
        yield from (replace(one, mend=f"{secrets.REVOKE}; then: {mend}") for one in found)
