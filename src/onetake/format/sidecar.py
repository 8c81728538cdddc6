"""Sidecars: what an entry keeps beside itself, under `_raw/`, named by its digest."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from onetake.errors import FormatError

Side = Callable[[str], bytes | None]
"""Returns a sidecar's bytes by its name `_raw/<64 hex>.<ext>`, None where there is none."""

REMEDY = "restore it from version control, or delete the entry and record what is then missing"
"""What mends a damaged file of a cassette; every message that finds one says it."""


def put_aside(data: bytes, ext: str, sides: dict[str, bytes]) -> dict[str, Any]:
    """Add a sidecar to *sides* and return what an entry says of it: `sha256`, `ext` and `bytes`."""
    digest = sha256(data).hexdigest()
    sides[f"_raw/{digest}.{ext}"] = data
    return {"sha256": digest, "ext": ext, "bytes": len(data)}


def take_back(raw: Any, side: Side) -> bytes:
    """Return the bytes of a sidecar.

    Args:
        raw: What `put_aside` returned, read from a file: untrusted.
        side: Where to look.

    Raises:
        FormatError: *raw* is malformed, the sidecar is missing, or its bytes are not those that were put aside.
    """
    if not isinstance(raw, dict):
        raise FormatError("$raw must be an object")
    if raw.keys() != _FIELDS:
        raise FormatError("$raw must have exactly sha256, ext and bytes")
    digest, ext, size = raw["sha256"], raw["ext"], raw["bytes"]
    if not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
        raise FormatError("$raw: sha256 must be 64 lower-case hex digits")
    if not (isinstance(ext, str) and _EXT.fullmatch(ext)):
        raise FormatError("$raw: ext must be 1 to 12 of a-z and 0-9")
    name = f"_raw/{digest}.{ext}"
    data = side(name)
    if data is None:
        raise FormatError(f"the sidecar {name} is missing: {REMEDY}")
    if len(data) != size or sha256(data).hexdigest() != digest:
        raise FormatError(f"the sidecar {name} is not what was recorded{_suspicion(data)}: {REMEDY}")
    return data


def without_remedy(fault: str) -> str:
    """Return what a `FormatError` says is wrong, for where what mends it is said beside it."""
    return re.sub(f"(?:[;:]|, or) {re.escape(REMEDY)}$", "", fault)


def ext_of(data: bytes, media_type: str) -> str:
    """Return the file name extension for bytes: by their first bytes, else by media type, else `bin`.

    Args:
        data: The bytes.
        media_type: A content type or media type in any case, parameters allowed; may be empty.
    """
    for magic, ext in _MAGIC:
        if data.startswith(magic):
            return ext
    if data[:4] == b"RIFF":
        return {b"WAVE": "wav", b"WEBP": "webp"}.get(data[8:12], "bin")
    return _EXTS.get(bare(media_type), "bin")


def bare(content_type: str) -> str:
    """Return the media type of a content type, lower case, without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def _suspicion(data: bytes) -> str:
    if data.startswith(LFS_POINTER):
        return " but a Git-LFS pointer (`git lfs pull` fetches it)"
    if b"\r\n" in data:
        return " (line ends converted? the line `_raw/** -text` in .gitattributes prevents that)"
    return ""


LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_FIELDS = frozenset(("sha256", "ext", "bytes"))
_DIGEST = re.compile(r"[0-9a-f]{64}")
_EXT = re.compile(r"[a-z0-9]{1,12}")
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpg"),
    (b"GIF8", "gif"),
    (b"%PDF-", "pdf"),
    (b"ID3", "mp3"),
    (b"OggS", "ogg"),
    (b"fLaC", "flac"),
    (b"PK\x03\x04", "zip"),
)
_EXTS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/svg+xml": "svg",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "audio/pcm": "pcm",
    "video/mp4": "mp4",
    "application/pdf": "pdf",
    "application/zip": "zip",
    "application/json": "json",
    "text/csv": "csv",
    "text/html": "html",
    "text/plain": "txt",
}
