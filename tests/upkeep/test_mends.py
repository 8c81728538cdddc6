"""What to do about a finding is a command that can be run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from onetake.format import load_entry
from onetake.model import Mode
from onetake.upkeep import mends


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("tests/test_a.py::Class::test_b[x y]", 'pytest --record-mode=all "tests/test_a.py::Class::test_b[x y]"'),
        ("tests/conftest.py::client", "pytest --record-mode=all tests"),
        ("tests/test_a.py::client", "pytest --record-mode=all tests/test_a.py"),
        (None, 'record it again: `onetake run --mode all -- PROGRAM`, or mode="all" in the code'),
        (["no", "text"], 'record it again: `onetake run --mode all -- PROGRAM`, or mode="all" in the code'),
    ],
)
def test_who_recorded_an_entry_records_it_again(folder, test, said):
    (path,) = folder.record()
    entry = replace(load_entry(path.read_bytes(), lambda name: None), provenance={"test": test})
    assert mends.record_again(entry, Mode.ALL) == said


def test_paths_are_quoted_for_a_shell_and_told_from_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mends.show(tmp_path / "x.json") == "onetake show x.json"
    assert mends.show(Path("a b/x.json")) == 'onetake show "a b/x.json"'
    assert mends.diff(Path("x.json"), Path("a b/y.json")) == 'onetake diff x.json "a b/y.json"'
