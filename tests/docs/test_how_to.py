"""Each how-to page, walked from its first block to its last in a fresh folder."""

from __future__ import annotations

from pathlib import Path

import pytest

HOW_TO = Path(__file__).parents[2] / "docs/how-to"
ELSEWHERE = {"add-an-adapter.md", "upkeep.md"}
"""Pages that have a test of their own: `tests/adapters/test_add_an_adapter_page.py` and `test_upkeep_page.py`."""
ALWAYS = {"several-contracts.md"}
"""Those that are walked in every run: the others are dear, and what they go through is tested elsewhere too."""


def pages():
    for page in sorted(HOW_TO.glob("*.md")):
        if page.name not in ELSEWHERE:
            yield pytest.param(page, id=page.stem, marks=() if page.name in ALWAYS else pytest.mark.whole)


@pytest.mark.slow
@pytest.mark.timeout(600)  # a dozen processes, on a machine that may be busy
@pytest.mark.parametrize("page", list(pages()))
def test_every_step_gives_what_the_page_shows(reader, page):
    reader.walk(page)
