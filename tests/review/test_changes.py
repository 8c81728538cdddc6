from __future__ import annotations

import os
import shutil
import sys
from hashlib import sha256

import pytest

from onetake.model import Response
from onetake.review import marks
from onetake.review.change import mark_of
from onetake.stores.sqlite import SqliteStore


def test_what_became_of_each_entry(desk):
    same, again, gone = (desk.put(desk.entry(asked)) for asked in ("same", "again", "gone"))
    desk.commit()
    desk.put(desk.entry("again", {"label": "other"}))
    gone.unlink()
    new = desk.put(desk.entry("new"))
    waits, refused = desk.aside("pending", desk.entry("waits")), desk.aside("rejects", desk.reject())
    names = {one: one.relative_to(desk.root).as_posix() for one in (again, gone, new, waits, refused)}
    assert desk.kinds() == {
        names[new]: "new",
        names[again]: "re-recorded",
        names[gone]: "gone",
        names[waits]: "pending",
        names[refused]: "reject",
    }
    assert {one.folder for one in desk.changes().found} == {same.parent}
    assert list(desk.kinds()) == [names[one] for one in (new, again, gone, waits, refused)]


def test_a_file_with_another_decoration_is_the_same_entry(desk):
    path = desk.put(desk.entry())
    desk.commit()
    renamed = path.rename(path.with_name(f"other-{path.name.rpartition('-')[2]}"))
    (one,) = desk.changes().found
    assert (one.kind.value, one.path, one.before) == ("re-recorded", renamed, path)


def test_what_git_ignores_and_other_repositories_are_left_out_and_told(desk):
    (desk.root / ".gitignore").write_text(".onetake/\nlocal/\n", encoding="utf-8")
    desk.put(desk.entry(), "local/cassettes/a")
    desk.put(desk.entry(), "nested/cassettes/a")
    desk.git("init", "-q", "nested")
    found = desk.changes()
    assert (found.found, found.ignored) == ([], 1)
    assert [(one.path, one.why) for one in found.left] == [
        (desk.root / "nested", "a repository of its own: review it there")
    ]


def test_a_folder_shows_its_own_alone(desk):
    mine, other = desk.put(desk.entry(), "cassettes/a"), desk.put(desk.entry(), "cassettes/b")
    waits = desk.aside("pending", desk.entry("waits"), "cassettes/a")
    desk.aside("rejects", desk.reject(), "cassettes/b")
    assert [one.path for one in desk.changes(start="cassettes/a").found] == [mine, waits]
    assert other in [one.path for one in desk.changes().found]


def test_what_was_accepted_stays_so_until_it_changes(desk):
    path = desk.put(desk.entry())
    (one,) = (found := desk.changes()).found
    assert not one.is_accepted
    marks.note(desk.root, mark_of(one, found.base))
    assert desk.changes().found[0].is_accepted
    desk.put(desk.entry(said={"label": "other"}))
    assert not desk.changes().found[0].is_accepted
    desk.commit()
    path.unlink()
    (gone,) = (found := desk.changes()).found
    assert not gone.is_accepted
    marks.note(desk.root, mark_of(gone, found.base))
    assert desk.changes().found[0].is_accepted


def test_an_unchanged_file_in_git_lfs_is_no_change(desk):
    path = desk.put(desk.entry())
    data = path.read_bytes()
    oid = sha256(data).hexdigest()
    path.write_bytes(f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n".encode())
    (desk.root / ".gitattributes").write_text("*.json filter=lfs -text\n", encoding="utf-8")
    desk.commit()
    path.write_bytes(data)
    assert desk.kinds() == {}
    path.write_bytes(data + b"\n")
    assert list(desk.kinds().values()) == ["re-recorded"]


def test_what_a_filter_of_git_makes_of_an_unchanged_file_is_no_change(desk):
    turned(desk)
    path = desk.put(desk.entry())
    os.utime(path, (1.7e9, 1.7e9))  # what was written in the second of the commit git would have to look into
    desk.commit()
    assert b"onetake" not in desk.changes().base.read(path)
    assert desk.kinds() == {}
    path.write_bytes(path.read_bytes() + b"\n")
    assert list(desk.kinds().values()) == ["re-recorded"]


def turned(desk):
    """Let git keep entries in a form of its own, as git-crypt does."""
    desk.git("config", "filter.turned.clean", "tr a-z n-za-m")
    desk.git("config", "filter.turned.smudge", "tr a-z n-za-m")
    (desk.root / ".gitattributes").write_text("*.json filter=turned\n", encoding="utf-8")


@pytest.mark.parametrize("how", ["missing", "other"])
@pytest.mark.parametrize("folder", ["_raw", "_schemas"])
def test_a_sidecar_that_is_not_as_it_was_is_a_change_of_its_entries(desk, folder, how):
    body = bytes(range(256)) * 20
    entry = desk.entry(response=Response(200, (), body), answer=None, dialect=None)
    path, other = desk.put(entry), desk.put(desk.entry("other"))
    (schema,) = (path.parent / "_schemas").iterdir()
    desk.commit()
    assert desk.kinds() == {}
    (side,) = (path.parent / folder).iterdir()
    side.unlink() if how == "missing" else side.write_bytes(b"{}")
    lacking = {one.path: one.lacks for one in desk.changes().found}
    wanted = {path: (f"{folder}/{side.name}",)} | ({other: (f"_schemas/{schema.name}",)} if side == schema else {})
    assert lacking == wanted


def test_a_folder_that_is_a_link_now_is_not_gone(desk, tmp_path_factory):
    path = desk.put(desk.entry())
    desk.commit()
    away = path.parent.rename(tmp_path_factory.mktemp("away") / "a")
    path.parent.symlink_to(away, target_is_directory=True)
    found = desk.changes()
    assert found.found == []
    assert [(one.path, one.why) for one in found.left] == [(path.parent, "a link is there now, and none is followed")]


def test_what_a_sparse_checkout_leaves_out_is_not_gone(desk):
    here, away = desk.put(desk.entry("here"), "cassettes/a"), desk.put(desk.entry("away"), "cassettes/b")
    desk.commit()
    desk.git("sparse-checkout", "set", "--no-cone", "/*", "!cassettes/b")
    assert not away.exists()
    here.unlink()
    found = desk.changes()
    assert [(one.path, one.kind.value) for one in found.found] == [(here, "gone")]
    assert [one.why for one in found.left] == ["a sparse checkout leaves 1 entry out of the work tree"]


def test_an_entry_in_another_folder_is_one_change(desk):
    old = desk.put(desk.entry(), "cassettes/test_a/test_b")
    twin = desk.put(desk.entry("other"), "cassettes/test_a/test_c")
    desk.commit()
    new = desk.root / "cassettes" / "test_x" / "test_b" / old.name
    shutil.move(old.parent, new.parent)
    (one,) = desk.changes().found
    assert (one.kind.value, one.path, one.before) == ("moved", new, old)
    desk.put(desk.entry(said={"label": "recorded again"}), "cassettes/test_x/test_b")
    assert [(one.kind.value, one.before) for one in desk.changes().found] == [("moved", old)]
    # In a folder that still is there, it is the same one where it holds the same.
    (twin.parent / "notes.txt").write_text("still there")
    elsewhere = desk.root / "cassettes" / "test_e" / twin.name
    elsewhere.parent.mkdir()
    twin.rename(elsewhere)
    assert [one.before for one in desk.changes().found if one.path == elsewhere] == [twin]
    # Two tests that ask the same are two, as long as both have a cassette.
    elsewhere.unlink()
    mine = desk.put(desk.entry("other", {"label": "mine"}), "cassettes/test_d")
    kinds = {one.path: one.kind.value for one in desk.changes().found}
    assert kinds == {new: "moved", twin: "gone", mine: "new"}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes of that kind")
def test_a_pipe_is_told_and_not_taken_for_ignored(desk):
    folder = desk.root / "cassettes" / "a"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "chat-0123456789abcdef.json")
    found = desk.changes()
    assert [(one.kind.value, one.why) for one in found.found] == [("new", "cannot be read: is no regular file")]
    assert found.ignored == 0


def test_a_store_in_one_file_is_left_and_what_lies_aside_for_it_is_not(desk):
    SqliteStore(desk.root / "calls.db").add(desk.entry().key, 0, b"{}")
    waits = desk.aside("pending", desk.entry(), "calls.db")
    desk.commit()
    for start in ("", "calls.db"):
        found = desk.changes(start=start)
        assert [(one.path, one.folder) for one in found.found] == [(waits, desk.root / "calls.db")]
        assert [one.path for one in found.left] == [desk.root / "calls.db"]
