"""Files that were made to hold up a check: each is a finding, and the others are still checked."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
from hashlib import sha256

import pytest

from onetake.scrub.scanning import scan
from onetake.upkeep import cassette_checks, examining
from onetake.upkeep.limits import TookTooLongError, at_most, limiting
from onetake.upkeep.statuses import status

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a timer that sends signals")
SHORT = 1.0


@pytest.fixture
def no_timer():
    """Stop the timer by which pytest limits a test, for the length of one."""
    before = signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.setitimer(signal.ITIMER_REAL, *before)


@pytest.fixture
def short(monkeypatch, no_timer):
    """Let a file take a second."""
    monkeypatch.setattr(examining, "SECONDS", SHORT)
    monkeypatch.setattr(cassette_checks, "SECONDS", SHORT)


@posix
def test_what_takes_too_long_is_given_up_and_the_timer_is_gone(no_timer):
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TookTooLongError, match=r"it took more than 1 seconds"), at_most(SHORT):
        while True:
            pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


class Endless:
    def __del__(self):
        while True:
            pass


@posix
def test_what_a_finalizer_drops_is_raised_again_and_reported_by_nobody(no_timer, monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    with pytest.raises(TookTooLongError), at_most(0.05):
        Endless()
        while True:
            pass
    assert reported == []
    assert sys.unraisablehook == reported.append


@posix
def test_what_else_a_finalizer_drops_is_reported(no_timer, monkeypatch):
    class Broken:
        def __del__(self):
            raise ValueError("broken")

    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: reported.append(str(dropped.exc_value)))
    with at_most(SHORT):
        Broken()
    assert reported == ["broken"]


@posix
def test_many_limits_share_one_handler_which_is_gone_behind_them(no_timer):
    before = signal.getsignal(signal.SIGALRM)
    with limiting():
        shared = signal.getsignal(signal.SIGALRM)
        for seconds in (0.01, 0.02):
            with pytest.raises(TookTooLongError, match=f"more than {seconds} seconds"), at_most(seconds):
                while True:
                    pass
            assert signal.getsignal(signal.SIGALRM) is shared is not before
        with limiting():
            pass
        assert signal.getsignal(signal.SIGALRM) is shared
    assert signal.getsignal(signal.SIGALRM) is before


@posix
def test_a_handler_is_not_shared_beside_a_timer_of_somebody_else(no_timer):
    before = signal.getsignal(signal.SIGALRM)
    signal.setitimer(signal.ITIMER_REAL, 1000)
    with limiting():
        assert signal.getsignal(signal.SIGALRM) is before


@posix
def test_a_timer_of_somebody_else_is_left_alone(no_timer):
    signal.setitimer(signal.ITIMER_REAL, 1000)
    with at_most(SHORT):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 900


@posix
def test_a_key_rule_that_explodes_is_a_finding(folder, answer, short):
    bad, good = folder.record((f"{'a' * 60}!", answer), ("other", answer))
    tree = json.loads(bad.read_text())
    if "a" * 60 not in bad.read_text():
        bad, good = good, bad
        tree = json.loads(bad.read_text())
    tree["key_spec"]["rules"] = {"replace": [{"pattern": "(a+)+$", "with": "x"}]}
    bad.write_text(json.dumps(tree))
    assert [one[:2] for one in folder.check()] == [("broken", bad.relative_to(folder.root).as_posix())]
    assert [one.advice.value for one in status(folder.root).entries if one.path == bad] == ["broken"]


def test_gzip_within_gzip_is_undone_a_few_times_and_no_more(folder):
    (path,) = folder.record()
    bomb = b"x"
    for _ in range(1500):
        bomb = gzip.compress(bomb, 1, mtime=0)
    assert scan(bomb) == []
    side = path.parent / "_raw"
    side.mkdir()
    (side / f"{sha256(bomb).hexdigest()}.gz").write_bytes(bomb)
    assert folder.codes() == ["unused-sidecar"]


def test_files_of_many_gigabytes_are_not_read(folder):
    (path,) = folder.record()
    side = path.parent / "_raw"
    side.mkdir()
    huge = [path.with_name("chat-1111111111111111.json"), side / f"{'0' * 64}.sse"]
    for one in huge:
        with one.open("wb") as file:
            file.truncate(20 << 30)
    found = folder.findings()
    assert [(one.code, one.path) for one in found] == [("broken", huge[0]), ("unchecked", huge[1])]
    assert all("bytes are more than the" in one.message for one in found)


SCHEMAS = {
    "a reference in a circle": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    "deeper than any schema": json.loads('{"items": ' * 900 + "{}" + "}" * 900),
    "no schema": [1],
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_stored_schema_that_cannot_be_is_told_once(folder, answer, name):
    path, _ = folder.record(("one", answer), ("two", answer))
    (folder.root / "onetake.toml").write_text("")
    (schema,) = (path.parent / "_schemas").iterdir()
    schema.write_text(json.dumps(SCHEMAS[name]))
    assert [(one.code, one.path) for one in folder.findings()] == [("broken", schema)]


@posix
def test_a_stored_schema_that_takes_for_ever_is_tried_once(folder, answer, short):
    paths = folder.record(("one", answer), ("two", answer), ("three", answer))
    (folder.root / "onetake.toml").write_text("")
    (schema,) = (paths[0].parent / "_schemas").iterdir()
    schema.write_text('{"allOf": [' * 150 + "{}" + "]}" * 150)
    assert [(one.code, one.path) for one in folder.findings()] == [("broken", schema)]


@posix
def test_pipes_among_the_sidecars_hold_nobody(folder):
    (path,) = folder.record()
    (path.parent / "_raw").mkdir()
    pipes = [path.parent / f"_raw/{'0' * 64}.sse", path.parent / f"_schemas/{'0' * 64}.json"]
    for pipe in pipes:
        os.mkfifo(pipe)
    assert [(one.code, one.path) for one in folder.findings()] == [("broken", pipe) for pipe in pipes]


WRONG = (None, True, -1, 10**400, "", "\ud800", "\x1b]0;x\x07", [], [[]], {}, {"": 1}, {"$raw": {"$raw": {}}},
         {"$raw": {"sha256": "../../x", "ext": "x", "bytes": 1}}, {"$lines": [1]}, {"$number": "1e99999999999"},
         {"replace": [{"pattern": "(", "with": ""}]}, "http://[::1", "9999-12-31T23:59:59-23:59")  # fmt: skip


def places(tree, path=()):
    yield path
    for step, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from places(value, (*path, step))


def put(tree, path, value):
    if not path:
        return value
    copied = tree.copy()
    copied[path[0]] = put(tree[path[0]], path[1:], value)
    return copied


UNMINDED = {"provenance", "metrics", "scrubbed", "violations"}
"""What no replay reads: an entry may say anything there."""


def test_a_wrong_value_at_any_place_is_a_finding_of_that_file_and_of_no_other(folder, answer):
    path, other = folder.record(("one", answer), ("two", answer))
    tree = json.loads(path.read_text())
    tree["provenance"] |= {"vouched": {}, "adopted": {}, "model_served": "m"}
    # Of two moments one would say that another model is served since.
    tree["provenance"]["recorded_at"] = folder.load(other).provenance["recorded_at"]
    for number, place in enumerate(list(places(tree))):
        for value in WRONG[number % 5 :: 5]:
            path.write_bytes(json.dumps(put(tree, place, value)).encode())
            found = folder.findings()
            assert other not in {one.path for one in found if one.severity == "error"}, (place, value)
            is_minded = place and place[0] not in UNMINDED and len(place) == 1
            assert not is_minded or value == tree[place[0]] or found, (place, value)
        advised = {one.path: one.advice.value for one in status(folder.root).entries}
        assert advised[other] == "replay"
