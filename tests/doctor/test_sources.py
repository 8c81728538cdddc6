"""The Python files of a project."""

from __future__ import annotations

import ast

import pytest

from onetake.doctor.sources import Sources, dotted


def test_hidden_folders_environments_and_packages_are_left_out(project):
    names = [
        "a.py",
        "b/c.py",
        ".hidden/d.py",
        "env/pyvenv.cfg",
        "env/e.py",
        "node_modules/f.py",
        "b/site-packages/g.py",
    ]
    folder = project(dict.fromkeys(names, ""))
    assert [path.relative_to(folder).as_posix() for path in Sources(folder).paths] == ["a.py", "b/c.py"]


@pytest.mark.parametrize("text", ["def", "x = '\0'", "(" * 500, "# coding: nothing\n", "# coding: utf-16\n"])
def test_what_is_no_python_is_named_and_no_error(project, text):
    folder = project({"a.py": text})
    sources = Sources(folder)
    assert sources.module(folder / "a.py") is None
    assert list(sources.unread) == [folder / "a.py"]


def test_names_at_the_top_also_those_in_if_and_try(project):
    text = (
        "import a.b\nimport c as d\nfrom .e import f as g\nif x:\n    h = 1\ntry:\n    import i\n"
        "except ImportError:\n    i = None\n"
    )
    folder = project({"m.py": text})
    sources = Sources(folder)
    module = sources.module(folder / "m.py")
    assert sorted(module.names) == ["a", "d", "g", "h", "i"]
    assert [sources.origin(module, name) for name in ("a.b.x", "d.x", "g.x", "h")] == ["a.b.x", "c.x", ".e.f.x", "h"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from base import value", "value"),
        ("from pack.base import value", "value"),
        ("from pack import base", "base.value"),
        ("import pack.base", "pack.base.value"),
        ("import pack.base as b", "b.value"),
        ("from .base import value", "value"),
        ("from . import base", "base.value"),
        ("from pack import value", "value"),
        ("from lib import value", "value"),
    ],
)
def test_imports_of_the_project_are_followed(project, text, name):
    files = {
        "pack/m.py": text,
        "base.py": "value = 1",
        "pack/base.py": "value = 1",
        "pack/__init__.py": "from .base import value",
        "deep/src/lib/__init__.py": "value = 1",
    }
    folder = project(files)
    sources = Sources(folder)
    _, found = sources.lookup(sources.module(folder / "pack" / "m.py"), name)
    assert ast.literal_eval(found) == 1


def test_imports_in_a_circle_end(project):
    folder = project({"a.py": "from b import x", "b.py": "from a import x"})
    sources = Sources(folder)
    assert sources.lookup(sources.module(folder / "a.py"), "x") is None


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
