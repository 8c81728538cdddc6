from __future__ import annotations

import ast
import os

import pytest

from onetake.contract.watch import REMEDY, base_of, selects, unparsed, watch_digest, watched
from onetake.errors import UsageError

PARSER = '''"""Reads tickets."""
import json
from dataclasses import dataclass


@dataclass
class Ticket:
    """One ticket."""

    label: str = "a"
    """Its label."""


def parse(text: str, width=5) -> Ticket:
    """Parse one."""
    found = json.loads(text)  # strict
    match found:
        case {"label": str(label), **rest}:
            return Ticket(f"{label!r:>{width}.{width}} {1.50:.2f} {len(rest)=}")
        case None:
            raise ValueError(b"\\xff", None, ..., 1j, True)
'''
GOLDEN = "394cbd620dfbcd8321abe470508c261a199aed8ad8a7c616c90e8420a9039071"


@pytest.fixture
def parser(tmp_path):
    """A watched Python file, as a function from its text to the digest."""
    file = tmp_path / "app" / "parse.py"
    file.parent.mkdir()

    def digest(text):
        file.write_bytes(text.encode())
        return watch_digest(["app/parse.py"], tmp_path)

    return digest


def test_the_digest_is_pinned_for_every_python(parser):
    assert parser(PARSER) == GOLDEN


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Reads tickets."""\n', ""),
        ('    """Its label."""\n', ""),
        ('    """Parse one."""', '    """Parse one ticket, strictly."""'),
        ("  # strict", ""),
        ('"a"', "'a'"),
        ('"a"', 'u"a"'),
        ("(text: str, width=5)", "(\n    text: str,\n    width=5,\n)"),
        ("\n", "\r\n"),
    ],
)
def test_what_a_formatter_changes_moves_nothing(parser, old, new):
    assert old in PARSER
    assert parser(PARSER.replace(old, new)) == GOLDEN


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("text: str", "text: bytes"),
        ("label: str =", "label ="),
        ('"a"', '"A"'),
        ("True", "1"),
        ("case None", "case True"),
        ("1.50", "1.51"),
        ("return Ticket", "yield Ticket"),
    ],
)
def test_what_the_program_reads_moves_it(parser, old, new):
    assert old in PARSER
    assert parser(PARSER.replace(old, new)) != GOLDEN


def test_a_parser_that_lost_count_is_asked_again(parser, monkeypatch):
    parse, lost = ast.parse, []

    def losing(source):
        if not lost:
            lost.append(source)
            raise SystemError("AST constructor recursion depth mismatch (before=204, after=254)")
        return parse(source)

    monkeypatch.setattr(ast, "parse", losing)
    assert parser(PARSER) == GOLDEN
    assert lost == [PARSER.encode()]


def test_python_that_does_not_parse_counts_by_its_bytes(parser):
    assert parser("def (:\r\n  # one") == parser("def (:\n  # one")
    assert parser("def (:\n  # one") != parser("def (:\n  # two")


def test_other_files_count_by_their_bytes_with_crlf_as_lf(tmp_path):
    digests = []
    for data in (b"a: 1\nb: 2\n", b"a: 1\r\nb: 2\r\n", b"a: 1\nb: 2", b"\x00\xff"):
        (tmp_path / "labels.yaml").write_bytes(data)
        digests.append(watch_digest(["labels.yaml"], tmp_path))
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_files_folders_and_globs_name_the_same_files_in_any_order(tmp_path):
    for name in ("app/a.py", "app/deep/b.py", "app/c.txt", "app/__pycache__/a.pyc", "app/.hidden", "top.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"name = {name!r}")
    files = ["app/a.py", "app/deep/b.py", "app/c.txt"]
    expected = watch_digest(files, tmp_path)
    assert watch_digest(files[::-1], tmp_path) == expected
    assert watch_digest(["./app", "app/a.py"], tmp_path) == expected
    assert watch_digest(["app/**/*.py", "app/*.txt"], tmp_path) == expected
    assert watch_digest([tmp_path / "app"], tmp_path) == expected
    assert watch_digest(["app", "top.py"], tmp_path) != expected


def test_the_path_from_the_root_counts_and_the_root_itself_does_not(tmp_path):
    for name in ("one/x.py", "two/x.py", "two/y.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1")
    assert watch_digest(["x.py"], tmp_path / "one") == watch_digest(["x.py"], tmp_path / "two")
    assert watch_digest(["x.py"], tmp_path / "two") != watch_digest(["y.py"], tmp_path / "two")
    assert watch_digest(["../one/x.py"], tmp_path / "two") == watch_digest([tmp_path / "one/x.py"], tmp_path / "two")


def test_nothing_watched_is_none(tmp_path):
    assert watch_digest([], tmp_path) is None


@pytest.mark.parametrize("given", ["app/parse.py", "app/*.py", "empty"])
def test_a_path_that_names_no_file_is_refused_by_name(tmp_path, given):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError) as refused:
        watch_digest([given], tmp_path, "items")
    assert str(refused.value).startswith(f"contract 'items' watches {given!r}, and there is no such file from ")
    assert str(refused.value).endswith(f": {REMEDY}")


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path):
    (tmp_path / "secret.py").touch(mode=0)
    with pytest.raises(UsageError, match=r"secret\.py.*cannot be read"):
        watch_digest(["secret.py"], tmp_path)


@pytest.mark.filterwarnings("error")
def test_a_warning_that_the_program_makes_an_error_of_moves_nothing(parser):
    """Python warns of the escape while it parses; a test run that takes warnings for errors records the same digest."""
    assert parser("PATTERN = '\\d'  # one\n") == parser("PATTERN = '\\d'\n")


def test_how_deep_the_caller_is_moves_nothing(parser):
    text = "TEXT = " + " + ".join(["'a'"] * 250)

    def deep(levels):
        return parser(text) if not levels else deep(levels - 1)

    assert deep(500) == parser(text) == parser(f"{text}  # long\n")


def test_a_folder_with_a_dot_that_the_path_itself_names_is_looked_into(tmp_path):
    (tmp_path / ".hidden" / "app").mkdir(parents=True)
    (tmp_path / ".hidden" / "app" / "a.py").write_text("A = 1")
    named = watch_digest([".hidden/app/a.py"], tmp_path)
    assert watch_digest([".hidden/app/*.py"], tmp_path) == named
    assert watch_digest([tmp_path / ".hidden" / "app" / "*.py"], tmp_path) == named
    with pytest.raises(UsageError):
        watch_digest(["**/*.py"], tmp_path)


@pytest.mark.parametrize(
    "given",
    [
        "app",
        "./app",
        "app/",
        "app/a.py",
        "app/*.py",
        "app/**",
        "app/**/*.py",
        "**/*.py",
        "**/**/b.py",
        "*/deep",
        "a?p/*.txt",
    ],
)
def test_a_path_selects_by_name_what_it_finds_on_disk(tmp_path, given):
    names = [
        "app/a.py",
        "app/c.txt",
        "app/deep/b.py",
        "app/deep/__pycache__/b.py",
        "app/.x/d.py",
        "top.py",
        "axp/e.txt",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    try:
        found = set(watched([given], tmp_path))
    except UsageError:
        found = set()
    assert {name for name in names if selects(given, name, tmp_path)} == found
    base = base_of(given, tmp_path)
    assert all(base == "." or name == base or name.startswith(f"{base}/") for name in found)


def test_a_path_from_elsewhere_is_told_from_the_root(tmp_path):
    root = tmp_path / "one"
    assert selects(tmp_path / "two" / "*.py", "../two/x.py", root)
    assert base_of("../two/*.py", root) == "../two"
    assert base_of(".", root) == "."
    assert selects(".", "x.py", root)


def test_python_that_cannot_be_parsed_is_named_with_the_reason():
    files = {"b.py": b"x = (", "a.py": b"x = 1", "c.txt": b"x = (", "d.pyi": b"\x00"}
    named = unparsed(files)
    assert [one.partition(" ")[0] for one in named] == ["b.py", "d.pyi"]
    assert "line 1: '(' was never closed" in named[0]
