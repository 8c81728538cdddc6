"""Where a shape may stand."""

import base64
import random

from onetake.scrub.anchors import anchors, distinct_words, long_words, may_hold_shape
from onetake.scrub.shapes import SHAPES

KEY = "sk-" + "proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8"


def test_every_literal_is_found_where_it_begins():
    for number, shape in enumerate(SHAPES):
        for literal in shape.literals:
            assert (number, 3) in anchors(f"a {literal}".rjust(len(literal) + 3).encode(), 0, 99), literal


def test_in_a_megabyte_of_base64_hardly_a_place_is_looked_at():
    data = random.Random(3).randbytes(750_000)
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        low = encode(data).lower()
        assert len(anchors(low, 0, len(low))) < 500
        assert not may_hold_shape(encode(data).decode())


def test_a_word_is_told_once_and_with_what_stands_before_it():
    text = f"Bearer {KEY} and again Bearer {KEY}"
    assert [text[start:end] for start, end in long_words(text.encode())] == [f"Bearer {KEY}", f"gain Bearer {KEY}"]
    assert distinct_words("short words only") == set()
    assert distinct_words(f"{KEY}\n" * 3) == {KEY.encode(), f"{KEY[-11:]}\n{KEY}".encode()}


def test_an_escape_may_be_a_boundary():
    assert may_hold_shape(f"\\n{KEY}") and not may_hold_shape(f"n{KEY}")
