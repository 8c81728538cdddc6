"""What a project told vcrpy to leave alone: read from its `conftest.py` files, which are not run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from onetake.stores import files

_LOCALHOST = ("localhost", "127.0.0.1", "0.0.0.0")
"""What `ignore_localhost` stands for. Source: vcrpy 9.4, `VCR.get_merged_config`."""
_NAMES = ("ignore_localhost", "ignore_hosts")
_LARGEST = 1 << 20
_TOPS = (".git", "pyproject.toml", "onetake.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini")
"""What lies at the top of a project: above it, nothing is of it."""


def ignored_hosts(sources: Iterable[Path]) -> tuple[str, ...]:
    """Return the hosts whose calls vcrpy let pass, as patterns for the setting `ignore`.

    Args:
        sources: Cassettes: the `conftest.py` files in their folders and above count, up to the top of the project.

    Returns:
        Those that are written down there as plain words; what is computed is not known.
    """
    folders = dict.fromkeys(folder for source in sources for folder in _folders(source.absolute().parent))
    found = (host for folder in folders for host in _said(folder / "conftest.py"))
    return tuple(dict.fromkeys(found))


def _folders(start: Path) -> Iterator[Path]:
    for folder in (start, *start.parents):
        yield folder
        if any((folder / name).exists() for name in _TOPS):
            return


def _said(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(files.read(path, _LARGEST) or b"")
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # nothing of it is known; pytest says what is wrong with it
    for node in ast.walk(tree):
        pairs: list[tuple[object, ast.expr]] = []
        if isinstance(node, ast.Dict):
            keys = (key.value if isinstance(key, ast.Constant) else None for key in node.keys)
            pairs = list(zip(keys, node.values, strict=True))
        elif isinstance(node, ast.Call):
            pairs = [(keyword.arg, keyword.value) for keyword in node.keywords]
        for name, value in pairs:
            yield from _hosts(name, value)


def _hosts(name: object, value: ast.expr) -> Iterator[str]:
    if name not in _NAMES:
        return
    try:
        said = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return
    if name == "ignore_localhost":
        yield from _LOCALHOST if said is True else ()
    elif isinstance(said, list | tuple | set):
        yield from sorted(host for host in said if isinstance(host, str))
