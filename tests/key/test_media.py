from __future__ import annotations

import pytest

from onetake.key import Keyer
from onetake.key.media import media_type
from onetake.model import Request


@pytest.mark.parametrize(
    ("content_type", "told"),
    [
        ("", ""),
        ("Image/PNG", "image/png"),
        ("audio/L16; rate=16000;channels=1", "audio/l16;channels=1;rate=16000"),
        ('text/plain; Charset="ISO-8859-1"', "text/plain;charset=ISO-8859-1"),
        ("text/plain; charset=UTF-8", "text/plain"),
        ("multipart/form-data; boundary=x1", "multipart/form-data"),
        ('a/b; title="x; y"', "a/b;title=x; y"),
    ],
)
def test_a_media_type_has_one_spelling(content_type, told):
    assert media_type(content_type) == told


def key(content_type: str, body: bytes = b"\xe9PCM") -> str:
    return Keyer().key(Request("POST", "https://api.example.com/v1/audio", (("content-type", content_type),), body))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("audio/l16;rate=16000", "audio/l16;rate=8000"),
        ("text/plain; charset=latin-1", "text/plain; charset=cp1251"),
    ],
)
def test_the_same_bytes_under_another_parameter_are_another_question(one, other):
    assert key(one) != key(other)


def test_the_same_part_under_another_parameter_is_another_question():
    def upload(kind: str) -> bytes:
        head = f'content-disposition: form-data; name="f"; filename="a"\r\ncontent-type: {kind}'
        return f"--b\r\n{head}\r\n\r\nPCM\r\n--b--\r\n".encode()

    form = "multipart/form-data; boundary=b"
    assert key(form, upload("audio/l16;rate=16000")) != key(form, upload("audio/l16;rate=8000"))
    assert key(form, upload("text/plain")) == key(form, upload("text/plain;charset=utf-8"))


def test_a_spelling_of_the_same_parameters_moves_nothing():
    assert key("audio/l16;rate=8000;channels=2") == key('Audio/L16; channels="2"; rate=8000')
