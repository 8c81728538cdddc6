from __future__ import annotations

import hashlib

import pytest

from onetake.errors import FormatError
from onetake.format.sidecar import ext_of, put_aside, take_back


def test_what_was_put_aside_comes_back():
    sides: dict = {}
    raw = put_aside(b"data: 1\n\n", "sse", sides)
    digest = hashlib.sha256(b"data: 1\n\n").hexdigest()
    assert raw == {"sha256": digest, "ext": "sse", "bytes": 9}
    assert sides == {f"_raw/{digest}.sse": b"data: 1\n\n"}
    assert take_back(raw, sides.get) == b"data: 1\n\n"


def test_a_missing_sidecar_is_named():
    raw = put_aside(b"x", "bin", {})
    with pytest.raises(FormatError, match=rf"_raw/{raw['sha256']}\.bin is missing.*record what is then missing"):
        take_back(raw, {}.get)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (b"data: 2\n\n", "not what was recorded"),
        (b"data: 1\r\n\r\n", r"_raw/\*\* -text"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git lfs pull"),
        (b"", "not what was recorded"),
    ],
)
def test_br_132_a_changed_sidecar_is_named_with_what_may_have_changed_it(found, why):
    raw = put_aside(b"data: 1\n\n", "sse", {})
    with pytest.raises(FormatError, match=rf"_raw/{raw['sha256']}.*{why}"):
        take_back(raw, lambda name: found)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("x", "must be an object"),
        ({}, "sha256"),
        ({"sha256": "../" + "a" * 61, "ext": "sse", "bytes": 1}, "sha256"),
        ({"sha256": "A" * 64, "ext": "sse", "bytes": 1}, "sha256"),
        ({"sha256": "a" * 64, "ext": "../x", "bytes": 1}, "ext"),
        ({"sha256": "a" * 64 + "\n", "ext": "sse", "bytes": 1}, "sha256"),
        ({"sha256": "a" * 64, "ext": 7, "bytes": 1}, "ext"),
    ],
)
def test_names_that_a_file_made_up_are_never_asked_for(raw, why):
    def side(name):
        raise AssertionError(name)

    with pytest.raises(FormatError, match=why):
        take_back(raw, side)


def test_a_size_that_does_not_fit_is_damage():
    sides: dict = {}
    raw = put_aside(b"abc", "bin", sides) | {"bytes": 4}
    with pytest.raises(FormatError, match="not what was recorded"):
        take_back(raw, sides.get)


@pytest.mark.parametrize(
    ("data", "media_type", "ext"),
    [
        (b"\x89PNG\r\n\x1a\nrest", "image/jpeg", "png"),
        (b"\xff\xd8\xff\xe0", "", "jpg"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "", "wav"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "", "webp"),
        (b"RIFF\x00\x00\x00\x00AVI ", "", "bin"),
        (b"%PDF-1.7", "application/octet-stream", "pdf"),
        (b"\x00\x01", "Image/PNG; x=y", "png"),
        (b"\x00\x01", "application/vnd.unheard-of", "bin"),
        (b"", "", "bin"),
    ],
)
def test_bytes_are_named_by_what_they_are_then_by_their_type(data, media_type, ext):
    assert ext_of(data, media_type) == ext
