"""What statements do, without running them."""

from __future__ import annotations

import ast

import pytest

from onetake.doctor.following import keywords, returned
from onetake.doctor.values import REST, UNTOLD, Recorder, options

RETURNS = {
    "return {'a': 1}": ({"a": 1},),
    "yield {'a': 1}": ({"a": 1},),
    "c = {'a': 1}\n    c['b'] = 2\n    return c": ({"a": 1, "b": 2},),
    "c = dict(a=1)\n    c.update({'a': 2}, b=3)\n    return c": ({"a": 2, "b": 3},),
    "w = ['uri']\n    w.append('body')\n    return {'m': w}": ({"m": ["uri", "body"]},),
    "w = ['uri']\n    w += ['body']\n    return {'m': w}": ({"m": ["uri", "body"]},),
    "if x:\n        return {'a': 1}\n    return {'a': 2}": ({"a": 1}, {"a": 2}),
    "m = 'a'\n    if x:\n        m = 'b'\n    return m": ("b", "a"),
    "import os\n    if os.environ.get('CI'):\n        return 'none'\n    return 'once'": ("none",),
    "import os\n    if 'CI' not in os.environ:\n        return 'once'\n    return 'none'": ("none",),
    "c = {}\n    if x:\n        c['a'] = 1\n    c['b'] = 2\n    return c": ({"a": 1, "b": 2}, {"b": 2}),
    "with x:\n        c = {'a': 1}\n    return c": ({"a": 1},),
    "pass": (None,),
    "return f()": (UNTOLD,),
    "return {**f(), 'a': 1}": ({REST: UNTOLD, "a": 1},),
}


@pytest.mark.parametrize("body", RETURNS)
def test_what_a_function_returns(scope, body):
    here = scope(f"def f(x):\n    {body}\n")
    assert options(returned(here, here.module.names["f"])) == RETURNS[body]


def test_keywords_of_a_call_with_those_of_a_mapping(scope):
    here = scope("C = {'a': 1, 'b': 2}")
    assert keywords(here, ast.parse("f(0, b=3, **C, c=4)", mode="eval").body) == {"a": 1, "b": 2, "c": 4}


def test_what_is_set_on_a_recorder_is_said_to_it(scope):
    body = "    made = vcr.VCR(match_on=['uri'], **kw)\n    made.record_mode = 'none'\n    return made\n"
    here = scope(f"import vcr\n\ndef f(**kw):\n{body}")
    found = here.value(ast.parse("f(serializer='json')", mode="eval").body)
    assert isinstance(found, Recorder)
    assert found.says == {"match_on": ["uri"], "serializer": "json", "record_mode": "none"}
    assert (found.module.path.name, found.node.lineno) == ("here.py", 4)
