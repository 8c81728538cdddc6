"""The plugin that writes down what became of each test, loaded by name, beside ours or without it."""

from __future__ import annotations

import json

import pytest

pytest_plugins = ("pytester",)

SUITE = """
import pytest

@pytest.fixture
def broken():
    yield
    assert False, "in the teardown"

def test_passes(): pass
def test_fails(): assert 1 == 2, "one is not two"
def test_torn(broken): pass
@pytest.mark.skip
def test_skipped(): pass
@pytest.mark.xfail
def test_expected(): assert False
"""


@pytest.mark.parametrize("beside", [[], ["-p", "no:onetake", "--onetake-vcr", "--unused=fail"]])
def test_every_test_has_its_outcome_and_why(inner, beside):
    inner.write("test_it.py", SUITE)
    inner(*beside, "-p", "onetake.pytest_outcomes", f"--onetake-outcomes={inner.path / 'out.json'}")
    document = json.loads((inner.path / "out.json").read_bytes())
    assert (document["root"], document["start"]) == (str(inner.path), str(inner.path))
    tests = {name.partition("::")[2]: one for name, one in document["tests"].items()}
    assert {name: one["outcome"] for name, one in tests.items()} == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_torn": "failed",
        "test_skipped": "skipped",
        "test_expected": "skipped",
    }
    assert "one is not two" in tests["test_fails"]["why"]
    assert "in the teardown" in tests["test_torn"]["why"]
    assert tests["test_passes"]["why"] == ""


def test_a_sealed_vcrpy_neither_goes_live_nor_writes(inner, provider):
    vcr = pytest.importorskip("vcr")
    before = vcr.cassette.Cassette.__init__
    inner.write(
        "test_it.py",
        """
        import vcr
        from asking import ask

        @vcr.use_cassette("new.yaml", record_mode="all")
        def test_it():
            ask("hi")
        """,
    )
    options = ("-p", "no:onetake", "-p", "onetake.pytest_outcomes", "--onetake-outcomes=out.json")
    inner(*options, "--onetake-seal-vcrpy").assert_outcomes(failed=1)
    assert vcr.cassette.Cassette.__init__ is before
    assert (provider.count, (inner.path / "new.yaml").exists()) == (0, False)
