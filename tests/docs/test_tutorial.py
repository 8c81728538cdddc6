"""The tutorial, walked from its first block to its last in a fresh folder."""

from __future__ import annotations

from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/tutorial/first-cassette.md"


@pytest.mark.slow
@pytest.mark.timeout(600)  # a dozen processes, on a machine that may be busy
def test_every_step_gives_what_the_page_shows(reader):
    reader.walk(PAGE)
    assert reader.provider.count == 0, "the page's own stand-in was passed by"
    assert len(reader.entries()) == 2
