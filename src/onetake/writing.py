"""The one way to disk for every entry, pending, promoted or rejected: here all bytes are looked over for secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

from onetake import dialects, picking
from onetake.format import dump_entry
from onetake.key import Keyer
from onetake.model import Entry
from onetake.scrub.scanning import scan
from onetake.stores import DiskStore, Store
from onetake.stores.naming import label, label_at, schema_name


class SecretLeftError(ValueError):
    """Bytes that were about to be written still hold a secret; `args[0]` are the findings, never the secret itself."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is to be written of an entry.

    Args:
        row: Its key, ordinal, bytes and label, as `Store.add` takes them.
        sides: Its sidecars, by name.
    """

    row: tuple[str, int, bytes, str]
    sides: Mapping[str, bytes]


def write(store: Store, entry: Entry, side: Mapping[str, bytes], *, over: bool) -> bool:
    """Write an entry, and before it its sidecars, so that no entry ever names one that is not there yet.

    Args:
        store: Where to.
        entry: The scrubbed entry.
        side: Sidecars besides those of the entry's own bodies, by name.
        over: True writes it in the place of the one that has its key and ordinal.

    Returns:
        False if the ordinal is taken.

    Raises:
        SecretLeftError: The last look over all bytes found a secret; nothing was written.
        StoreError: The store could not write.
    """
    ready = prepared(entry, side)
    _add_sides(store, ready.sides)
    if over:
        store.replace(*ready.row)
    elif not store.add(*ready.row):
        return False
    # A prune that looked before the entry was there took them for unused, and moved them away.
    _add_sides(store, ready.sides)
    return True


def prepared(entry: Entry, side: Mapping[str, bytes]) -> Prepared:
    """Return all that is to be written of an entry, looked over.

    Args:
        entry: The scrubbed entry.
        side: Sidecars besides those of the entry's own bodies, by name.

    Raises:
        SecretLeftError: The last look over all bytes found a secret.
    """
    data, own = looked_over(entry)
    return Prepared((entry.key, entry.ordinal, data, decoration(entry)), {**side, **own})


def write_all(store: DiskStore, some: Sequence[Prepared], *, over: bool) -> None:
    """Write entries as `write` does, at a fraction of its cost.

    Raises:
        StoreError: The store could not write: some may be there.
    """
    sides = {name: content for one in some for name, content in one.sides.items()}
    rows = [one.row for one in some]
    _add_sides(store, sides)
    if over:
        store.replace_all(rows)
    else:
        store.add_all(rows)
    _add_sides(store, sides)


def _add_sides(store: Store, sides: Mapping[str, bytes]) -> None:
    for name, content in sides.items():
        store.add_side(name, content)


def looked_over(entry: Entry) -> tuple[bytes, dict[str, bytes]]:
    """Return the file of an entry and its sidecars, as `dump_entry` does, after the last look for secrets.

    Raises:
        SecretLeftError: One is left.
    """
    data, sides = dump_entry(entry)
    # A small binary body is in the file as base64, in which what it holds does not show.
    bodies = [body for body in (entry.request.body, entry.response.body) if is_binary(body)]
    findings = [finding for content in dict.fromkeys((data, *sides.values(), *bodies)) for finding in scan(content)]
    if findings:
        raise SecretLeftError(findings)
    return data, sides


def move(store: Store, trash: Store, entry: Entry) -> None:
    """Move an entry as it is, with its sidecars; as `copy` takes it."""
    copy(store, trash, entry)
    store.delete(entry.key, entry.ordinal)


def copy(store: Store, trash: Store, entry: Entry) -> None:
    """Put an entry into the trash too, as it is, with its sidecars, not over one that was put there before it.

    Args:
        store: Where it is.
        trash: Where it goes; under the first ordinal that is free there.
        entry: What was read there.
    """
    data, sides = dump_entry(entry)
    stored = store.get(entry.key, entry.ordinal)
    # As its file is called: the rules that an entry brings with it are not run, as a pattern may take for ever.
    words = label_at(store.locate(entry.key, entry.ordinal))
    for name, content in {**sides, **schema_side(store, entry)}.items():
        trash.add_side(name, content)
    ordinal = entry.ordinal
    while not trash.add(entry.key, ordinal, stored or data, words):
        ordinal += 1


def schema_side(store: Store, entry: Entry) -> dict[str, bytes]:
    """Return the sidecar of an entry's contract, by name, where the store has it."""
    name = schema_name(entry.contract.schema) if entry.contract else ""
    data = store.get_side(name) if name else None
    return {name: data} if data is not None else {}


def decoration(entry: Entry) -> str:
    """Return the words of a file name that are for eyes only: operation and model of the keyed request."""
    request = entry.request
    dialect = dialects.find(request.method, request.url)
    if dialect is None:
        return label(request.method.lower(), "")
    keyer, days = Keyer.from_spec(entry.key_spec.rules)
    keyed = keyer.parts(request, days)
    # Not what the dialect reads in the request as it came: a model that the key ignores must not show in the name.
    model = picking.text(picking.mapping(keyed["body"].get("json")).get("model"))
    return label(dialect.operation, model or _keyed_elsewhere(keyed, dialect.model_asked(request) or ""))


def _keyed_elsewhere(keyed: Mapping[str, Any], model: str) -> str:
    """Return the model that a dialect reads where the key holds it: in the path, or as a form's field; else nothing."""
    # A deployment, which may be several parts of the path, or one with a verb behind it; a function is its own model.
    if model and re.search(f"(?:^|/){re.escape(model)}(?:$|[/:])", unquote(keyed["path"])):
        return model
    parts = picking.mappings(keyed["body"].get("parts"))
    digest = sha256(model.encode("utf-8", "surrogatepass")).hexdigest()
    return model if any(part["name"] == "model" and part["sha256"] == digest for part in parts) else ""


def is_binary(body: bytes) -> bool:
    """Tell whether a body is no UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return True
    return False
