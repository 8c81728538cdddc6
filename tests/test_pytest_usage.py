"""`--unused`: what a run of all tests left without use, and when nothing is said of it."""

from __future__ import annotations

import json
import os
import re
import sys

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest

import onetake.adapters.httpx  # noqa: F401 - as above

pytest_plugins = ("pytester",)

ASKS = """
import os, pytest
from asking import ask

@pytest.mark.cassette
def test_it():
    for text in os.environ["ASKS"]:
        ask(text)
"""


@pytest.fixture
def says(inner, monkeypatch):
    """Run pytest and return its exit code with what the section of the summary says, and what it proved."""
    monkeypatch.setenv("ASKS", "ab")

    def run(*words, asks=None, **env):
        for name, value in {**env, **({"ASKS": asks} if asks else {})}.items():
            monkeypatch.setenv(name, value)
        result = inner(*words)
        text = "\n".join(result.outlines)
        return result.ret, text.partition("= onetake =")[2].partition("\n====")[0] or text

    run.write, run.path, run.inner = inner.write, inner.path, inner
    run.ledgers = lambda: [json.loads(path.read_bytes()) for path in sorted((inner.path / ".onetake/usage").iterdir())]
    run.unused = lambda: {
        place: len(one["unused"]) for place, one in run.ledgers()[-1]["cassettes"].items() if "unused" in one
    }
    return run


def entry_of(says, cassette, text):
    """Return the name of the entry that answered a text."""
    (found,) = [path for path in (says.path / cassette).glob("*.json") if f'to: {text}"' in path.read_text()]
    return found.name


def test_br_153_three_recordings_two_played(says):
    says.write("test_it.py", ASKS)
    assert says("--record-mode=once", asks="abc")[0] == 0
    assert says("--unused=fail")[0] == 0
    third = entry_of(says, "cassettes/test_it/test_it", "c")
    code, text = says(asks="ab")
    assert code == 0
    assert f"cassettes/test_it/test_it/ (1 of 3): {third}" in text
    assert re.search(r"1 unused entry: .*\n", text)
    assert "prune --orphans --yes` moves them to the trash; or `pytest --record-mode=all TEST`" in text
    code, text = says("--unused=ignore")
    assert (code, "unused" in text) == (0, False)
    code, text = says("--unused=fail")
    assert (code, third in text) == (1, True)
    assert ["why" in run for run in says.ledgers()] == [False] * 5
    assert says.unused() == {"cassettes/test_it/test_it": 1}
    (says.path / "cassettes/test_it/test_it" / third).unlink()
    assert says("--unused=fail")[0] == 0


SHARED = """
import pytest
from asking import ask

@pytest.mark.cassette("shared")
@pytest.mark.parametrize("text", ["p", "q"])
def test_variant(text):
    ask(text)

@pytest.mark.cassette("shared")
def test_other():
    ask("o")
"""


def test_br_155_what_was_not_played_now_may_be_needed(says):
    says.write("test_it.py", SHARED)
    says("--record-mode=once")
    quiet = "--unused=fail: nothing is said of unused entries: "
    for words, why in [
        (["-k", "test_variant and p"], "tests were selected (-k)"),
        (["test_it.py::test_other"], "tests were selected (test_it.py::test_other)"),
        (["--deselect=test_it.py::test_other"], "tests were selected (--deselect)"),
    ]:
        code, text = says("--unused=fail", *words)
        assert code == 0 and quiet + why in text
        assert says.unused() == {}
    says.write("test_it.py", SHARED.replace("def test_other", "@pytest.mark.skip\ndef test_other"))
    assert says("--unused=fail")[0] == 0
    says.write("test_it.py", SHARED.replace('"q"]', 'pytest.param("q", marks=pytest.mark.skip)]'))
    assert says("--unused=fail")[0] == 0
    says.write("test_it.py", SHARED.replace('    ask("o")', "    pytest.xfail()"))
    assert says("--unused=fail")[0] == 0
    assert says.unused() == {}
    says.write("test_it.py", SHARED.replace('    ask("o")', "    pass"))
    code, text = says("--unused=fail")
    assert code == 1 and f"shared/ (1 of 3): {entry_of(says, 'shared', 'o')}" in text
    assert says.unused() == {"shared": 1}


@pytest.mark.parametrize(
    "workers",
    [
        pytest.param("--dist=load", marks=pytest.mark.whole),
        pytest.param("--dist=each --tx=2*popen", marks=pytest.mark.whole),
        pytest.param("--dist=loadscope", marks=pytest.mark.whole),
        pytest.param("--dist=loadfile", marks=pytest.mark.whole),
        pytest.param("--dist=loadgroup", marks=pytest.mark.whole),
        pytest.param("--dist=worksteal", marks=pytest.mark.whole),
        pytest.param("--dist=no", marks=pytest.mark.whole),
    ],
)
def test_br_155_workers_are_taken_together(says, workers):
    grouped = SHARED.replace("def test_other", "@pytest.mark.xdist_group('g')\ndef test_other")
    outside = "import onetake\ndef test_scope():\n    with onetake.use_cassette('alone'):\n        ask('s')\n"
    says.write("test_it.py", grouped + outside.replace("'alone'", "'alone', mode='once'"))
    says("--record-mode=once")
    many = ("-p", "xdist", *(() if "--tx" in workers else ("-n2",)), *workers.split())
    code, text = says("--unused=fail", *many)
    assert (code, "unused" in text) == (0, False)
    dropped = grouped.replace('    ask("o")', "    pass")
    says.write("test_it.py", dropped + outside.replace("ask('s')", "pass"))
    code, text = says("--unused=fail", *many)
    assert code == 1 and "2 unused entries" in text
    assert f"shared/ (1 of 3): {entry_of(says, 'shared', 'o')}" in text
    assert f"alone/ (1 of 1): {entry_of(says, 'alone', 's')}" in text
    assert len(says.ledgers()) == 3
    assert says.unused() == {"shared": 1, "alone": 1}


@pytest.mark.whole
def test_a_worker_that_crashed_proves_nothing(says):
    says.write("test_it.py", SHARED)
    says("--record-mode=once")
    says.write("test_it.py", SHARED.replace('    ask("o")', "    import os; os._exit(3)"))
    code, text = says("--unused=fail", "-p", "xdist", "-n2")
    assert code == 1 and "nothing is said of unused entries: a worker crashed" in text
    assert ["why" in run for run in says.ledgers()] == [False, True]


def test_tests_that_were_renamed_or_removed(says):
    says.write("test_it.py", ASKS.replace("test_it", "test_old") + ASKS.replace("test_it", "test_unmarked"))
    says.write("test_gone.py", ASKS)
    says("--record-mode=once")
    says.write("test_it.py", ASKS.replace("test_it", "test_new").replace("import ask", "import ask as ask") + UNMARKED)
    (says.path / "test_gone.py").unlink()
    code, text = says("--record-mode=once", "--unused=fail")
    assert code == 1 and "6 unused entries" in text
    for module, test in [("test_gone", "test_it"), ("test_it", "test_old"), ("test_it", "test_unmarked")]:
        said = f"cassettes/{module}/{test}/ (all 2): no test opens it any more; recorded by {module}.py::{test}"
        assert said in text
    assert len(says.unused()) == 3


UNMARKED = """
def test_unmarked():
    pass
"""


@pytest.mark.whole
def test_cassettes_that_only_use_cassette_opens_are_never_called_abandoned(says):
    scope = """
        import onetake, os, pytest
        from asking import ask

        def opens(name, *texts):
            with onetake.use_cassette(f"cassettes/test_it/{name}", mode="once"):
                for text in texts:
                    ask(text)

        @pytest.fixture(scope="session", autouse=True)
        def at_the_end():
            yield
            opens("last", "l")

        def test_one():
            opens("one", *os.environ["ASKS"])

        @pytest.mark.skipif("SKIP" in os.environ, reason="it may use any")
        def test_two():
            opens("two", "t")
    """
    says.write("test_it.py", scope)
    says(asks="ab")
    assert says("--unused=fail", asks="ab")[0] == 0
    code, text = says("--unused=fail", asks="a")
    assert code == 1 and "cassettes/test_it/one/ (1 of 2)" in text
    assert says("--unused=fail", asks="a", SKIP="1")[0] == 0
    assert {place for run in says.ledgers() for place in run["cassettes"]} == {
        f"cassettes/test_it/{name}" for name in ("one", "two", "last")
    }


@pytest.mark.whole
def test_a_run_that_was_not_whole_or_not_green_proves_nothing(says):
    says.write("test_a.py", ASKS.replace("cassette", 'cassette("shared")'))
    says("--record-mode=once", asks="abc")
    for module, why in [
        ("def test_fails():\n    assert False\n", "not all tests passed"),
        ("import pytest\ndef test_exit():\n    pytest.exit('enough', returncode=0)\n", "not all tests ran"),
        ("import pytest\npytest.skip(allow_module_level=True)\n", None),
    ]:
        says.write("test_b.py", module)
        code, text = says("--unused=fail")
        assert "unused entry" not in text
        assert why is None or f"nothing is said of unused entries: {why}" in text
        assert says.unused() == {}
    code, text = says("--unused=fail", "test_a.py")
    assert code == 0 and "nothing is said of unused entries: tests were selected (test_a.py)" in text
    assert says.unused() == {}


def test_a_run_that_counts_for_nothing_looks_through_no_folders(says, monkeypatch):
    says.write("test_a.py", ASKS.replace("cassette", 'cassette("shared")'))
    says("--record-mode=once", asks="abc")
    walked = []
    walk = os.walk
    monkeypatch.setattr(os, "walk", lambda top, *args, **kwargs: walked.append(top) or walk(top, *args, **kwargs))
    assert says("-k", "it", "--unused=ignore")[0] == 0
    assert walked == []
    assert says("--unused=ignore")[0] == 0
    assert walked != []


@pytest.mark.whole
def test_what_pytests_own_settings_leave_out_protects_what_it_may_share(says):
    for name in ("own", "shared"):
        says.write(
            f"test_{name}.py", ASKS.replace("cassette", 'cassette("shared")' if name == "shared" else "cassette")
        )
    says("--record-mode=once", asks="abc")
    says.write("test_left_out.py", "")
    says.write("conftest.py", "collect_ignore = ['test_left_out.py']")
    code, text = says("--unused=fail", asks="ab")
    assert code == 1 and "test_own/test_it/ (1 of 3)" in text and "shared/" not in text
    assert "nothing is said of the unused entries of some cassettes: test_left_out.py was not collected" in text
    says.write("conftest.py", DROPS_SHARED)
    (says.path / "test_left_out.py").unlink()
    code, text = says("--unused=fail", asks="ab")
    assert code == 1 and "test_own/test_it/ (1 of 3)" in text and "shared/" not in text


DROPS_SHARED = """
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if "shared" not in item.nodeid]
"""


@pytest.mark.whole
def test_a_mode_without_cassettes_proves_nothing(says):
    says.write("test_it.py", ASKS)
    says("--record-mode=once", asks="abc")
    code, text = says("--unused=fail", "--record-mode=off")
    assert code == 0 and "nothing is said of unused entries: the mode is off" in text
    says.write("test_it.py", ASKS.replace("cassette", 'cassette(mode="off")'))
    assert says("--unused=fail")[0] == 0
    assert says.unused() == {}
    says.write("test_it.py", ASKS)
    says.write("onetake.toml", 'mode = "off"')
    code, text = says("--unused=fail")
    assert code == 0 and "nothing is said of unused entries: the mode is off" in text


def test_what_a_child_process_replays_nobody_knows(says):
    asks = 'from asking import ask; ask("b")'
    child = f"import subprocess; subprocess.run([{sys.executable!r}, '-c', {asks!r}], check=True)"
    says.write("test_it.py", ASKS.replace("        ask(text)", f"        ask(text)\n    {child}"))
    says.write("asking.py", CHILDS_ASKING)
    says("--record-mode=once", asks="a")
    code, text = says("--unused=fail", asks="a", PYTHONPATH=str(says.path))
    assert (code, "unused" in text) == (0, False)
    says.write("test_it.py", ASKS)
    assert says("--unused=fail", asks="a")[0] == 1


CHILDS_ASKING = """
import http.client, json, os

def ask(text):
    connection = http.client.HTTPConnection(os.environ["PROVIDER"].partition("//")[2])
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]})
    connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
    return json.loads(connection.getresponse().read())["choices"][0]["message"]["content"]
"""


def test_refusals_that_are_only_reported_and_tests_that_are_tried_again(says):
    says.write(
        "test_it.py",
        """
        import onetake, os, pytest
        from asking import ask

        tries = []
        long = onetake.Contract({"type": "string", "minLength": 99}, name="long") if "LONG" in os.environ else None

        @pytest.mark.cassette(refusals="report", contract=long)
        def test_reported():
            try:
                ask("a")
            except BaseException:
                pass

        @pytest.mark.flaky(reruns=1)
        @pytest.mark.cassette
        def test_flaky():
            tries.append(1)
            ask("first" if len(tries) == 1 else "second")
            assert len(tries) == 2 or "FLAKY" not in os.environ
        """,
    )
    says("--record-mode=once")
    code, text = says("--unused=fail", "--record-mode=new_episodes", FLAKY="1")
    assert (code, "unused entr" in text) == (0, False)
    code, text = says("--unused=fail", LONG="1")
    assert (code, "unused entr" in text) == (0, False)


def test_a_fixture_of_a_wider_scope(says):
    says.write(
        "conftest.py",
        """
        import os, pytest
        from asking import ask

        @pytest.fixture(scope="session")
        def summary():
            return [ask(text) for text in os.environ["ASKS"]]
        """,
    )
    test = "import pytest\n@pytest.mark.cassette\ndef test_it(summary):\n    pass\n"
    says.write("test_it.py", test)
    says("--record-mode=once", asks="abc")
    assert says("--unused=fail", asks="abc")[0] == 0
    code, text = says("--unused=fail", asks="ab")
    assert code == 1 and "cassettes/conftest/summary~fixture/ (1 of 3)" in text
    says.write(
        "test_it.py", test.replace("def", "@pytest.mark.skip\ndef") + "\n@pytest.mark.cassette('x')\ndef test_b(): pass"
    )
    assert says("--unused=fail", asks="ab")[0] == 0
    says.write("test_it.py", test.replace("summary", ""))
    code, text = says("--unused=fail", asks="ab")
    assert code == 1 and "cassettes/conftest/summary~fixture/ (all 3): no test opens it" in text


def test_a_ledger_that_cannot_be_written_fails_nothing(says):
    says.write("test_it.py", ASKS)
    says.write(".onetake/usage", "a file in its place")
    code, text = says("--record-mode=once")
    assert code == 0 and "the usage ledger could not be written" in text


def test_another_plugins_option_of_that_name_is_left_to_it(says):
    says.inner.syspathinsert()
    says.write(
        "other.py",
        """
        def pytest_addoption(parser):
            parser.addoption("--unused", action="store_true")
        """,
    )
    says.write("test_it.py", ASKS)
    says("--record-mode=once", asks="abc")
    code, text = says("-p", "other", "--unused", asks="ab")
    assert code == 0 and "1 unused entry" in text


def test_what_runs_nothing_writes_nothing(says):
    says.write("test_it.py", ASKS)
    says("--collect-only")
    says("--setup-plan")
    assert not (says.path / ".onetake").exists()
    says("--record-mode=once")
    says("--setup-only", "--unused=fail")
    assert ["why" in run for run in says.ledgers()] == [False, True]
    assert [path.name for path in (says.path / "cassettes").iterdir()] == ["test_it"]


def test_br_155_a_child_that_opens_the_cassette_itself(says):
    says.write("asking.py", CHILDS_ASKING)
    says.write("app.py", "import onetake, asking\nwith onetake.use_cassette('sh', mode=MODE):\n    asking.ask('c')\n")
    test = f"""
        import onetake, os, subprocess, sys
        from asking import ask

        def test_parent():
            with onetake.use_cassette("sh", mode=os.environ["MODE"]):
                ask("p")

        def test_child():
            subprocess.run([{sys.executable!r}, "app.py"], check=True, env={{**os.environ, "ASKS": "c"}})
    """
    says.write("test_it.py", test)
    app = says.path / "app.py"
    app.write_text(app.read_text().replace("MODE)", "__import__('os').environ['MODE'])"))
    assert says(MODE="new_episodes")[0] == 0
    assert len(list((says.path / "sh").glob("*.json"))) == 2
    assert says("--unused=fail", MODE="none")[0] == 0
    assert [len(run["cassettes"]["sh"]["used"]) for run in says.ledgers()] == [2, 2]
    says.write("test_it.py", test.replace("subprocess.run(", "print("))
    assert says("--unused=fail", MODE="none")[0] == 1


def test_br_155_a_skipped_test_may_ask_for_any_fixture(says):
    says.write(
        "test_it.py",
        """
        import os, pytest
        from asking import ask

        @pytest.fixture(scope="module")
        def llm():
            return ask("f")

        @pytest.mark.cassette
        @pytest.mark.skipif("SKIP" in os.environ, reason="it asks for the fixture by its name")
        def test_a(request):
            assert request.getfixturevalue("llm")

        @pytest.mark.cassette
        def test_b():
            ask("b")
        """,
    )
    says("--record-mode=once")
    assert says("--unused=fail", SKIP="1")[0] == 0


def test_br_155_a_file_is_a_part_of_the_tests(says):
    says.write("test_it.py", SHARED)
    says("--record-mode=once")
    says.write("test_it.py", SHARED.replace('    ask("o")', "    pass"))
    code, text = says("--unused=fail", "test_it.py")
    assert code == 0 and "tests were selected (test_it.py)" in text
    assert says("--unused=fail", ".")[0] == 1


DROPPING = [
    ("modifyitems", "@pytest.hookimpl(hookwrapper=True, tryfirst=True)", "items", "yield\n    items[:] = items[:-1]"),
    ("finish", "", "session", "session.items[:] = session.items[:-1]"),
]


@pytest.mark.whole
@pytest.mark.parametrize(("hook", "mark", "argument", "body"), DROPPING)
def test_br_155_tests_that_others_drop(says, hook, mark, argument, body):
    says.write("test_it.py", SHARED)
    says("--record-mode=once")
    says.write("conftest.py", f"import pytest\n{mark}\ndef pytest_collection_{hook}({argument}):\n    {body}\n")
    assert says("--unused=fail")[0] == 0


@pytest.mark.whole
def test_br_155_tests_that_are_not_collected_but_there(says):
    tests = (
        SHARED.replace('"shared"', "").replace("    @", "@")
        + "\n@pytest.mark.cassette('s')\ndef test_s():\n    ask('s')\n"
    )
    says.write("test_it.py", tests + "    ask('t')\n")
    says("--record-mode=once")
    says.write("conftest.py", "def pytest_pycollect_makeitem(name):\n    return [] if name == 'test_other' else None\n")
    says.write("test_it.py", tests)
    assert says("--unused=fail")[0] == 0, "test_other may use what test_s does not"
    (says.path / "conftest.py").unlink()
    code, text = says("--unused=fail")
    assert code == 1 and "s/ (1 of 2)" in text
    for path in (says.path / "s").iterdir():
        path.unlink()
    says("--record-mode=once")
    says.write("test_it.py", tests.replace('["p", "q"]', '["p"]'))
    assert says("--unused=fail")[0] == 0, "the function is still there"
