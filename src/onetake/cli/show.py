"""`onetake show`: one entry or several, for a reader."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from onetake import imported
from onetake.cli import output
from onetake.cli.entries import find_entries, load
from onetake.cli.readable import entry_data, finishes, pretty, request_text, response_text, said
from onetake.cli.textconv import entry_alone
from onetake.errors import FormatError, UsageError
from onetake.model import Entry
from onetake.printable import short_key


@click.command()
@click.argument("entries", metavar="ENTRY...", nargs=-1, required=True)
@click.option("--request", "request", is_flag=True, help="Show the request alone.")
@click.option("--response", "response", is_flag=True, help="Show the response alone.")
@click.option("--raw", is_flag=True, help="Write the exact bytes of the response's body.")
@click.option("--textconv", is_flag=True, help="Show a file for git: without its path; what is no entry, as it is.")
@output.json_option()
def show(entries: tuple[str, ...], request: bool, response: bool, raw: bool, textconv: bool, as_json: bool) -> None:
    """Show entries: contract and provenance, what the model said, the request.

    ENTRY is a path, or the first 8 or more hex digits of a key, looked for below the settings' folder.
    """
    if raw and (request or response or as_json or len(entries) > 1):
        raise UsageError("--raw writes the bytes of one entry and goes with no other option")
    if as_json and (request or response):
        raise UsageError("--json prints the whole entry and does not go with --request or --response")
    if textconv:
        if request or response or raw or as_json or len(entries) > 1:
            raise UsageError("--textconv takes one file and goes with no other option")
        _show_for_git(Path(entries[0]))
        return
    found = [(path, load(path)) for path in find_entries(entries)]
    if as_json:
        output.print_json({"entries": [{"path": output.json_path(path), **entry_data(e)} for path, e in found]})
    elif raw:
        sys.stdout.buffer.write(found[0][1].response.body)
    elif request or response:
        for _, entry in found:
            texts = [request_text(entry.request)] * request + [response_text(entry.response)] * response
            output.say("\n\n".join(texts))
    else:
        for number, (path, entry) in enumerate(found):
            if number:
                output.say()
            print_entry(path, entry)


def _show_for_git(path: Path) -> None:
    """Print a file as git compares it: git may give a copy that has another name, and no sidecars beside it."""
    data = path.read_bytes()
    try:
        entry = entry_alone(data)
        more = [("response", response_text(entry.response))] if entry.answer and entry.answer.choices else []
        more += [("more", pretty(dict(entry.extra)))] if entry.extra else []
        facts = [*origin(entry), ("said", said(entry)), *_rest(entry), *more]  # all: a diff hides no change
    except (FormatError, RecursionError):
        sys.stdout.buffer.write(data)
        return
    output.fields(facts)


def print_entry(path: Path, entry: Entry) -> None:
    """Print all of an entry."""
    output.title(output.shown_path(path))
    output.fields([*origin(entry), ("said", said(entry)), *_rest(entry)])


def origin(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield where an entry comes from, by name: verdict and contract first; empty where there is nothing to tell."""
    noted, contract = entry.provenance, entry.contract
    yield "verdict", entry.verdict
    if contract:
        watch = f", watch {contract.watch[:12]}…" if contract.watch else ""
        yield "contract", f"{contract.name} v{contract.schema_version}, schema {contract.schema[:12]}…{watch}"
    else:
        yield "contract", "none selected this answer (unjudged)" if entry.unjudged else "none"
    commit = str(noted.get("commit", ""))[:12] + (" with changes" if noted.get("dirty") else "")
    yield "recorded", _joined(("", noted.get("recorded_at")), ("at commit ", commit), ("by ", noted.get("test")))
    yield "vouched", _noted(noted.get("vouched"))
    yield "pinned", _noted(noted.get("pinned"))
    yield "adopted", _adopted(noted.get("adopted"))
    yield "edited", _noted(noted.get("edited"))
    yield "accepted", _noted(noted.get("accepted"))
    yield "imported", _imported(entry)
    yield (
        "with",
        _joined(*(("", noted.get(name)) for name in ("recorder", "client", "sdk")), ("Python ", noted.get("python"))),
    )
    yield "model", _joined(("asked ", noted.get("model_asked")), ("served ", noted.get("model_served")))
    yield "dialect", entry.dialect or ""
    yield "finish", finishes(entry)


def _rest(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.answer is None or not entry.answer.choices:
        yield "response", response_text(entry.response)
    yield "violations", "\n".join(map(str, entry.violations))
    yield "request", request_text(entry.request)
    yield "metrics", _named(entry.metrics)
    yield "scrubbed", "\n".join(entry.scrubbed)
    spec = entry.key_spec
    yield "key", f"{entry.key}, ordinal {entry.ordinal}, recipe {spec.recipe}, scrub {spec.scrub}"
    yield "key rules", pretty(dict(spec.rules)) if spec.rules else ""


def _noted(said: Any) -> str:
    """Return what a person noted in the entry; a file may hold anything there."""
    if not isinstance(said, Mapping):
        return "" if said is None else str(said)
    facts = _joined(("", said.get("at")), ("at commit ", str(said.get("commit", ""))[:12]), ("by ", said.get("by")))
    return ": ".join(part for part in (facts, str(said.get("reason", ""))) if part)


def _adopted(said: Any) -> str:
    """Return where an adopted answer comes from: it was given to another request."""
    noted = _noted(said)
    old = short_key(str(said.get("from", ""))) if isinstance(said, Mapping) else ""
    return f"from the entry with the key {old}, {noted}" if old else noted


def _imported(entry: Entry) -> str:
    """Return where an imported entry comes from, and what was noted then."""
    came = imported.imported_from(entry)
    if came is None:
        return ""
    loose = ", without the request's body (loose)" if imported.is_loose(entry) else ""
    notes = entry.provenance["imported_from"].get("notes")
    noted = map(str, notes if isinstance(notes, list) else ())
    return "\n".join([f"from {came.file}, interaction {came.position}{loose}", *noted])


def _joined(*facts: tuple[str, Any]) -> str:
    return ", ".join(f"{title}{value}" for title, value in facts if value)


def _named(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
