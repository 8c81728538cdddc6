from __future__ import annotations

import pytest

from onetake.key.multipart import Part, split


def body(*parts: bytes, mark: bytes = b"b0") -> bytes:
    return b"".join(b"--" + mark + b"\r\n" + part + b"\r\n" for part in parts) + b"--" + mark + b"--\r\n"


def one(head: str, data: bytes = b"x") -> Part | None:
    parts = split(body(head.encode() + b"\r\n\r\n" + data), "multipart/form-data; boundary=b0")
    return parts[0] if parts else None


def test_parts_come_in_order_with_name_file_name_type_and_exact_bytes():
    data = body(
        b'Content-Disposition: form-data; name="model"\r\n\r\nwhisper-1',
        b'content-disposition: form-data; name="file"; filename="a b.PNG"\r\n'
        b"Content-Type: Image/PNG; x=1\r\n\r\n\x00\r\n--b\xff",
    )
    assert split(data, 'Multipart/Form-Data; charset=utf-8; Boundary="b0"') == [
        Part("model", None, None, (), b"whisper-1"),
        Part("file", "a b.PNG", "image/png;x=1", (), b"\x00\r\n--b\xff"),
    ]


def test_br_037_the_boundary_leaves_no_trace():
    part = b'Content-Disposition: form-data; name="f"; filename="a"\r\n\r\n\xff\xd8'
    plain = split(body(part, mark=b"abc"), "multipart/form-data; boundary=abc")
    assert plain == split(body(part, mark=b"--'()+_,-./:=?"), 'multipart/form-data; boundary="--\'()+_,-./:=?"')
    assert plain == [Part("f", "a", None, (), b"\xff\xd8")]


def test_other_headers_are_kept_and_the_length_is_not():
    found = one('X-Page: 2\r\nContent-Length: 1\r\nContent-ID: <a>\r\nContent-Disposition: form-data; name="f"')
    assert found == Part("f", None, None, (("content-id", "<a>"), ("x-page", "2")), b"x")


@pytest.mark.parametrize(
    "value",
    [
        "attachment; filename=a",
        "form-data",
        "form-data; name=a; size=3",
        "form-data; name=a; name=b",
        "form-data; name",
    ],
)
def test_another_disposition_is_kept_as_it_is_written(value):
    assert one(f"Content-Disposition: {value}") == Part(None, None, None, (("content-disposition", value),), b"x")


@pytest.mark.parametrize(
    ("written", "filename"),
    [
        ("filename=a.txt", "a.txt"),
        ('filename="a;\\"b\\\\.txt"', 'a;"b\\.txt'),
        ('filename="naïve.txt"', "naïve.txt"),
        ("filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
        ("filename=\"naive.txt\"; filename*=utf-8'en'na%C3%AFve.txt", "naïve.txt"),
        ("filename*=iso-8859-1''na%EFve.txt", "iso-8859-1''na%EFve.txt"),
    ],
)
def test_a_file_name_is_what_it_decodes_to(written, filename):
    assert one(f'Content-Disposition: form-data; name="f"; {written}') == Part("f", filename, None, (), b"x")


def test_a_part_without_headers_and_one_without_bytes():
    assert split(b"--b0\r\n\r\nx\r\n--b0 \t\r\n\r\n\r\n--b0--", "multipart/mixed; boundary=b0") == [
        Part(None, None, None, (), b"x"),
        Part(None, None, None, (), b""),
    ]


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        (body(b"\r\nx"), "multipart/form-data"),
        (body(b"\r\nx"), "multipart/form-data; boundary=other"),
        (body(b"\r\nx")[:-6], "multipart/form-data; boundary=b0"),
        (b"preamble\r\n" + body(b"\r\nx"), "multipart/form-data; boundary=b0"),
        (body(b"\r\nx") + b"epilogue", "multipart/form-data; boundary=b0"),
        (body(b"\r\nx").replace(b"\r\n", b"\n"), "multipart/form-data; boundary=b0"),
        (body(b"\r\nx\r\n--b01\r\n\r\ny"), "multipart/form-data; boundary=b0"),
        (body(b"no colon\r\n\r\nx"), "multipart/form-data; boundary=b0"),
        (body(b"A: 1\r\n folded\r\n\r\nx"), "multipart/form-data; boundary=b0"),
        (body(b"A: 1\r\nA: 2\r\n\r\nx"), "multipart/form-data; boundary=b0"),
        (body(b"A: 1"), "multipart/form-data; boundary=b0"),
        (b"", "multipart/form-data; boundary=b0"),
    ],
)
def test_what_is_odd_is_not_taken_apart(data, content_type):
    assert split(data, content_type) is None


@pytest.mark.parametrize(
    ("head", "is_text"),
    [
        ('Content-Disposition: form-data; name="f"', True),
        ('Content-Disposition: form-data; name="f"; filename="a"', False),
        ('Content-Disposition: form-data; name="f"; filename="a"\r\nContent-Type: Text/CSV', True),
        ('Content-Disposition: form-data; name="f"\r\nContent-Type: application/json', False),
    ],
)
def test_plain_fields_and_text_types_are_text(head, is_text):
    assert one(head).is_text is is_text
