"""The Python files of a project."""

from __future__ import annotations

import ast

import pytest

from onetake.doctor.sources import Sources, root_of


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


def test_names_that_a_star_brings_are_followed(project):
    files = {"a.py": "from b import *\n", "b.py": "from .c import *\nmine = 2\n", "c.py": "value = 1\n"}
    folder = project(files)
    sources = Sources(folder)
    module = sources.module(folder / "a.py")
    found = [sources.lookup(module, name) for name in ("mine", "value", "nothing")]
    assert [one and (one[0].path.name, ast.literal_eval(one[1])) for one in found] == [("b.py", 2), ("c.py", 1), None]


def test_stars_in_a_circle_end(project):
    folder = project({"a.py": "from b import *\n", "b.py": "from a import *\n"})
    sources = Sources(folder)
    assert sources.lookup(sources.module(folder / "a.py"), "x") is None


def test_the_classes_that_a_class_is_made_from(project):
    files = {
        "a.py": "import b\nfrom b import Low\n\nclass Top(Low, b.Other, Unknown): ...\n",
        "b.py": "class Root: ...\n\nclass Low(Root): ...\n\nclass Other(Root, Other): ...\n",
    }
    folder = project(files)
    sources = Sources(folder)
    module = sources.module(folder / "a.py")
    found = sources.lineage(module, module.names["Top"])
    assert [(place.path.name, one.name) for place, one in found] == [
        ("a.py", "Top"),
        ("b.py", "Low"),
        ("b.py", "Other"),
        ("b.py", "Root"),
    ]


@pytest.mark.parametrize("name", ["pyproject.toml", "setup.cfg", "pytest.ini", ".git", "onetake.toml"])
def test_the_top_of_a_project_is_the_nearest_folder_that_looks_like_one(tmp_path, name):
    (tmp_path / "top" / "tests").mkdir(parents=True)
    (tmp_path / "top" / name).touch()
    assert root_of(tmp_path / "top" / "tests") == tmp_path / "top"
