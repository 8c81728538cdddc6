"""How it is said what a run of all tests left without use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetake import modes
from onetake.printable import one_line
from onetake.pytest_unused import Unused
from onetake.stores import FILE

_MOST_CASSETTES = 10
_MOST_NAMES = 3
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What the end of a run says of unused entries; nothing under `--unused=ignore`.

    Args:
        word: What `--unused` says: `ignore`, `warn` or `fail`.
        why: Why nothing can be said; empty where it can.
        unused: What no test used, by cassette.
        held_back: Why nothing is said of some cassettes; empty where all were looked at.
        trouble: Why the usage ledger could not be written; empty where it was.
        start: The folder from which paths are shown.
    """

    word: str = "warn"
    why: str = ""
    unused: tuple[Unused, ...] = ()
    held_back: str = ""
    trouble: str = ""
    start: Path = Path()

    @property
    def fails(self) -> bool:
        """Whether the run fails for it."""
        return self.word == "fail" and bool(self.unused)

    @property
    def failing(self) -> list[str]:
        """What to say of it where the run fails for it: pytest itself says that all passed."""
        return ["--unused=fail: this fails the run"] if self.fails else []

    def as_json(self) -> dict[str, Any]:
        """Return it for a machine: `unused`, a list of cassettes, and `why`, where there can be none."""
        return {
            "unused": [
                {
                    "cassette": self._shown(one.folder),
                    "entries": list(one.entries.values()),
                    "of": one.of,
                    "recorded_by": one.test or None,
                }
                for one in self.unused
            ],
            **({"why": self.why} if self.why else {}),
        }

    def lines(self) -> list[str]:
        """Return what a person should read, at most a screen of it."""
        lines = [f"the usage ledger could not be written: {self.trouble}"] if self.trouble else []
        if self.unused:
            lines += self._lines_of_unused()
        if self.word == "fail" and (self.why or self.held_back):
            of_what = "unused entries" if self.why else "the unused entries of some cassettes"
            lines.append(f"--unused=fail: nothing is said of {of_what}: {self.why or self.held_back}")
        return lines

    def _lines_of_unused(self) -> list[str]:
        count = sum(len(one.entries) for one in self.unused)
        some = "entry" if count == 1 else "entries"
        lines = [f"{count} unused {some}: all tests ran and passed, and none asked for what these hold:"]
        lines += [f"  {self._line(one)}" for one in self.unused[:_MOST_CASSETTES]]
        if (more := len(self.unused) - _MOST_CASSETTES) > 0:
            lines.append(f"  and those of {more} more cassettes")
        mend = "`onetake prune --orphans --yes` moves them to the trash"
        if any(one.folder.suffix.lower() == FILE and one.folder.is_file() for one in self.unused):
            mend += ", those of a store in one file after `onetake store unpack`"
        if any(one.owned for one in self.unused):
            again = f"`{modes.pytest_command()} --record-mode=all TEST`"
            mend += f"; or {again} asks anew and keeps, in a test's own cassette, what it uses"
        return [*lines, f"  to mend: {mend}"]

    def _line(self, one: Unused) -> str:
        where = one_line(self._shown(one.folder), _LONGEST)
        if one.abandoned:
            by = one_line(one.test or "several tests", _LONGEST)
            return f"{where}/ (all {one.of}): no test opens it any more; recorded by {by}"
        names = [one_line(name, _LONGEST) for name in list(one.entries.values())[:_MOST_NAMES]]
        more = [f"and {len(one.entries) - _MOST_NAMES} more"] if len(one.entries) > _MOST_NAMES else []
        return f"{where}/ ({len(one.entries)} of {one.of}): {', '.join([*names, *more])}"

    def _shown(self, folder: Path) -> str:
        """Return a folder as it is reached from where pytest was started."""
        try:
            return Path(os.path.relpath(folder, os.path.realpath(self.start))).as_posix()
        except ValueError:  # another drive
            return str(folder)
