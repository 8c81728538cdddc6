"""Names of files and folders: found by hex and ordinal, read by people, safe on every system."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256

from onetake.errors import StoreError

Slot = tuple[str, int]
"""The first 16 hex digits of a key, and an ordinal: what an entry is found by."""

SIDE_FOLDERS = ("_raw", "_schemas")

_KEY = re.compile(r"[0-9a-f]{16,64}")
_LABEL = re.compile(r"(?![.])[a-z0-9._-]{0,40}")
# Any decoration but a leading dot: macOS puts a `._x` beside an `x`, and our own temporary files begin so too.
_ENTRY = re.compile(r"(?![.])(?:.*-)?([0-9a-f]{16})(?:-([1-9][0-9]{0,8}))?[.]json", re.DOTALL)
_SIDE = re.compile(r"_raw/([0-9a-f]{64})[.][a-z0-9]{1,16}|_schemas/[0-9a-f]{64}[.]json")
_ORDINALS = 10**9

_LONGEST_LABEL = 40
_LONGEST_READ = 400
"""Characters of which a label is made: what it leaves out is looked for at each of them anew."""
_LONGEST_FOLDER = 100
_RESERVED = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$"}) | {
    f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789"
}
_ARN = re.compile(r"arn:[^:]*:[^:]*:[^:]*:[^:]*:(.*)", re.DOTALL)
_FINE_TUNED = re.compile(r"(ft:[^:]*):.*", re.DOTALL)
_ID = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\d{9,}|(?=[a-f]*\d)[0-9a-f]{12,}|(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{20,}"
)
_UNSAFE = re.compile(r"[^ -~]|[\"*/:<>?\\|~]|^[ .]|[ .]+$")


def slot(key: str, ordinal: int) -> Slot:
    """Return what an entry is found by.

    Args:
        key: 16 to 64 lower-case hex digits.
        ordinal: 0 or more, below 10**9.

    Raises:
        StoreError: Not such a key or ordinal.
    """
    if not _KEY.fullmatch(key) or not 0 <= ordinal < _ORDINALS:
        raise StoreError(f"no name of an entry: key {key!r}, ordinal {ordinal!r}")
    return key[:16], ordinal


def number(key: str) -> int:
    """Return the first 64 bits of a key as SQLite's signed whole number.

    Args:
        key: At least 16 hex digits.
    """
    return int.from_bytes(bytes.fromhex(key[:16]), "big", signed=True)


def digits(value: int) -> str:
    """Return the 16 hex digits that a `number` stands for."""
    return value.to_bytes(8, "big", signed=True).hex()


def entry_name(key: str, ordinal: int, label: str = "") -> str:
    """Return an entry's file name: `<label>-<16 hex>[-<ordinal>].json`; ordinal 0 is not written.

    Args:
        key: 16 to 64 lower-case hex digits.
        ordinal: 0 or more, below 10**9.
        label: `[a-z0-9._-]`, at most 40 characters, no leading dot; may be empty.

    Raises:
        StoreError: One of them is not of that shape.
    """
    found, place = slot(key, ordinal)
    if not is_label(label):
        raise StoreError(f"no label of an entry: {label!r}")
    return (f"{label}-" if label else "") + found + (f"-{place}" if place else "") + ".json"


def parse_name(name: str) -> Slot | None:
    """Return what a file name says, whatever its decoration; None if it is no entry's."""
    match = _ENTRY.fullmatch(name)
    return (match[1], int(match[2] or 0)) if match else None


def label_at(place: str) -> str:
    """Return the decoration in the name of an entry, empty as for `label_in`.

    Args:
        place: Where the entry is, as `Store.locate` tells it.
    """
    return label_in(place.rpartition("/")[2])


def label_in(name: str) -> str:
    """Return the decoration in the name of an entry's file; empty where it has none, or none that we would give."""
    found = _ENTRY.fullmatch(name)
    words = name[: found.start(1)].removesuffix("-") if found else ""
    return words if is_label(words) else ""


def is_label(text: str) -> bool:
    """Tell whether this may decorate the name of an entry."""
    return _LABEL.fullmatch(text) is not None and not _is_reserved(f"{text}-")


def side_digest(name: str) -> str | None:
    """Check a sidecar's name and return the SHA-256 that its bytes must have.

    Args:
        name: `_raw/<64 hex>.<ext>` or `_schemas/<64 hex>.json`.

    Returns:
        64 hex digits; None for a schema, whose digest is of its canonical form and not of these bytes.

    Raises:
        StoreError: Any other name.
    """
    match = _SIDE.fullmatch(name)
    if match is None:
        raise StoreError(f"no name of a sidecar: {name!r}")
    return match[1]


def side_hex(name: str) -> str:
    """Return the 64 hex digits in a sidecar's name: what an entry names it by.

    Args:
        name: As for `side_digest`.
    """
    return name.split("/")[1].split(".")[0]


def schema_name(digest: str) -> str:
    """Return the name of the sidecar that a schema lies in.

    Args:
        digest: SHA-256 of its canonical form, 64 hex digits.
    """
    return f"_schemas/{digest}.json"


def is_side(name: str) -> bool:
    """Tell whether this is a sidecar's name."""
    return _SIDE.fullmatch(name) is not None


@lru_cache(256)  # a program asks few models, and every entry is named
def label(operation: str, model: str) -> str:
    """Return an entry's decoration: operation and model, without account names and ids.

    Args:
        operation: A word such as `chat`.
        model: The model as the request names it, or empty; of a path or an ARN only the last part is told.

    Returns:
        `[a-z0-9._-]`, at most 40 characters, neither beginning nor ending in a sign; may be empty.
    """
    words = f"{operation}-{_bare(model)}"[:_LONGEST_READ].lower()
    words = re.sub(r"[^a-z0-9._-]+", "-", _ID.sub("", words))
    words = re.sub(r"([._-])[._-]+", r"\1", words)[:_LONGEST_LABEL].strip("._-")
    return words.replace(".", "-", 1) if _is_reserved(f"{words}-") else words


def _bare(model: str) -> str:
    """Drop what names an account: the front of a path or an ARN, a query, an organisation's own fine-tune."""
    arn = _ARN.fullmatch(model)
    bare = re.split(r"[?#]", arn[1] if arn else model)[0]
    bare = re.split(r"[/\\]", bare.rstrip("/\\"))[-1]
    tuned = _FINE_TUNED.fullmatch(bare)
    return tuned[1] if tuned else bare


def folder_name(test: str) -> str:
    """Return the name of a test's folder, safe on every system.

    Args:
        test: `Class.test name[params]`, any text.

    Returns:
        The same text where it is safe as it is; else a safe one of at most 100 characters that ends in `~` and 8 hex
        digits of the SHA-256 of the whole text. Two tests never share one, not even where case does not count. A class
        name is taken to differ from another in more than case.

    Source: Windows refuses `: * ? < > | " / \\`, control characters, a dot or blank at the end and the names of
        devices; Windows and macOS take names that are equal but for case as one.
    """
    safe = _UNSAFE.sub("_", test)
    if _is_reserved(safe.lower()):
        safe = "_" + safe
    if safe == test and 0 < len(safe) <= _LONGEST_FOLDER and not _case_matters(safe):
        return safe
    digest = sha256(test.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return safe[: _LONGEST_FOLDER - 9].rstrip(" .") + "~" + digest


def _case_matters(test: str) -> bool:
    function = re.sub(r"^(?:[A-Z][A-Za-z0-9_]*[.])+", "", test)
    return function != function.lower()


def _is_reserved(name: str) -> bool:
    """Tell whether Windows takes a name, whatever follows its first dot, for a device."""
    return name.split(".")[0].rstrip(" ") in _RESERVED
