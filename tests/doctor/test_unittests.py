"""Tests of `unittest` that vcrpy's own classes give cassettes."""

from __future__ import annotations

import pytest

from onetake.doctor.configurations import told, words
from onetake.doctor.openings import Index
from onetake.vcrwords.matching import DEFAULT

TEXT = """
import os
import unittest
from vcr.unittest import VCRMixin, VCRTestCase

class Base(VCRTestCase):
    def _get_vcr_kwargs(self, **kwargs):
        kwargs["match_on"] = ["method", "body"]
        return kwargs

class TestApi(Base):
    def _get_vcr_kwargs(self):
        kwargs = super()._get_vcr_kwargs(record_mode="none")
        kwargs["record_mode"] = "none"
        return kwargs

    def _get_cassette_library_dir(self):
        return os.path.join(os.path.dirname(__file__), "kept")

    def test_a(self): ...

class TestOld(VCRMixin, unittest.TestCase):
    def test_b(self): ...

class TestPlain(unittest.TestCase):
    def test_c(self): ...
"""


@pytest.fixture
def found(project, opened):
    folder = project({"tests/test_u.py": TEXT})
    return folder, opened(folder)[0]


def test_what_their_classes_say_and_those_before_them(found):
    _, openings = found
    said = {one.test: (words(one.layers), told(one.layers, "record_mode").values) for one in openings}
    assert said == {
        "tests/test_u.py::TestApi::test_a": ((("method", "body"),), ("none",)),
        "tests/test_u.py::TestOld::test_b": ((DEFAULT,), ()),
    }


def test_their_cassettes_are_named_by_class_and_test(found):
    folder, openings = found
    index = Index(openings)
    opening = {
        name: [one.function.name for one in index.opening(folder / name)]
        for name in (
            "tests/kept/TestApi.test_a.yaml",
            "tests/cassettes/TestOld.test_b.yaml",
            "tests/cassettes/TestApi.test_a.yaml",
            "tests/cassettes/TestPlain.test_c.yaml",
        )
    }
    assert list(opening.values()) == [["test_a"], ["test_b"], [], []]


def test_vcrpys_default_of_the_record_mode_can_go_live(project, found):
    from onetake.doctor.examining import examine

    folder, _ = found
    live = [one for one in examine(folder).hazards if one.kind == "goes-live"]
    assert [one.message for one in live] == ['record_mode "once": 1 test; 1 test without a cassette now']
