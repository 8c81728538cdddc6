"""What stored replies took."""

from __future__ import annotations

from onetake.batch.measuring import measure
from onetake.testing.provider import openai_chat


def test_stored_replies_are_measured(filling):
    filling.provider.script([openai_chat("one"), openai_chat("two")])
    filling.write({"m": "a"}, {"m": "b"})
    filling.fill()
    batch = filling.opened()
    found = measure(batch.store)
    batch.close()
    assert found.per_byte[0] < found.per_byte[1] < found.per_byte[2]
    assert found.answered is not None
    assert found.most is not None
