"""Which cassette a test has, whatever it is: its name, its class, its kind, and how pytest was started."""

from __future__ import annotations

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest

import onetake.adapters.httpx  # noqa: F401 - as above
from onetake.testing.project import Project

pytest_plugins = ("pytester",)


def _folders(inner):
    return sorted({path.rpartition("/")[0] for path in inner.files() if not path.startswith(".onetake")})


def test_ids_that_differ_only_in_what_is_unsafe_and_inherited_tests_have_a_folder_each(inner, provider):
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        IDS = ["a/b", "a\\\\b", "a:b", "a_b", "a?b", "a.", "a ", "nul\\0byte", "\\U0001f600", "\\U0001f601",
               "C:\\\\x", "../..", "COM1.txt", "x" * 300, "x" * 299 + "y", "Case", "case", "CASE"]

        @pytest.mark.cassette
        @pytest.mark.parametrize("n", range(len(IDS)), ids=IDS)
        def test_it(n):
            assert ask(f"number {n}").endswith(f"to: number {n}")

        class Base:
            @pytest.mark.cassette
            def test_inherited(self):
                assert ask(type(self).__name__).endswith("to: " + type(self).__name__)

        class TestFirst(Base):
            pass

        class TestSecond(Base):
            class TestNested(Base):
                pass
        """,
    )
    inner("--record-mode=once").assert_outcomes(passed=21)
    inner().assert_outcomes(passed=21)
    assert provider.count == 21
    folders = _folders(inner)
    assert len({folder.lower() for folder in folders}) == len(folders) == 21
    assert all(folder.startswith("cassettes/test_it/") and folder.count("/") == 2 for folder in folders)
    assert {folder.split("/")[2] for folder in folders if "inherited" in folder} == {
        "TestFirst.test_inherited",
        "TestSecond.test_inherited",
        "TestSecond.TestNested.test_inherited",
    }
    names = [folder.split("/")[2] for folder in folders]
    assert all(name.isascii() and len(name) <= 100 and not set(name) & set('\\:*?<>|"\0') for name in names)
    assert len(inner.files("cassettes")) == 21


SHARED = """
import pytest
from asking import ask

pytestmark = pytest.mark.cassette("tapes/shared")

def test_a():
    assert ask("a").endswith("to: a")
    ask("both")

def test_b():
    ask("both")
    assert ask("b").endswith("to: b")

@pytest.mark.cassette("tapes/of the class")
class TestIt:
    def test_c(self):
        ask("c")

    def test_d(self):
        assert ask("d").endswith("to: d")
        assert {}
"""


def test_tests_share_a_cassette_that_is_being_made_until_all_of_them_passed(inner, provider):
    inner.write("test_it.py", SHARED.format("False"))
    inner("--record-mode=once").assert_outcomes(passed=3, failed=1)
    assert (len(inner.files("tapes/shared")), len(inner.files("tapes/of the class"))) == (3, 1)
    assert len(inner.files(".onetake/pending")) == 1
    made = [path.name for path in (inner.path / ".onetake/making").rglob("begun")]
    assert len(made) == 1, "the cassette of the test that failed"
    inner.write("test_it.py", SHARED.format("ask('more')"))
    inner("--record-mode=once").assert_outcomes(passed=4)
    assert provider.count == 3 + 2 + 1
    assert len(inner.files("tapes/of the class")) == 3
    assert not list((inner.path / ".onetake/making").rglob("begun"))
    assert inner.files(".onetake/pending") == []
    inner.write("test_it.py", SHARED.format("ask('too late')"))
    inner("--record-mode=once").assert_outcomes(passed=3, failed=1)
    inner.write("test_it.py", SHARED.format("ask('more')"))
    inner().assert_outcomes(passed=4)
    assert provider.count == 6


def test_items_that_are_no_functions_break_nothing(inner, provider):
    inner.write(
        "conftest.py",
        """
        import pytest

        def pytest_collect_file(parent, file_path):
            if file_path.suffix == ".yaml":
                return File.from_parent(parent, path=file_path)

        class File(pytest.File):
            def collect(self):
                yield Item.from_parent(self, name="a: test/of yaml")

        class Item(pytest.Item):
            def __init__(self, **keywords):
                super().__init__(**keywords)
                self.add_marker("cassette")

            def runtest(self):
                pass

        @pytest.fixture(scope="session", autouse=True)
        def wide():
            from asking import ask
            return ask("wide")
        """,
    )
    inner.write("test_it.yaml", "")
    inner.write(
        "test_it.py",
        'def one():\n    """\n    >>> one()\n    1\n    """\n    return 1\n\ndef test_it(cassette): pass\n',
    )
    result = inner("--doctest-modules", "--record-mode=once")
    result.assert_outcomes(passed=3)
    assert _folders(inner) == ["cassettes/conftest/wide~fixture"]
    for argument in ("--collect-only", "--setup-plan", "--fixtures", "--markers"):
        result = inner(argument, "-q")
        assert result.ret == 0, (argument, result.stdout.str())
        assert "INTERNALERROR" not in result.stdout.str()
    assert provider.count == 1
    assert inner("--setup-only").ret == inner("-p", "no:terminal").ret == 0
    assert provider.count == 1


ONE = "import pytest\nfrom asking import ask\n@pytest.mark.cassette\ndef test_it():\n    ask('hi')\n"
ASKING = """
import os, httpx

def ask(text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(os.environ["PROVIDER"] + "/v1/chat/completions", json=body).json()
"""
TWICE = """
import pytest, sys
assert pytest.main(["-q", "--record-mode=once"]) == 0
assert pytest.main(["-q"]) == 0
"""


@pytest.mark.whole
def test_however_the_plugin_comes_in(tmp_path, provider):
    files = {"pytest.ini": "[pytest]\npythonpath = .\n", "onetake.toml": "", "asking.py": ASKING, "test_it.py": ONE}
    project = Project(tmp_path / "project", {**files, "twice.py": TWICE}, {"PROVIDER": provider.url})
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = project.python("twice.py", env=alone | {"PYTEST_ADDOPTS": "-p onetake.pytest_plugin"})
    assert (done.code, done.out.count("1 passed")) == (0, 2), done.out + done.err
    assert provider.count == 1
    for environment in (alone, {}):
        done = project.pytest("-q", "-p", "onetake.pytest_plugin", env=environment)
        assert "1 passed" in done.out, done.out + done.err
    assert provider.count == 1
