"""The tutorial, walked from its first block to its last in a fresh folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs/tutorial"
PAGE = TUTORIAL / "first-cassette.md"


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.timeout(600)  # a dozen processes, on a machine that may be busy
def test_every_step_gives_what_the_page_shows(reader):
    reader.walk(PAGE)
    assert reader.provider.count == 0, "the page's own stand-in was passed by"
    assert len(reader.entries()) == 2
    written = {Path(name).name for name in reader.project.files()}
    assert set(re.findall(r"chat-gpt-5-mini-[0-9a-f]{16}\.json", PAGE.read_text(encoding="utf-8"))) <= written


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_step_of_the_first_batch_gives_what_the_page_shows(reader):
    reader.walk(TUTORIAL / "first-batch.md")
    assert reader.provider.count == 0, "the page's own stand-in was passed by"
    assert len(reader.project.read("labels.jsonl").splitlines()) == 6
