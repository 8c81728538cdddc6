"""Request bodies of every kind: read once, given on as what they were."""

from __future__ import annotations

import asyncio
import io

import pytest
import urllib3

from onetake.adapters.urllib3_bodies import taken, taken_awaited


def _same(value):
    return value


@pytest.mark.parametrize(
    ("body", "content", "again"),
    [
        (None, b"", _same),
        ("t\u00e9xt", b"t\xc3\xa9xt", _same),
        (b"bytes", b"bytes", _same),
        (bytearray(b"array"), b"array", _same),
        (memoryview(b"view"), b"view", _same),
        (io.BytesIO(b"a file"), b"a file", lambda file: file.read()),
        (io.StringIO("t\u00e9xt\r\n"), b"t\xc3\xa9xt\r\n", lambda file: file.read().encode()),
        ((part for part in ["one", b"two"]), b"onetwo", lambda parts: "".join(parts[:1]).encode() + parts[1]),
    ],
    ids=["none", "text", "bytes", "bytearray", "memoryview", "file", "text file", "generator"],
)
def test_a_body_is_given_on_as_often_as_it_takes(body, content, again):
    found = taken(body)
    assert found.content == content
    for _ in range(2):
        given = again(found.again())
        assert (given or b"" if not isinstance(given, str) else given.encode()) == content


def test_what_is_no_body_is_the_clients_own_error(url, provider, session):
    with pytest.raises(TypeError) as bare:
        urllib3.request("POST", url, body=12)
    with session("once"), pytest.raises(TypeError) as raised:
        urllib3.request("POST", url, body=12)
    assert (str(raised.value), provider.count) == (str(bare.value), 0)


def test_an_error_within_an_iterable_body_stays_what_it_is():
    def parts():
        yield b"one"
        raise TypeError("of the program")

    with pytest.raises(TypeError, match="of the program"):
        taken(parts())


def test_a_file_is_read_from_where_it_was_said():
    file = io.BytesIO(b"skipped, kept")
    assert taken(file, 9).content == b"kept"
    file.seek(11)
    assert taken(file).content == b"pt"


def test_a_file_that_gives_less_than_asked_for_is_read_to_its_end():
    parts = [b"a", b"b", b"c"]

    class Slow(io.RawIOBase):
        def read(self, size=-1):
            return parts.pop(0) if parts else b""

    assert taken(Slow()).content == b"abc"


def test_what_is_no_body_is_an_error():
    with pytest.raises(TypeError):
        taken(7)


class _File:
    def __init__(self, content):
        self._file = io.BytesIO(content)

    async def read(self, size):
        return self._file.read(min(size, 4))

    async def seek(self, position):
        self._file.seek(position)


async def _parts():
    for part in (b"one", "two"):
        yield part


def test_awaited_bodies_are_read_too():
    async def main():
        iterated = await taken_awaited(_parts())
        assert (iterated.content, iterated.again()) == (b"onetwo", (b"one", "two"))
        assert (await taken_awaited(_File(b"skipped, kept"), 9)).content == b"kept"
        file = await taken_awaited(_File(b"a whole file"))
        assert file.content == file.again().read() == file.again().read() == b"a whole file"
        assert (await taken_awaited(b"plain")).content == b"plain"

    asyncio.run(main())
