"""The table of keys on the page for those who come from vcrpy: every key, and what the code does with it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from onetake.vcrwords.configuration import HONOURED, NOT_NEEDED, REFUSED

PAGE = (Path(__file__).parents[2] / "docs/how-to/come-from-vcrpy.md").read_text(encoding="utf-8")


def test_every_key_is_told_as_it_is_treated():
    told = dict(re.findall(r"^\| `(\w+)` \| (honoured|not needed|refused) \|", PAGE, re.MULTILINE))
    treated = {
        **dict.fromkeys(HONOURED, "honoured"),
        **dict.fromkeys(NOT_NEEDED, "not needed"),
        **dict.fromkeys(REFUSED, "refused"),
    }
    assert told == treated


def test_no_key_of_vcrpy_is_missing():
    config = pytest.importorskip("vcr.config")
    keys = set(inspect.signature(config.VCR).parameters)
    # What `use_cassette` takes besides; it has no signature of its own.
    keys |= set(re.findall(r'kwargs\.get\(\s*"(\w+)"', inspect.getsource(config.VCR))) - {"path"}
    assert keys <= HONOURED | set(NOT_NEEDED) | set(REFUSED), keys - HONOURED - set(NOT_NEEDED) - set(REFUSED)
