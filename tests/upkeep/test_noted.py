"""What a person says of an entry, as it is kept."""

from __future__ import annotations

from onetake.scrub import Scrubber
from onetake.upkeep.noted import reason_of


def test_a_reason_keeps_its_lines_and_loses_secrets_and_control_characters():
    secret = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    said = reason_of(f"  seen \x1b[31m by me\nwith {secret}\n", Scrubber())
    assert said.startswith("seen ")
    assert said.count("\n") == 1
    assert secret not in said
    assert "\x1b" not in said
