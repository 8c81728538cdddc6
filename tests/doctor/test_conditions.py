"""Conditions about CI."""

from __future__ import annotations

import ast

import pytest

from onetake.doctor.conditions import branch_in_ci
from onetake.doctor.evaluation import Scope
from onetake.doctor.sources import Sources

HERE = """
import os
from there import IS_CI, on_ci

LOCAL = not IS_CI
OTHER = os.environ.get("OTHER")
AROUND = AROUND
"""
THERE = """
import os

IS_CI = bool(os.getenv("CI"))

def on_ci():
    return "GITHUB_ACTIONS" in os.environ
"""


@pytest.mark.parametrize(
    ("test", "way"),
    [
        ("os.environ.get('CI')", True),
        ("not os.getenv('CI')", False),
        ("'CI' not in os.environ", False),
        ("os.getenv('CI') == 'true'", True),
        ("os.getenv('CI') is None", False),
        ("os.getenv('CI') is not None", True),
        ("IS_CI", True),
        ("not IS_CI", False),
        ("LOCAL", False),
        ("on_ci()", True),
        ("not on_ci()", False),
        ("OTHER", None),
        ("AROUND", None),
        ("unheard_of", None),
        ("1 < 2", None),
    ],
)
def test_which_way_a_condition_goes_in_ci(project, test, way):
    folder = project({"here.py": HERE, "there.py": THERE})
    sources = Sources(folder)
    scope = Scope(sources, sources.module(folder / "here.py"))
    assert branch_in_ci(scope, ast.parse(test, mode="eval").body) is way


def test_a_name_in_a_function_counts_as_well(project, opened):
    conftest = (
        "import os\nimport pytest\n\n@pytest.fixture\ndef vcr_config():\n    ci = os.getenv('CI')\n"
        "    return {'record_mode': 'none' if ci else 'once'}\n"
    )
    files = {"conftest.py": conftest, "test_m.py": "import pytest\n\n@pytest.mark.vcr\ndef test_a(): ...\n"}
    ((one,), *_) = opened(project(files))
    assert one.layers[0].says == {"record_mode": "none"}
