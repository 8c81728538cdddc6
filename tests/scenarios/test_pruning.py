"""BR-155 by real runs: a cassette that variants share, and what each kind of run lets a prune take."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from onetake.cli import commands

pytest_plugins = ("pytester",)

SHARED = """
    import pytest
    from asking import ask

    @pytest.mark.cassette("cassettes/shared")
    @pytest.mark.parametrize("text", {variants})
    def test_it(text):
        assert ask(text)
"""
SKIPPED = '["a", pytest.param("b", marks=pytest.mark.skip)]'


@pytest.fixture
def project(inner):
    """A project whose two variants have recorded; returns a function that prunes: (exit code, what it said)."""
    inner.write("onetake.toml", 'hosts = ["127.0.0.1"]')
    inner.write("test_it.py", SHARED.format(variants='["a", "b"]'))
    assert inner("--record-mode=once").ret == 0

    def prune(*words):
        done = CliRunner().invoke(commands, ["prune", "--orphans", *words], prog_name="onetake")
        return done.exit_code, done.stdout

    return prune


def entries(inner):
    return [name for name in inner.files("cassettes") if "/_" not in name]


def test_br_155_only_a_whole_green_run_lets_an_entry_go(inner, project):
    prune = project
    assert prune("--yes") == (0, "nothing to prune\n")
    for words in (("-k", "a"), ("test_it.py::test_it[a]",)):
        assert inner(*words).ret == 0
        assert prune("--yes") == (0, "nothing to prune\n"), "a run of some says nothing of the rest"
    inner.write("test_it.py", SHARED.format(variants=SKIPPED))
    assert inner().ret == 0
    assert prune("--yes") == (0, "nothing to prune\n"), "a skipped test keeps what it may use"
    inner.write("test_it.py", SHARED.format(variants='["a"]') + "    def test_red():\n        assert 0\n")
    assert inner().ret == 1
    code, out = prune("--yes")
    assert (code, "files of the project have changed since" in out) == (4, True), "a run that failed is none"
    assert len(entries(inner)) == 2
    inner.write("test_it.py", SHARED.format(variants='["a"]'))
    assert inner().ret == 0
    code, out = prune("--yes")
    assert (code, "moved 1 file" in out, len(entries(inner))) == (0, True, 1)
    assert inner("--unused=fail").ret == 0
    inner.write("test_it.py", SHARED.format(variants='["a", "b"]'))
    assert inner().ret == 1
    (kept,) = inner.files(".onetake/trash")
    (inner.path / kept).rename(inner.path / kept.removeprefix(".onetake/trash/"))
    assert inner().ret == 0, "what is moved back is there again"


def test_br_155_a_variant_that_comes_back_keeps_its_entry(inner, project):
    prune = project
    inner.write("test_it.py", SHARED.format(variants='["a"]'))
    assert inner().ret == 0
    inner.write("test_it.py", SHARED.format(variants='["a", "b"]'))
    assert prune("--yes")[0] == 4, "the test is there again"
    assert inner("-k", "b").ret == 0
    assert prune("--yes")[0] == 4
    inner.write("test_it.py", SHARED.format(variants='["a"]'))
    assert prune("--yes") == (0, "nothing to prune\n"), "a run since then used it"
    assert len(entries(inner)) == 2
