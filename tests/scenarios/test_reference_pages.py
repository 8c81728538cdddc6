"""The pages name what the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onetake import errors
from onetake.pytest_plugin import _ARGUMENTS

PAGES = Path(__file__).parents[2] / "docs/reference"
ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.OnetakeError) and not kind.__name__.endswith("AsException")
]


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_has_its_place_in_the_tree_and_its_row(kind):
    page = (PAGES / "errors.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{kind.__name__}\b.*{'also Exception' if issubclass(kind, Exception) else ''}", page)
    if kind.__subclasses__()[0:1] == [] or kind.__name__ not in ("OnetakeError", "Refusal"):
        assert f"| `{kind.__name__}` |" in page


def test_the_marker_is_written_down_with_all_its_arguments():
    page = (PAGES / "pytest.md").read_text(encoding="utf-8")
    assert f"`cassette(name=None, *, {', '.join(_ARGUMENTS)})`" in page
