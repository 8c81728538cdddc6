"""The built-in quiet list."""

from __future__ import annotations

import re
from pathlib import Path

from onetake.quiet import QUIET

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "traffic.md"


def test_the_reference_lists_the_quiet_list_as_it_is():
    tables = re.findall(r"^### ([^\n]+)\n\n```\n(.*?)```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert [(kind.lower(), tuple(lines.split())) for kind, lines in tables] == list(QUIET)
