"""One line of a book of what was missed: a request as it was asked, or how a session ended; written and read."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetake import strictjson, usage
from onetake.errors import FormatError
from onetake.key import Keyer
from onetake.model import ContractRef, KeySpec, Request
from onetake.stores.naming import Slot
from onetake.writing import is_binary

FORMAT = 1
"""The version of a line's format. 1: the first."""

_LONGEST, _LONGEST_NAME = 4096, 255
"""Characters of a path, and of a name in it, that any system takes."""
_KEY = re.compile(r"[0-9a-f]{64}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


@dataclass(frozen=True, slots=True)
class Missed:
    """One request that a session refused, as it was asked.

    Args:
        folder: The cassette's, absolute.
        test: The test's id; empty outside tests.
        request: Without its secrets.
        key: Its key, under *key_spec*.
        ordinal: Which answer of that key was asked for; of several at once, that of the first.
        key_spec: The rules that were in force.
        at: When, RFC 3339 in UTC.
        contracts: What its answer had to satisfy.
        scrubbed: Where its secrets were, as in an entry.
    """

    folder: Path
    test: str
    request: Request
    key: str
    ordinal: int
    key_spec: KeySpec
    at: str
    contracts: tuple[ContractRef, ...] = ()
    scrubbed: tuple[str, ...] = ()
    used: frozenset[Slot] = frozenset()
    """The entries of the cassette that sessions of this place asked for, as far as they came to their end."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a session noted at its end."""

    expected: frozenset[str]
    used: frozenset[Slot]


def line_in(line: bytes, root: Path) -> tuple[str, Missed] | Ended | None:
    """Read one line of a book: a refusal's digest with what was refused, or a session's end; None of a damaged one."""
    try:
        said = strictjson.loads(line.decode("utf-8", "surrogatepass"))
        if not isinstance(said, dict) or said.get("onetake_missed") != FORMAT:
            return None
        if "request" in said:
            return _text(said["refusal"]), _missed(said, root)
        return Ended(frozenset(_texts(said["expected"])), usage.slots_in(said["used"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, FormatError):
        return None


def _missed(said: Mapping[str, Any], root: Path) -> Missed:
    """Read what `MissBook` wrote; raises ValueError, TypeError, KeyError or FormatError where it is damaged."""
    cassette, key, ordinal, at = _text(said["cassette"]), _text(said["key"]), said["ordinal"], _text(said["at"])
    is_number = type(ordinal) is int and ordinal >= 0
    if not _is_path(cassette) or not _KEY.fullmatch(key) or not is_number or not _MOMENT.fullmatch(at):
        raise ValueError
    return Missed(
        folder=(root / cassette).absolute(),
        test=_text(said["test"]),
        request=_request(said["request"]),
        key=key,
        ordinal=ordinal,
        key_spec=_key_spec(said["key_spec"]),
        at=at,
        contracts=tuple(_contract(one) for one in said["contracts"]),
        scrubbed=tuple(_texts(said["scrubbed"])),
    )


def _is_path(text: str) -> bool:
    """Tell whether a system would take it as a path at all."""
    return "\0" not in text and len(text) <= _LONGEST and all(len(part) <= _LONGEST_NAME for part in text.split("/"))


def _key_spec(said: Mapping[str, Any]) -> KeySpec:
    spec = KeySpec(_text(said["recipe"]), _text(said["scrub"]), said["rules"])
    if not isinstance(spec.rules, dict):
        raise TypeError
    Keyer.from_spec(spec.rules)  # as far as they are rules at all
    return spec


def _contract(said: Mapping[str, Any]) -> ContractRef:
    version, watch = said["schema_version"], said.get("watch")
    if type(version) is not int or not said.keys() <= {"name", "schema_version", "schema", "watch"}:
        raise ValueError
    return ContractRef(_text(said["name"]), version, _text(said["schema"]), None if watch is None else _text(watch))


def _text(said: object) -> str:
    if not isinstance(said, str):
        raise TypeError
    return said


def _texts(said: object) -> list[str]:
    if not isinstance(said, list):
        raise TypeError
    return [_text(one) for one in said]


def as_line(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def plain(request: Request) -> dict[str, Any]:
    if is_binary(request.body):
        body: Any = {"base64": base64.b64encode(request.body).decode()}
    else:
        body = request.body.decode()
    headers = [list(pair) for pair in request.headers]
    return {"method": request.method, "url": request.url, "headers": headers, "body": body}


def _request(said: Mapping[str, Any]) -> Request:
    body = said["body"]
    data = base64.b64decode(body["base64"], validate=True) if isinstance(body, dict) else body.encode()
    headers = tuple((_text(name), _text(value)) for name, value in said["headers"])
    return Request(_text(said["method"]), _text(said["url"]), headers, data)
