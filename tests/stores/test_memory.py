from __future__ import annotations

from onetake.stores.memory import MemoryStore
from onetake.testing import StoreConformance


class TestMemoryStore(StoreConformance):
    processes = False

    def make(self, tmp_path):
        return MemoryStore()


def test_two_stores_share_nothing():
    one, other = MemoryStore("one"), MemoryStore("other")
    one.add("a" * 64, 0, b"x")
    assert (one.get("a" * 64, 0), other.get("a" * 64, 0)) == (b"x", None)
    assert (one.place, other.locate("a" * 64, 2)) == ("one", f"other/{'a' * 16}-2.json")
