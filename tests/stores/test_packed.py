"""Bytes as a row of a store holds them."""

from __future__ import annotations

import os

import pytest

from onetake.stores.packed import digest, packed, unpacked

NAME = ("ab" * 8, 0)


@pytest.mark.parametrize("data", [b"", b"abc" * 1000, os.urandom(500)])
def test_bytes_come_back(data):
    row = packed(data, NAME)
    assert unpacked(row, NAME) == data
    assert len(row[2]) <= len(data)


def test_another_name_other_bytes_and_other_types_are_told():
    codec, said, body = packed(b"abc" * 1000, NAME)
    assert digest(b"abc" * 1000, NAME) == said != digest(b"abc" * 1000, ("ab" * 8, 1))
    for row, name in (
        ((codec, said, body), ("cd" * 8, 0)),
        ((codec, said, body), ("ab" * 8, 1)),
        ((codec, said, body[:-9]), NAME),
        ((0, said, body), NAME),
        ((codec, b"", body), NAME),
        ((codec, said, "text"), NAME),
        ((0, said, None), NAME),
    ):
        with pytest.raises(ValueError, match=r".+"):
            unpacked(row, name)
