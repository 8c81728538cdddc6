"""An output, made again and compared."""

from __future__ import annotations

import json
import socket

import pytest

from onetake.batch.manifest import load_manifest, manifest_path
from onetake.errors import FormatError, StoreError, UsageError
from onetake.stores import open_store


@pytest.fixture
def published(replied):
    for message in ("one", "two", "three"):
        replied.reply(message, json.dumps({"label": message}))
    replied.write({"message": "one"}, {"message": "two"}, {"message": "three"})
    replied.publish()
    return replied


def whats(found):
    return [(one.what, one.line) for one in found]


def test_what_was_published_is_the_same_with_no_network(published, monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", None)
    assert published.differences() == []


def test_each_byte_of_the_output_counts(published):
    whole = published.out.read_bytes()
    for place in range(len(whole)):
        published.out.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        found = published.differences()
        assert whats(found)[0][0] == "row"
        assert found[0].line == whole.count(b"\n", 0, place) + 1
        assert whats(found)[-1] == ("output", None)


def test_an_output_that_was_cut_or_grew_is_told_by_its_first_row(published):
    whole = published.out.read_bytes()
    for data, line, said in (
        (b"", 1, "the output ends before it"),
        (whole[:-1], 3, "the output ends within it"),
        (whole + whole, 4, "the input has no record for it"),
    ):
        published.out.write_bytes(data)
        row, output = published.differences()
        assert (row.what, row.line, row.why) == ("row", line, said)
        assert output.why == f"the output has {len(data)} bytes, and had {len(whole)}"


def test_the_cause_is_told_before_the_row(published):
    published.write({"message": "one"}, {"message": "one"}, {"message": "three"})
    found = published.differences("1" * 64)
    assert whats(found) == [("input", None), ("job", None), ("row", 2), ("keys", None)]
    assert found[2].why == (
        'the output has {"line":2,"answer":{"label":"two"}}, and the store gives {"line":2,"answer":{"label":"one"}}'
    )


def test_spaces_in_the_input_change_its_digest_and_no_row(published):
    # BR-162 · a record's key is of what it says, not of how it is spelled.
    published.write(b'{"message":"one"}\r\n', b'{ "message": "two" }\n', {"message": "three"})
    assert whats(published.differences()) == [("input", None)]


def test_other_replies_are_told_where_the_rows_are_equal(published):
    published.ask = type(published.ask)("http://127.0.0.1:9/v1", "m", "Tell {message}")
    for message in ("one", "two", "three"):
        published.reply(message, json.dumps({"label": message}))
    assert whats(published.differences()) == [("keys", None)]


def test_a_damaged_reply_and_a_lost_one_are_differences(published):
    entry = published.reply("four", '{"label": "four"}')
    published.write({"message": "one"}, {"message": "four"}, {"message": "three"})
    published.publish()
    whole = published.store.get(entry.key, 0)
    published.store.replace(entry.key, 0, whole[:-9])
    (found,) = published.differences()
    assert found.what == "store"
    assert entry.key[:16] in found.why
    published.store.delete(entry.key, 0)
    assert whats(published.differences()) == [("row", 2), ("keys", None)]


def test_no_output_is_an_error(published):
    published.out.unlink()
    with pytest.raises(StoreError, match=r"rows\.jsonl: cannot be read"):
        published.differences()


def test_a_manifest_reads_back_and_holds_relative_names(published):
    found = load_manifest(published.out)
    assert found.dump() == manifest_path(published.out).read_bytes()
    assert (found.rows, found.input_path, found.job_path, found.store) == (3, "in.jsonl", "job.toml", "calls.db")
    assert found.output.bytes == published.out.stat().st_size
    assert str(published.folder).encode() not in found.dump()


def test_a_manifest_that_is_missing_cut_or_newer_is_told(published):
    path = manifest_path(published.out)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"onetake_manifest": 1', b'"onetake_manifest": 2'))
    with pytest.raises(FormatError, match="a newer onetake wrote it"):
        load_manifest(published.out)
    for cut in range(len(whole) - 2):
        path.write_bytes(whole[:cut])
        with pytest.raises(FormatError, match="run the batch again"):
            load_manifest(published.out)
    for was, is_ in ((b'"rows": 3', b'"rows": -1'), (b'"keys": "', b'"keys": "x'), (b'"job": {', b'"jobs": {')):
        path.write_bytes(whole.replace(was, is_))
        with pytest.raises(FormatError):
            load_manifest(published.out)
    path.unlink()
    with pytest.raises(UsageError, match="has no manifest"):
        load_manifest(published.out)


@pytest.mark.parametrize(
    ("changed", "what", "why"),
    [
        ({"rows": 10**400}, "rows", "the manifest says 1000"),
        ({"rows": 2}, "rows", "the manifest says 2, and there are 3"),
        ({"failures": {"invalid": 7}}, "failures", "the manifest says 7 invalid, and there are"),
    ],
)
def test_numbers_of_a_manifest_that_are_not_those_of_the_rows_are_named(published, changed, what, why):
    path = manifest_path(published.out)
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changed), "utf-8")
    (found,) = published.differences()
    assert found.what == what
    assert found.why.startswith(why)
    assert len(found.why) < 400


def test_a_store_that_is_not_there_is_named_instead_of_rows(published):
    published.store.close()
    (published.folder / "calls.db").unlink()
    published.store = open_store(published.folder / "calls.db")
    (found,) = published.differences()
    assert found.what == "store"
    assert "calls.db: no reply is there" in found.why


def test_a_reply_that_is_gone_is_told_in_words(published):
    for key, ordinal in list(published.store.names())[:1]:
        published.store.delete(key, ordinal)
    row = published.differences()[0]
    assert row.what == "row"
    assert "no reply that counts is stored for it" in row.why
    assert "gave-up" not in row.why
