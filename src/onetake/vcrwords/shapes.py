"""What values the keys of vcrpy's configuration take; any other is refused by its key, before it breaks somewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from onetake.errors import UsageError
from onetake.settings import MODE_WORDS
from onetake.settings_values import nearest

RECORD_MODES = {**{word: word for word in MODE_WORDS}, "any": "new_episodes"}
"""Words of `record_mode`, vcrpy's and ours, and the mode that does the same here."""


def check(said: Mapping[str, Any]) -> None:
    """Refuse values that are none of their keys'.

    Raises:
        UsageError: There is one; the value is not shown, as it may be a secret.
    """
    for key, (takes, words) in _SHAPES.items():
        if (value := said.get(key)) and not takes(value):
            raise UsageError(f"{key} takes {words}; this is {_kind(value)}")


def mode_of(word: Any) -> str:
    """Return the mode that a `record_mode` of vcrpy's means.

    Args:
        word: It, or a member of vcrpy's enumeration.

    Raises:
        UsageError: It is none.
    """
    text = str(getattr(word, "value", word))
    if text not in RECORD_MODES:
        hint = nearest(text, tuple(RECORD_MODES), f"it takes {', '.join(RECORD_MODES)}")
        raise UsageError(f"record_mode: unknown word {text!r}{hint}")
    return RECORD_MODES[text]


def functions_of(said: Any) -> list[Callable[[Any], Any]]:
    """Return the functions of a key that takes one or several."""
    if not said:
        return []
    return list(said) if isinstance(said, Iterable) else [said]


def _kind(value: Any) -> str:
    held = {type(one).__name__ for one in value} if isinstance(value, list | tuple | set) else set()
    return f"a {type(value).__name__}" + (f" of {', '.join(sorted(held))}" if held else "")


def _are_names(value: Any) -> bool:
    """Tell whether it names things, with or without what takes their values' place."""
    if isinstance(value, str):
        return True
    return isinstance(value, Collection) and all(isinstance(one, str) or _is_pair(one) for one in value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _are_values(value: Any) -> bool:
    pairs = value.items() if isinstance(value, Mapping) else value
    return not isinstance(value, str) and isinstance(pairs, Collection) and all(map(_is_long_enough, pairs))


def _is_long_enough(pair: Any) -> bool:
    return isinstance(pair, tuple | list) and len(pair) == 2


def _are_functions(value: Any) -> bool:
    return callable(value) or (isinstance(value, Collection) and all(map(callable, value)))


def _are_hosts(value: Any) -> bool:
    return isinstance(value, str | re.Pattern) or (
        isinstance(value, Collection) and all(isinstance(one, str | re.Pattern) for one in value)
    )


def _are_matchers(value: Any) -> bool:
    return not isinstance(value, str) and isinstance(value, Collection) and all(isinstance(one, str) for one in value)


def _are_patterns(value: Any) -> bool:
    """Tell whether it is regular expressions: in a list, or in one text with commas between them."""
    try:
        for one in value.split(",") if isinstance(value, str) else value:
            re.compile(one)
    except (re.error, TypeError):
        return False
    return True


_NAMES = _are_names, "names, each alone or in a tuple with what takes its value's place"
_FUNCTIONS = _are_functions, "a function, or a list of functions"
_MATCHERS = _are_matchers, "a list of matchers' names"
_SHAPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "additional_matchers": _MATCHERS,
    "allowed_hosts": (_are_patterns, "regular expressions of hosts"),
    "before_record": _FUNCTIONS,
    "before_record_request": _FUNCTIONS,
    "before_record_response": _FUNCTIONS,
    "filter_headers": _NAMES,
    "filter_post_data_parameters": _NAMES,
    "filter_query_parameters": _NAMES,
    "filter_sensitive_data": (_are_values, "a dict, or a list of pairs, of placeholders and values"),
    "ignore_hosts": (_are_hosts, "hosts, or compiled patterns of hosts"),
    "match_on": _MATCHERS,
    "path_transformer": (callable, "a function"),
}
