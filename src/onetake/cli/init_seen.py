"""What `onetake init` can see of a project, so that it need not ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetake import settings_files
from onetake.errors import UsageError

SDKS = (
    *(
        "openai",
        "openai-agents",
        "anthropic",
        "claude-agent-sdk",
        "google-genai",
        "mistralai",
        "cohere",
        "groq",
        "ollama",
    ),
    *("boto3", "litellm", "instructor", "dspy", "langchain", "langchain-openai", "langchain-anthropic", "langgraph"),
    *("llama-index", "pydantic-ai", "pydantic-ai-slim", "smolagents", "crewai"),
)
"""Packages that ask models, in the order in which they are told."""

_MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py")
_RUNNERS = {"uv.lock": "uv", "poetry.lock": "poetry", "pdm.lock": "pdm"}
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_PLACE = re.compile(r"[^@;\s]*[/\\]|[^;\s]+\.whl\b")
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9._-]+)")
_OLDEST = 11
"""The minor version of the oldest Python 3 that onetake runs on."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A project as it is found.

    Args:
        root: The folder of the settings: relative names count from it.
        top: The top of its git repository, where hooks and CI look; the root where there is none.
        settings: The settings file that counts, or None.
        packages: What it depends on, by normalised name, in every group and extra.
        is_package: Whether pip can install it.
        runner: `uv`, `poetry` or `pdm`, by the lock file; empty for pip.
        requirements: Its requirements files, by name.
        extras: Its extras for tests and development.
        groups: Its dependency groups for tests and development.
        python: The Python for CI, as in `3.12`.
        uses_pytest: Whether pytest is configured, depended on, or has tests here.
        tests: The folder of the tests from the root; empty where there is none.
    """

    root: Path
    top: Path
    settings: Path | None
    packages: frozenset[str]
    is_package: bool
    runner: str
    requirements: tuple[str, ...]
    extras: tuple[str, ...]
    groups: tuple[str, ...]
    python: str
    uses_pytest: bool
    tests: str

    @property
    def sdks(self) -> list[str]:
        """The packages among them that ask models."""
        return [name for name in SDKS if name in self.packages]

    @property
    def below(self) -> str:
        """The root as a path from the top; empty where they are one folder."""
        return "" if self.root == self.top else self.root.relative_to(self.top).as_posix()

    @property
    def command(self) -> str:
        """What stands before a command in this project, with a space behind it."""
        return f"{self.runner} run " if self.runner else ""


def look(folder: Path, *, exactly: bool) -> Seen:
    """Look at a project.

    Args:
        folder: Where to begin.
        exactly: True takes that folder for the root, unless settings above it count there already.

    Raises:
        UsageError: A file that says what the project is cannot be read, or is no TOML.
    """
    counting = settings_files.nearest_file(folder)
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if counting is not None and (top is None or counting.path.is_relative_to(top)):
        root = counting.path.parent
    else:
        root = folder if exactly else _nearest_project(folder, top)
    manifest = _toml(root / "pyproject.toml")
    project = _table(manifest, "project")
    requirements = tuple(sorted(path.name for path in root.glob("requirements*.txt") if _is_plain(path.name)))
    lines = [*_in_toml(manifest), *_in_toml(_toml(root / "Pipfile")), *_in_requirements(root, requirements)]
    packages = frozenset(_normal(name) for line in lines if (name := _package(line)))
    tests = next((name for name in ("tests", "test") if (root / name).is_dir()), "")
    return Seen(
        root=root,
        top=top or root,
        settings=counting.path if counting else None,
        packages=packages,
        is_package=bool(project or _table(manifest, "build-system")) or (root / "setup.py").is_file(),
        runner=next((runner for lock, runner in _RUNNERS.items() if (root / lock).is_file()), ""),
        requirements=requirements,
        extras=_for_tests(_table(project, "optional-dependencies")),
        groups=_for_tests(_table(manifest, "dependency-groups")),
        python=_python(str(project.get("requires-python", ""))),
        uses_pytest="pytest" in packages or _has_pytest(root, manifest, tests),
        tests=tests,
    )


def _nearest_project(folder: Path, top: Path | None) -> Path:
    """Return the nearest folder, at most as far up as git's top, that is a project; else the top, else the folder."""
    for each in (folder, *folder.parents):
        if each == top or any((each / name).is_file() for name in _MANIFESTS):
            return each
    return folder


def _toml(path: Path) -> dict[str, Any]:
    content = settings_files.read(path)
    return {} if content is None else settings_files.parse_toml(path, content)


def _table(parent: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        found = parent.get(name)
        parent = found if isinstance(found, dict) else {}
    return parent


def _in_toml(document: dict[str, Any]) -> Iterator[str]:
    """Yield what a `pyproject.toml` or a `Pipfile` depends on, in the spellings of PEP 621, PEP 735 and the tools."""
    lists = [_table(document, "project"), _table(document, "project", "optional-dependencies")]
    lists += [_table(document, "dependency-groups"), _table(document, "tool", "uv")]
    lists += [_table(document, "tool", "pdm", "dev-dependencies")]
    for table in lists:
        for name, value in table.items():
            if isinstance(value, list) and name not in ("keywords", "classifiers", "authors", "dynamic"):
                yield from (line for line in value if isinstance(line, str))
    poetry = _table(document, "tool", "poetry")
    groups = [_table(poetry, "group", name) for name in _table(poetry, "group")]
    for table in (poetry, *groups):
        yield from (*_table(table, "dependencies"), *_table(table, "dev-dependencies"))
    yield from (*_table(document, "packages"), *_table(document, "dev-packages"))


def _in_requirements(root: Path, names: tuple[str, ...]) -> Iterator[str]:
    folder = root / "requirements"
    for path in (*(root / name for name in names), *sorted(folder.glob("*.txt"))):
        yield from (settings_files.read(path) or b"").decode("utf-8", "replace").splitlines()
    setup = (settings_files.read(root / "setup.cfg") or b"").decode("utf-8", "replace")
    yield from (line for line in setup.splitlines() if line[:1] in (" ", "\t"))
    program = (settings_files.read(root / "setup.py") or b"").decode("utf-8", "replace")
    yield from re.findall(r"[\"'](onetake\b[^\"'\n]*)[\"']", program)


def _package(line: str) -> str:
    """Return the package that a line asks for, by its name, a path or a URL; empty where it asks for none."""
    line = re.sub(r"^(?:-e|--editable)[\s=]+", "", line.strip()).strip("\"'")
    if _PLACE.match(line):
        egg = _EGG.search(line)
        last = re.split(r"[#?;\s\[]", line)[0].rstrip("/\\").replace("\\", "/").rpartition("/")[2]
        line = egg[1] if egg else re.sub(r"-\d.*", "", last.partition("@")[0].removesuffix(".git"))
    found = _NAME.match(line)
    return found[1] if found else ""


def _for_tests(table: dict[str, Any]) -> tuple[str, ...]:
    """Return the extras or groups that tests need, by their usual names."""
    return tuple(name for name in table if name.lower() in ("test", "tests", "testing", "dev"))


def _is_plain(name: str) -> bool:
    """Tell whether a name can stand in a shell's line as it is."""
    return re.fullmatch(r"[\w.-]+", name, re.ASCII) is not None


def _python(bound: str) -> str:
    found = re.search(r"(?:>=|==|~=)\s*3\.(\d+)", bound)
    return f"3.{max(int(found[1]), _OLDEST)}" if found else "3.12"


def _has_pytest(root: Path, manifest: dict[str, Any], tests: str) -> bool:
    if _table(manifest, "tool", "pytest") or (root / "pytest.ini").is_file() or (root / "conftest.py").is_file():
        return True
    written = ((root / name, mark) for name, mark in (("setup.cfg", b"[tool:pytest]"), ("tox.ini", b"[pytest]")))
    if any(mark in (settings_files.read(path) or b"") for path, mark in written):
        return True
    return bool(tests) and any(next((root / tests).rglob(name), None) for name in ("conftest.py", "test_*.py"))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower().strip("-")


def folder_named(word: str | None) -> Path:
    """Return the folder that a user named, or the current one.

    Raises:
        UsageError: There is none.
    """
    folder = Path.cwd() if word is None else Path(word).absolute()
    if not folder.is_dir():
        raise UsageError(f"{word}: {'is a file' if folder.exists() else 'there is no such folder'}")
    return folder
