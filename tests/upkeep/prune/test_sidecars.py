"""Sidecars that no entry names: found and moved, never while an entry cannot be read."""

from __future__ import annotations

from hashlib import sha256

import pytest

from onetake.cassette import Cassette
from onetake.stores.directory import DirectoryStore
from onetake.upkeep.holding import Holding
from onetake.upkeep.prune import sidecars
from onetake.upkeep.prune.sidecars import holding_at, read_names, sides_of, sweep, unnamed_by

FOLDER = "cassettes/test_a/test_b"


@pytest.fixture
def paths(folder, answer, streamed):
    """The files of an entry and of a streamed one, whose body is a sidecar."""
    return folder.record(("one", answer), streamed)


def names(folder):
    return sorted(path.relative_to(folder.root / FOLDER).as_posix() for path in sides_of(folder.root / FOLDER))


def test_what_an_entry_names_stays(folder, paths):
    before = names(folder)
    assert len(before) == 2
    assert sweep(folder.root, folder.root / FOLDER) == []
    assert names(folder) == before


def test_what_none_names_goes_to_the_trash(folder, paths):
    raw, schema = names(folder)
    data = (folder.root / FOLDER / raw).read_bytes()
    streamed = next(path for path in paths if raw.split("/")[1].split(".")[0] in path.read_text())
    assert unnamed_by((raw, schema), read_names(holding_at(folder.root / FOLDER)), {streamed}) == [raw], (
        "once it has gone"
    )
    streamed.unlink()
    assert sweep(folder.root, folder.root / FOLDER) == [raw]
    assert names(folder) == [schema]
    assert (folder.root / ".onetake" / "trash" / FOLDER / raw).read_bytes() == data
    assert not (folder.root / FOLDER / "_raw").exists(), "nothing lies in it"
    paths[0].unlink() if paths[0] != streamed else paths[1].unlink()
    assert sweep(folder.root, folder.root / FOLDER) == [schema]
    assert sweep(folder.root, folder.root / FOLDER) == []


def test_while_an_entry_cannot_be_read_none_goes(folder, paths):
    paths[0].write_bytes(b"<<<<<<< ours\n" + paths[0].read_bytes())
    paths[1].unlink()
    before = names(folder)
    assert sweep(folder.root, folder.root / FOLDER) == []
    assert names(folder) == before


def test_a_file_that_lies_there_by_another_name_and_a_link_are_not_ours(folder, paths):
    note = folder.root / FOLDER / "_raw" / "README"
    note.write_text("by hand")
    for path in paths:
        path.unlink()
    assert len(sweep(folder.root, folder.root / FOLDER)) == 2
    assert note.read_text() == "by hand"
    folder.record(("one", "x"), contract=None)
    (folder.root / "outside").mkdir()
    (folder.root / "outside" / f"{'a' * 64}.json").touch()
    (folder.root / FOLDER / "_schemas").symlink_to(folder.root / "outside", target_is_directory=True)
    assert (sweep(folder.root, folder.root / FOLDER), sides_of(folder.root / FOLDER)) == ([], [])
    assert list((folder.root / "outside").iterdir())


class Swept(DirectoryStore):
    """A store in whose folder a prune looks while an entry is on its way: its sidecars are there, and it is not."""

    def __init__(self, root, path):
        super().__init__(path)
        self.root, self.path = root, path

    def add(self, *words):
        assert sweep(self.root, self.path), "it took what nothing names yet"
        return super().add(*words)


def test_a_sidecar_that_was_swept_before_its_entry_came_is_brought_back(folder, paths):
    raw = next(name for name in names(folder) if name.startswith("_raw"))
    entry = next(found for path in paths if (found := folder.load(path)).response.body.startswith(b"data:"))
    other = folder.root / "cassettes" / "other"
    assert Cassette(Swept(folder.root, other)).add(entry)
    assert sha256((other / raw).read_bytes()).hexdigest() in raw
    assert Cassette(DirectoryStore(other)).load(entry.key, 0) == entry


def test_under_the_lock_only_what_was_written_since_is_read(folder, paths, monkeypatch):
    paths[0].unlink()
    read = []
    held, locked = Holding.held, sidecars.files.locked
    monkeypatch.setattr(Holding, "held", lambda self, path: read.append(path) or held(self, path))

    def taken(where):
        read.append("locked")
        (where / f"new-{'e' * 16}.json").write_bytes(b"{")
        return locked(where)

    monkeypatch.setattr(sidecars.files, "locked", taken)
    assert sweep(folder.root, folder.root / FOLDER) == [], "what was written meanwhile cannot be read"
    assert [getattr(one, "name", one) for one in read] == [paths[1].name, "locked", f"new-{'e' * 16}.json"]
