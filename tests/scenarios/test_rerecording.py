"""Recording again: one test, one module, all of it or what is stale, and never half, whatever goes wrong on the way."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest

import onetake.adapters.httpx  # noqa: F401 - as above
from onetake.format import dump_entry, load_entry
from onetake.testing.project import Project
from onetake.testing.provider import openai_chat, openai_stream, text_reply

pytest_plugins = ("pytester",)


def stored(inner, under="cassettes"):
    """Every file of the cassettes, sidecars too, by name."""
    found = (path for path in (inner.path / under).rglob("*") if path.is_file())
    return {path.relative_to(inner.path).as_posix(): path.read_bytes() for path in found}


def asks(*texts, marker="", then="pass", name="test_it"):
    return (
        "import pytest\nfrom asking import ask\n"
        f"@pytest.mark.cassette({marker})\ndef {name}():\n"
        f"    got = [ask(text) for text in {texts!r}]\n    {then}\n"
    )


def test_one_test_one_module_or_everything_is_recorded_again(inner, provider):
    for name in ("one", "two"):
        inner.write(f"test_{name}.py", asks(name, name="test_a") + asks(f"{name} more", name="test_b"))
    inner("--record-mode=once").assert_outcomes(passed=4)
    for words, changed in [
        (("test_one.py::test_a",), {"test_one/test_a"}),
        (("test_two.py",), {"test_two/test_a", "test_two/test_b"}),
        ((), {"test_one/test_a", "test_one/test_b", "test_two/test_a", "test_two/test_b"}),
    ]:
        before = stored(inner)
        inner("--record-mode=all", *words).assert_outcomes(passed=len(changed))
        after = stored(inner)
        assert after.keys() == before.keys()
        assert {"/".join(name.split("/")[1:3]) for name in after if after[name] != before[name]} == changed
    assert provider.count == 11
    before = stored(inner)
    inner("--record-mode=new_episodes").assert_outcomes(passed=4)
    assert (provider.count, stored(inner)) == (11, before)


STREAMED = """
import os
import httpx
import pytest

URL = os.environ["PROVIDER"] + "/v1/chat/completions"

@pytest.mark.cassette(contract="words")
def test_it():
    for text in ("one", "two"):
        body = {"model": "m", "messages": [{"role": "user", "content": text}], "stream": True}
        assert httpx.post(URL, json=body).status_code == 200
    assert FINE
"""
WORDS = '[contracts.words]\nschema = "words.json"\nschema_version = 1\n'


@pytest.mark.parametrize("how", ["assertion", "provider", "setup", "teardown before"])
def test_a_failing_re_recording_leaves_entries_sidecars_and_schemas_byte_for_byte(inner, provider, how):
    provider.script(lambda request: openai_stream('"fine"'))
    inner.write("onetake.toml", WORDS)
    inner.write("words.json", '{"type": "string"}')
    inner.write("test_it.py", STREAMED.replace("FINE", "True"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    before = stored(inner)
    assert {name.split("/")[3] for name in before if name.count("/") == 4} == {"_raw", "_schemas"}
    if how == "provider":
        provider.script([openai_stream('"new"'), text_reply("down", 503)])
    fine = {"assertion": "False", "provider": "True", "setup": "True", "teardown before": "1 / 0"}[how]
    text = STREAMED.replace("FINE", fine)
    if how == "setup":
        text = text.replace("def test_it():", "def test_it(broken):").replace("@pytest.mark.cassette", BROKEN)
    inner.write("test_it.py", text)
    outcome = {"errors": 1} if how == "setup" else {"failed": 1}
    inner("--record-mode=all").assert_outcomes(**outcome)
    assert stored(inner) == before


BROKEN = "@pytest.fixture\ndef broken():\n    raise ValueError('own')\n\n@pytest.mark.cassette"


def test_a_teardown_that_fails_after_the_call_has_passed_loses_nothing(inner, provider):
    """The test's own word is its call: what is broken is told, and the entries that it passed with are its own."""
    inner.write("test_it.py", asks("x").replace("_it()", "_it(late)") + LATE)
    inner("--record-mode=once").assert_outcomes(passed=1, errors=1)
    assert len(stored(inner)) == 1
    assert inner.files(".onetake/pending") == []


LATE = "\n@pytest.fixture\ndef late():\n    yield\n    raise ValueError('own')\n"


@pytest.mark.parametrize(("before", "now"), [(3, 2), (2, 3)])
def test_a_call_less_or_a_call_more_than_before(inner, provider, before, now):
    inner.write("test_it.py", asks(*["x"] * before))
    inner("--record-mode=once").assert_outcomes(passed=1)
    inner.write("test_it.py", asks(*["x"] * now))
    inner("--record-mode=all").assert_outcomes(passed=1)
    assert len(stored(inner)) == now
    assert len(inner.files(".onetake/trash")) == max(0, before - now)
    inner().assert_outcomes(passed=1)
    assert provider.count == before + now


def test_the_tests_of_one_cassette_wait_each_in_a_place_of_their_own(inner, provider):
    """A failing test's entries never answer another test, and never go into the cassette with those of another."""
    inner.write("test_it.py", asks("x", marker="'shared'", then="assert 0", name="test_a"))
    inner("--record-mode=new_episodes").assert_outcomes(failed=1)
    inner.write("test_other.py", asks("x", marker="'shared'", then="assert got == ['answer 2 to: x']", name="test_b"))
    inner("--record-mode=new_episodes", "test_other.py").assert_outcomes(passed=1)
    assert len(inner.files(".onetake/pending/shared")) == len(inner.files("shared")) == 1
    inner("test_other.py").assert_outcomes(passed=1)
    inner.write("test_it.py", asks("y", marker="'shared'", name="test_a"))
    inner("--record-mode=new_episodes").assert_outcomes(passed=2)
    assert inner.files(".onetake/pending") == []
    assert len(inner.files(".onetake/trash/shared")) == 1
    assert len(inner.files("shared")) == 2


def test_br_147_what_cannot_be_written_is_told_and_changes_nothing_and_goes_in_later(inner, provider):
    inner.write("test_it.py", asks("one", "two", "three"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    before = stored(inner)
    blocked = inner.path / max(before)
    blocked.unlink()
    blocked.mkdir()
    (blocked / "in the way").touch()
    now = stored(inner)
    result = inner("--record-mode=all")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*onetake: cassettes/test_it/test_it/*: cannot be written: *", "*3 recorded, kept aside*"]
    )
    assert stored(inner) == now
    (blocked / "in the way").unlink()
    blocked.rmdir()
    inner("--record-mode=new_episodes").assert_outcomes(passed=1)
    assert provider.count == 6
    after = stored(inner)
    assert after.keys() == before.keys()
    assert not [name for name in after if after[name] == before[name]]


KILLED = """
import os
import httpx
import pytest

def ask(text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(os.environ["PROVIDER"] + "/v1/chat/completions", json=body).json()

@pytest.mark.cassette
def test_it():
    ask("one")
    if os.environ.get("KILL"):
        os.kill(os.getpid(), 9)
    ask("two")
"""


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_br_147_a_re_recording_that_is_killed_half_way_leaves_the_old_entries_and_goes_on(tmp_path, provider):
    project = Project(tmp_path, {"onetake.toml": "", "test_it.py": KILLED}, {"PROVIDER": provider.url})
    assert project.pytest("--record-mode=once").code == 0
    before = {name: project.read(name) for name in project.files("cassettes")}
    assert project.pytest("--record-mode=all", env={"KILL": "1"}).code == -signal.SIGKILL
    assert {name: project.read(name) for name in project.files("cassettes")} == before
    assert project.pytest().code == 0
    assert provider.count == 3
    assert {name: project.read(name) for name in project.files("cassettes")} == before
    done = project.pytest("--record-mode=new_episodes")
    assert "1 answered from an earlier run of this test, which failed" in done.out
    assert provider.count == 3
    assert len(project.files("cassettes")) == len(before)
    assert project.files(".onetake/pending") == []


def test_br_141_what_is_taken_out_is_taken_out_once_and_replays_agree(inner, provider):
    inner.write("onetake.toml", "[scrub]\npatterns = ['secret-[0-9]+']\n")
    provider.script(lambda request: openai_chat('["a", "b", "secret-1"]'))
    inner.write("test_it.py", asks("x", then="open('got', 'a').write(got[0] + '\\n')"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    before = stored(inner)
    for mode in ("none", "once", "new_episodes", "none"):
        inner(f"--record-mode={mode}").assert_outcomes(passed=1)
    assert stored(inner) == before
    first, *replayed = (inner.path / "got").read_text().splitlines()
    assert first == '["a", "b", "secret-1"]'
    assert len(set(replayed)) == 1
    assert replayed[0].startswith('["a", "b", "') and "secret-1" not in replayed[0]
    assert provider.count == 1


def test_br_142_reading_loses_nothing_whatever_is_left_out_now(inner, provider):
    """A host that is ignored today is not looked up; what was recorded of it stays."""
    inner.write("test_it.py", asks("x", "y", marker="'shared'"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    before = stored(inner, "shared")
    assert len(before) == 2
    inner.write("onetake.toml", "ignore = ['127.0.0.1']\n")
    for mode in ("new_episodes", "all", "once"):
        inner(f"--record-mode={mode}").assert_outcomes(passed=1)
    assert stored(inner, "shared") == before
    assert provider.count == 8
    inner.write("onetake.toml", "")
    inner().assert_outcomes(passed=1)
    assert provider.count == 8


@pytest.mark.parametrize("by", ["the entry", "the settings"])
def test_all_replaces_what_is_pinned_and_moves_none_of_it_to_the_trash(inner, provider, by):
    inner.write("test_it.py", asks("x", "y", "z"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    asked, pinned, other = (
        next(inner.path / name for name, data in stored(inner).items() if f'"content": "{text}"'.encode() in data)
        for text in "xyz"
    )
    if by == "the entry":
        for path in (asked, pinned):
            entry = load_entry(path.read_bytes(), lambda name: None)
            said = {**entry.provenance, "pinned": {"reason": "golden"}}
            path.write_bytes(dump_entry(replace(entry, provenance=said))[0])
    else:
        inner.write("onetake.toml", f'pinned = ["{asked.name[-21:-5]}", "cassettes/*/{pinned.name}"]\n')
    before = asked.read_bytes(), pinned.read_bytes()
    inner.write("test_it.py", asks("x"))
    inner("--record-mode=all").assert_outcomes(passed=1)
    assert pinned.read_bytes() == before[1]
    assert asked.read_bytes() != before[0]
    assert not other.exists()
    assert [path.split("/")[-1] for path in inner.files(".onetake/trash")] == [other.name]
