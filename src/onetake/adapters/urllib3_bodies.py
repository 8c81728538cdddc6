"""The request bodies that urllib3 takes: read once, and given on, as often as it takes, as what they were."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Body:
    """A request body in memory."""

    content: bytes
    """All of it; text as UTF-8."""
    again: Callable[[], Any]
    """Returns it for urllib3, of the kind that came: it frames each kind, and encodes text, in its own way."""


def taken(body: Any, position: Any = None) -> Body:
    """Read a body.

    Args:
        body: None, bytes, text, a file, or what yields bytes or text.
        position: Where a file is to be read from, if not from where it stands.

    Raises:
        TypeError: It is none of these.
    """
    if body is None:
        return Body(b"", lambda: None)
    if isinstance(body, str):
        return Body(_bytes(body), lambda: body)
    if hasattr(body, "read"):
        return _file(body, position)
    try:
        content = bytes(memoryview(body))
    except TypeError:
        if not isinstance(body, Iterable):  # as the client says it, too
            said = "'body' must be a bytes-like object, file-like object, or iterable"
            raise TypeError(f"{said}. Instead was {body!r}") from None
        parts = tuple(body)
        return Body(b"".join(map(_bytes, parts)), lambda: parts)
    return Body(content, lambda: content)


async def taken_awaited(body: Any, position: Any = None) -> Body:
    """Read a body that may have to be awaited: besides what `taken` knows, an async file or iterable.

    Args:
        body: As for `taken`, or an async file, or what yields bytes or text when it is awaited.
        position: As for `taken`.

    Raises:
        TypeError: It is none of these.
    """
    if hasattr(body, "__aiter__"):
        parts = tuple([part async for part in body])
        return Body(b"".join(map(_bytes, parts)), lambda: parts)
    if not inspect.iscoroutinefunction(getattr(body, "read", None)):
        return taken(body, position)
    if isinstance(position, int):
        await body.seek(position)
    content = b"".join([_bytes(block) for block in await _blocks(body)])
    return Body(content, lambda: io.BytesIO(content))


async def _blocks(file: Any) -> list[Any]:
    blocks = []
    while block := await file.read(65536):
        blocks.append(block)
    return blocks


def _file(file: Any, position: Any) -> Body:
    if isinstance(position, int):
        file.seek(position)
    # In blocks: some wrappers (botocore's chunked uploads) read on only until a block is full.
    blocks = list(iter(lambda: file.read(65536) or None, None))
    if blocks and isinstance(blocks[0], str):
        text = "".join(blocks)
        return Body(_bytes(text), lambda: io.StringIO(text, newline=""))
    content = b"".join(blocks)
    return Body(content, lambda: io.BytesIO(content))


def _bytes(block: Any) -> bytes:
    return block.encode() if isinstance(block, str) else bytes(block)
