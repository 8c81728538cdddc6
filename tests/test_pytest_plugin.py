"""The marker, the fixture, the option, and where a test's cassette lies."""

from __future__ import annotations

import os

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest

import onetake.adapters.httpx  # noqa: F401 - as above

pytest_plugins = ("pytester",)


def test_without_marker_and_fixture_nothing_happens(inner, provider):
    inner.write(
        "test_it.py",
        """
        from asking import ask

        def test_live():
            assert ask("hi") == "answer 1 to: hi"
        """,
    )
    inner().assert_outcomes(passed=1)
    assert provider.count == 1
    assert inner.files() == []


@pytest.mark.parametrize(
    "head",
    [
        "@pytest.mark.cassette\ndef test_it():",
        "@pytest.mark.cassette()\ndef test_it():",
        "def test_it(cassette):",
        "@pytest.mark.usefixtures('cassette')\ndef test_it():",
        "pytestmark = pytest.mark.cassette\ndef test_it():",
    ],
)
def test_marker_or_fixture_opens_the_tests_own_cassette(inner, provider, head):
    inner.write(
        "test_it.py", f"import pytest\nfrom asking import ask\n{head}\n    assert ask('hi') == 'answer 1 to: hi'\n"
    )
    inner("--record-mode=once").assert_outcomes(passed=1)
    inner().assert_outcomes(passed=1)
    assert provider.count == 1
    (entry,) = inner.files()
    assert entry.startswith("cassettes/test_it/test_it/chat-m-")


def test_a_fixture_asked_for_by_name_while_the_test_runs_opens_it_then(inner, provider):
    inner.write(
        "test_it.py",
        """
        from asking import ask

        def test_it(request):
            cassette = request.getfixturevalue("cassette")
            ask("hi")
            assert len(cassette.requests) == 1
        """,
    )
    inner("--record-mode=once").assert_outcomes(passed=1)
    inner().assert_outcomes(passed=1)
    assert provider.count == 1


def test_another_fixture_called_cassette_is_left_alone(inner, provider):
    inner.write("conftest.py", "import pytest\n@pytest.fixture\ndef cassette():\n    return 'a tape'\n")
    inner.write(
        "test_it.py",
        """
        from asking import ask

        def test_it(cassette):
            assert cassette == "a tape"
            ask("hi")
        """,
    )
    inner("--record-mode=once").assert_outcomes(passed=1)
    assert (provider.count, inner.files()) == (1, [])


def test_the_fixture_tells_what_happened(inner):
    inner.write(
        "test_it.py",
        """
        from asking import ask

        def test_it(cassette):
            if cassette.mode == "none":
                ask("a")
                assert [len(x) for x in (cassette.entries, cassette.played, cassette.unused)] == [2, 1, 1]
                assert cassette.recorded == ()
            else:
                ask("a"), ask("b")
                assert [len(x) for x in (cassette.requests, cassette.recorded, cassette.played)] == [2, 2, 0]
            assert cassette.refusals == cassette.rejects == ()
        """,
    )
    inner("--record-mode=once").assert_outcomes(passed=1)
    inner().assert_outcomes(passed=1)


def test_every_argument_of_the_marker_counts(inner, provider):
    inner.write("onetake.toml", "repeats = 'sequence'\n")
    inner.write("schema.json", '{"type": "string", "minLength": 99}')
    inner.write(
        "test_it.py",
        """
        import httpx, os, pytest
        from asking import ask
        from pathlib import Path

        @pytest.mark.cassette("named/one", mode="once", repeats="same")
        def test_name_mode_repeats():
            assert ask("x") == ask("x")

        @pytest.mark.cassette(contract=Path("schema.json"), schema_version=3, on_reject="pass", mode="once")
        def test_contract(cassette):
            ask("short")
            assert [entry.verdict for entry in cassette.rejects] == ["reject:violation"]
            assert cassette.rejects[0].contract.schema_version == 3

        @pytest.mark.cassette(contract=Path("schema.json"), keep=["json"], mode="once")
        def test_keep_is_checked():
            pass

        @pytest.mark.cassette(mode="once", key={"ignore": ["$.metadata"]})
        def test_key(cassette):
            ask("k", metadata={"trace": 1})
            assert "metadata" in str(cassette.recorded[0].request.body)
            assert dict(cassette.recorded[0].key_spec.rules)["ignore"] == ["$.metadata"]

        @pytest.mark.cassette(mode="once", hosts=[os.environ["PROVIDER"].partition("//")[2]])
        def test_hosts(cassette):
            httpx.get(os.environ["PROVIDER"] + "/health")
            assert len(cassette.requests) == 1

        @pytest.mark.cassette(mode="once", ignore=["127.0.0.1"])
        def test_ignore(cassette):
            ask("i")
            assert cassette.requests == ()

        @pytest.mark.cassette(mode="once", max_age={"days": 9, "then": "fail"})
        def test_max_age(cassette):
            ask("m")

        @pytest.mark.cassette(refusals="report")
        def test_refusals():
            try:
                ask("r")
            except BaseException:
                pass
        """,
    )
    result = inner("-rA")
    result.assert_outcomes(passed=7, errors=1)
    result.stdout.fnmatch_lines(["*onetake: keep: unknown kind 'json'*"])
    assert [name for name in inner.files() if name.startswith("named/")]


@pytest.mark.parametrize(
    ("marker", "text"),
    [
        ("contrakt=1", "no argument 'contrakt'; did you mean 'contract'?"),
        ("qqq=1", "no argument 'qqq' (it takes name, mode, contract,"),
        ("'a', 'b'", "takes one positional argument"),
        ("'a', name='b'", "takes one positional argument"),
        ("3", "a cassette's name is a text or a path, not 3"),
        ("mode='nonne'", "unknown word 'nonne'; did you mean 'none'?"),
        ("mode=True", "mode: must be"),
        ("hosts='127.0.0.1:1'", "hosts: must be a list"),
        ("keep='violation'", "keep: must be a list"),
        ("repeats=''", "repeats: unknown word ''"),
        ("refusals='no'", "refusals: unknown word 'no'"),
        ("contract='itms'", "contract 'itms' is not declared"),
    ],
)
def test_a_wrong_marker_is_a_clear_failure_of_its_test_alone(inner, provider, marker, text):
    inner.write(
        "test_it.py",
        f"""
        import pytest
        from asking import ask

        @pytest.mark.cassette({marker})
        def test_wrong():
            ask("hi")

        def test_right():
            pass
        """,
    )
    result = inner()
    result.assert_outcomes(errors=1, passed=1)
    assert text in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    assert "During handling" not in result.stdout.str()
    assert provider.count == 0


def test_markers_of_module_class_and_function_add_up_and_the_nearest_counts(inner):
    inner.write(
        "test_it.py",
        """
        import pytest

        pytestmark = pytest.mark.cassette(mode="once", repeats="same")

        class TestIt:
            pytestmark = pytest.mark.cassette(mode="all")

            @pytest.mark.cassette(on_reject="pass")
            def test_it(self, cassette):
                assert cassette.mode == "all"
                assert cassette._engine.policy.repeats == "same"
                assert cassette._engine.policy.on_reject == "pass"
        """,
    )
    inner().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("none", "none"),
        ("once", "once"),
        ("new_episodes", "new_episodes"),
        ("all", "all"),
        ("off", "off"),
        ("replay", "none"),
        ("rewrite", "all"),
    ],
)
def test_the_option_takes_each_word(inner, word, mode):
    inner.write("test_it.py", f"def test_it(cassette):\n    assert cassette.mode == {mode!r}\n")
    inner(f"--record-mode={word}").assert_outcomes(passed=1)
    inner("--record-mode", word).assert_outcomes(passed=1)


def test_an_unknown_word_is_refused_and_all_are_named(inner):
    inner.write("test_it.py", "def test_it(cassette):\n    pass\n")
    result = inner("--record-mode=nonne")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--record-mode*invalid choice: 'nonne'*none*once*new_episodes*all*off*"])


@pytest.mark.parametrize(
    ("flag", "marker", "environment", "settings", "mode"),
    [
        ("all", "once", "none", "off", "none"),
        ("all", "once", "replay", "off", "none"),
        ("all", "once", "new_episodes", "off", "all"),
        ("", "once", "new_episodes", "off", "once"),
        ("", "", "new_episodes", "off", "new_episodes"),
        ("", "", "", "off", "off"),
        ("", "", "", "", "none"),
        ("none", "once", "new_episodes", "off", "none"),
    ],
)
def test_who_says_the_mode(inner, monkeypatch, flag, marker, environment, settings, mode):
    if settings:
        inner.write("onetake.toml", f"mode = {settings!r}\n")
    if environment:
        monkeypatch.setenv("ONETAKE_MODE", environment)
    inner.write(
        "test_it.py",
        f"""
        import pytest

        @pytest.mark.cassette({f"mode={marker!r}" if marker else ""})
        def test_it(cassette):
            assert cassette.mode == {mode!r}
        """,
    )
    inner(*([f"--record-mode={flag}"] if flag else [])).assert_outcomes(passed=1)


def test_the_flag_goes_before_what_use_cassette_says_and_is_forgotten_after_the_run(inner, provider):
    inner.write(
        "test_it.py",
        """
        import onetake
        from asking import ask

        def test_it():
            with onetake.use_cassette("program", mode="none") as session:
                ask("hi")
                assert session.mode == "once"
        """,
    )
    inner("--record-mode=once").assert_outcomes(passed=1)
    assert len(inner.files("program")) == 1
    result = inner()
    result.stdout.fnmatch_lines(["*'once'*"])
    assert provider.count == 1


def test_an_option_of_a_plugin_that_was_loaded_before_is_read(inner, provider):
    inner.write(
        "early.py",
        """
        def pytest_addoption(parser):
            parser.getgroup("early").addoption("--record-mode", default=None)
        """,
    )
    inner.write("test_it.py", "from asking import ask\ndef test_it(cassette):\n    ask('hi')\n")
    inner.syspathinsert()
    inner("-p", "early", "--record-mode=once").assert_outcomes(passed=1)
    inner("-p", "early", "--record-mode=none").assert_outcomes(passed=1)
    assert provider.count == 1


def test_use_cassette_finds_the_settings_of_the_test_in_threads_tasks_and_fixtures(inner):
    inner.write("sub/onetake.toml", "")
    inner.write(
        "sub/test_it.py",
        """
        import asyncio, threading
        import onetake, pytest
        from asking import ask

        def record(name):
            with onetake.use_cassette(name, mode="once"):
                ask(name)

        @pytest.fixture
        def asked():
            record("fixture")

        def test_sync(asked):
            thread = threading.Thread(target=record, args=("thread",))
            thread.start()
            thread.join()

        @pytest.mark.asyncio
        async def test_async():
            record("task")
        """,
    )
    inner().assert_outcomes(passed=2)
    assert sorted({name.rpartition("/")[0] for name in inner.files()}) == ["sub/fixture", "sub/task", "sub/thread"]


def test_br_133_hostile_ids_get_a_folder_each_and_find_it_again(inner, provider):
    long = ["x" * 60 + letter for letter in "ab"]
    inner.write(
        "test_it.py",
        f"""
        import pytest
        from asking import ask

        IDS = ["a:b*c?<>|", "dot.", "CON", "con", "A", "a", "../../up", "a/b", "a\\\\b", "", "  ", "é",
               "line\\nbreak", "[x]",
               "{"-".join([long[0]] * 5)}", "{"-".join([*[long[0]] * 4, long[1]])}"]

        @pytest.mark.cassette
        @pytest.mark.parametrize("n", range(len(IDS)), ids=IDS)
        def test_it(n):
            assert ask(f"number {{n}}").endswith(f"to: number {{n}}")

        class TestUpper:
            @pytest.mark.cassette
            def test_it(self):
                ask("in a class")

            class TestInner:
                @pytest.mark.cassette
                def test_it(self):
                    ask("in a class in a class")
        """,
    )
    inner("--record-mode=once").assert_outcomes(passed=18)
    inner().assert_outcomes(passed=18)
    assert provider.count == 18
    folders = {path.rpartition("/")[0] for path in inner.files()}
    assert len(folders) == len({folder.lower() for folder in folders}) == 18
    assert all(folder.startswith("cassettes/test_it/") and folder.count("/") == 2 for folder in folders)
    assert all(len(folder.encode()) < 140 and not set(folder) & set(':*?<>|"\\') for folder in folders)
    assert {"cassettes/test_it/TestUpper.test_it", "cassettes/test_it/TestUpper.TestInner.test_it"} <= folders


def test_br_135_the_miss_names_the_folder_under_the_other_order_of_ids(inner):
    text = """
        import pytest
        from asking import ask

        @pytest.mark.cassette
        @pytest.mark.parametrize("{}", ["{}"])
        @pytest.mark.parametrize("{}", ["{}"])
        def test_it(a, b):
            ask(f"{{a}} and {{b}}")
        """
    inner.write("test_it.py", text.format("a", "one", "b", "two"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    inner.write("test_it.py", text.format("b", "two", "a", "one"))
    result = inner()
    result.assert_outcomes(failed=1)
    (old,) = {path.rpartition("/")[0] for path in inner.files()}
    assert f"the same request is stored in {old}" in result.stdout.str()
    assert "if this test was renamed, rename that folder to cassettes/test_it/test_it[one-two]" in result.stdout.str()


def test_br_148_a_missing_entry_is_called_so_with_the_command_that_makes_it(inner, provider):
    inner.write("test_it.py", "from asking import ask\ndef test_it(cassette):\n    ask('hi')\n")
    result = inner()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*no interaction is stored for this request: POST http://127.0.0.1:*",
            "*looked in: cassettes/test_it/test_it (empty)",
            "*no entry for this test yet: pytest --record-mode=once test_it.py::test_it",
        ]
    )
    assert provider.count == 0


def test_a_replaying_test_finds_dummies_from_setup_to_teardown_and_no_other_test_does(inner, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    inner.write(
        "test_it.py",
        """
        import os
        import pytest

        def key():
            return os.environ.get("OPENAI_API_KEY")

        @pytest.fixture
        def client():
            assert key()
            yield
            assert key()

        @pytest.mark.cassette
        def test_replays(client):
            assert key()

        @pytest.mark.cassette
        def test_fails(client):
            raise ValueError("own")

        @pytest.mark.cassette(mode="once")
        def test_may_record():
            assert key() is None

        def test_other():
            assert key() is None

        @pytest.mark.skipif("not os.environ.get('OPENAI_API_KEY')")
        def test_live():
            raise AssertionError("there is no key")

        @pytest.mark.cassette
        @pytest.mark.skipif("not os.environ.get('OPENAI_API_KEY')")
        def test_live_with_a_cassette():
            raise AssertionError("there is no key")
        """,
    )
    inner().assert_outcomes(passed=3, failed=1, skipped=2)
    assert "OPENAI_API_KEY" not in os.environ


def test_a_secret_in_a_test_id_is_in_no_folder_entry_or_message_and_each_id_has_its_folder(inner, provider):
    secrets = ["sk-proj-Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2Rr1Qq" + end for end in "01"]
    inner.write(
        "test_it.py",
        f"""
        import pytest
        from asking import ask

        @pytest.mark.cassette
        @pytest.mark.parametrize("k", {secrets!r})
        def test_it(k):
            assert ask("hi") == f"answer {{1 + int(k[-1])}} to: hi"

        @pytest.mark.parametrize("k", {secrets!r})
        def test_fails(k, cassette):
            ask("hi")
            assert len(k) < 9, "too long"
        """,
    )
    inner("--record-mode=once").assert_outcomes(passed=2, failed=2)
    inner("-k", "test_it[").assert_outcomes(passed=2)
    assert provider.count == 4
    assert len({name.split("/")[2] for name in inner.files("cassettes")}) == 2
    assert len(inner.files(".onetake/pending")) == 2
    written = [path for top in ("cassettes", ".onetake") for path in (inner.path / top).rglob("*")]
    assert len(written) > 8
    for path in written:
        assert secrets[0][8:20] not in path.as_posix()
        assert path.is_dir() or secrets[0][8:20] not in path.read_text()
    remedies = [line for line in inner().stdout.str().splitlines() if "--record-mode=" in line]
    assert len(remedies) >= 2
    assert not any(secrets[0][8:20] in line for line in remedies)


def test_the_remedy_works_from_the_folder_where_the_test_was_run(inner, monkeypatch):
    inner.write("tests/test_it.py", "from asking import ask\n\ndef test_it(cassette):\n    ask('new')\n")
    monkeypatch.chdir(inner.path / "tests")
    result = inner("test_it.py")
    result.stdout.fnmatch_lines(["*pytest --record-mode=once test_it.py::test_it"])
    assert "tests/test_it.py::test_it" not in "".join(line for line in result.outlines if "--record-mode" in line)


def test_a_run_inside_a_test_of_another_one_leaves_everything_as_it_was(inner):
    inner.write(
        "test_outer.py",
        """
        import pytest
        from onetake import modes, settings_start, strays
        from onetake.model import Mode

        def state():
            return modes.resolve(None, None, Mode.NONE), strays.watch, settings_start.told_start()

        @pytest.mark.parametrize("word", ["fail", "warn", "ignore"])
        @pytest.mark.parametrize("mode", ["--record-mode=once", ""])
        def test_runs_pytest(pytester, word, mode):
            before = state()
            pytester.makepyfile("def test_it():\\n    pass")
            run = pytester.runpytest_inprocess(f"--unmarked={word}", *filter(None, [mode]))
            run.assert_outcomes(passed=1)
            assert state() == before
            assert before[0] is Mode.ALL and type(before[1]).__module__ == "onetake.pytest_strays"
        """,
    )
    inner("-p", "pytester", "--record-mode=all", "--unmarked=warn").assert_outcomes(passed=6)


def test_options_that_another_plugin_has_are_left_to_it(inner):
    inner.write(
        "rival.py",
        """
        NAMES = ("--record-mode", "--unused", "--unmarked", "--onetake-report")

        def pytest_addoption(parser):
            parser.addoption(NAMES[0], default=None)
            for name in NAMES[1:]:
                parser.getgroup("rival").addoption(name, dest="rival" + name.replace("-", "_"))
        """,
    )
    inner.write(
        "test_it.py", "def test_it(request, cassette):\n    assert request.config.option.rival__unused == 'x'\n"
    )
    inner.syspathinsert(inner.path)
    words = ("--record-mode=theirs", "--unused=x", "--unmarked=y", "--onetake-report=z")
    inner("-p", "rival", *words).assert_outcomes(passed=1)
    assert not (inner.path / "z").exists()
