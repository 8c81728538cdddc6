"""Secrets that lie in files: what the list of today, or a rule of the project, knows and no scrub took out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from onetake.model import Entry
from onetake.scrub import Scrubber
from onetake.scrub.scanning import scan
from onetake.upkeep.findings import Code, Finding, finding

_MEND = (
    "revoke it where it was issued, for it may be in the history of version control; then delete the file and record"
    " again (`paths` and `patterns` in [tool.onetake.scrub] name what the built-in list does not know)"
)


def in_file(path: Path, data: bytes) -> Iterator[Finding]:
    """Look through the bytes of a file: an entry, a sidecar, or what is left of one."""
    for found in scan(data):
        yield _secret(path, found.kind, found.where, found.line or 1)


def in_entry(path: Path, entry: Entry, scrubber: Scrubber) -> Iterator[Finding]:
    """Look for what does not show in the bytes of an entry's file.

    A small binary body is base64 there; the project's own paths and patterns are known to its scrubber alone; a header
    that carries credentials is one by its name.
    """
    for side, body in (("request", entry.request.body), ("response", entry.response.body)):
        if _is_binary(body):
            yield from (_secret(path, found.kind, f"{side}.body", 1) for found in scan(body))
    request, response = entry.request, entry.response
    if not (scrubber.declared or scrubber.patterns):
        request, response = replace(request, body=b""), replace(response, body=b"")
    scrubbing = scrubber.begin()
    scrubbing.request(request)
    scrubbing.response(response)
    yield from (_secret(path, "secret", where, 1) for where in scrubbing.spans)


def _secret(path: Path, kind: str, where: str, line: int) -> Finding:
    # A place names keys of the body, and those may be the secret.
    place = f" at {where}" if where and not scan(where.encode("utf-8", "replace")) else ""
    return finding(Code.SECRET, path, f"{kind} in the file{place}", _MEND, line)


def _is_binary(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return True
    return False
