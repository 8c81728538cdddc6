"""One Python file."""

from __future__ import annotations

import ast

import pytest

from onetake.doctor.modules import ImportedName, dotted, fixture_name
from onetake.doctor.sources import Sources


def test_names_at_the_top_also_those_in_if_and_try(project):
    text = (
        "import a.b\nimport c as d\nfrom .e import f as g\nif x:\n    h = 1\ntry:\n    import i\n"
        "except ImportError:\n    i = None\n"
    )
    folder = project({"m.py": text})
    sources = Sources(folder)
    module = sources.module(folder / "m.py")
    assert sorted(module.names) == ["a", "d", "g", "h", "i"]
    assert [sources.imported_as(module, name) for name in ("a.b.x", "d.x", "g.x", "h")] == [
        "a.b.x",
        "c.x",
        ".e.f.x",
        "h",
    ]


def test_comments_have_their_lines(project):
    folder = project({"a.py": "x = '# no'  # one\n#   two\n"})
    assert Sources(folder).module(folder / "a.py").comments == ((1, "one"), (2, "two"))


def test_dotted_names():
    assert [dotted(ast.parse(text, mode="eval").body) for text in ("a.b.c", "a.b(1)", "f().x", "1")] == [
        "a.b.c",
        "a.b",
        "f.x",
        "",
    ]


def test_a_function_sees_what_it_imports_besides_the_names_at_the_top(project):
    folder = project({"m.py": "import a\n\ndef f():\n    from b import c as d\n    x = 1\n"})
    top = Sources(folder).module(folder / "m.py")
    within = top.at(top.names["f"])
    assert sorted(top.names) == ["a", "f"]
    assert sorted(within.names) == ["a", "d", "f"]
    assert within.names["d"] == ImportedName("b", "c")
    assert within.at(None) is top
    assert within.at(top.names["f"]).names == within.names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def a(): ...", "a"),
        ("@pytest.fixture\nasync def a(): ...", "a"),
        ("@pytest.fixture(scope='session')\ndef a(): ...", "a"),
        ("@pytest.fixture(name='b', scope='session')\ndef a(): ...", "b"),
        ("@fixture(name='b')\ndef a(): ...", "b"),
        ("@other(name='b')\ndef a(): ...", "a"),
        ("class A: ...", ""),
    ],
)
def test_a_fixture_may_have_another_name_than_its_function(text, name):
    assert fixture_name(ast.parse(text).body[0]) == name
