"""The hazards of a project's configuration."""

from __future__ import annotations

import pytest

from onetake.doctor.examining import examine

EMPTY = "interactions: []\nversion: 1\n"
GOES_LIVE, CLAIM = "goes-live", "false-claim"


def config(said, doc="", comment=""):
    return (
        f"import pytest\n\n{comment}\n@pytest.fixture\ndef vcr_config():\n"
        f'    """{doc or "Configure."}"""\n    return {said}\n'
    )


MARKED = "import pytest\n\n@pytest.mark.vcr\ndef test_a(): ...\n"
BODY = "{'match_on': ['body']}"


@pytest.fixture
def messages(project):
    """Return a function that writes files and returns the hazards of a kind: (path, line, message, cassettes)."""

    def run(kind, files):
        folder = project(files)
        found = [one for one in examine(folder).hazards if one.kind == kind]
        return [(one.path.relative_to(folder).as_posix(), one.line, one.message, len(one.cassettes)) for one in found]

    return run


@pytest.mark.parametrize(
    ("doc", "comment", "line"),
    [("Match requests on method, uri and body.", "", 6), ("", "# requests are matched on their body", 3)],
)
def test_a_claim_is_false_where_the_configuration_lacks_it(messages, doc, comment, line):
    files = {"test_a.py": MARKED, "cassettes/test_a/test_a.yaml": EMPTY}
    said = doc.rstrip(".") or comment[2:]
    (found,) = messages(CLAIM, files | {"conftest.py": config("{'match_on': ['uri']}", doc, comment)})
    assert found == ("conftest.py", line, f"it says that bodies are compared, and they are not: {said}", 1)
    assert messages(CLAIM, files | {"conftest.py": config(BODY, doc, comment)}) == []


def test_a_claim_in_a_test_is_about_that_test(messages):
    text = (
        "import pytest\n\n@pytest.mark.vcr\ndef test_a():\n    # requests match on the body here\n    ...\n\n"
        "@pytest.mark.vcr(match_on=['body'])\ndef test_b():\n    # requests match on the body here\n    ...\n"
    )
    assert [found[:2] for found in messages(CLAIM, {"test_m.py": text})] == [("test_m.py", 5)]


@pytest.mark.parametrize(
    ("said", "live"),
    [
        ("{'record_mode': 'once', 'match_on': ['body']}", 'record_mode "once": 1 test; 1 test without a cassette now'),
        ("{'record_mode': 'new_episodes'}", 'record_mode "new_episodes": 1 test; 1 test without a cassette now'),
        ("{'record_mode': 'any'}", 'record_mode "any": 1 test; 1 test without a cassette now'),
        ("{'record_mode': 'none'}", None),
        ("{'record_mode': 'none' if os.environ.get('CI') else 'once'}", None),
        ("{'record_mode': mode()}", None),
        ("{}", None),
    ],
)
def test_a_record_mode_of_a_marked_test(messages, said, live):
    found = messages(GOES_LIVE, {"conftest.py": "import os\n" + config(said), "test_a.py": MARKED})
    assert [each[2] for each in found] == ([live] if live else [])
    assert [each[:2] for each in found] == ([("conftest.py", 8)] if live else [])


def test_vcrpys_own_default_can_go_live(messages):
    text = "import vcr\n\n@vcr.use_cassette('a.yaml')\ndef test_a(): ...\n"
    files = {"test_a.py": text, "a.yaml": EMPTY}
    assert messages(GOES_LIVE, files) == [("test_a.py", 3, 'record_mode "once": 1 test', 1)]


def test_an_option_counts_for_marked_tests_whose_configuration_does_not_say_another(messages):
    files = {
        "pytest.ini": "[pytest]\naddopts = --record-mode=new_episodes\n",
        "test_a.py": MARKED,
        "test_b.py": MARKED.replace("vcr", "vcr(record_mode='none')"),
        "cassettes/test_a/test_a.yaml": EMPTY,
    }
    said = "the tests are started with --record-mode=new_episodes: 1 test"
    assert messages(GOES_LIVE, files) == [("pytest.ini", 2, said, 1)]


def test_an_option_that_counts_for_no_test_is_no_hazard(messages):
    files = {"pytest.ini": "[pytest]\naddopts = --record-mode=once\n", "conftest.py": config("{'record_mode': 'none'}")}
    assert messages(GOES_LIVE, files | {"test_a.py": MARKED}) == []


def test_a_cassette_that_nothing_opens_is_as_the_configuration_around_it_has_it(messages, interaction, cassette):
    calls = {"old/a.yaml": cassette(interaction("a"), interaction("b"))}
    assert len(messages("equal-shapes", calls | {"conftest.py": config("{'match_on': ['uri']}")})) == 1
    assert messages("equal-shapes", calls | {"conftest.py": config(BODY)}) == []


def test_tests_of_a_file_without_a_configuration_are_one_hazard(messages):
    text = MARKED + "\n\n@pytest.mark.vcr\ndef test_b(): ...\n"
    (found,) = messages("match-without-body", {"test_m.py": text, "cassettes/test_m/test_b.yaml": EMPTY})
    assert found[:2] == ("test_m.py", 4)
    assert found[2].endswith(": 2 tests")
    assert found[3] == 1


def test_what_the_text_does_not_tell_is_said(project):
    text = (
        "import vcr\n\ndef test_a(path):\n    with vcr.use_cassette(path, match_on=words(), record_mode=mode()): ...\n"
    )
    folder = project({"test_a.py": text})
    report = examine(folder)
    assert [(path.name, line, what.partition(" cannot")[0]) for path, line, what in report.unclear] == [
        ("test_a.py", 4, "the name of the cassette"),
        ("test_a.py", 4, "the record mode"),
        ("test_a.py", 4, "what is compared"),
    ]
    assert report.hazards == []


def test_concurrent_calls_are_a_hazard_where_the_cassette_cannot_tell_them_apart(messages, interaction, cassette):
    text = "import asyncio\nimport pytest\n\n@pytest.mark.vcr\nasync def test_a():\n    await asyncio.gather()\n"
    one, two = {"cassettes/test_m/test_a.yaml": cassette(interaction())}, cassette(interaction("a"), interaction("b"))
    assert messages("concurrent", {"test_m.py": text} | one) == []
    assert messages("concurrent", {"test_m.py": text, "cassettes/test_m/test_a.yaml": two}) == [
        ("test_m.py", 6, "test_m.py::test_a runs calls at the same time (asyncio.gather, line 6)", 1)
    ]
    by_body = text.replace("mark.vcr", "mark.vcr(match_on=['body'])")
    assert messages("concurrent", {"test_m.py": by_body, "cassettes/test_m/test_a.yaml": two}) == []
    repeated = cassette(interaction("a", "x"), interaction("a", "y"))
    assert len(messages("concurrent", {"test_m.py": by_body, "cassettes/test_m/test_a.yaml": repeated})) == 1


def test_an_sdk_that_is_not_seen_is_told_where_it_is_imported(messages, project):
    folder = project({"test_a.py": "import os\nfrom openai import OpenAI\n" + MARKED})
    packages = folder / ".venv" / "lib" / "python3.12" / "site-packages"
    for name, needs in (("vcrpy", ""), ("openai", "Requires-Dist: httpx2\n")):
        (packages / f"{name}-1.2.dist-info").mkdir(parents=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n{needs}"
        (packages / f"{name}-1.2.dist-info" / "METADATA").write_text(text, encoding="utf-8")
    (folder / ".venv" / "pyvenv.cfg").write_text("", encoding="utf-8")
    (packages / "vcr").mkdir()
    (packages / "vcr" / "patch.py").write_text("import httpx\n", encoding="utf-8")
    said = "openai 1.2 sends through httpx2, which the installed vcrpy 1.2 does not intercept"
    assert messages("not-intercepted", {}) == [("test_a.py", 2, said, 0)]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("os.environ.get('MODE', 'none')", True),
        ("os.environ.get('MODE') or 'none'", True),
        ("os.environ.get('MODE', 'once')", False),  # a hazard already
        ("'none'", False),
        ("'none' if os.environ.get('CI') else os.environ.get('MODE', 'none')", False),
    ],
)
def test_a_mode_that_the_environment_may_change_is_said(project, said, told):
    made = f"mine = vcr.VCR(\n    record_mode={said})"
    text = f"import os\nimport vcr\n\n{made}\n\n@mine.use_cassette('a')\ndef test_a(): ...\n"
    report = examine(project({"test_a.py": text}))
    assert [one[1:] for one in report.unclear] == [(5, "the environment may say another record mode")] * told
