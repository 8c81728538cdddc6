"""What may be adopted: which differences leave an answer standing, which with a caution, and what is refused, and why.

Two things are let pass, and no other: a member of the body that was added and that no API is known to count as prompt,
model, schema, tools or parameter; and other words in what the program says in a prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from onetake import dialects, hints
from onetake.compare import Difference
from onetake.dialects import Dialect
from onetake.dialects.fields import Field, Speaker, field, has_words, speaker
from onetake.key import volatile
from onetake.model import Request
from onetake.printable import one_line
from onetake.upkeep.adopt.nearness import Asked
from onetake.upkeep.adopt.operations import Kind, Operation, Operations, operations, signature, tree_of, whole

EDITED = "the prompt was edited: the stored answer is to the old words"

_REASONS: Mapping[Field, str] = {
    Field.MODEL: "another model is asked",
    Field.SCHEMA: "the schema of the answer is another one",
    Field.TOOLS: "the tools of the request are others",
    Field.PROMPT: "the prompt differs in more than its words",
    Field.CONTEXT: "the conversation that the request goes on with is another one",
    Field.ARGUMENTS: "the function is called with other arguments",
    Field.PARAMETER: "a parameter that changes answers is another one",
}
_VERBS = {Kind.ADDED: "was added", Kind.REMOVED: "is gone", Kind.ORDER: "is in another order"}
_EMPTY = frozenset(("null", "[]", "{}", '""'))
_ID_NAME = re.compile("id|.*(_id|Id|ID)")
_ECHO = (
    "what the model answered before, and the request repeats, is another text: this turn and those after it hang on "
    "the old answer, and are to be recorded again together"
)
_ID = "it looks like an id or a moment, which is another one in every run"
_COUNTED = "only its digits differ, as those of a counter or a number that counts"
_AGAIN = "its answer was adopted over another value of this once already, so it may be another one in every run"


class Refusal(NamedTuple):
    """Why an answer is not taken over.

    Args:
        why: It, in a line.
        rules: The key rule that would take the difference out of the key, as TOML; empty where none is known.
    """

    why: str
    rules: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """A stored request, and the one that is asked in its place.

    Args:
        old: The stored one.
        new: The other.
        body: The keyed JSON body of the stored one; None where it has none.
        recorded_at: When its answer was recorded, RFC 3339; empty where that is not known.
        adopted: The places over which that answer was adopted before.
    """

    old: Request
    new: Request
    body: Any = None
    recorded_at: str = ""
    adopted: Collection[str] = ()

    @property
    def dialect(self) -> str | None:
        """The name of the API that the stored request is of."""
        found = dialects.find(self.old.method, self.old.url)
        return found.name if found else None


def refusal(found: Operations, pair: Pair) -> Refusal | None:
    """Say why the answer to one request is not taken for that to another; None where it may be.

    Args:
        found: The steps from the one to the other, texts as wholes.
        pair: The two.
    """
    dialect = pair.dialect
    first, second = (dialects.find(one.method, one.url) for one in (pair.old, pair.new))
    if first and second:
        was, now = first.model_asked(pair.old), second.model_asked(pair.new)
        if was != now:
            return Refusal(f"another model is asked: {_shown(was)} is now {_shown(now)}")
    for one in found:
        if why := _refusal(one, pair, dialect):
            return why._replace(why=f"{one_line(one.place, 160)}: {why.why}")
    if first and second and _promises(first, pair.old) != _promises(second, pair.new):
        return Refusal(_REASONS[Field.SCHEMA])
    return None


def may_be_taken(old: Asked, new: Asked) -> bool:
    """Tell whether the answer to a stored request may be taken for that to another, as far as the requests say it.

    Args:
        old: The stored one.
        new: The other.

    Raises:
        FormatError: The key rules of one of them are damaged.
    """
    before, after = (tree_of(one.parts()) for one in (old, new))
    found = whole(operations(before, after), before, after)
    return refusal(found, Pair(old.request, new.request, before["body"].get("json"), old.at)) is None


def cautions(found: Operations) -> tuple[str, ...]:
    """Return what a person should know before an answer is adopted over differences that may be, each once.

    Args:
        found: The steps, texts as wholes.
    """
    said = (EDITED if one.kind is not Kind.ADDED else _caution(one) for one in found)
    return tuple(dict.fromkeys(filter(None, said)))


def prompt(tree: Mapping[str, Any]) -> str:
    """Return what a request says to the model, and where: equal for equal prompts, whatever else is asked.

    Args:
        tree: What `tree_of` makes of it.

    Returns:
        Empty where none of the usual names is in its body.
    """
    body = tree.get("body", {}).get("json")
    names = body if isinstance(body, dict) else {}
    said = {name: value for name, value in names.items() if field((name,)) in (Field.PROMPT, Field.ARGUMENTS)}
    return signature([tree.get("method"), tree.get("path"), said]) if said else ""


def _field(steps: tuple[str | int, ...], dialect: str | None) -> Field:
    own = field(steps, dialect)
    return field(steps) if own is Field.OTHER else own


def _promises(dialect: Dialect, request: Request) -> list[str]:
    """Return the schemas that a request asks for, in whatever order."""
    return sorted(map(repr, dialect.promises(request)))


def _refusal(one: Operation, pair: Pair, dialect: str | None) -> Refusal | None:
    match one.path:
        case ("body", "json", *steps) if steps:
            return _in_body(one, tuple(steps), pair, dialect)
        case ("body", *_):
            return Refusal("what is sent is another content")
        case ("headers" | "query" as part, *_):
            verb = _VERBS.get(one.kind, "has another value")
            return Refusal(f"a {'header that counts in the key' if part == 'headers' else 'part of the query'} {verb}")
        case ("origin",):
            return Refusal("another host is asked; if that does not count, `origins` in the key rules says so")
    return Refusal("another call is made")


def _in_body(one: Operation, steps: tuple[str | int, ...], pair: Pair, dialect: str | None) -> Refusal | None:
    what = _field(steps, dialect)
    if one.kind is Kind.ADDED:
        is_harmless = what is Field.OTHER or (what is Field.PROMPT and len(steps) > 1 and one.new in _EMPTY)
        return None if is_harmless else _other(one, what)
    has_own_words = has_words(dialect) and field(steps, dialect) is Field.PROMPT
    whose = speaker(pair.body, steps) if has_own_words else Speaker.NOBODY
    is_id = _ID_NAME.fullmatch(str(steps[-1])) is not None
    if whose is Speaker.MODEL and not is_id:
        return Refusal(_ECHO)
    is_text_changed = one.kind is Kind.CHANGED and _is_text(one.old) and _is_text(one.new)
    may_be_id = what in (Field.PROMPT, Field.OTHER, Field.CONTEXT)
    if is_text_changed and may_be_id and (found := _id_like(one, pair, is_id=is_id)):
        return found
    if whose is Speaker.TOOL:
        return Refusal("what a tool returned is another text")
    if whose is not Speaker.PERSON or not is_text_changed:
        return _other(one, what)
    return Refusal(_AGAIN) if one.place in pair.adopted else None


def _id_like(one: Operation, pair: Pair, *, is_id: bool) -> Refusal | None:
    """Say that what differs is an id, a moment or a count, and which key rule takes it out."""
    changed = Difference(one.place, "changed", json.loads(one.new), json.loads(one.old))
    rules, _ = hints.key_rules([changed], pair.recorded_at, volatile.today())
    if rules:
        return Refusal(_ID, "; ".join(hints.written(rules)))
    ignored = hints.ignored(one.place)
    if is_id:
        return Refusal(_ID, f"ids = [{ignored}]" if ignored else "")
    if re.sub(r"\d+", "#", one.old) == re.sub(r"\d+", "#", one.new):
        return Refusal(_COUNTED)
    return None


def _other(one: Operation, what: Field) -> Refusal:
    verb = _VERBS.get(one.kind, "has another value")
    if what is Field.OTHER:
        return Refusal(f"it {verb}, and nothing is known of what that does to an answer")
    return Refusal(_REASONS[what])


def _caution(one: Operation) -> str:
    value = json.loads(one.new)
    if isinstance(value, str) and hints.is_id_like(value):
        return (
            f"{one_line(one.place, 160)} looks like an id: if it is another one in every run, a key rule takes it out"
        )
    return ""


def _is_text(value: str) -> bool:
    return value.startswith('"')


def _shown(model: str | None) -> str:
    return json.dumps(one_line(model or "none", 80), ensure_ascii=False)
