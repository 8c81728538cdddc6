"""The files that settings lie in: which one counts, and how it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from onetake import settings_values as values
from onetake.errors import UsageError

NAMES = ("onetake.toml", "pyproject.toml")
"""What the files are called that settings lie in; of two in one folder the first counts."""


class Found(NamedTuple):
    """The settings that count: their file, the table as TOML gives it, and what messages call its place."""

    path: Path
    table: object
    where: str
    prefix: str = "tool.onetake."
    """What stands there before the name of a table."""


def nearest_file(start: Path) -> Found | None:
    """Find the settings that count for a file or folder, without looking into them.

    Args:
        start: A test's or program's file, or a folder; it need not exist.

    Returns:
        The nearest `onetake.toml`, or `pyproject.toml` with a `[tool.onetake]` table, in its folder or above; in one
        folder `onetake.toml` goes first. None where there is none.

    Raises:
        UsageError: That file, or a nearer `pyproject.toml` that speaks of us, cannot be read or is no TOML.
    """
    folder = folder_of(start)
    for root in (folder, *folder.parents):
        own, shared = (root / name for name in NAMES)
        found = _own_table(own) or _tool_table(shared)
        if found is not None:
            return found
    return None


def folder_of(start: Path) -> Path:
    """Return the folder that a file lies in, or the folder itself; absolute."""
    full = start.absolute()
    return full if full.is_dir() else full.parent


def parse_toml(path: Path, content: bytes) -> dict[str, Any]:
    """Read TOML.

    Args:
        path: Where it is from, for messages.
        content: UTF-8, with or without a byte order mark.

    Raises:
        UsageError: It is no UTF-8 or no TOML; names the line.
    """
    import tomllib

    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}: is not UTF-8 (line {line}); save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: is no TOML: {error}") from error
    except RecursionError:
        raise UsageError(f"{path}: is no TOML that can be read: nested too deep") from None


def read(path: Path) -> bytes | None:
    """Return a file's bytes, None where there is none.

    Raises:
        UsageError: It is there and cannot be read.
    """
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def _own_table(path: Path) -> Found | None:
    """Find the settings of an `onetake.toml`: its top level, or the table that a `pyproject.toml` has."""
    content = read(path)
    if content is None:
        return None
    document = parse_toml(path, content)
    if "tool" not in document:
        return Found(path, document, f"{path}:", "")
    if own := next((name for name in document if name != "tool"), ""):
        two = f"has settings in two forms, {own!r} and under 'tool': use one of them, here without `tool.onetake.`"
        raise UsageError(f"{path}: {two}")
    tools = values.table(document, f"{path}:", {"tool": lambda value, _: value})["tool"]
    ours = values.table(tools, f"{path}: tool", {"onetake": lambda value, _: value}, required=["onetake"])
    return Found(path, ours["onetake"], f"{path}: tool.onetake")


def _tool_table(path: Path) -> Found | None:
    """Find the settings of a `pyproject.toml`; one that does not mention us is not parsed, and may be broken."""
    content = read(path)
    if content is None or b"onetake" not in content.replace(b"\0", b""):
        return None
    tools = parse_toml(path, content).get("tool")
    if not isinstance(tools, dict) or "onetake" not in tools:
        return None
    return Found(path, tools["onetake"], f"{path}: tool.onetake")
