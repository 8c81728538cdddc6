"""What an expression is worth, without running it."""

from __future__ import annotations

import ast
from pathlib import PurePath

import pytest

from onetake.doctor.evaluation import Scope, keywords, returned
from onetake.doctor.sources import Sources
from onetake.doctor.values import GAP, REST, UNKNOWN, options


@pytest.fixture
def scope(project):
    """Return a function that makes the scope of a file of a project: its text, and other files by their names."""

    def make(text, **files):
        folder = project({"here.py": text} | {f"{name}.py": content for name, content in files.items()})
        sources = Sources(folder)
        return Scope(sources, sources.module(folder / "here.py"))

    return make


def value(scope, text):
    return scope.value(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("['method', 'uri']", ["method", "uri"]),
        ("('method', *BASE)", ["method", "path", "query"]),
        ("BASE + ['body']", ["path", "query", "body"]),
        ("{**CONFIG, 'match_on': BASE}", {"record_mode": "none", "match_on": ["path", "query"]}),
        ("dict(CONFIG, a=1)", {"record_mode": "none", "a": 1}),
        ("CONFIG | {'a': 1}", {"record_mode": "none", "a": 1}),
        ("CONFIG['record_mode']", "none"),
        ("CONFIG.get('nothing', 'x')", "x"),
        ("vcr.mode.NEW_EPISODES", "new_episodes"),
        ("RecordMode.NONE", "none"),
        ("RecordMode.NONE.value", "none"),
        ("os.getenv('MODE', 'once')", "once"),
        ("os.environ.get('MODE', 'all')", "all"),
        ("os.environ.get('MODE') or 'all'", "all"),
        ("'none' if os.getenv('CI') else 'once'", "none"),
        ("'once' if not os.getenv('CI') else 'none'", "none"),
        ("'once' if os.getenv('CI') is None else 'none'", "none"),
        ("'none' if os.environ.get('CI') == 'true' else 'once'", "none"),
        ("f'cassettes/{name}.yaml'", f"cassettes/{GAP}.yaml"),
        ("os.path.join('a', 'b')", "a/b"),
        ("Path('a') / 'b' / 'c.yaml'", PurePath("a/b/c.yaml")),
        ("Path('a/b/c').parent.parent", PurePath("a")),
        ("Path('a/b/c').parents[1]", PurePath("a")),
        ("nobody", UNKNOWN),
        ("open('x').read()", UNKNOWN),
        ("1 / 0", UNKNOWN),
        ("[1, 2][9]", UNKNOWN),
    ],
)
def test_values_of_expressions(scope, text, expected):
    here = scope(
        "import os\nimport vcr\nfrom pathlib import Path\nfrom vcr.record_mode import RecordMode\n"
        "BASE = ['path', 'query']\nCONFIG = {'record_mode': 'none'}\n"
    )
    found = value(here, text)
    assert (str(found).replace("\\", "/") if isinstance(expected, str) else found) == expected


def test_either_way_of_a_condition_that_is_not_about_ci_counts(scope):
    assert options(value(scope(""), "'once' if fast else 'all'")) == ("once", "all")


def test_names_are_followed_through_imports_and_later_changes(scope):
    here = scope(
        "from base import CONFIG as C, make\nimport base\nC2 = {**C}\nC2['match_on'] = ['body']\nC2.update(x=1)\n",
        base="WORDS = ['uri']\nCONFIG = {'match_on': WORDS}\ndef make(*, more=()):\n    return [*WORDS, *more]\n",
    )
    assert value(here, "C") == {"match_on": ["uri"]}
    assert value(here, "base.WORDS") == ["uri"]
    assert value(here, "C2") == {"match_on": ["body"], "x": 1}
    assert value(here, "make(more=['body'])") == ["uri", "body"]
    assert value(here, "make()") == ["uri"]


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
    "return f()": (UNKNOWN,),
    "return {**f(), 'a': 1}": ({REST: UNKNOWN, "a": 1},),
}


@pytest.mark.parametrize("body", RETURNS)
def test_what_a_function_returns(scope, body):
    here = scope(f"def f(x):\n    {body}\n")
    assert options(returned(here, here.module.names["f"])) == RETURNS[body]


def test_keywords_of_a_call_with_those_of_a_mapping(scope):
    here = scope("C = {'a': 1, 'b': 2}")
    assert keywords(here, ast.parse("f(0, b=3, **C, c=4)", mode="eval").body) == {"a": 1, "b": 2, "c": 4}


def test_a_function_that_calls_itself_ends(scope):
    here = scope("def f(n):\n    return f(n) + f(n)\nX = X\nA = B\nB = A\n")
    for text in ("f(1)", "X", "A"):
        assert value(here, text) is UNKNOWN or GAP in str(value(here, text))


def test_what_grows_without_end_is_given_up(scope):
    many = " + ".join(["f(n)"] * 60)
    here = scope(f"def f(n):\n    return {many}\n")
    assert str(value(here, "f('x')")).strip(GAP) in ("", "UNKNOWN")
    lines = "".join(f"    if x{number}:\n        c['k{number}'] = 1\n" for number in range(40))
    here = scope(f"def g():\n    c = {{}}\n{lines}    return c\n")
    assert value(here, "g()") in (UNKNOWN, {REST: UNKNOWN}) or REST in value(here, "g()")
