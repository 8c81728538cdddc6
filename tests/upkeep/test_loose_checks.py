"""Loose entries are listed one by one, and their number is held against the settings'."""

from __future__ import annotations

import json

import pytest

from onetake.model import Request
from onetake.upkeep.checking import check

URL = "https://api.openai.com/v1/chat/completions"


@pytest.fixture
def loose(folder, answer):
    """A project with two loose entries, in two cassettes, and one that is none."""
    paths = []
    for name in ("a", "b"):
        (path,) = folder.record((Request("POST", URL), answer), contract=None, folder=f"cassettes/test_a/{name}")
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "loose": True}, indent=2), "utf-8")
        paths.append(path)
    folder.record()
    folder.paths = paths
    return folder


def told(found):
    return [(one.severity, one.path.name, one.line) for one in found if one.code == "loose"]


def test_each_is_listed_and_a_number_is_asked_for(loose):
    *each, last = [one for one in loose.findings() if one.code == "loose"]
    assert [(one.severity, one.path) for one in each] == [("info", path) for path in loose.paths]
    assert all(one.path.read_text("utf-8").splitlines()[one.line - 1].startswith('  "loose"') for one in each)
    assert (last.severity, last.path.name) == ("warning", "onetake.toml")
    assert last.message == "2 loose entries are there, and no number is set that they may not pass"
    assert last.mend == "set legacy_loose = 2: it may only fall"


@pytest.mark.parametrize(
    ("limit", "severity", "message"),
    [
        (2, None, ""),
        (1, "error", "2 loose entries are there, and legacy_loose allows 1"),
        (0, "error", "2 loose entries are there, and legacy_loose allows 0"),
        (3, "warning", "2 loose entries are there, and legacy_loose still allows 3"),
    ],
)
def test_their_number_may_only_fall(loose, limit, severity, message):
    loose.settings(top=f'mode = "none"\nlegacy_loose = {limit}')
    rest = [one for one in loose.findings() if one.code == "loose" and one.severity != "info"]
    assert [(one.severity, one.message, one.line) for one in rest] == ([(severity, message, 2)] if severity else [])


def test_of_a_part_of_the_project_only_too_many_can_be_known(loose):
    def found(limit):
        loose.settings(top=f"legacy_loose = {limit}" if limit is not None else "")
        part = check(loose.root / "cassettes" / "test_a" / "a").findings
        return [one.severity for one in part if one.code == "loose"]

    assert [found(limit) for limit in (None, 5, 1, 0)] == [["info"], ["info"], ["info"], ["info", "error"]]


def test_the_number_is_the_same_where_the_work_is_shared(loose):
    loose.settings(top="legacy_loose = 1")
    alone, shared = (check(loose.root, shared_from=number).findings for number in (1000, 1))
    assert told(shared) == told(alone) != []


def test_without_any_nothing_is_said(folder):
    folder.record()
    assert folder.codes() == []
