"""One number in the file of a project's settings, written anew: every other byte of the file stays."""

from __future__ import annotations

import re
from pathlib import Path

from onetake.errors import UsageError
from onetake.settings_files import nearest_file, parse_toml
from onetake.stores import files

_HEADER = re.compile(rb"^[ \t]*\[", re.MULTILINE)


def restate(root: Path, name: str, value: int, after: str = "") -> Path | None:
    """Write a setting that is a whole number into the file that a settings folder's settings are read from.

    Args:
        root: The settings' folder.
        name: The setting's, at the top of onetake's table.
        value: What it becomes.
        after: The setting behind whose line it is written where it is not there yet; empty for the end of the table.

    Returns:
        The file; None where it could not be written without touching more than that: it is then as it was.
    """
    try:
        found = nearest_file(root)
        if found is None or found.path.parent != root.absolute():
            return None
        data = files.read(found.path) or b""
        changed = _changed(data, found.prefix.rstrip("."), name, value, after)
        if changed is None or not _is_only(found.path, data, changed, found.prefix, name, value):
            return None
        with files.temporary(root, changed) as temp:
            temp.chmod(found.path.stat().st_mode & 0o777)
            temp.replace(found.path)
    except (OSError, UsageError):
        return None
    return found.path


def _changed(data: bytes, table: str, name: str, value: int, after: str) -> bytes | None:
    start, end = _span(data, table)
    if start < 0:
        return None
    inside = data[start:end]
    line = rf"^([ \t]*{name}[ \t]*=[ \t]*)[0-9_]+".encode()
    if re.search(line, inside, re.MULTILINE):
        inside = re.sub(line, rb"\g<1>%d" % value, inside, count=1, flags=re.MULTILINE)
    else:
        last = rf"^[ \t]*{after}[ \t]*=[^\r\n]*(\r?\n|\Z)" if after else r"\S[^\r\n]*(\r?\n|\Z)(?!\s*\S)|\A(?!\s*\S)"
        behind = re.search(last.encode(), inside, re.MULTILINE)
        if behind is None:
            return None
        end_of_line = behind[1] or b"\n"
        lead = b"" if behind[1] or not behind[0] else b"\n"
        inside = (
            inside[: behind.end()] + lead + b"%s = %d" % (name.encode(), value) + end_of_line + inside[behind.end() :]
        )
    return data[:start] + inside + data[end:]


def _span(data: bytes, table: str) -> tuple[int, int]:
    """Return where a table's own lines begin and end; the top of the file for the one without a name."""
    start = 0
    if table:
        header = re.search(rf"^[ \t]*\[[ \t]*{re.escape(table)}[ \t]*\][^\r\n]*\r?\n".encode(), data, re.MULTILINE)
        if header is None:
            return -1, -1
        start = header.end()
    following = _HEADER.search(data, start)
    return start, following.start() if following else len(data)


def _is_only(path: Path, before: bytes, after: bytes, prefix: str, name: str, value: int) -> bool:
    """Tell whether nothing but the one setting is another: what looks like its line may stand inside a text."""
    was, now = parse_toml(path, before), parse_toml(path, after)
    for step in filter(None, prefix.split(".")):
        if was.keys() != now.keys() or any(was[key] != now[key] for key in was if key != step):
            return False
        was, now = was[step], now[step]
    return now == {**was, name: value}
