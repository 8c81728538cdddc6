"""The trash: what is moved there keeps its name, and whatever stops the move loses nothing."""

from __future__ import annotations

import os
import shutil
import signal
import sys

import pytest

from onetake.errors import StoreError
from onetake.upkeep.prune import trash
from onetake.upkeep.prune.trash import mark_of, put_away

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
FOLDER = "cassettes/test_a/test_b"


@pytest.fixture
def paths(folder, answer, streamed):
    """Three files of entries, one of them with a sidecar of its own."""
    return folder.record(("one", answer), ("two", answer), streamed)


def marks(folder, paths):
    return {path: mark_of(folder.load(path)) for path in paths}


def everything(root):
    """Return every file in a folder and below it, but for the settings."""
    found = (path for path in root.rglob("*") if path.is_file() and path.parent != root)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found if path.name != ".gitignore"}


def test_entries_go_under_the_path_that_they_had_with_what_they_name(folder, paths):
    before = everything(folder.root)
    assert put_away(folder.root, folder.root / FOLDER, marks(folder, paths)) == {}
    after = everything(folder.root)
    sides = {name: data for name, data in before.items() if "/_" in name}
    assert after == {f".onetake/trash/{name}": data for name, data in before.items()} | sides
    assert len(sides) == 2, "a body and a schema: others may name them, too"
    assert (folder.root / ".onetake" / ".gitignore").read_bytes() == b"*\n"


def test_what_lies_there_already_is_kept(folder, paths):
    (path, *_) = paths
    data = path.read_bytes()
    where = folder.root / ".onetake" / "trash" / FOLDER
    for said in (b"older", b"newer"):
        path.write_bytes(data.replace(b"bug", said))
        put_away(folder.root, path.parent, marks(folder, [path]))
    path.write_bytes(data.replace(b"bug", b"older"))
    put_away(folder.root, path.parent, marks(folder, [path]))
    names = [path.name, path.name.replace(".json", "-1.json")]
    assert sorted(one.name for one in where.glob("*.json")) == sorted(names), "one that is the same is there once"
    assert [(where / name).read_bytes() for name in names] == [
        data.replace(b"bug", b"older"),
        data.replace(b"bug", b"newer"),
    ]


def test_what_has_changed_or_gone_stays_as_it_is(folder, paths):
    chosen = marks(folder, paths)
    changed, gone, torn = paths
    folder.rewrite(changed, pinned={"at": "now"})
    gone.unlink()
    torn.write_bytes(b"{")
    before = everything(folder.root)
    assert put_away(folder.root, changed.parent, chosen) == {
        changed: "it has changed meanwhile",
        gone: "it is gone",
        torn: "it cannot be read any more",
    }
    assert everything(folder.root) == before


def test_without_links_a_file_is_moved_all_the_same(folder, paths, monkeypatch):
    def refuse(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    before = everything(folder.root)
    assert put_away(folder.root, folder.root / FOLDER, marks(folder, paths)) == {}
    moved = {name for name in everything(folder.root) if name.startswith(".onetake/trash/")}
    assert moved == {f".onetake/trash/{name}" for name in before}


def test_to_another_file_system_it_is_copied(folder, paths, monkeypatch):
    def within(change):
        def only(source, target, **options):
            if (".onetake/trash" in str(source)) != (".onetake/trash" in str(target)):
                raise OSError(18, "Invalid cross-device link")
            return change(source, target, **options)

        return only

    before = everything(folder.root)
    chosen = marks(folder, paths)
    for name in ("link", "replace", "rename"):
        monkeypatch.setattr(os, name, within(getattr(os, name)))
    assert put_away(folder.root, folder.root / FOLDER, {paths[0]: chosen[paths[0]]}) == {}
    after = everything(folder.root)
    (gone,) = before.keys() - after.keys()
    assert after[f".onetake/trash/{gone}"] == before[gone]
    assert not [name for name in after if name.endswith(".tmp")]


def test_a_link_in_an_entrys_place_is_not_followed(folder, paths, tmp_path):
    chosen = marks(folder, paths)
    outside = tmp_path.parent / "outside.json"
    shutil.move(paths[0], outside)
    paths[0].symlink_to(outside)
    assert put_away(folder.root, paths[0].parent, chosen) == {paths[0]: "it cannot be read any more"}
    assert outside.is_file()


@pytest.mark.parametrize("link", [".onetake", ".onetake/trash"])
def test_nothing_is_moved_through_a_link(folder, paths, tmp_path, link):
    away = tmp_path.parent / "away"
    away.mkdir()
    (folder.root / link).parent.mkdir(exist_ok=True)
    (folder.root / link).symlink_to(away, target_is_directory=True)
    with pytest.raises(StoreError, match="a symbolic link on the way"):
        put_away(folder.root, folder.root / FOLDER, marks(folder, paths))
    assert (list(away.iterdir()), all(path.is_file() for path in paths)) == ([], True)
    away.rmdir()


CHANGES = ("os.rename", "os.link", "os.remove")


def kill_at(root, number):
    """In a process of its own: kill it at the *number*th change of a file below a folder."""
    seen = iter(range(10_000))

    def hook(event, arguments):
        if event in CHANGES and str(arguments[0]).startswith(str(root)) and next(seen) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


@needs_fork
def test_whatever_step_it_is_killed_at_nothing_is_lost_and_the_next_ends_it(folder, paths, tmp_path):
    number, steps = 0, 0
    while not steps:
        root = tmp_path / f"copy{number}"
        shutil.copytree(folder.root / "cassettes", root / "cassettes")
        chosen = marks(folder, sorted((root / FOLDER).glob("*.json")))
        before = everything(root)
        child = os.fork()
        if child == 0:
            kill_at(root, number)
            put_away(root, root / FOLDER, chosen)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        held = everything(root)
        for name, data in before.items():
            assert data in (held.get(name), held.get(f".onetake/trash/{name}")), (number, name)
        left = {path: mark for path, mark in chosen.items() if path.exists()}
        assert put_away(root, root / FOLDER, left) == {}
        ended = {name: data for name, data in everything(root).items() if not name.endswith(".tmp")}
        sides = {name: data for name, data in before.items() if "/_" in name}
        assert ended == {f".onetake/trash/{name}": data for name, data in before.items()} | sides, number
        steps, number = (number if code == 0 else 0), number + 1
    assert steps >= 8, "three entries and two sidecars, each linked and removed"


def test_the_trash_is_listed_and_emptied_for_good(folder, paths):
    put_away(folder.root, folder.root / FOLDER, marks(folder, paths))
    place = folder.root / ".onetake" / "trash"
    (place / "link").symlink_to(folder.root / "cassettes")
    found = list(trash.contents(place))
    assert {one.path.name: one.size for one in found if not one.path.is_symlink()} == {
        path.name: path.stat().st_size for path in place.rglob("*") if path.is_file() and not path.is_symlink()
    }
    found[0].path.unlink()
    assert trash.remove(found, folder.root) == found[1:], "another process empties it, too"
    assert not place.exists()
    assert (folder.root / FOLDER).is_dir(), "what a link leads to is not in the trash"
