"""Keys that came by."""

from __future__ import annotations

from contextlib import closing

from onetake.batch.seen import Seen


def test_a_key_is_new_once_in_each_set():
    with closing(Seen("a", "b")) as seen:
        keys = ["0" * 64, "7f" * 32, "80" + "0" * 62, "f" * 64]
        assert [seen.add("a", key) for key in keys + keys] == [True] * 4 + [False] * 4
        assert [seen.has("b", key) for key in keys] == [False] * 4
        assert seen.add("b", keys[3])


def test_a_key_is_known_by_its_first_sixteen_digits_as_stores_name_it():
    with closing(Seen("a")) as seen:
        seen.add("a", "ab" * 32)
        assert (seen.has("a", "ab" * 8), seen.has("a", "ab" * 7 + "ac")) == (True, False)


def test_a_number_goes_with_a_key_and_the_last_one_counts():
    with closing(Seen("a")) as seen:
        assert seen.number("a", "ab" * 32) is None
        seen.note("a", "ab" * 32, 3)
        seen.note("a", "ab" * 32, 1)
        assert (seen.number("a", "ab" * 8), seen.has("a", "ab" * 32)) == (1, True)
