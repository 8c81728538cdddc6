"""Where in a settings file something is said, so that a finding can point there."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def line_of(file: Path, contract: str, setting: str) -> int:
    """Return the line that says a setting of a contract, else the one that its declaration begins at.

    Args:
        file: The settings file.
        contract: The contract's name.
        setting: The setting's.

    Returns:
        From 1; 1 where neither is found.
    """
    table: list[str] = []
    begins = 0
    wanted = ["contracts", contract]
    for number, line in enumerate(file.read_text(encoding="utf-8-sig", errors="replace").splitlines(), 1):
        if line.lstrip().startswith("[") and (header := _path(line)):
            table = path = header
        elif "=" in line:
            path = table + _path(f"{line.partition('=')[0]} = 0")
        else:
            continue
        if path[-3:] == [*wanted, setting]:
            return number
        if path[-2:] == wanted:
            begins = begins or number
    return begins or 1


def _path(line: str) -> list[str]:
    """Return the names that one line of TOML says, from the outermost; none where it is no whole one."""
    try:
        said: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return []
    found = []
    while isinstance(said, dict) and said:
        name, said = next(iter(said.items()))
        found.append(name)
    return found
