"""`onetake list`: the cassettes under a path, and their entries."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any

import click

from onetake import dialects
from onetake.cassette import Damaged
from onetake.cassette_files import CassetteFolder, find_cassettes, is_named_as_store, read_entry, read_file
from onetake.cli import output
from onetake.cli.entries import as_path, settings_root
from onetake.errors import UsageError
from onetake.model import Entry
from onetake.printable import short_key, spelled
from onetake.stores import open_store
from onetake.stores.naming import folder_name

_COLUMNS = ("key", "call", "verdict", "contract", "recorded", "vouched", "size", "test")
_TEST = len(_COLUMNS) - 1


@click.command("list")
@click.argument("path", required=False)
@output.json_option()
def list_(path: str | None, as_json: bool) -> None:
    """List cassettes and their entries.

    They are looked for in PATH and below; in the settings' folder where PATH is left out. A store that is one file
    (`.db`) is a cassette, too.
    """
    start = as_path(path) if path is not None else settings_root()
    if not start.is_dir() and not is_named_as_store(start):
        what = "is a file: `onetake show` shows an entry" if start.is_file() else "there is no such folder"
        raise UsageError(f"{path}: {what}")
    found = [_read(cassette) for cassette in find_cassettes(start)]
    if as_json:
        output.print_json({"cassettes": found})
        return
    for cassette in found:
        _print(cassette)
    _print_counts(found, start)


def _read(cassette: CassetteFolder) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    unreadable: list[dict[str, str]] = []
    if cassette.why:
        unreadable.append({"path": output.json_path(cassette.folder), "why": cassette.why})
    with closing(open_store(cassette.folder)) as store:
        for _, path in cassette.files:
            entry = read_entry(path, store)
            if isinstance(entry, Damaged):
                unreadable.append({"path": output.json_path(path), "why": entry.why})
            else:
                entries.append({**_row(path, entry), "size": len(read_file(path, store) or b"")})
    entries.sort(key=lambda row: (row["operation"], row["model_asked"] or "", row["key"], row["ordinal"]))
    return {"path": output.json_path(cassette.folder), "entries": entries, "unreadable": unreadable}


def _row(path: Path, entry: Entry) -> dict[str, Any]:
    request, contract, origin = entry.request, entry.contract, entry.provenance
    dialect = dialects.find(request.method, request.url)
    return {
        "path": output.json_path(path),
        "key": entry.key,
        "ordinal": entry.ordinal,
        "verdict": entry.verdict,
        "contract": {"name": contract.name, "schema_version": contract.schema_version} if contract else None,
        "unjudged": entry.unjudged,
        "dialect": entry.dialect,
        "operation": dialect.operation if dialect else request.method.lower(),
        **{name: _text(origin.get(name)) for name in ("model_asked", "model_served", "recorded_at", "commit", "test")},
        "vouched": vouched.get("at") if isinstance(vouched := origin.get("vouched"), dict) else None,
    }


def _text(said: Any) -> str | None:
    """Return what a field of the provenance says; a file may hold anything there."""
    return said if isinstance(said, str) else None


def _print(cassette: dict[str, Any]) -> None:
    output.title(f"{spelled(cassette['path'])}  ({_count(cassette)})")
    if cassette["entries"]:
        rows = [_cells(row) for row in cassette["entries"]]
        if {_own_folder(row["test"] or "") for row in cassette["entries"]} == {_tail(cassette["path"])}:
            rows = [(*cells[:_TEST], "") for cells in rows]
        output.table(_COLUMNS, rows)
    for damaged in cassette["unreadable"]:
        output.say(f"unreadable: {spelled(damaged['path'])}: {damaged['why']}")
    output.say()


def _own_folder(test: str) -> str:
    """Return the end of the path that a test's own cassette has."""
    file, _, own = test.partition("::")
    return f"{PurePosixPath(file).stem}/{folder_name(own.replace('::', '.'))}"


def _tail(path: str) -> str:
    return "/".join(path.split("/")[-2:])


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    contract = row["contract"]
    said = f"{contract['name']} v{contract['schema_version']}" if contract else "unjudged" if row["unjudged"] else ""
    return (
        short_key(row["key"]) + (f"-{row['ordinal']}" if row["ordinal"] else ""),
        f"{row['operation']} {row['model_asked'] or ''}".rstrip(),
        row["verdict"],
        said,
        _moment(row["recorded_at"]),
        _moment(row["vouched"]),
        f"{row['size']} B" if row["size"] < 10_000 else f"{row['size'] / 1000:.0f} kB",
        str(row["test"] or ""),
    )


def _moment(said: Any) -> str:
    """Return a time of the provenance as a reader likes it; a file may hold anything there."""
    return str(said or "").removesuffix("Z").replace("T", " ")


def _print_counts(found: list[dict[str, Any]], start: Path) -> None:
    if not found:
        output.say(f"no cassettes under {output.shown_path(start)}")
    elif len(found) > 1:
        whole = {name: [row for cassette in found for row in cassette[name]] for name in ("entries", "unreadable")}
        output.say(f"{len(found)} cassettes, {_count(whole)}")


def _count(cassette: dict[str, Any]) -> str:
    entries, unreadable = len(cassette["entries"]), len(cassette["unreadable"])
    said = output.entries(entries)
    return said + (f", {unreadable} unreadable" if unreadable else "")
