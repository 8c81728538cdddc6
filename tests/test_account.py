"""What a session has come to."""

from __future__ import annotations

import pytest

from onetake.account import Account
from onetake.child_book import ChildBook


@pytest.mark.parametrize(
    ("mode_by", "without"),
    [
        ("flag", "--record-mode"),
        ("code", "the mode that its marker or its code says"),
        ("environment", "ONETAKE_MODE"),
        ("settings", "`mode` in the settings"),
        ("vcr_config", "record_mode in vcr_config"),
        ("", "a mode that records"),
    ],
)
def test_what_brought_no_answer_is_said_with_what_has_it_replayed(direct, tmp_path, mode_by, without):
    asking = direct(mode="all", mode_by=mode_by, node="test_it.py::test_a")
    account = Account(asking.engine, ChildBook(tmp_path / "children", tmp_path, reads=True), tmp_path, owned=True)
    assert account.unanswered == ""
    for text in ("one", "two"):
        asking.engine.abandon(asking.ask(text))
    said = account.unanswered.splitlines()
    assert said[0].startswith("no answer to keep came: POST https://api.openai.com/v1/chat/completions")
    assert said[0].endswith("(and 1 more)")
    assert said[1:] == [
        f"  what is stored is as it was: without {without} it is replayed, and nobody is asked",
        "  to record, once the provider answers: pytest --record-mode=all test_it.py::test_a",
    ]
