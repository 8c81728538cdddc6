"""Secrets that lie in files: what the list of today, or a rule of the project, knows and no scrub took out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from onetake.model import Entry
from onetake.scrub import Scrubber, Scrubbing
from onetake.scrub.scanning import scan
from onetake.strictjson import one_line_writer
from onetake.upkeep import mends
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held
from onetake.writing import is_binary

REVOKE = "revoke it where it was issued, for it may be in the history of version control"
_MEND = (
    f"{REVOKE}; then delete the file and record"
    " again (`paths` and `patterns` of `scrub` in the settings name what the built-in list does not know)"
)


_write = one_line_writer(str, ascii_only=True, item=", ", colon=": ")


def in_file(path: Path, data: bytes) -> Iterator[Finding]:
    """Look through the bytes of a file: a sidecar, or what is left of an entry."""
    for found in scan(data):
        yield _secret(path, found.kind, found.where, found.line or 1)


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
    rest = _rest(entry)
    if not verified or not scrubber.clears(entry.request, entry.response, rest):
        scrubbing = scrubber.begin()
        scrubbing.request(entry.request)
        scrubbing.response(entry.response)
        without(entry, scrubbing)
        if scrubbing.spans or not verified or scan(rest.encode()):
            in_bytes = list(in_file(held.path, held.data))
            found = in_bytes or [_secret(held.path, "secret", where, 1) for where in scrubbing.spans]
            is_scrubbed = verified and scrubbing.spans
            yield from (replace(one, mend=_scrub(held.path)) if is_scrubbed else one for one in found)
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
    return scrubber.clears(entry.request, entry.response, _rest(entry, repr(entry.answer)))


def without(entry: Entry, scrubbing: Scrubbing) -> Entry:
    """Return an entry whose provenance, metrics, violations and unknown fields hold no secret; itself where none did.

    Args:
        entry: Its request and response stay as they are.
        scrubbing: It is told where secrets were.
    """
    said = [[one.path, one.found] for one in entry.violations]
    new = scrubbing.data(said, "violations")
    changed: dict[str, Any] = {}
    if new is not said:
        pairs = zip(entry.violations, new, strict=True)
        changed["violations"] = tuple(replace(one, path=path, found=found) for one, (path, found) in pairs)
    for name in ("provenance", "metrics", "extra"):
        data = getattr(entry, name)
        if (scrubbed := scrubbing.data(data, name)) is not data:
            changed[name] = scrubbed
    return replace(entry, **changed) if changed else entry


def _scrub(path: Path) -> str:
    return f"revoke it where it was issued, for version control may hold it; {mends.rekey(path.parent)} --yes scrubs it"


def _rest(entry: Entry, *more: str) -> str:
    """Return what an entry holds besides its request, response and answer, and more, as JSON."""
    violations = [(one.path, one.expected, one.found) for one in entry.violations]
    words = [entry.verdict, entry.contract.name if entry.contract else "", entry.dialect, entry.request.method, *more]
    held = [entry.provenance, entry.metrics, entry.key_spec.rules, entry.extra]
    return _write({"": [words, violations, entry.scrubbed, held]})


def _secret(path: Path, kind: str, where: str, line: int) -> Finding:
    # A place names keys of the body, and those may be the secret.
    place = f" at {where}" if where and not scan(where.encode("utf-8", "replace")) else ""
    return finding(Code.SECRET, path, f"{kind} in the file{place}", _MEND, line)
