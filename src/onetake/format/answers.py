"""The `answer` of an entry: what the model said, as a tree for the reviewer, and back."""

from __future__ import annotations

from typing import Any

from onetake.errors import FormatError
from onetake.format.forms import fold, fold_json, fold_text, read_json, unfold
from onetake.format.jsonstyle import style
from onetake.format.sidecar import Side
from onetake.model import Answer, Choice, ToolCall

_COMPACT = "compact"


def fold_answer(answer: Answer, sides: dict[str, bytes]) -> dict[str, Any]:
    """Return the answer as an entry shows it: `{"choices": [{text | json, style, tool_calls, …}]}`.

    Args:
        answer: What the model said.
        sides: Takes the sidecars, by name.
    """
    return {"choices": [_fold_choice(choice, sides) for choice in answer.choices]}


def unfold_answer(tree: Any, side: Side) -> Answer:
    """Return the answer that `fold_answer` was given. The tree is changed in place: it must be the caller's own.

    Raises:
        FormatError: The tree is malformed, or a sidecar missing or damaged.
    """
    choices = tree.get("choices") if type(tree) is dict else None
    if type(choices) is not list:
        raise FormatError("choices must be a list")
    return Answer(tuple([_unfold_choice(choice, side) for choice in choices]))


def unread(tree: dict[str, Any]) -> dict[str, Any]:
    """Return what the tree of an answer holds that `unfold_answer` does not read, each at its place; nearly always {}.

    Args:
        tree: As `unfold_answer` took it.
    """
    choices = list(map(_unread_of_choice, tree["choices"]))
    rest = {name: value for name, value in tree.items() if name != "choices"} if len(tree) > 1 else {}
    return {**rest, "choices": choices} if any(choices) else rest


def _unread_of_choice(choice: dict[str, Any]) -> dict[str, Any]:
    calls = [_others(call, _CALL) for call in choice.get("tool_calls", ())]
    rest = _others(choice, _WITH_JSON if "json" in choice else _WITH_TEXT)
    return {**rest, "tool_calls": calls} if any(calls) else rest


def _others(tree: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    if known.issuperset(tree):
        return {}
    return {name: value for name, value in tree.items() if name not in known}


def _fold_choice(choice: Choice, sides: dict[str, bytes]) -> dict[str, Any]:
    tree = {} if choice.text is None else _fold_said(choice.text, sides)
    if choice.tool_calls:
        tree["tool_calls"] = [_fold_call(call, sides) for call in choice.tool_calls]
    for name in ("finish", "refusal", "reasoning"):
        text = getattr(choice, name)
        if text is not None:
            tree[name] = fold_text(text, sides)
    return tree


def _fold_said(text: str, sides: dict[str, bytes]) -> dict[str, Any]:
    form = fold_json(text.encode("utf-8", "surrogatepass"), sides) if text[:1] in ("{", "[") else None
    if form is None:
        return {"text": fold_text(text, sides)}
    # The value stands alone, so that a reviewer reads what was said; how it was spaced stands behind it.
    return {"json": form["$json"]} | ({} if form["style"] == _COMPACT else {"style": form["style"]})


def _fold_call(call: ToolCall, sides: dict[str, bytes]) -> dict[str, Any]:
    return {"name": call.name, "arguments": fold(call.arguments, style(_COMPACT), sides)}


def _unfold_choice(choice: Any, side: Side) -> Choice:
    if type(choice) is not dict:
        raise FormatError("a choice must be an object")
    said = list(map(choice.get, _TEXTS))
    if not _PLAIN.issuperset(map(type, said)):
        said = [_text(name, text, side) for name, text in zip(_TEXTS, said, strict=True)]
    text, finish, refusal, reasoning = said
    if "json" in choice:
        text = read_json({"style": choice.get("style", _COMPACT), "$json": choice["json"]}, side).decode()
    calls = choice.get("tool_calls", [])
    if type(calls) is not list:
        raise FormatError("tool_calls must be a list")
    return Choice(text, tuple([_unfold_call(call, side) for call in calls]), finish, refusal, reasoning)


def _unfold_call(call: Any, side: Side) -> ToolCall:
    if type(call) is not dict or type(call.get("name")) is not str or "arguments" not in call:
        raise FormatError("a tool call must be an object with name and arguments")
    return ToolCall(call["name"], unfold(call["arguments"], side, values=True))


def _text(name: str, form: Any, side: Side) -> str | None:
    text = unfold(form, side)
    if text is not None and type(text) is not str:
        raise FormatError(f"{name} must be a string")
    return text


_TEXTS = ("text", "finish", "refusal", "reasoning")
_CALL = frozenset(("name", "arguments"))
_WITH_TEXT = frozenset((*_TEXTS, "tool_calls"))
_WITH_JSON = _WITH_TEXT - {"text"} | {"json", "style"}
_PLAIN = frozenset((str, type(None)))
"""What stands for itself; entries are read for every replay, and most texts of most answers are short, or none."""
