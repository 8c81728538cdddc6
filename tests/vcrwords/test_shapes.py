"""Values of vcrpy's keys: what each takes, and how anything else is refused."""

from __future__ import annotations

import enum
import re

import pytest

from onetake.errors import UsageError
from onetake.vcrwords.shapes import check, functions_of, mode_of

SECRET = "sk-proj-abcDEF0123456789"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (
            "filter_sensitive_data",
            [SECRET],
            "a dict, or a list of pairs, of placeholders and values; this is a list of str",
        ),
        ("filter_sensitive_data", SECRET, "this is a str"),
        ("before_record_request", "x", "a function, or a list of functions; this is a str"),
        ("before_record_response", [print, "x"], "this is a list of builtin_function_or_method, str"),
        ("before_record", 7, "this is a int"),
        ("match_on", "body", "a list of matchers' names; this is a str"),
        ("additional_matchers", [7], "this is a list of int"),
        ("filter_headers", [("a", 1, 2)], "this is a list of tuple"),
        ("filter_query_parameters", 7, "names, each alone or in a tuple"),
        ("filter_post_data_parameters", (name for name in "ab"), "this is a generator"),
        ("ignore_hosts", [7], "hosts, or compiled patterns of hosts"),
        ("allowed_hosts", ["*.a"], "regular expressions of hosts; this is a list of str"),
        ("path_transformer", "x", "a function; this is a str"),
    ],
)
def test_a_value_that_is_none_of_its_keys_is_refused_by_name_and_not_shown(key, value, said):
    with pytest.raises(UsageError) as found:
        check({"serializer": 7, key: value})
    assert str(found.value).startswith(f"{key} takes ")
    assert said in str(found.value)
    assert SECRET not in str(found.value)


def test_what_vcrpy_takes_is_taken():
    check(
        {
            "additional_matchers": ("mine",),
            "allowed_hosts": "a[.]com,b",
            "before_record_request": [print, print],
            "filter_headers": ["a", ("b", None), ("c", print)],
            "filter_query_parameters": "token",
            "filter_sensitive_data": [("X", SECRET), ["Y", print]],
            "ignore_hosts": {"a", re.compile("b")},
            "match_on": ["body"],
            "path_transformer": None,
            "whatever": 7,
        }
    )
    assert functions_of(None) == []
    assert functions_of(print) == functions_of((print,)) == [print]


class RecordMode(enum.Enum):
    ANY = "any"


def test_a_record_mode_is_a_word_or_a_member_and_any_records_what_is_missing():
    words = ("none", "once", "new_episodes", "all", "any", "replay", "rewrite")
    assert [mode_of(word) for word in words] == [*words[:4], "new_episodes", *words[5:]]
    assert mode_of(RecordMode.ANY) == "new_episodes"
    with pytest.raises(UsageError, match=r"^record_mode: unknown word 'bogus' \(it takes none, once, .*, any\)$"):
        mode_of("bogus")
    with pytest.raises(UsageError, match="did you mean 'once'"):
        mode_of("onse")
