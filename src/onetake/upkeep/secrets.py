"""Secrets that lie in files: what the list of today, or a rule of the project, knows and no scrub took out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from onetake.model import Entry
from onetake.scrub import Scrubber
from onetake.scrub.scanning import scan
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held

_MEND = (
    "revoke it where it was issued, for it may be in the history of version control; then delete the file and record"
    " again (`paths` and `patterns` in [tool.onetake.scrub] name what the built-in list does not know)"
)


def in_file(path: Path, data: bytes) -> Iterator[Finding]:
    """Look through the bytes of a file: a sidecar, or what is left of an entry."""
    for found in scan(data):
        yield _secret(path, found.kind, found.where, found.line or 1)


def in_entry(held: Held, entry: Entry, scrubber: Scrubber, *, verified: bool) -> Iterator[Finding]:
    """Look through an entry that can be read.

    What is stored was scrubbed, and scrubbing it again changes nothing: where it would, a secret is there. That takes a
    third of the time that a scan of the file does, and sees more: binary bodies, which are base64 in the file; the
    project's own paths and patterns; headers that carry credentials by their names.

    Args:
        held: The file.
        entry: What is in it.
        scrubber: The project's.
        verified: True where its answer holds nothing but what the response does; else the file is scanned, too.
    """
    scrubbing = scrubber.begin()
    scrubbing.request(entry.request)
    scrubbing.response(entry.response)
    if verified and not scrubbing.spans and not scan(_rest(entry)):
        return
    in_bytes = list(in_file(held.path, held.data))
    yield from in_bytes or (_secret(held.path, "secret", where, 1) for where in scrubbing.spans)


def _rest(entry: Entry) -> bytes:
    """Return what an entry holds besides its request, response and answer, as it would stand in a file."""
    rest: list[object] = [entry.verdict, entry.contract and entry.contract.name, entry.provenance, entry.dialect, entry.scrubbed]
    violations = [(one.path, one.expected, one.found) for one in entry.violations]
    rest += [violations, entry.metrics, entry.key_spec.rules, entry.extra, entry.request.method]
    return json.dumps(rest).encode()


def _secret(path: Path, kind: str, where: str, line: int) -> Finding:
    # A place names keys of the body, and those may be the secret.
    place = f" at {where}" if where and not scan(where.encode("utf-8", "replace")) else ""
    return finding(Code.SECRET, path, f"{kind} in the file{place}", _MEND, line)
