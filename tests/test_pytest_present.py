"""Which tests are gone, by what a run collected and by their source."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from onetake.pytest_present import Present

SOURCE = """
class Base: ...

class TestIt(Base):
    async def test_in_it(self): ...

# def test_said(): it was here
def test_longer_name(): ...
"""


@pytest.fixture
def run(tmp_path):
    """A run, by its options, that collected one test, left out another, and knows of its files' sources."""

    def begin(*plugins, **options):
        manager = SimpleNamespace(has_plugin=plugins.__contains__)
        config = SimpleNamespace(rootpath=tmp_path, pluginmanager=manager, getoption=options.get)
        (tmp_path / "test_a.py").write_text(SOURCE, "utf-8")
        (tmp_path / "test_broken.py").write_text("def test_b(:\n", "utf-8")
        (tmp_path / "test_c.yaml").write_text("", "utf-8")
        return Present(config, ["test_a.py::test_p[x::1 sk-1]@group", "test_a.py::test_left_out"])

    return begin


def gone(present, *names, is_whole):
    return sorted(present.gone(names, lambda name: name.replace("sk-1", "***"), is_whole=is_whole))


def test_of_a_file_that_a_whole_run_collected_no_other_test_is_there(run):
    there = ["test_a.py::test_p[x::1 ***]", "test_a.py::test_left_out"]
    others = ["test_a.py::TestIt::test_in_it", "test_a.py::test_call", "test_a.py::test_p[y]"]
    assert gone(run(), *there, *others, is_whole=True) == others
    assert gone(run(), *there, *others, is_whole=False) == others[1:]


def test_where_workers_may_have_left_tests_out_and_of_other_files_the_source_tells_by_whole_names(run):
    written = ["test_a.py::TestIt::test_of_its_base", "test_a.py::test_longer_name[1]", "test_broken.py::test_b"]
    others = ["test_a.py::test_longer", "test_a.py::test_said", "test_none.py::test_a"]
    assert gone(run("dsession", markexpr="not slow"), *written, *others, is_whole=True) == others
    assert gone(run("dsession"), *written, is_whole=True) == written[:2]
    assert gone(run(markexpr="not slow"), *written, is_whole=True) == written[:2]
    assert gone(run(), "test_c.yaml::one", "test_d.yaml::one", is_whole=True) == ["test_d.yaml::one"]
