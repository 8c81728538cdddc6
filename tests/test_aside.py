"""Where things lie that are not part of a cassette."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from onetake.aside import AsideStore, aside, clear, elsewhere, hide

KEY = "0123456789abcdef" * 4


def test_a_cassette_below_the_root_keeps_its_path(tmp_path):
    folder = tmp_path / "tests/cassettes/test_it/test_it[a~1]"
    assert aside(tmp_path, "pending", folder) == tmp_path / ".onetake/pending/tests/cassettes/test_it/test_it[a~1]"


@pytest.mark.parametrize("name", ["../beside/one", "a/../../beside/one"])
def test_a_cassette_outside_of_the_root_still_lies_in_the_roots_own_folder(tmp_path, name):
    root = tmp_path / "root"
    place = aside(root, "rejects", root / name)
    assert place.parent == root / ".onetake/rejects"
    assert place.name.startswith("one~")
    assert place != aside(root, "rejects", root / "../other/one")
    assert aside(root, "rejects", tmp_path / "beside/one") == place


def _entry(folder, key=KEY):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"chat-m-{key[:16]}.json").write_text("{}")


def test_another_cassette_that_holds_the_key_is_named_from_the_root(tmp_path):
    mine = tmp_path / "cassettes/test_it/test_it[a-b]"
    _entry(tmp_path / "cassettes/test_it/test_it[b-a]")
    _entry(tmp_path / "cassettes/test_other/test_x")
    _entry(tmp_path / "cassettes/test_it/no", key="f" * 64)
    found = elsewhere(mine, KEY, tmp_path)
    assert found == ["cassettes/test_it/test_it[b-a]", "cassettes/test_other/test_x"]


def test_the_cassette_itself_and_its_sidecars_are_never_named(tmp_path):
    mine = tmp_path / "cassettes/test_it/test_it"
    _entry(mine)
    _entry(mine / "_raw")
    _entry(tmp_path / "cassettes/test_it/.hidden")
    assert elsewhere(mine, KEY, tmp_path) == []


def test_no_more_are_named_than_asked_for_and_no_folder_need_be_there(tmp_path):
    for name in "abcde":
        _entry(tmp_path / "cassettes" / name)
    assert len(elsewhere(tmp_path / "cassettes/mine", KEY, tmp_path, most=2)) == 2
    assert elsewhere(tmp_path / "nowhere/at/all", KEY, tmp_path) == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root and Windows read every folder")
def test_a_folder_that_cannot_be_read_names_nothing(tmp_path):
    _entry(tmp_path / "cassettes/test_it/test_a")
    _entry(tmp_path / "cassettes/test_other/test_x")
    closed = [tmp_path / "cassettes/test_it", tmp_path / "cassettes"]
    try:
        closed[0].chmod(0)
        assert elsewhere(tmp_path / "cassettes/test_other/mine", KEY, tmp_path) == ["cassettes/test_other/test_x"]
        closed[1].chmod(0)
        assert elsewhere(tmp_path / "cassettes/test_other/mine", KEY, tmp_path) == []
    finally:
        for folder in reversed(closed):
            folder.chmod(0o700)


def test_a_folder_that_breaks_while_it_is_read_names_nothing(tmp_path, monkeypatch):
    _entry(tmp_path / "cassettes/test_it/test_a")

    def broken(*_):
        raise OSError(5, "Input/output error")

    for method in ("iterdir", "glob"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, method, broken)
            assert elsewhere(tmp_path / "cassettes/test_it/mine", KEY, tmp_path) == []


@pytest.mark.parametrize("verb", ["add", "replace", "add_side"])
def test_whatever_is_written_aside_is_hidden_from_git(tmp_path, verb):
    store = AsideStore(tmp_path, "rejects", tmp_path / "cassettes/x")
    assert store.place == ".onetake/rejects/cassettes/x"
    assert list(tmp_path.iterdir()) == []
    arguments = (f"_schemas/{KEY}.json", b"{}") if verb == "add_side" else (KEY, 0, b"{}", "chat")
    getattr(store, verb)(*arguments)
    assert (tmp_path / ".onetake/.gitignore").read_bytes() == b"*\n"


def test_an_ignore_file_that_is_there_stays(tmp_path):
    (tmp_path / ".onetake").mkdir()
    (tmp_path / ".onetake/.gitignore").write_bytes(b"*\n!rejects\n")
    hide(tmp_path)
    assert (tmp_path / ".onetake/.gitignore").read_bytes() == b"*\n!rejects\n"


@pytest.mark.parametrize("alone", [True, False])
def test_an_emptied_place_is_removed_and_the_folders_above_where_nobody_else_writes(tmp_path, alone):
    folder = tmp_path / "cassettes/test_it/test_a"
    store = AsideStore(tmp_path, "pending", folder)
    store.add_side(f"_schemas/{KEY}.json", b"{}")
    store.add(KEY, 0, b"{}")
    clear(tmp_path, "pending", folder, alone=alone)
    assert store.get(KEY, 0) == store.get_side(f"_schemas/{KEY}.json") == b"{}"
    store.delete(KEY, 0)
    clear(tmp_path, "pending", folder, alone=alone)
    left = sorted(path.name for path in (tmp_path / ".onetake").rglob("*"))
    assert left == ([".gitignore"] if alone else [".gitignore", "cassettes", "pending", "test_it"])


def test_a_place_beside_one_that_is_cleared_stays(tmp_path):
    waiting = AsideStore(tmp_path, "pending", tmp_path / "cassettes/test_b")
    waiting.add(KEY, 0, b"{}")
    AsideStore(tmp_path, "pending", tmp_path / "cassettes/test_a").add_side(f"_schemas/{KEY}.json", b"{}")
    clear(tmp_path, "pending", tmp_path / "cassettes/test_a", alone=True)
    assert waiting.get(KEY, 0) == b"{}"
    assert not (tmp_path / ".onetake/pending/cassettes/test_a").exists()


@pytest.mark.parametrize("there", [b"", b"trash/\n", b"# *\n!usage\n"])
def test_an_ignore_file_that_does_not_hide_all_is_mended(tmp_path, there):
    ignore = tmp_path / ".onetake" / ".gitignore"
    ignore.parent.mkdir()
    ignore.write_bytes(there)
    hide(tmp_path)
    assert ignore.read_bytes() == b"*\n"
    ignore.write_bytes(b"# ours\r\n*\r\n")
    hide(tmp_path)
    assert ignore.read_bytes() == b"# ours\r\n*\r\n"


def test_what_a_kill_left_of_the_ignore_file_goes(tmp_path):
    left = tmp_path / ".onetake" / ".onetake-0123456789abcdef.tmp"
    left.parent.mkdir()
    left.write_bytes(b"*")
    hide(tmp_path)
    assert [path.name for path in left.parent.iterdir()] == [".gitignore"]


def test_a_full_disk_leaves_no_ignore_file_that_ignores_nothing(tmp_path, monkeypatch):
    def full(descriptor, data):
        os.close(descriptor)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("onetake.stores.files.write", full)
    with pytest.raises(OSError):
        hide(tmp_path)
    assert list((tmp_path / ".onetake").iterdir()) == []
    monkeypatch.undo()
    hide(tmp_path)
    assert [path.name for path in (tmp_path / ".onetake").iterdir()] == [".gitignore"]
