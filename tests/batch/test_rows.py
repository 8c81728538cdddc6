"""The output of a batch: a row for each record, whole or not there."""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onetake.batch.failures import Failure
from onetake.batch.manifest import manifest_path
from onetake.batch.records import Form, Record, read
from onetake.batch.resolving import Row
from onetake.batch.rows import encode
from onetake.errors import StoreError

GOOD = '{"label": "a"}'


def files_of(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith(("calls.db", ".onetake")))


def test_every_line_has_its_row_in_order_and_equal_records_each_their_own(replied):
    replied.reply("one", GOOD)
    replied.reply("two", '{"label": "b"}')
    replied.write({"message": "two"}, {"message": "one"}, b"\n", {"text": 1}, {"message": "two"}, {"message": "three"})
    found = replied.publish()
    assert replied.rows() == [
        {"line": 1, "answer": {"label": "b"}},
        {"line": 2, "answer": {"label": "a"}},
        {"line": 3, "error": {"class": "bad-line", "message": "the line is blank", "offset": 38}},
        {"line": 4, "error": {"class": "missing-field", "message": "the record has no field 'message'"}},
        {"line": 5, "answer": {"label": "b"}},
        {"line": 6, "error": {"class": "gave-up", "message": "no reply that counts is stored for it"}},
    ]
    assert (found.rows, found.failures) == (6, {"bad-line": 1, "gave-up": 1, "missing-field": 1})
    assert files_of(replied.folder) == ["in.jsonl", "rows.jsonl", "rows.jsonl.manifest.json"]


def test_br_157_three_equal_records_are_three_rows(replied):
    replied.reply("one", GOOD)
    replied.write(*[{"message": "one"}] * 3)
    assert replied.publish().rows == 3
    assert [row["line"] for row in replied.rows()] == [1, 2, 3]
    assert len(list(replied.store.names())) == 1


def test_an_input_without_lines_is_an_output_without_rows(replied):
    replied.write()
    assert replied.publish().rows == 0
    assert replied.out.read_bytes() == b""


def test_a_second_time_gives_the_same_bytes_output_and_manifest(replied):
    # Kills a clock, a host or a count of attempts in a row.
    replied.reply("one", GOOD)
    replied.reply("bad", '{"label": 1}')
    replied.write({"message": "one"}, {"message": "bad"}, "{")
    replied.publish()
    first = [path.read_bytes() for path in (replied.out, manifest_path(replied.out))]
    replied.publish()
    assert [path.read_bytes() for path in (replied.out, manifest_path(replied.out))] == first


def test_more_lines_only_append_rows_and_another_order_only_moves_them(replied):
    for message in ("one", "two", "three"):
        replied.reply(message, json.dumps({"label": message}))
    replied.write({"message": "one"}, {"message": "two"})
    replied.publish()
    before = replied.out.read_bytes()
    replied.write({"message": "one"}, {"message": "two"}, {"message": "three"})
    replied.publish()
    assert replied.out.read_bytes() == before + b'{"line":3,"answer":{"label":"three"}}\n'
    replied.write({"message": "three"}, {"message": "one"}, {"message": "two"})
    replied.publish()
    assert [row["answer"]["label"] for row in replied.rows()] == ["three", "one", "two"]


def test_a_row_holds_its_record_where_that_is_asked(replied):
    replied.reply("one", GOOD)
    replied.write({"id": 7, "message": "one"}, "[]\n")
    replied.publish(keep_input=True)
    assert replied.out.read_bytes().split(b"\n")[0] == (
        b'{"line":1,"input":{"id":7,"message":"one"},"answer":{"label":"a"}}'
    )
    assert "input" not in replied.rows()[1]


def test_br_156_what_a_kill_left_of_a_row_is_not_joined_with_the_next(replied):
    replied.reply("one", '{"label": "\u00e4\u20ac\U0001f600"}')
    replied.write({"message": "one"}, {"message": "one"})
    replied.publish()
    whole = replied.out.read_bytes()
    assert "\u00e4\u20ac\U0001f600".encode() in whole, "so that it is also cut inside of characters"
    replied.out.unlink()
    partial = replied.out.with_name("rows.jsonl.partial")
    for cut in (0, *range(whole.index(b"\n"), len(whole))):
        partial.write_bytes(whole[:cut])
        replied.out.write_bytes(whole[:cut])
        replied.publish()
        assert replied.out.read_bytes() == whole
        assert not partial.exists()


def test_br_166_five_times_leave_no_more_than_one(replied):
    replied.reply("one", GOOD)
    replied.write({"message": "one"})
    sizes = set()
    for _ in range(5):
        replied.publish()
        sizes.add(sum((replied.folder / name).stat().st_size for name in files_of(replied.folder)))
    assert len(sizes) == 1


def test_the_output_is_on_disk_before_it_has_its_name_and_the_name_after(replied, monkeypatch):
    # Kills a missing fsync, and an output that is written under its own name.
    replied.reply("one", GOOD)
    replied.write({"message": "one"})
    done = []
    fsync, replace = os.fsync, os.replace

    def seen_fsync(descriptor):
        found = os.fstat(descriptor)
        done.append(("sync", found.st_ino, found.st_size))
        fsync(descriptor)

    def seen_replace(source, target, **more):
        done.append(("name", Path(target).name, Path(source).stat().st_ino))
        replace(source, target, **more)

    monkeypatch.setattr(os, "fsync", seen_fsync)
    monkeypatch.setattr(os, "replace", seen_replace)
    replied.publish()
    out, sheet, folder = replied.out.stat(), manifest_path(replied.out).stat(), replied.folder.stat().st_ino
    names = [step for step in done if step[0] == "name" and step[1].startswith("rows.jsonl")]
    assert names == [("name", "rows.jsonl.manifest.json", sheet.st_ino), ("name", "rows.jsonl", out.st_ino)]
    for found in (out, sheet):
        assert done.index(("sync", found.st_ino, found.st_size)) < done.index(names[0])
    if os.name == "posix":
        assert [step[1] for step in done[-4:]] == ["rows.jsonl.manifest.json", folder, "rows.jsonl", folder]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a fork of this process")
def test_a_kill_at_any_step_leaves_a_whole_output_and_the_next_time_mends_it(replied):
    replied.reply("one", GOOD)
    replied.write({"message": "one"})
    replied.publish()
    old = replied.out.read_bytes()
    replied.write({"message": "one"}, {"message": "one"})
    new = old + old.replace(b'"line":1', b'"line":2')
    killed = 0
    for step in itertools.count(1):
        if not _killed_at(step, replied):
            break
        killed += 1
        assert replied.out.read_bytes() in (old, new)
    assert killed >= 6
    assert replied.out.read_bytes() == new
    assert files_of(replied.folder) == ["in.jsonl", "rows.jsonl", "rows.jsonl.manifest.json"]
    assert replied.differences() == []


def _killed_at(step, replied):
    """Publish in a fork that kills itself at its n-th call that reaches the disk; False where it has not so many."""
    child = os.fork()
    if not child:
        try:
            left = itertools.count(step, -1)
            for name in ("fsync", "replace"):
                setattr(os, name, _killing(getattr(os, name), left))
            replied.publish()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _killing(call, left):
    def killing(*args, **more):
        if next(left) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        found = call(*args, **more)
        if next(left) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    return killing


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_br_176_a_full_disk_is_said_and_what_was_there_stays(replied, monkeypatch):
    replied.reply("one", GOOD)
    replied.write({"message": "one"})
    replied.publish()
    before = [path.read_bytes() for path in (replied.out, manifest_path(replied.out))]
    replied.write({"message": "one"}, {"message": "one"})
    opened = os.open

    def on_a_full_disk(path, *said):
        return opened("/dev/full", os.O_WRONLY) if str(path).endswith(".partial") else opened(path, *said)

    monkeypatch.setattr(os, "open", on_a_full_disk)
    with pytest.raises(StoreError, match=os.strerror(errno.ENOSPC)):
        replied.publish()
    monkeypatch.undo()
    assert [path.read_bytes() for path in (replied.out, manifest_path(replied.out))] == before
    assert replied.publish().rows == 2


def test_a_damaged_reply_is_named_and_nothing_is_published(replied):
    entry = replied.reply("one", GOOD)
    replied.store.replace(entry.key, 0, replied.store.get(entry.key, 0)[:-20])
    replied.write({"message": "two"}, {"message": "one"})
    with pytest.raises(StoreError, match=rf"line 2: .*calls\.db/.*{entry.key[:16]}"):
        replied.publish()
    assert files_of(replied.folder) == ["in.jsonl"]


def test_br_175_no_reader_of_lines_splits_a_row():
    said = "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven\r\n"
    line = encode(Record(1, 0, {}), Row(1, {"text": said}))
    assert line.decode().splitlines() == [line.decode().rstrip("\n")]
    assert json.loads(line) == {"line": 1, "answer": {"text": said}}


def test_what_json_has_and_python_writes_otherwise_stays_json():
    row = Row(1, json.loads('{"big": 1e999, "low": [-1e999, 12345678901234567890123], "half": "\\ud83d"}'))
    line = encode(Record(1, 0, {}), row)
    assert line == b'{"line":1,"answer":{"big":1e999,"low":[-1e999,12345678901234567890123],"half":"\\ud83d"}}\n'
    assert json.loads(line)["answer"] == row.answer


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(answer=_json, record=st.dictionaries(st.text(), _json, max_size=2))
def test_a_row_is_one_line_that_reads_back(answer, record):
    line = encode(Record(3, 0, record), Row(3, answer), keep_input=True)
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"line": 3, "input": record, "answer": answer}


_lines = st.lists(
    st.sampled_from(
        [b'{"message": "one"}', b'{"message":"two"}', b"", b" ", b"{", b"\xff", b"\x00", b'{"message": "\xe2\x80\xa8"}',
         b"\xef\xbb\xbf{}", b'{"message": "one"}\r', b'{"m": 1}', b"[1]", b'{"message": "' + b"x" * 70000 + b'"}']
    ),
    max_size=8,
)  # fmt: skip


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lines=_lines, ends=st.booleans())
def test_any_input_gives_a_row_a_line(replied, lines, ends):
    if not list(replied.store.names()):
        replied.reply("one", GOOD)
    data = b"\n".join(lines) + (b"\n" if ends and lines else b"")
    (replied.folder / "in.jsonl").write_bytes(data)
    found = replied.publish()
    rows = replied.rows()
    expected = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    assert found.rows == len(rows) == expected
    assert [row["line"] for row in rows] == list(range(1, expected + 1))
    assert all(row["error"]["class"] in set(Failure) if "error" in row else row["answer"] for row in rows)
    assert replied.differences() == []


def test_a_record_in_a_row_keeps_its_numbers_as_they_were_written():
    line = b'{"big": 1e999, "long": [0.1000000000000000055511151231257827, 1.50, -0], "n": 3}\n'
    (record,) = read(io.BytesIO(line), Form.JSONL)
    assert encode(record, Row(1, "fine"), keep_input=True) == (
        b'{"line":1,"input":{"big":1e999,"long":[0.1000000000000000055511151231257827,1.50,-0],"n":3},"answer":"fine"}\n'
    )
