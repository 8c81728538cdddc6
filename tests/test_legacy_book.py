import pytest

from onetake import legacy_book
from onetake.errors import FormatError
from onetake.options import Options
from onetake.scrub import Scrubber
from onetake.settings import Settings


def test_what_is_written_is_read_again_a_test_a_line_in_order(tmp_path):
    tests = {"b.py::t[é\ud800]": 2, "a.py::t": 0}
    legacy_book.write(tmp_path, tests)
    assert legacy_book.read(tmp_path) == tests
    lines = (tmp_path / legacy_book.NAME).read_text("utf-8").splitlines()
    assert lines[:4] == ["{", '  "onetake_legacy": 1,', '  "tests": {', '    "a.py::t": 0,']
    legacy_book.write(tmp_path, {"a.py::t": 1})
    assert legacy_book.read(tmp_path) == {"a.py::t": 1}
    legacy_book.write(tmp_path, {})
    assert legacy_book.read(tmp_path) == {}


def test_without_a_file_no_test_is_known(tmp_path):
    assert legacy_book.read(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is damaged"),
        ("<<<<<<< ours", "is damaged"),
        ('{"onetake_legacy": 1, "tests": {"a": 1, "a": 2}}', "is damaged"),
        ("[" * 100_000, "is damaged"),
        ('{"onetake_legacy": 2, "tests": {}}', "upgrade"),
        ('{"onetake_legacy": 1, "tests": {"a": -1}}', "restore it"),
        ('{"onetake_legacy": 1, "tests": {"a": true}}', "restore it"),
        ("[]", "restore it"),
    ],
)
def test_what_is_damaged_is_named(tmp_path, text, said):
    (tmp_path / legacy_book.NAME).write_text(text, "utf-8")
    with pytest.raises(FormatError, match=f"onetake-legacy.json: .*{said}"):
        legacy_book.read(tmp_path)


@pytest.mark.parametrize(
    ("test", "own", "match", "narrowed"),
    [
        ("clean", None, "legacy", "whole"),
        ("differs", None, "legacy", None),
        ("unseen", None, "legacy", None),
        ("clean", "legacy", "legacy", "legacy"),
        ("clean", None, "whole", None),
    ],
)
def test_a_clean_test_is_matched_strictly_unless_its_marker_says_more(tmp_path, test, own, match, narrowed):
    legacy_book.write(tmp_path, {"clean": 0, "differs": 2})
    options = Options("x", match=own)
    assert legacy_book.narrowed(options, Settings(tmp_path, match=match), test).match == narrowed


def test_a_secret_in_a_tests_id_is_as_the_reports_have_it(tmp_path):
    secret = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"
    legacy_book.write(tmp_path, {Scrubber().begin().text(f"a.py::t[{secret}]"): 0})
    narrowed = legacy_book.narrowed(Options("x"), Settings(tmp_path, match="legacy"), f"a.py::t[{secret}]")
    assert narrowed.match == "whole"
