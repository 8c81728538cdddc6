"""What probes said, remembered beside the project."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256

import pytest

from onetake.errors import StoreError
from onetake.upkeep.probed import ProbeBook, Probed

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def digest(data):
    return sha256(data).hexdigest()


def test_notes_add_up_and_the_last_probe_is_the_last(tmp_path):
    ProbeBook(tmp_path).note({"at": AT.isoformat(), "sampled": 1}, [(digest(b"a"), "agreed"), (digest(b"b"), "failed")])
    ProbeBook(tmp_path).note({"at": AT.isoformat(), "sampled": 2}, [(digest(b"c"), "drifted")])
    book = ProbeBook(tmp_path)
    assert book.last["sampled"] == 2
    assert [book.of(data) for data in (b"a", b"b", b"c")] == [Probed(AT, agreed=True), None, Probed(AT, agreed=False)]
    assert (tmp_path / ".onetake/.gitignore").read_bytes() == b"*\n"
    assert [path.name for path in (tmp_path / ".onetake").iterdir()].count("probed.json") == 1


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"onetake_probed": 2, "last": {"at": "x"}}', '{"onetake_probed": 1, "entries": []}'],
)
def test_what_cannot_be_read_says_nothing(tmp_path, text):
    (tmp_path / ".onetake").mkdir()
    (tmp_path / ".onetake/probed.json").write_text(text)
    book = ProbeBook(tmp_path)
    assert (dict(book.last), book.of(b"a")) == ({}, None)


def test_what_cannot_be_written_is_said(tmp_path):
    (tmp_path / ".onetake").write_text("no folder")
    with pytest.raises(StoreError, match=r"probed\.json: cannot be written"):
        ProbeBook(tmp_path).note({"at": "x"}, [])


def test_that_it_can_be_written_is_seen_without_writing(tmp_path):
    book = ProbeBook(tmp_path)
    book.see_that_it_can_be_written()
    assert [path.name for path in (tmp_path / ".onetake").iterdir()] == [".gitignore"]
    (tmp_path / ".onetake/probed.json").mkdir()
    with pytest.raises(StoreError, match=r"probed\.json: cannot be written"):
        book.see_that_it_can_be_written()
