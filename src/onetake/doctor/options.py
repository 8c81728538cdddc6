"""The options by which a project's tests are started: in pytest's own settings, and where CI starts them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_INI = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "pytest.toml")
_CI = (
    ".github/workflows/*.y*ml",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".buildkite/*.y*ml",
    "appveyor.yml",
    "Jenkinsfile",
)
_OPTION = re.compile(r"""--(record-mode|vcr-record(?:-mode)?|disable-recording|disable-vcr)(?:[=\s"',]+([a-z_]+))?""")
_SECTION = re.compile(r"\s*\[{1,2}([^\]]+)\]")
_SECTIONS = {"pytest", "tool:pytest", "tool.pytest.ini_options", "tool.pytest"}
_BY_ITSELF = re.compile(
    r"^\s*[\"']?(?:push|pull_request|pull_request_target|merge_group)\b|\bon:.*\b(?:push|pull_request)\b", re.MULTILINE
)
_GIVEN = re.compile(r"\s*(?:- )?if:.*\binputs\.")
_LARGEST = 1 << 20
LIVE = frozenset({"once", "new_episodes", "all", "any", "rewrite"})
"""Modes of vcrpy, and of its plugins, in which a request can go live."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option that a test run is started with.

    Args:
        path: The file.
        line: From 1.
        name: Without dashes: `record-mode`, `vcr-record`, `disable-recording`.
        mode: The record mode it names; for one that turns replay off, `all`.
    """

    path: Path
    line: int
    name: str
    mode: str

    @property
    def is_for_all(self) -> bool:
        """Tell whether it counts for every test, cassette or not: replay is turned off."""
        return self.name.startswith("disable")


def find_options(root: Path) -> list[Option]:
    """Find the options of a project's own settings and of its CI that say how cassettes are recorded.

    A workflow, or a step of one, that only a person starts counts not: recording is what it may be for.
    """
    found = [one for name in _INI for one in _in_settings(root / name)]
    for pattern in _CI:
        for path in sorted(root.glob(pattern)):
            text = _text(path)
            if "workflow_dispatch" not in text or _BY_ITSELF.search(text):
                found += _in_lines(path, _steps(text))
    return found


def _steps(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of CI's file, without the steps that only an input of a person starts."""
    by_hand = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("- "):
            by_hand = False
        by_hand = by_hand or bool(_GIVEN.match(line))
        if not by_hand:
            yield number, line


def _in_settings(path: Path) -> Iterator[Option]:
    is_own = path.name in ("pytest.ini", ".pytest.ini", "pytest.toml")
    lines = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        if section := _SECTION.match(line):
            is_own = section[1].strip() in _SECTIONS
        if is_own:
            lines.append((number, line))
    yield from _in_lines(path, lines)


def _in_lines(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[Option]:
    read = [(number, line) for number, line in lines if not line.lstrip().startswith(("#", ";"))]
    text = "\n".join(line for _, line in read)
    for found in _OPTION.finditer(text):  # its mode may stand in the next line
        name, mode = found.groups()
        if name.startswith("disable") or mode in LIVE or mode == "none":
            number, _ = read[text.count("\n", 0, found.start())]
            yield Option(path, number, name, "all" if name.startswith("disable") else mode)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
