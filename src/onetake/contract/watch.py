"""The digest of watched files: does the parser that an entry was reviewed under still stand?"""

from __future__ import annotations

import ast
import glob
import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from json.encoder import encode_basestring_ascii
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from onetake.errors import UsageError

_NO_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError, SystemError)
"""What parsing raises of a file that this Python cannot parse."""
_PYTHON = frozenset({".py", ".pyi"})
REMEDY = "put the file back where it can be read, or mend `watch` of the contract"
"""What to do about a watched path that names no file, or one that cannot be read."""
_ANY_DEPTH = "**"
_UNREAD = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
"""Fields of a syntax tree that follow from others, or that no program reads."""


def watch_digest(paths: Sequence[str | Path], root: Path, contract: str = "") -> str | None:
    """Return one digest of all watched files.

    It moves when a file's content or its path from *root* does. A Python file counts by its syntax tree without
    docstrings, so comments and formatting move nothing; one that this Python cannot parse, and any other file, counts
    by its bytes, CRLF as LF. The order of *paths* does not matter.

    Args:
        paths: Files, folders (everything below, but for hidden names and `__pycache__`) or globs (`app/**/*.py`);
            relative ones count from *root*.
        root: Where relative paths count from.
        contract: The name of the one that watches them, for the error.

    Returns:
        64 lower-case hex digits (SHA-256), the same under every Python; None if *paths* is empty.

    Raises:
        UsageError: A path names no file, or one that cannot be read.
    """
    if not paths:
        return None
    return digest_of({name: content_of(name, data) for name, data in watched(paths, root, contract).items()})


def watched(paths: Sequence[str | Path], root: Path, contract: str = "") -> dict[str, bytes]:
    """Return the bytes of all watched files, by their paths from the root, with slashes: the same in every clone.

    Args:
        paths: Files, folders, or patterns in which `*` stands for anything; from the root where they are relative.
        root: The settings' folder.
        contract: As for `watch_digest`.

    Raises:
        UsageError: A path names no file, or one that cannot be read.
    """
    whose = f"contract {contract!r}" if contract else "the contract"
    return {_name(file, root): _read(file, whose) for given in paths for file in _files(given, root, whose)}


def unparsed(files: Mapping[str, bytes]) -> list[str]:
    """Name the watched files that ought to be Python, and that this Python cannot parse: each with the reason.

    Args:
        files: As `watched` returns them.
    """
    found = []
    for name, data in sorted(files.items()):
        if PurePosixPath(name).suffix in _PYTHON:
            try:
                _parsed(data)
            except _NO_PYTHON as error:
                line = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
                found.append(f"{name} ({line}{getattr(error, 'msg', '') or type(error).__name__})")
    return found


def content_of(name: str, data: bytes) -> str:
    """Return a digest of what counts of a watched file's content: of Python the code, without comments and layout.

    Args:
        name: The file's path, by whose ending Python is known.
        data: Its bytes.

    Returns:
        64 lower-case hex digits (SHA-256).
    """
    if PurePosixPath(name).suffix in _PYTHON:
        try:
            data = _tree_text(_parsed(data)).encode()
        except _NO_PYTHON:
            data = data.replace(b"\r\n", b"\n")
    else:
        data = data.replace(b"\r\n", b"\n")
    return hashlib.sha256(data).hexdigest()


def digest_of(contents: Mapping[str, str]) -> str:
    """Return the digest of watched files, given what counts of each one's content, by its path from the root."""
    return hashlib.sha256(json.dumps(sorted(contents.items()), separators=(",", ":")).encode()).hexdigest()


def selects(given: str | Path, name: str, root: Path) -> bool:
    """Tell whether a watched path would name a file, of another commit, say.

    Args:
        given: As in `watch`.
        name: A path from the root, with slashes.
        root: Where relative paths count from.
    """
    own, parts = _own_parts(given, root), name.split("/")
    literal = _literal(own)
    if parts[: len(literal)] != literal or _hidden(parts[len(literal) :]):
        return False
    return parts[: len(own)] == own or _fits(own, parts)


def base_of(given: str | Path, root: Path) -> str:
    """Return the path from the root, with slashes, that all files lie under that a watched path can name.

    Args:
        given: A watched path, as the settings have it.
        root: The settings' folder.

    Returns:
        `.` where they may lie anywhere below the root.
    """
    return "/".join(_literal(_own_parts(given, root))) or "."


def _files(given: str | Path, root: Path, whose: str) -> list[Path]:
    path = root / given
    if path.is_file():
        return [path]
    if path.is_dir():
        found = [file for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path).parts)]
    else:
        literal = len(_literal(PurePath(given).parts))
        names = glob.glob(str(given), root_dir=root, recursive=True)  # noqa: PTH207  Path.glob takes no absolute one
        shown = (root / name for name in names if not _hidden(PurePath(name).parts[literal:]))
        found = [file for file in shown if file.is_file()]
    if not found:
        raise UsageError(f"{whose} watches {str(given)!r}, and there is no such file from {str(root)!r}: {REMEDY}")
    return found


def _own_parts(given: str | Path, root: Path) -> list[str]:
    parts = PurePosixPath(_name(root / given, root)).parts  # none of "."
    return [part for number, part in enumerate(parts) if part != _ANY_DEPTH or parts[number - 1] != _ANY_DEPTH]


def _literal(parts: Sequence[str]) -> list[str]:
    """Return the parts of a path before the first that holds a wildcard."""
    first = next((number for number, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return list(parts[:first])


def _fits(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Tell whether a glob fits a path, part by part."""
    if not pattern:
        return not parts
    if pattern[0] == _ANY_DEPTH:
        return any(_fits(pattern[1:], parts[at:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(pattern[1:], parts[1:])


def _hidden(parts: Sequence[str]) -> bool:
    return any((part.startswith(".") and part != "..") or part == "__pycache__" for part in parts)


def _name(file: Path, root: Path) -> str:
    """Return the path from the root with slashes, so that a clone elsewhere or on another system has the same."""
    try:
        return os.path.relpath(file, root).replace(os.sep, "/")
    except ValueError:
        return file.resolve().as_posix()  # on another drive there is no way from the root


def _read(file: Path, whose: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        why = f"{whose} watches {str(file)!r}, which cannot be read ({error.strerror})"
        raise UsageError(f"{why}: {REMEDY}") from None


def _parsed(data: bytes) -> ast.AST:
    """Parse Python; a warning that the program has made an error of must not move the digest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(data)
        except SystemError:  # Python 3.11's parser loses count where it is asked within itself, and then counts anew
            return ast.parse(data)


def _tree_text(tree: ast.AST) -> str:
    """Write a syntax tree as JSON.

    `ast.dump` will not do: it shows the empty fields that a newer Python has added, or leaves all empty ones out. A
    stack of our own, for how deep a function may call itself depends on who asks.
    """
    stack: list[Any] = [tree]
    written: list[str] = []
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            written.append(node)
        elif isinstance(node, ast.AST):
            written.append(f'["{type(node).__name__}", {{')
            stack.append("}]")
            fields = list(_fields(node))
            for name, held in reversed(fields):
                stack += (_pending(held), f'{", " if name != fields[0][0] else ""}"{name}": ')
        else:
            written.append("[")
            stack.append("]")
            items = [item for item in node if not _is_docstring(item)]
            for number in range(len(items) - 1, -1, -1):
                stack += (_pending(items[number]), ", " if number else "")
    return "".join(written)


def _pending(held: Any) -> Any:
    """Return a node or a list as it is, for its turn, and anything else as it is written."""
    if isinstance(held, ast.AST | list):
        return held
    return f'["{type(held).__name__}", {encode_basestring_ascii(ascii(held))}]'


def _fields(node: ast.AST) -> Iterator[tuple[str, Any]]:
    is_constant = isinstance(node, ast.Constant)
    for name in node._fields:
        held = getattr(node, name, None)
        if isinstance(node, ast.JoinedStr):
            held = [part for part in held or () if not _is_empty_text(part)]
        if name in _UNREAD or (held is None and not is_constant) or held == []:
            continue
        yield name, held


def _is_docstring(item: Any) -> bool:
    """Tell whether a statement is nothing but a string: a docstring, or one that documents an attribute."""
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str)


def _is_empty_text(part: Any) -> bool:
    """Tell whether a part of an f-string is empty text, which Python 3.12 puts after nested fields."""
    return isinstance(part, ast.Constant) and part.value == ""
