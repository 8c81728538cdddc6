"""Text within bytes and within base64: what is media there is never looked at."""

import base64
import random

import pytest

from onetake.scrub.encoded import base64_texts, text_within

MEDIA = random.Random(7).randbytes(300_000)


def held(run):
    return [within for _, _, within in base64_texts(run)]


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_of_a_megabyte_of_media_hardly_a_word_is_looked_at(encode):
    assert sum(map(len, held(encode(MEDIA).decode()))) < 1000
    assert len(text_within(MEDIA)) < 1000


def test_text_between_media_is_found_at_every_alignment():
    for skip in range(3):
        run = base64.b64encode(MEDIA[: 3000 + skip] + b"\0words in an image\0" + MEDIA[:3000]).decode()
        assert any("words in an image" in within for within in held(run))


@pytest.mark.parametrize("codec", ["ascii", "utf-16-le", "utf-16-be", "utf-16"])
@pytest.mark.parametrize("before", [b"", b"\xff", b"\xff\xfe\xff"])
def test_ascii_and_utf_16(codec, before):
    assert text_within(before + "exactly one text".encode(codec)) == "exactly one text"


def test_stretches_are_kept_apart():
    assert text_within(b"the first of two\0\xffthe second of two") == 'the first of two"the second of two'


def test_what_is_short_is_passed_over():
    assert text_within(b"eleven char\xffs") == "" and held("QUJDREVGR0hJSktM") == []
