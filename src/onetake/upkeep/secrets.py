"""Secrets that lie in files: what the list of today, or a rule of the project, knows and no scrub took out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from onetake.model import Entry, Violation
from onetake.scrub import Scrubber, Scrubbing, may_hold_secret
from onetake.scrub.scanning import scan
from onetake.settings import load_settings
from onetake.stores.naming import SIDE_FOLDERS, is_side
from onetake.strictjson import one_line_writer
from onetake.upkeep import mends
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held
from onetake.writing import is_binary

REVOKE = "revoke it where it was issued, for it may be in the history of version control"
MEND = (
    f"{REVOKE}; then delete the file and record"
    " again (`paths` and `patterns` of `scrub` in the settings name what the built-in list does not know)"
)


_RENAME = "revoke it where it was issued, for version control may hold it; then give it another name"
_FIXED = ("verdict", "dialect", "method", "decoded", "contract", "schema", "watch", "recipe", "list", "key")
"""What the texts are called that no scrub may change: an entry that says something else there is another one."""
_UNJUDGED = (None, None, None)
_DIGEST = re.compile("[0-9a-f]{64}")

_write = one_line_writer(str, ascii_only=True, item=", ", colon=": ")


def in_file(path: Path, data: bytes) -> Iterator[Finding]:
    """Look through a file, its name too: a sidecar, or what is left of an entry."""
    yield from _in_bytes(path, data)
    yield from in_name(path)


def in_name(path: Path) -> Iterator[Finding]:
    """Look through the name of a file, and those of the folders of the project that it lies in."""
    if not may_hold_secret(path.as_posix()):
        return
    full = path.absolute()
    root = load_settings(full).root  # what lies above it is no part of the project
    parts = full.relative_to(root).parts if full.is_relative_to(root) else path.parts
    for part in parts:
        for found in scan(part.encode("utf-8", "surrogateescape")):
            where = "file" if part == path.name else "folder"
            yield finding(Code.SECRET, path, f"{found.kind} in the name of the {where}", _RENAME)


def in_side_names(folder: Path) -> Iterator[Finding]:
    """Look through the names of what lies where a cassette has its sidecars, and is called as none is.

    Args:
        folder: The cassette's.
    """
    for name in SIDE_FOLDERS:
        place, others = folder / name, []
        with suppress(OSError):  # what cannot be listed is told elsewhere
            others = [] if place.is_symlink() else sorted(place.iterdir())
        for path in others:
            yield from () if is_side(f"{name}/{path.name}") else in_name(path)


def _in_bytes(path: Path, data: bytes) -> Iterator[Finding]:
    for found in scan(data):
        yield _secret(path, found.kind, found.where, found.line or 1)


def clear_together(found: Sequence[tuple[Held, Entry]], scrubber: Scrubber) -> list[bool]:
    """Tell which entries hold no secret, in one look at all of them; True is certain, as `is_clear` is.

    Args:
        found: Entries whose answers hold nothing but what their responses do, and the files that they are in.
        scrubber: The project's.
    """
    rest = [_rest(entry, _named(held, entry)) for held, entry in found]
    return scrubber.clear_together([(entry.request, entry.response) for _, entry in found], _write({"": rest}))


def in_entry(held: Held, entry: Entry, scrubber: Scrubber, *, verified: bool) -> Iterator[Finding]:
    """Look through an entry that can be read.

    What is stored was scrubbed, and scrubbing it again changes nothing: where it would, a secret is there. That takes a
    third of the time that a scan of the file does, and sees more: the project's own paths and patterns, and headers
    that carry credentials by their names.

    Args:
        held: The file.
        entry: What is in it.
        scrubber: The project's.
        verified: True where its answer holds nothing but what the response does; else the file is scanned, too.
    """
    path = held.path
    if not verified or not scrubber.clears(entry.request, entry.response, _write(_rest(entry, _named(held, entry)))):
        scrubbing = scrubber.begin()
        scrubbing.request(entry.request)
        scrubbing.response(entry.response)
        without(entry, scrubbing)
        is_fixed = fixed(entry, scrubbing)
        is_scrubbed = verified and scrubbing.spans and not is_fixed
        if scrubbing.spans or not verified or scan(_write(_rest(entry)).encode()):
            in_bytes = list(_in_bytes(path, held.data))
            found = in_bytes or [_secret(path, "secret", where, 1) for where in scrubbing.spans]
            yield from (replace(one, mend=_scrub(path)) if is_scrubbed else one for one in found)
        yield from in_name(path)
    for side, body in (("request", entry.request.body), ("response", entry.response.body)):
        if is_binary(body):  # base64 in the file, and nothing that could be scrubbed
            yield from (_secret(held.path, found.kind, f"{side}.body", 1) for found in scan(body))


def is_clear(entry: Entry, scrubber: Scrubber) -> bool:
    """Tell quickly that an entry holds no secret; True is certain, False says only that somebody must look.

    Args:
        entry: Its answer is looked through too, whether the response says the same or not.
        scrubber: The project's.
    """
    if is_binary(entry.request.body) or is_binary(entry.response.body):
        return False
    return scrubber.clears(entry.request, entry.response, _write(_rest(entry, repr(entry.answer))))


def without(entry: Entry, scrubbing: Scrubbing) -> Entry:
    """Return an entry whose provenance, metrics, violations and unknown fields hold no secret; itself where none did.

    Args:
        entry: Its request and response stay as they are.
        scrubbing: It is told where secrets were.
    """
    said = [[one.path, one.expected, one.found] for one in entry.violations]
    new = scrubbing.data(said, "violations")
    changed: dict[str, Any] = {}
    if new is not said:
        changed["violations"] = tuple(Violation(*texts) for texts in new)
    places = list(entry.scrubbed)
    if (others := scrubbing.data(places, "scrubbed")) is not places:
        changed["scrubbed"] = tuple(others)
    for name in ("provenance", "metrics", "extra"):
        data = getattr(entry, name)
        if (scrubbed := scrubbing.data(data, name)) is not data:
            changed[name] = scrubbed
    return replace(entry, **changed) if changed else entry


def fixed(entry: Entry, scrubbing: Scrubbing) -> bool:
    """Tell whether a secret lies where none can be scrubbed: in what says how an entry is found and read.

    Args:
        entry: It.
        scrubbing: It is told where secrets were.
    """
    headers = [name for name, _ in (*entry.request.headers, *entry.response.headers)]
    words = dict(zip(_FIXED, _words(entry), strict=True))
    said = {**words, "rules": entry.key_spec.rules, "names": headers}
    return scrubbing.data(said, "entry") is not said


def _scrub(path: Path) -> str:
    return (
        f"revoke it where it was issued, for version control may hold it; `{mends.rekey(path.parent)} --yes` scrubs it"
    )


def _named(held: Held, entry: Entry) -> str:
    """Return what a file is called, without the digits that end nearly every name: so those of a folder are alike."""
    return str(held.path).removesuffix(f"{entry.key[:16]}.json")


def _rest(entry: Entry, *more: str) -> dict[str, Any]:
    """Return what an entry holds besides its answer and what `Scrubber.clears` takes by itself, and more."""
    violations = [(one.path, one.expected, one.found) for one in entry.violations]
    held = [entry.provenance, entry.metrics, entry.key_spec.rules, entry.extra]
    return {"": [_words(entry), more, violations, entry.scrubbed, held]}


def _words(entry: Entry) -> tuple[str | None, ...]:
    """Return the texts of an entry that say how it is found and read, as `_FIXED` names them."""
    contract, spec = entry.contract, entry.key_spec
    judged = (contract.name, contract.schema, contract.watch) if contract else _UNJUDGED
    # Nearly every key is one: it differs with every entry, and what is a digest holds no secret.
    key = "" if _DIGEST.fullmatch(entry.key) else entry.key
    said = entry.verdict, entry.dialect, entry.request.method, entry.response.decoded
    return *said, *judged, spec.recipe, spec.scrub, key


def _secret(path: Path, kind: str, where: str, line: int) -> Finding:
    # A place names keys of the body, and those may be the secret.
    place = f" at {where}" if where and not scan(where.encode("utf-8", "replace")) else ""
    return finding(Code.SECRET, path, f"{kind} in the file{place}", MEND, line)
