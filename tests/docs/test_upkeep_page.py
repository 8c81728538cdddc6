"""The page on upkeep: each section is walked apart, since each begins with the project of the page's opening."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/how-to/upkeep.md"
ALWAYS = "After a schema bump"
"""The section that is walked in every run; what the others go through is tested elsewhere, too."""


def sections():
    for title in re.findall(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        yield pytest.param(title, id=title, marks=() if title == ALWAYS else pytest.mark.whole)


@pytest.mark.slow
@pytest.mark.timeout(600)  # a dozen processes, on a machine that may be busy
@pytest.mark.parametrize("section", list(sections()))
def test_every_step_of_a_section_gives_what_the_page_shows(reader, section):
    reader.walk(PAGE, section)
