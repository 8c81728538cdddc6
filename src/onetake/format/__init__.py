"""The file of an entry: one JSON document that a person can review, and back to the exact same entry.

Bodies and payload trees are written in the forms of `forms` and `bodies`, the text is laid out by `layout`.
Loading runs no code: plain JSON, and nothing in it names a type, a path or a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from onetake.errors import FormatError, NewerFormatError
from onetake.format.answers import fold_answer, unfold_answer, unread
from onetake.format.bodies import fold_body, unfold_body
from onetake.format.entryjson import LARGEST, parse_entry
from onetake.format.fields import NEEDED, Fields
from onetake.format.layout import print_tree
from onetake.format.sidecar import REMEDY, Side
from onetake.model import Answer, ContractRef, Cut, Entry, Headers, KeySpec, Request, Response, Violation, header
from onetake.printable import one_line

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
    try:
        return _entry(fields, side)
    except RecursionError:
        raise FormatError(f"nested too deep: {REMEDY}") from None


def _check_version(version: Any) -> None:
    if type(version) is not int or version < 1:
        raise FormatError(f"is no entry of onetake: its field `onetake` must be the format's version; {REMEDY}")
    if version > FORMAT_VERSION:
        why = f"written by a newer onetake (format {version}; this one reads {FORMAT_VERSION})"
        raise NewerFormatError(f"{why}: upgrade")


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
        if name in tree:
            tree[name] = _beside(tree[name], value)
        elif name not in _PARTS:  # without that object it says nothing
            tree[name] = value
    return tree


def _beside(known: Any, more: Any) -> Any:
    """Return a tree with more members at the same places; what is known stays as it is."""
    if type(known) is dict and type(more) is dict:
        both = {name: _beside(known[name], value) if name in known else value for name, value in more.items()}
        return known | both
    if type(known) is list and type(more) is list:
        return [*map(_beside, known, more), *known[len(more) :]]
    return known


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


def _entry(fields: dict[str, Any], side: Side) -> Entry:
    extra: dict[str, Any] = {}
    answer, contract = fields.pop("answer", None), fields.pop("contract", NEEDED)
    found = _ENTRY.take(fields)
    verdict, provenance, dialect, violations, request, response, metrics, scrubbed, key_spec, key, ordinal = found
    return Entry(
        verdict=verdict,
        unjudged=contract is None,
        contract=None if contract in (None, NEEDED) else _part("contract", contract, extra, _contract),
        provenance=provenance,
        dialect=dialect,
        answer=None if answer is None else _answer(answer, extra, side),
        violations=_violations(violations, extra),
        request=_part("request", request, extra, _request, side),
        response=_part("response", response, extra, _response, side),
        metrics=metrics,
        scrubbed=_strings(scrubbed),
        key_spec=_part("key_spec", key_spec, extra, _key_spec),
        key=key,
        ordinal=ordinal,
        extra=extra | fields,
    )


def _part(name: str, part: Any, extra: dict[str, Any], read: Callable[..., _T], *args: Any) -> _T:
    """Read a known object; what it holds besides is kept in *extra*."""
    if type(part) is not dict:
        raise FormatError(f"the field {name} must be an object: {REMEDY}")
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
    return ContractRef(*_CONTRACT.take(part))


def _answer(tree: Any, extra: dict[str, Any], side: Side) -> Answer:
    answer = _within("answer", unfold_answer, tree, side)
    if rest := unread(tree):
        extra["answer"] = rest
    return answer


def _violations(parts: Sequence[Any], extra: dict[str, Any]) -> tuple[Violation, ...]:
    found = tuple(map(_violation, parts))
    if any(parts):  # each has only what is not known of it left
        extra["violations"] = parts
    return found


def _violation(part: Any) -> Violation:
    if type(part) is not dict:
        raise FormatError("a violation must be an object")
    return Violation(*_within("violations", _VIOLATION.take, part))


def _request(part: dict[str, Any], side: Side) -> Request:
    method, url, headers = _REQUEST.take(part)
    return Request(method, url, _headers(headers), _body(part, side))


def _response(part: dict[str, Any], side: Side) -> Response:
    status, headers, decoded, cut = _RESPONSE.take(part)
    if cut not in _CUTS:
        raise FormatError(f"cut must be provider or left, not {one_line(cut, 40)!r}")
    return Response(status, _headers(headers), _body(part, side), decoded, _CUTS[cut])


def _key_spec(part: dict[str, Any]) -> KeySpec:
    return KeySpec(*_KEY_SPEC.take(part))


def _body(part: dict[str, Any], side: Side) -> bytes:
    form = part.pop("body", None)
    try:
        return b"" if form is None else unfold_body(form, side)
    except FormatError as error:
        raise FormatError(f"body: {error}") from None


def _headers(pairs: Sequence[Any]) -> Headers:
    for pair in pairs:
        if not (type(pair) is list and len(pair) == 2 and type(pair[0]) is str and type(pair[1]) is str):
            raise FormatError("headers must be a list of [name, value] pairs")
    return tuple(map(tuple, pairs))


def _strings(values: Sequence[Any]) -> tuple[str, ...]:
    if not _STRING.issuperset(map(type, values)):
        raise FormatError("scrubbed must be a list of strings")
    return tuple(values)


_STRING = frozenset((str,))
_ENTRY = Fields(
    ("verdict", str, NEEDED),
    ("provenance", dict, dict),
    ("dialect", str, None),
    ("violations", list, list),
    ("request", dict, NEEDED),
    ("response", dict, NEEDED),
    ("metrics", dict, dict),
    ("scrubbed", list, list),
    ("key_spec", dict, NEEDED),
    ("key", str, NEEDED),
    ("ordinal", int, NEEDED),
)
_CONTRACT = Fields(
    ("name", str, NEEDED), ("schema_version", int, NEEDED), ("schema", str, NEEDED), ("watch", str, None)
)
_VIOLATION = Fields(("path", str, NEEDED), ("expected", str, NEEDED), ("found", str, NEEDED))
_REQUEST = Fields(("method", str, NEEDED), ("url", str, NEEDED), ("headers", list, list))
_RESPONSE = Fields(("status", int, NEEDED), ("headers", list, list), ("decoded", str, str), ("cut", str, str))
_KEY_SPEC = Fields(("recipe", str, NEEDED), ("scrub", str, NEEDED), ("rules", dict, dict))
_PARTS = frozenset(("contract", "answer", "violations"))
"""Known fields that an entry may be without."""
_CUTS = {cut.value: cut for cut in Cut}
