"""Each how-to page, walked from its first block to its last in a fresh folder."""

from __future__ import annotations

from pathlib import Path

import pytest

HOW_TO = Path(__file__).parents[2] / "docs/how-to"
ELSEWHERE = {"add-an-adapter.md"}
"""Pages whose blocks have a test of their own: `tests/adapters/test_add_an_adapter_page.py`."""
PAGES = sorted(page for page in HOW_TO.glob("*.md") if page.name not in ELSEWHERE)


@pytest.mark.slow
@pytest.mark.timeout(600)  # a dozen processes, on a machine that may be busy
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_step_gives_what_the_page_shows(reader, page):
    reader.walk(page)
