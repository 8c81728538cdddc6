"""The digest of watched files: does the parser that an entry was reviewed under still stand?"""

from __future__ import annotations

import ast
import glob
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from onetake.errors import UsageError

_PYTHON = frozenset({".py", ".pyi"})


def watch_digest(paths: Sequence[str | Path], root: Path) -> str | None:
    """Return one digest of all watched files.

    It moves when a file's content or its path from *root* does. A Python file counts by its syntax tree without
    docstrings, so comments and formatting move nothing; one that this Python cannot parse, and any other file, counts
    by its bytes, CRLF as LF. The order of *paths* does not matter.

    Args:
        paths: Files, folders (everything below, but for hidden names and `__pycache__`) or globs (`app/**/*.py`);
            relative ones count from *root*.
        root: Where relative paths count from.

    Returns:
        64 lower-case hex digits (SHA-256), the same under every Python; None if *paths* is empty.

    Raises:
        UsageError: A path names no file, or one that cannot be read.
    """
    if not paths:
        return None
    files = {_name(file, root): file for given in paths for file in _files(given, root)}
    named = [(name, _content(files[name])) for name in sorted(files)]
    return hashlib.sha256(json.dumps(named, separators=(",", ":")).encode()).hexdigest()


def _files(given: str | Path, root: Path) -> list[Path]:
    path = root / given
    if path.is_file():
        return [path]
    if path.is_dir():
        found = [file for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path))]
    else:
        names = glob.glob(str(given), root_dir=root, recursive=True)  # noqa: PTH207  Path.glob takes no absolute one
        found = [root / name for name in names if (root / name).is_file() and not _hidden(Path(name))]
    if not found:
        raise UsageError(f"the contract watches {str(given)!r}, and there is no such file from {str(root)!r}")
    return found


def _hidden(path: Path) -> bool:
    return any((part.startswith(".") and part != "..") or part == "__pycache__" for part in path.parts)


def _name(file: Path, root: Path) -> str:
    """Return the path from the root with slashes, so that a clone elsewhere or on another system has the same."""
    try:
        return os.path.relpath(file, root).replace(os.sep, "/")
    except ValueError:
        return file.resolve().as_posix()  # on another drive there is no way from the root


def _content(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"the contract watches {str(file)!r}, which cannot be read: {error.strerror}") from None
    if file.suffix in _PYTHON:
        try:
            data = json.dumps(_tree(ast.parse(data))).encode()
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            data = data.replace(b"\r\n", b"\n")
    else:
        data = data.replace(b"\r\n", b"\n")
    return hashlib.sha256(data).hexdigest()


def _tree(node: Any) -> Any:
    """Return a syntax tree as JSON.

    `ast.dump` will not do: it shows the empty fields that a newer Python has added, or leaves all empty ones out.
    """
    if isinstance(node, ast.AST):
        return [type(node).__name__, dict(_fields(node))]
    if isinstance(node, list):
        return [_tree(item) for item in node if not _is_docstring(item)]
    return [type(node).__name__, ascii(node)]


def _fields(node: ast.AST) -> Iterator[tuple[str, Any]]:
    for name, held in ast.iter_fields(node):
        if isinstance(node, ast.JoinedStr):
            held = [part for part in held if not _is_empty_text(part)]
        said_nothing = held is None and not isinstance(node, ast.Constant)
        if name in ("ctx", "kind", "type_comment", "type_ignores") or said_nothing or held == []:
            continue
        yield name, _tree(held)


def _is_docstring(item: Any) -> bool:
    """Tell whether a statement is nothing but a string: a docstring, or one that documents an attribute."""
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str)


def _is_empty_text(part: Any) -> bool:
    """Tell whether a part of an f-string is empty text, which Python 3.12 puts after nested fields."""
    return isinstance(part, ast.Constant) and part.value == ""
