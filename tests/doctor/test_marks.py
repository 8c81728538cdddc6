"""The marks of tests."""

from __future__ import annotations

import pytest

from onetake.doctor.configurations import told, words

HOOK = "import pytest\n\ndef pytest_collection_modifyitems(items):\n    for item in items:\n        {}\n"
MARK = "pytest.mark.vcr(match_on=['body'], record_mode='none')"
CASSETTES = {f"cassettes/test_m/test_{name}.yaml": "interactions: []\nversion: 1\n" for name in "ab"}
TESTS = "import pytest\n\ndef test_a(): ...\n\n@pytest.mark.vcr(record_mode='all')\ndef test_b(): ...\n"


@pytest.mark.parametrize(
    ("hook", "first", "second"),
    [
        (f"item.add_marker({MARK})", [["body"]], [["body"]]),
        (f"mark = {MARK}\n        item.add_marker(mark)", [["body"]], [["body"]]),
        (f"if slow(item):\n            item.add_marker({MARK})", [["body"]], [["body"], None]),
        ("item.add_marker('vcr')", [], []),
    ],
)
def test_what_a_hook_adds_counts_below_a_tests_own_mark(project, opened, hook, first, second):
    folder = project({"conftest.py": HOOK.format(hook), "test_m.py": TESTS, **CASSETTES})
    (a, b), *_ = opened(folder)
    assert [list(told(one.layers, "match_on").values) for one in (a, b)] == [first, second]
    assert told(b.layers, "record_mode").values == ("all",)


def test_a_project_whose_hook_compares_bodies_has_no_hazard(project, found, interaction, cassette):
    calls = cassette(interaction("a", '{"x": 1}'), interaction("b", "[1]"))
    tests = "def test_a(): ...\n"
    files = {"conftest.py": HOOK.format(f"item.add_marker({MARK})"), "test_m.py": tests}
    assert found(project({**files, "cassettes/test_m/test_a.yaml": calls})) == []


def test_marks_of_classes_of_other_files_and_by_a_name_in_a_module(project, opened):
    base = (
        "import pytest\n\nrecorded = pytest.mark.vcr(match_on=['host'])\n\n"
        "@pytest.mark.vcr(match_on=['path'])\nclass Base:\n    def test_a(self): ...\n"
    )
    text = (
        "import base\nfrom base import Base\n\nclass TestA(Base): ...\n\n@base.recorded\ndef test_b(): ...\n\n"
        "class TestC(Base):\n    pytestmark = [base.recorded]\n    def test_c(self): ...\n"
    )
    found, *_ = opened(project({"base.py": base, "test_m.py": text}))
    told_of = {one.test: words(one.layers) for one in found if one.module.path.name == "test_m.py"}
    assert told_of == {
        "test_m.py::test_b": (("host",),),
        "test_m.py::TestC::test_c": (("host",),),
        "test_m.py::TestA::test_a": (("path",),),
        "test_m.py::TestC::test_a": (("host",),),
    }
    inherited = next(one for one in found if one.test == "test_m.py::TestA::test_a")
    assert (inherited.line, inherited.home.path.name) == (4, "base.py")


MARKS = """
import pytest

COMMON = [pytest.mark.vcr(match_on=["host"]), pytest.mark.slow]

def recorded(function):
    return pytest.mark.vcr(match_on=["query"])(pytest.mark.slow(function))
"""
FORMS = {
    "from marks import COMMON\npytestmark = COMMON\ndef test_a(): ...\n": "host",
    "import marks\npytestmark: list = [*marks.COMMON]\ndef test_a(): ...\n": "host",
    "pytestmark = []\npytestmark += [pytest.mark.vcr(match_on=['path'])]\ndef test_a(): ...\n": "path",
    "from marks import recorded\n@recorded\ndef test_a(): ...\n": "query",
    "case = pytest.param(1, marks=pytest.mark.vcr(match_on=['path']))\n"
    "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.vcr(match_on=['port']))])\n"
    "def test_a(x): ...\n": "port",
    "from pytest import mark\nclass TestA:\n    pytestmark = mark.vcr(match_on=['port'])\n    class TestB:\n"
    "        def test_a(self): ...\n": "port",
}


@pytest.mark.parametrize("text", FORMS)
def test_a_mark_may_be_given_in_many_forms(project, opened, text):
    ((one,), *_) = opened(project({"marks.py": MARKS, "test_m.py": f"import pytest\n{text}"}))
    assert words(one.layers) == ((FORMS[text],),)
