"""The file of an entry: one JSON document that a person can review, and back to the exact same entry.

Bodies and payload trees are written in the forms of `forms` and `bodies`, the text is laid out by `layout`.
Loading runs no code: plain JSON, and nothing in it names a type, a path or a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from onetake.errors import FormatError
from onetake.format.answers import fold_answer, unfold_answer
from onetake.format.bodies import fold_body, unfold_body
from onetake.format.entryjson import LARGEST, parse_entry
from onetake.format.layout import print_tree
from onetake.format.sidecar import REMEDY, Side
from onetake.model import ContractRef, Cut, Entry, Headers, KeySpec, Request, Response, Violation, header

FORMAT_VERSION = 1
"""The version that `dump_entry` writes and the newest that `load_entry` reads.

Changelog, newest first (`docs/reference/entry-format.md` has the details):
    1: the first.
"""

_T = TypeVar("_T")


def dump_entry(entry: Entry) -> tuple[bytes, dict[str, bytes]]:
    """Write an entry.

    Args:
        entry: The entry; its mappings hold JSON values only.

    Returns:
        The file (UTF-8 JSON, LF, final newline; the same entry always gives the same bytes), and the sidecars that it
        refers to, by name `_raw/<64 hex>.<ext>`.

    Raises:
        FormatError: A mapping holds what is no JSON value, or the file would be too large or too deep to be read again.
    """
    sides: dict[str, bytes] = {}
    data = print_tree(_entry_tree(entry, sides)).encode()
    if len(data) > LARGEST:
        raise FormatError(f"the entry would take {len(data)} bytes, more than the {LARGEST} that can be read again")
    return data, sides


def load_entry(data: bytes, side: Side) -> Entry:
    """Read an entry.

    Args:
        data: The bytes of its file; CRLF line ends do no harm.
        side: Returns the bytes of a sidecar by its name `_raw/<64 hex>.<ext>`, None where there is none.

    Returns:
        The entry that was written: dumped again, it gives the same bytes (with LF).

    Raises:
        FormatError: The file or a sidecar is damaged or of an unknown version; says what is wrong and what mends it.
    """
    fields = parse_entry(data)
    _check_version(fields.pop("onetake", None))
    # A body is one form; where there are no more than these, no tree has to be walked for forms inside it.
    plain = data.count(b'"$') <= _has_body(fields.get("request")) + _has_body(fields.get("response"))
    try:
        return _entry(fields, side, plain)
    except RecursionError:
        raise FormatError(f"nested too deep: {REMEDY}") from None


def _has_body(part: Any) -> bool:
    return type(part) is dict and "body" in part


def _check_version(version: Any) -> None:
    if type(version) is not int or version < 1:
        raise FormatError(f"is no entry of onetake: its field `onetake` must be the format's version; {REMEDY}")
    if version > FORMAT_VERSION:
        raise FormatError(f"written by a newer onetake (format {version}; this one reads {FORMAT_VERSION}): upgrade")


def _entry_tree(entry: Entry, sides: dict[str, bytes]) -> dict[str, Any]:
    tree: dict[str, Any] = {"onetake": FORMAT_VERSION, "verdict": entry.verdict}
    if entry.contract is not None or entry.unjudged:
        tree["contract"] = _contract_tree(entry.contract)
    tree |= _given(provenance=entry.provenance, dialect=entry.dialect)
    if entry.answer is not None:
        tree["answer"] = fold_answer(entry.answer, sides)
    tree |= _given(violations=[_violation_tree(violation) for violation in entry.violations])
    tree["request"] = _request_tree(entry.request, sides)
    tree["response"] = _response_tree(entry.response, sides)
    tree |= _given(metrics=entry.metrics, scrubbed=entry.scrubbed)
    spec = entry.key_spec
    tree["key_spec"] = {"recipe": spec.recipe, "scrub": spec.scrub} | _given(rules=spec.rules)
    tree |= {"key": entry.key, "ordinal": entry.ordinal}
    for name, value in entry.extra.items():
        # What a known object held beyond its known fields is kept under that object's name.
        tree[name] = tree[name] | value if name in tree else value
    return tree


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _contract_tree(contract: ContractRef | None) -> dict[str, Any] | None:
    if contract is None:
        return None
    known = {"name": contract.name, "schema_version": contract.schema_version, "schema": contract.schema}
    return known | _given(watch=contract.watch)


def _violation_tree(violation: Violation) -> dict[str, Any]:
    return {"path": violation.path, "expected": violation.expected, "found": violation.found}


def _request_tree(request: Request, sides: dict[str, bytes]) -> dict[str, Any]:
    head = {"method": request.method, "url": request.url}
    return head | _given(headers=request.headers) | _body_tree(request.body, request.headers, sides)


def _response_tree(response: Response, sides: dict[str, bytes]) -> dict[str, Any]:
    head = {"status": response.status} | _given(headers=response.headers)
    body = _body_tree(response.body, response.headers, sides)
    return head | body | _given(decoded=response.decoded, cut=response.cut)


def _body_tree(body: bytes, headers: Headers, sides: dict[str, bytes]) -> dict[str, Any]:
    return {"body": fold_body(body, header(headers, "content-type") or "", sides)} if body else {}


def _entry(fields: dict[str, Any], side: Side, plain: bool) -> Entry:
    extra: dict[str, Any] = {}
    unjudged = "contract" in fields and fields["contract"] is None
    answer = fields.pop("answer", None)
    verdict, provenance, dialect, violations, metrics, scrubbed, key, ordinal = _take(fields, _ENTRY)
    return Entry(
        verdict=verdict,
        unjudged=unjudged,
        contract=_part(fields, "contract", extra, _contract) if fields.get("contract") is not None else None,
        provenance=provenance,
        dialect=dialect,
        answer=None if answer is None else _within("answer", unfold_answer, answer, side),
        violations=tuple(map(_violation, violations)),
        request=_part(fields, "request", extra, _request, side, plain),
        response=_part(fields, "response", extra, _response, side, plain),
        metrics=metrics,
        scrubbed=_strings(scrubbed),
        key_spec=_part(fields, "key_spec", extra, _key_spec),
        key=key,
        ordinal=ordinal,
        extra=extra | {name: value for name, value in fields.items() if name != "contract"},
    )


def _part(fields: dict[str, Any], name: str, extra: dict[str, Any], read: Callable[..., _T], *args: Any) -> _T:
    """Read a known object; what it holds besides is kept in *extra*."""
    (part,) = _take(fields, ((name, dict, _NEEDED),))
    try:
        value = read(part, *args)
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from None
    if part:
        extra[name] = part
    return value


def _within(where: str, read: Callable[..., _T], *args: Any) -> _T:
    try:
        return read(*args)
    except FormatError as error:
        raise FormatError(f"{where}: {error}") from None


def _contract(part: dict[str, Any]) -> ContractRef:
    return ContractRef(*_take(part, _CONTRACT))


def _violation(part: Any) -> Violation:
    if type(part) is not dict:
        raise FormatError("a violation must be an object")
    return Violation(*_within("violations", _take, part, _VIOLATION))


def _request(part: dict[str, Any], side: Side, plain: bool) -> Request:
    method, url, headers = _take(part, _REQUEST)
    return Request(method, url, _headers(headers), _body(part, side, plain))


def _response(part: dict[str, Any], side: Side, plain: bool) -> Response:
    status, headers, decoded, cut = _take(part, _RESPONSE)
    if cut not in _CUTS:
        raise FormatError(f"cut must be provider or left, not {cut[:40]!r}")
    return Response(status, _headers(headers), _body(part, side, plain), decoded, _CUTS[cut])


def _key_spec(part: dict[str, Any]) -> KeySpec:
    return KeySpec(*_take(part, _KEY_SPEC))


def _body(part: dict[str, Any], side: Side, plain: bool) -> bytes:
    form = part.pop("body", None)
    return b"" if form is None else _within("body", unfold_body, form, side, plain)


def _headers(pairs: list[Any]) -> Headers:
    for pair in pairs:
        if not (type(pair) is list and len(pair) == 2 and type(pair[0]) is str and type(pair[1]) is str):
            raise FormatError("headers must be a list of [name, value] pairs")
    return tuple(map(tuple, pairs))


def _strings(values: list[Any]) -> tuple[str, ...]:
    if not _STRING.issuperset(map(type, values)):
        raise FormatError("scrubbed must be a list of strings")
    return tuple(values)


_STRING = frozenset((str,))
_NEEDED, _EMPTY = object(), object()
_Shape = tuple[tuple[str, type, object], ...]
"""The fields of an object: name, type, and what stands for a missing one: `_NEEDED`, `_EMPTY` or None."""

_ENTRY: _Shape = (
    ("verdict", str, _NEEDED),
    ("provenance", dict, _EMPTY),
    ("dialect", str, None),
    ("violations", list, _EMPTY),
    ("metrics", dict, _EMPTY),
    ("scrubbed", list, _EMPTY),
    ("key", str, _NEEDED),
    ("ordinal", int, _NEEDED),
)
_CONTRACT: _Shape = (
    ("name", str, _NEEDED),
    ("schema_version", int, _NEEDED),
    ("schema", str, _NEEDED),
    ("watch", str, None),
)
_VIOLATION: _Shape = (("path", str, _NEEDED), ("expected", str, _NEEDED), ("found", str, _NEEDED))
_REQUEST: _Shape = (("method", str, _NEEDED), ("url", str, _NEEDED), ("headers", list, _EMPTY))
_RESPONSE: _Shape = (
    ("status", int, _NEEDED),
    ("headers", list, _EMPTY),
    ("decoded", str, _EMPTY),
    ("cut", str, _EMPTY),
)
_KEY_SPEC: _Shape = (("recipe", str, _NEEDED), ("scrub", str, _NEEDED), ("rules", dict, _EMPTY))


def _take(fields: dict[str, Any], shape: _Shape) -> list[Any]:
    """Take fields out of their object, so that what is left is what this version does not know."""
    values = []
    for name, kind, missing in shape:
        value = fields.pop(name, missing)
        if type(value) is not kind:
            if value is _NEEDED:
                raise FormatError(f"the field {name} is missing: {REMEDY}")
            if value is not missing:
                raise FormatError(f"the field {name} must be {_KINDS[kind]}: {REMEDY}")
            value = kind() if missing is _EMPTY else None
        values.append(value)
    return values


_KINDS: Mapping[type, str] = {str: "a string", int: "an integer", dict: "an object", list: "a list"}
_CUTS = {cut.value: cut for cut in Cut}
