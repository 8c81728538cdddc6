"""The page of the gate has a row for every dialect that reads an API."""

from pathlib import Path

import pytest

from onetake.dialects import function_call, known

PAGE = Path(__file__).parents[2] / "docs/reference/gate.md"


@pytest.mark.parametrize("name", [each.name for each in known() if each is not function_call.DIALECT])
def test_every_dialect_has_its_row(name):
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if f"| `{name}` |" in line]
    assert len(rows) == 1
