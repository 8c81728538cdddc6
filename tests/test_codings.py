from __future__ import annotations

import gzip
import random
import sys
import zlib

import brotli
import pytest
import zstandard

from onetake import codings
from onetake.codings import undo

TEXT = b'{"model":"m"}' * 3


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKED = {
    "gzip": gzip.compress(TEXT),
    "x-gzip": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
    "br": brotli.compress(TEXT),
    "zstd": zstandard.ZstdCompressor().compress(TEXT),
}


@pytest.mark.parametrize("name", PACKED)
def test_each_encoding_is_undone_in_any_case(name):
    assert undo(PACKED[name], name) == TEXT
    assert undo(PACKED[name], f" {name.upper()} ") == TEXT


@pytest.mark.parametrize("name", PACKED)
def test_what_is_not_so_encoded_gives_none(name):
    assert undo(TEXT, name) is None
    assert undo(PACKED[name][:-3], name) is None
    assert undo(PACKED[name] + b"junk", name) is None


@pytest.mark.parametrize("encoding", ["", "identity", " Identity , identity"])
def test_identity_gives_the_body_itself(encoding):
    assert undo(TEXT, encoding) is TEXT


def test_bare_deflate_is_undone_too():
    assert undo(bare(TEXT), "deflate") == TEXT


def test_a_list_is_undone_from_its_end():
    both = brotli.compress(gzip.compress(TEXT))
    assert undo(both, "gzip, br") == TEXT
    assert undo(both, "br, gzip") is None


def test_streams_behind_each_other_are_joined():
    assert undo(gzip.compress(b"one ") + gzip.compress(b"two"), "gzip") == b"one two"
    pack = zstandard.ZstdCompressor().compress
    assert undo(pack(b"one ") + pack(b"two"), "zstd") == b"one two"


def test_an_empty_body_and_an_unknown_encoding():
    assert undo(b"", "gzip") == b""
    assert undo(TEXT, "aws-chunked") is None
    assert undo(gzip.compress(TEXT), "gzip, aws-chunked") is None


@pytest.mark.parametrize("name", ["br", "zstd"])
def test_without_its_decoder_an_encoding_stays(name, monkeypatch):
    for module in ("brotli", "zstandard"):
        monkeypatch.setitem(sys.modules, module, None)
    assert undo(PACKED[name], name) is None
    assert undo(PACKED["gzip"], "gzip") == TEXT


@pytest.mark.parametrize(
    ("encoding", "known"),
    [
        ("gzip", True),
        ("Deflate, br", True),
        ("zstd", True),
        ("identity", True),
        ("x-own", False),
        ("gzip, x-own", False),
    ],
)
def test_which_codings_can_be_undone(encoding, known):
    assert codings.knows(encoding) is known


@pytest.mark.parametrize(("name", "module"), [("br", "brotli"), ("zstd", "zstandard")])
def test_a_coding_is_not_known_without_its_decoder(name, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    assert (codings.knows(name), codings.knows("gzip")) == (False, True)


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, brotli.compress, zstandard.ZstdCompressor().compress])
def test_a_bomb_is_not_decoded(pack, monkeypatch):
    monkeypatch.setattr(codings, "MAX_BYTES", 1_000_000)
    name = {gzip.compress: "gzip", zlib.compress: "deflate", brotli.compress: "br"}.get(pack, "zstd")
    assert undo(pack(b"\0" * 1_000_000), name) == b"\0" * 1_000_000
    assert undo(pack(b"\0" * 1_000_001), name) is None


def test_several_reads_of_a_long_body_are_joined():
    noise = random.Random(1).randbytes(300_000)
    assert undo(gzip.compress(noise), "gzip") == noise
    assert undo(brotli.compress(noise, quality=1), "br") == noise
    assert undo(zstandard.ZstdCompressor().compress(noise), "zstd") == noise
