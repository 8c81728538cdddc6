"""YAML as plain values, from PyYAML's events: nothing is constructed but text, numbers, lists and mappings.

The file is another's: its depth, the number of its values and what its anchors expand to are bounded, and no step
recurses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from onetake.errors import FormatError, UsageError
from onetake.importers.tagged import name_of, of_tag
from onetake.printable import one_line
from onetake.scrub import shown

DEEPEST = 200
"""Levels of lists and mappings within each other that are read."""

MOST_VALUES = 2_000_000
"""Values that are read of a file, those that its anchors stand for among them."""

_LONGEST_NUMBER = 400
"""Characters of a number: a double has at most 310 written out, and parts of sixty cost their number squared."""

_INSTALL = 'reading YAML needs PyYAML: pip install "onetake[vcr]"'
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MERGE = "<<"
_SLOW = 4 * 1024 * 1024
"""Bytes that are read without libyaml: ten times as slow."""


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    is_map: bool
    tag: str | None
    anchor: str | None
    before: tuple[int, int]
    items: list[Any] = field(default_factory=list)
    merges: set[int] = field(default_factory=set)
    """Which of its members are no members, but merged into it."""

    @property
    def is_at_name(self) -> bool:
        """Tell whether what comes next names a member."""
        return self.is_map and len(self.items) % 2 == 0


def load(data: bytes, *, most_text: int) -> tuple[Any, bool]:
    """Read a YAML file as plain values.

    Args:
        data: UTF-8 or, with a byte order mark, UTF-16.
        most_text: Characters of all texts together, those that anchors stand for among them.

    Returns:
        The first document (scalars as vcrpy's loader reads them, but a date stays text; a Python object is a `Tagged`),
        and whether others follow.

    Raises:
        FormatError: It is no YAML, or has more in it than is read; says which, and the line.
        UsageError: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError:
        raise UsageError(_INSTALL) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Building(yaml, loader(data), most_text).document()
    except yaml.MarkedYAMLError as error:
        if "Unicode character escape" in str(error.problem) and loader is not yaml.SafeLoader:
            return _slowly(yaml, data, most_text)
        raise FormatError(f"no YAML: {_told(error)}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise FormatError(f"no YAML: {_short(error)}") from None


def _slowly(yaml: Any, data: bytes, most_text: int) -> tuple[Any, bool]:
    """Read it by Python's parser: libyaml refuses an escaped half of a surrogate pair, which JSON's escapes have."""
    if len(data) > _SLOW:
        raise FormatError(f"no YAML that can be read: half a character is escaped in it, in more than {_SLOW} bytes")
    try:
        return _Building(yaml, yaml.SafeLoader(data), most_text).document()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise FormatError(f"no YAML: {_short(error)}") from None


class _Building:
    """One document being built."""

    def __init__(self, yaml: Any, loader: Any, most_text: int) -> None:
        self._yaml = yaml
        self._loader = loader
        self._scalars = yaml.constructor.SafeConstructor()
        self._most_text = most_text
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self._values = self._text = 0

    def document(self) -> tuple[Any, bool]:
        """Return the first document, and whether others follow."""
        yaml, loader = self._yaml, self._loader
        try:
            while not isinstance(event := loader.get_event(), yaml.DocumentStartEvent):
                if isinstance(event, yaml.StreamEndEvent):
                    return None, False
            found = self._node()
            loader.get_event()
            return found, not isinstance(loader.get_event(), yaml.StreamEndEvent)
        finally:
            loader.dispose()

    def _node(self) -> Any:
        yaml = self._yaml
        stack: list[_Open] = []
        while True:
            event = self._loader.get_event()
            if isinstance(event, yaml.ScalarEvent):
                value = self._scalar(event)
                if stack and stack[-1].is_at_name and value == _MERGE and event.implicit[0]:
                    stack[-1].merges.add(len(stack[-1].items) // 2)
            elif isinstance(event, yaml.AliasEvent):
                value = self._alias(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._count(1, 0)
                if len(stack) >= DEEPEST:
                    raise FormatError(f"{_line(event)}: nested deeper than {DEEPEST} levels")
                is_map = isinstance(event, yaml.MappingStartEvent)
                stack.append(_Open(is_map, event.tag, event.anchor, (self._values, self._text)))
                continue
            else:
                value = self._closed(stack.pop())
            if not stack:
                return value
            stack[-1].items.append(value)

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        before = self._values, self._text
        self._count(1, len(text))
        if event.tag is not None and event.tag != "!":
            value = of_tag(event.tag, self._resolved(event, event.tag))
        elif event.implicit[0] and event.tag is None:
            tag = self._loader.resolve(self._yaml.ScalarNode, text, (True, False))
            value = self._resolved(event, tag)
        else:
            value = _whole(text)
        self._anchored(event.anchor, value, before)
        return value

    def _resolved(self, event: Any, tag: str) -> Any:
        """Read a scalar as YAML 1.1 does, as that is what vcrpy's loader takes it for."""
        kind = tag.rpartition(":")[2].rpartition("/")[2]
        if kind in ("null", "none"):
            return None
        if kind not in ("int", "float", "bool", "long"):
            return _whole(event.value)
        if len(event.value) > _LONGEST_NUMBER:
            raise FormatError(f"{_line(event)}: a number that is too long")
        node = self._yaml.ScalarNode(tag, event.value)
        try:
            if kind == "bool":
                return self._scalars.construct_yaml_bool(node)
            if kind == "float":
                return self._scalars.construct_yaml_float(node)
            return self._scalars.construct_yaml_int(node)
        except (ValueError, KeyError, IndexError, OverflowError):
            raise FormatError(f"{_line(event)}: a number that cannot be read") from None

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            raise FormatError(f"{_line(event)}: an alias of what is not there, or of what it stands in")
        value, values, text = self._anchors[event.anchor]
        self._count(values, text)
        return value

    def _closed(self, one: _Open) -> Any:
        value: Any = one.items
        if one.is_map:
            value = self._mapping(one)
        if one.tag is not None and one.tag != "!":
            value = of_tag(one.tag, value)
        self._anchored(one.anchor, value, one.before)
        return value

    def _mapping(self, one: _Open) -> dict[str, Any]:
        pairs = list(zip(one.items[::2], one.items[1::2], strict=True))
        merged = [value for number, (_, value) in enumerate(pairs) if number in one.merges]
        own = {name_of(name): value for number, (name, value) in enumerate(pairs) if number not in one.merges}
        found: dict[str, Any] = {}
        parts = [part for value in merged for part in (value if isinstance(value, list) else [value])]
        for part in reversed(parts):  # the first of several goes before the others
            if not isinstance(part, dict):
                raise FormatError("no YAML: a merge of what is no mapping")
            self._count(len(part), 0)
            found |= part
        return found | own

    def _anchored(self, anchor: str | None, value: Any, before: tuple[int, int]) -> None:
        if anchor is not None:
            self._anchors[anchor] = value, self._values - before[0] + 1, self._text - before[1]

    def _count(self, values: int, text: int) -> None:
        self._values += values
        self._text += text
        if self._values > MOST_VALUES:
            raise FormatError(f"more than {MOST_VALUES} values, with what its anchors stand for")
        if self._text > self._most_text:
            raise FormatError(f"more than {self._most_text} characters, with what its anchors stand for")


def _whole(text: str) -> str:
    """Return a text in which two escaped halves of a character are that character."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _line(event: Any) -> str:
    return f"line {event.start_mark.line + 1}"


def _told(error: Any) -> str:
    """Return what is wrong and where, without a piece of the file."""
    mark = error.problem_mark
    return f"{error.problem}" + (f", line {mark.line + 1}" if mark else "")


def _short(error: BaseException) -> str:
    return one_line(shown(str(error).partition("\n")[0]), 160) or type(error).__name__
