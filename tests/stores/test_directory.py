from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from onetake.errors import StoreError
from onetake.stores import files, leftovers
from onetake.stores.directory import DirectoryStore
from onetake.testing import StoreConformance

ONE, TWO, THREE = (sha256(word).hexdigest() for word in (b"one", b"two", b"three"))


class TestDirectoryStore(StoreConformance):
    def make(self, tmp_path):
        return DirectoryStore(tmp_path / "cassette")

    def damage(self, store, key, ordinal):
        path = Path(store.locate(key, ordinal))
        path.unlink()
        path.mkdir()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cassettes" / "test_x" / "test_y"


@pytest.fixture
def store(folder):
    return DirectoryStore(folder)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_files_are_named_by_label_hex_and_ordinal(store, folder):
    store.add(ONE, 0, b"1", "chat-gpt-5")
    store.add(ONE, 1, b"2", "chat-gpt-5")
    store.add(TWO, 0, b"3")
    assert names_in(folder) == sorted(
        [f"chat-gpt-5-{ONE[:16]}.json", f"chat-gpt-5-{ONE[:16]}-1.json", f"{TWO[:16]}.json"]
    )
    assert (folder / f"chat-gpt-5-{ONE[:16]}-1.json").read_bytes() == b"2"


def test_the_folder_is_made_by_the_first_add_and_not_before(store, folder):
    assert (store.get(ONE, 0), list(store.names()), store.side_names()) == (None, [], [])
    assert (store.delete(ONE, 0), store.ordinals(ONE)) == (False, set())
    assert not folder.parent.parent.exists()
    store.add(ONE, 0, b"1")
    assert folder.is_dir()


def test_a_relative_folder_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = DirectoryStore(Path("here"))
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    store.add(ONE, 0, b"1")
    assert (tmp_path / "here" / f"{ONE[:16]}.json").read_bytes() == b"1"
    assert store.locate(ONE, 0) == f"here/{ONE[:16]}.json"


def test_messages_use_the_place_that_was_given(folder):
    store = DirectoryStore(folder, "cassettes/triage")
    assert store.locate(ONE, 2) == f"cassettes/triage/{ONE[:16]}-2.json"
    store.add(ONE, 2, b"1", "chat")
    assert (store.place, store.locate(ONE, 2)) == ("cassettes/triage", f"cassettes/triage/chat-{ONE[:16]}-2.json")


def test_a_renamed_file_is_still_found(store, folder):
    store.add(ONE, 0, b"1", "chat-gpt-5")
    (folder / f"chat-gpt-5-{ONE[:16]}.json").rename(folder / f"My Favourite-{ONE[:16]}.json")
    assert store.get(ONE, 0) == b"1"
    assert not store.add(ONE, 0, b"2", "chat-gpt-5")
    store.replace(ONE, 0, b"3", "chat-gpt-5")
    assert names_in(folder) == [f"chat-gpt-5-{ONE[:16]}.json"]


def test_a_name_that_a_tool_gives_in_the_last_moment_is_taken(store, folder, monkeypatch):
    store.add(ONE, 0, b"1", "chat")
    link = os.link

    def link_too_late(temp, path):
        Path(path).write_bytes(b"a tool's")
        link(temp, path)

    monkeypatch.setattr(os, "link", link_too_late)
    assert not store.add(TWO, 0, b"2", "chat")
    assert store.get(TWO, 0) == b"a tool's"
    assert len(names_in(folder)) == 2


def test_a_file_that_is_never_where_it_was_listed_is_an_error_and_not_absent(store, folder, monkeypatch):
    store.add(ONE, 0, b"1", "chat")
    real = os.open

    def open_elsewhere(path, *given):
        if str(path).endswith(".json"):
            raise FileNotFoundError(path)
        return real(path, *given)

    monkeypatch.setattr(os, "open", open_elsewhere)
    with pytest.raises(StoreError, match=rf"chat-{ONE[:16]}\.json: cannot be read: it is renamed all the time"):
        store.get(ONE, 0)


def test_names_skips_what_is_no_entry(store, folder):
    store.add(ONE, 0, b"1", "chat")
    store.add_side(f"_schemas/{TWO}.json", b"{}")
    for name in (
        ".onetake-0123456789abcdef.tmp",
        f"._chat-{TWO[:16]}.json",
        f"chat-{TWO[:16]}.json.swp",
        f"chat-{TWO[:16]}.json~",
        f"chat-{TWO[:15]}.json",
        f"chat-{TWO[:16].upper()}.json",
        "README.md",
    ):
        (folder / name).write_bytes(b"foreign")
    assert list(store.names()) == [(ONE[:16], 0)]
    assert store.get(TWO, 0) is None


def test_one_slot_under_two_names_is_one_entry_and_goes_as_one(store, folder):
    store.add(ONE, 0, b"b", "b")
    (folder / f"a-{ONE[:16]}.json").write_bytes(b"a")
    other = DirectoryStore(folder)
    assert (other.names(), other.get(ONE, 0)) == ([(ONE[:16], 0)], b"a")
    other.replace(ONE, 0, b"c", "b")
    assert names_in(folder) == [f"b-{ONE[:16]}.json"]
    (folder / f"a-{ONE[:16]}.json").write_bytes(b"a")
    assert DirectoryStore(folder).delete(ONE, 0)
    assert names_in(folder) == []


def test_an_exchange_writes_over_what_was_read_under_the_name_that_it_has(store, folder):
    store.add(ONE, 0, b"1", "chat")
    (folder / f"chat-{ONE[:16]}.json").rename(folder / f"mine-{ONE[:16]}.json")
    assert store.exchange(ONE, 0, b"1", b"2")
    assert (names_in(folder), store.get(ONE, 0)) == ([f"mine-{ONE[:16]}.json"], b"2")
    assert not store.exchange(ONE, 0, b"1", b"3")
    assert not store.exchange(TWO, 0, b"1", b"3")
    assert (names_in(folder), store.get(ONE, 0)) == ([f"mine-{ONE[:16]}.json"], b"2")


def test_an_exchange_finds_the_file_that_it_means_where_two_have_one_slot(store, folder):
    store.add(ONE, 0, b"1", "a")
    (folder / f"b-{ONE[:16]}.json").write_bytes(b"other")
    assert store.exchange(ONE, 0, b"other", b"new")
    assert [path.read_bytes() for path in sorted(folder.iterdir())] == [b"1", b"new"]


def test_a_big_folder_is_listed_once_by_reads_and_by_own_writes(store, folder, monkeypatch):
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    store.add(ONE, 0, b"1", "chat")
    listings = len(listed)
    for turn in range(50):
        key = sha256(b"%d" % turn).hexdigest()
        assert store.get(key, 0) is None
        assert store.add(key, 0, b"%d" % turn, "chat")
        assert store.get(key, 0) == b"%d" % turn
    store.replace(ONE, 0, b"2", "chat-again")
    store.add_side(f"_schemas/{TWO}.json", b"{}")
    store.delete(ONE, 0)
    assert (len(listed), store.ordinals(ONE)) == (listings, set())
    assert len(store.names()) == 50


def test_a_file_that_a_tool_puts_there_in_the_same_moment_is_seen(store, folder):
    for turn in range(30):
        key = sha256(b"%d" % turn).hexdigest()
        store.add(ONE, turn, b"own")
        assert store.get(key, 0) is None
        (folder / f"{key[:16]}.json").write_bytes(b"a tool's")
        assert store.get(key, 0) == b"a tool's"


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links need a right of their own here")
def test_links_are_never_followed(store, folder, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_bytes(b"secret")
    store.add(ONE, 0, b"1", "chat")
    (folder / f"chat-{TWO[:16]}.json").symlink_to(secret)
    (folder / f"chat-{THREE[:16]}.json").symlink_to(tmp_path / "nowhere")
    for key in (TWO, THREE):
        with pytest.raises(StoreError, match=rf"chat-{key[:16]}\.json: cannot be read: .*symbolic link"):
            store.get(key, 0)
        assert not store.add(key, 0, b"2", "chat")
    store.replace(TWO, 0, b"mine", "chat")
    assert (store.get(TWO, 0), secret.read_bytes()) == (b"mine", b"secret")


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links need a right of their own here")
def test_a_linked_folder_of_sidecars_is_refused(store, folder, tmp_path):
    name = f"_raw/{sha256(b'x').hexdigest()}.bin"
    store.add(ONE, 0, b"1")
    (tmp_path / "elsewhere").mkdir()
    (folder / "_raw").symlink_to(tmp_path / "elsewhere")
    for act in (lambda: store.get_side(name), lambda: store.add_side(name, b"x"), store.side_names):
        with pytest.raises(StoreError, match="symbolic link"):
            act()
    assert names_in(tmp_path / "elsewhere") == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_in_an_entrys_place_does_not_hold_its_reader(store, folder):
    store.add(ONE, 0, b"1")
    os.mkfifo(folder / f"{TWO[:16]}.json")
    with pytest.raises(StoreError, match="no regular file"):
        store.get(TWO, 0)


def test_a_file_in_the_folders_place_is_an_error_and_not_an_empty_store(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    store = DirectoryStore(tmp_path / "file", "cassettes/x")
    for act in (lambda: store.get(ONE, 0), store.names, lambda: store.add(ONE, 0, b"")):
        with pytest.raises(StoreError, match=r"^cassettes/x.*: Not a directory"):
            act()
    assert store.locate(ONE, 0) == f"cassettes/x/{ONE[:16]}.json"


def test_leftovers_of_killed_processes_are_swept(store, folder):
    store.add(ONE, 0, b"1")
    ages = {"old": 3700, "claimed": 3700, "killed": 11, "new": 0}
    paths = {name: folder / f".onetake-{name}.tmp" for name in ages}
    for name, path in paths.items():
        path.write_bytes(b"half an en")
        os.utime(path, (time.time() - ages[name],) * 2)
    reader = DirectoryStore(folder)
    assert reader.names() == [(ONE[:16], 0)] and all(map(Path.exists, paths.values())), (
        "reading changes nothing on disk"
    )
    with paths["claimed"].open("rb") as file, files.claimed(file.fileno()):
        DirectoryStore(folder).add(TWO, 0, b"2")
    stay = {"killed", "new"} if sys.platform == "win32" else {"claimed"}  # there nobody knows who is killed
    assert {name for name, path in paths.items() if path.exists()} == stay


@pytest.mark.skipif(sys.platform == "win32", reason="there age alone tells")
def test_a_file_that_is_being_written_is_never_swept(store, folder, monkeypatch):
    write = files.write

    def slowly(descriptor, data):
        monkeypatch.setattr(files, "write", write)
        write(descriptor, data)
        (temp,) = folder.glob(".onetake-*.tmp")
        os.utime(temp, (0, 0))
        assert DirectoryStore(folder).add(TWO, 0, b"2")
        assert leftovers.sweep(folder) == leftovers.left_over(folder) == []
        assert temp.exists()

    monkeypatch.setattr(files, "write", slowly)
    assert store.add(ONE, 0, b"1")
    assert names_in(folder) == sorted([f"{ONE[:16]}.json", f"{TWO[:16]}.json"])


def test_a_damaged_sidecar_is_named_and_mended_by_the_next_add(store, folder):
    name = f"_raw/{sha256(b'events').hexdigest()}.sse"
    store.add_side(name, b"events")
    (folder / name).write_bytes(b"even")
    with pytest.raises(StoreError, match=rf"{name}: damaged"):
        store.get_side(name)
    store.add_side(name, b"events")
    assert store.get_side(name) == b"events"


def test_br_132_crlf_conversion_of_sidecars_is_undone_where_the_digest_proves_it(store, folder):
    unix, mixed = b"data: 1\n\ndata: 2\n\n", b"data: 1\r\n\r\nplain\n"
    for data in (unix, mixed):
        name = f"_raw/{sha256(data).hexdigest()}.sse"
        store.add_side(name, data)
        (folder / name).write_bytes(data.replace(b"\n", b"\r\n"))
        assert store.get_side(name) == data
    (folder / name).write_bytes(mixed.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    with pytest.raises(StoreError, match="damaged"):
        store.get_side(name)


# A kill during a write leaves whole entries only: `test_kill_9_loses_nothing_that_was_kept` above.
def test_br_094_two_requests_of_one_label_never_share_a_file(store, folder):
    assert store.add(ONE, 0, b"answer one", "chat-model")
    assert store.add(TWO, 0, b"answer two", "chat-model")
    assert (store.get(ONE, 0), store.get(TWO, 0)) == (b"answer one", b"answer two")
    assert not store.add(TWO, 0, b"answer three", "chat-model")
    assert len(names_in(folder)) == 2


def test_br_131_branches_that_each_add_an_entry_merge_cleanly(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("needs git")
    store = DirectoryStore(tmp_path / "cassette")

    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(key, data):
        store.add(key, 0, data, "chat")
        git("add", ".")
        git("commit", "-m", key[:4])

    git("init", "-b", "main")
    commit(ONE, b'{\n  "onetake": 1\n}\n')
    git("checkout", "-b", "branch")
    commit(TWO, b'{\n  "onetake": 1,\n  "answer": 2\n}\n')
    git("checkout", "main")
    assert store.get(TWO, 0) is None
    commit(THREE, b'{\n  "onetake": 1,\n  "answer": 3\n}\n')
    git("merge", "branch")
    assert sorted(store.names()) == sorted((key[:16], 0) for key in (ONE, TWO, THREE))
    assert store.get(TWO, 0) == b'{\n  "onetake": 1,\n  "answer": 2\n}\n'


@pytest.fixture
def ordinary_user():
    """A folder of an ordinary user, who the test is meanwhile: the superuser may write everywhere."""
    if not hasattr(os, "geteuid"):
        pytest.skip("needs POSIX permissions")
    place = Path(tempfile.mkdtemp())
    was = os.geteuid()
    if was == 0:
        os.chown(place, 65534, 65534)
        os.seteuid(65534)
    try:
        yield place
    finally:
        os.seteuid(was)
        for folder in [place, *filter(Path.is_dir, place.rglob("*"))]:
            folder.chmod(0o700)
        shutil.rmtree(place)


def test_br_147_a_folder_that_cannot_be_written_is_an_error_that_says_so(ordinary_user):
    store = DirectoryStore(ordinary_user / "cassette", "cassettes/x")
    store.add(ONE, 0, b"old", "chat")
    (ordinary_user / "cassette").chmod(0o500)
    for act in (
        lambda: store.replace(ONE, 0, b"new", "chat"),
        lambda: store.replace(ONE, 0, b"new", "other"),
        lambda: store.delete(ONE, 0),
        lambda: store.add(TWO, 0, b"new", "chat"),
        lambda: store.add_side(f"_schemas/{TWO}.json", b"{}"),
    ):
        with pytest.raises(StoreError, match=r"^cassettes/x/.*: cannot be (written|removed): Permission denied"):
            act()
    assert (store.get(ONE, 0), DirectoryStore(ordinary_user / "cassette").names()) == (b"old", [(ONE[:16], 0)])


def test_an_entry_that_may_not_be_read_is_an_error(ordinary_user):
    store = DirectoryStore(ordinary_user / "cassette")
    store.add(ONE, 0, b"old", "chat")
    Path(store.locate(ONE, 0)).chmod(0)
    with pytest.raises(StoreError, match=f"chat-{ONE[:16]}.json: cannot be read: Permission denied"):
        store.get(ONE, 0)
    (ordinary_user / "cassette").chmod(0)
    with pytest.raises(StoreError, match="cannot be listed: Permission denied"):
        DirectoryStore(ordinary_user / "cassette").names()


@pytest.fixture
def full(tmp_path):
    """A context manager while which the disk has no room: a small one that is filled up, or else a limit."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if shutil.which("mount") and subprocess.run(mount, capture_output=True).returncode == 0:
        try:
            yield lambda: _filled(disk / "filler")
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    else:
        resource = pytest.importorskip("resource", reason="nothing limits the size of files here")
        yield lambda: _limited(resource)


@contextmanager
def _filled(filler):
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(b"x" * 4096)
    yield
    filler.unlink()


@contextmanager
def _limited(resource):
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, was[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)


NO_ROOM = "cannot be written: (No space left on device|File too large)"


def test_br_147_the_old_entry_stays_until_the_new_one_is_complete(tmp_path, full):
    store = DirectoryStore(tmp_path / "disk" / "cassette")
    store.add(ONE, 0, b"old", "chat")
    for label in ("chat", "other-label"):
        with full(), pytest.raises(StoreError, match=NO_ROOM):
            store.replace(ONE, 0, b"x" * 5000, label)
    assert names_in(tmp_path / "disk" / "cassette") == [f"chat-{ONE[:16]}.json"]
    assert store.get(ONE, 0) == b"old"


def test_br_176_a_full_disk_is_an_error_leaves_no_half_file_and_is_no_lasting_harm(tmp_path, full):
    store = DirectoryStore(tmp_path / "disk" / "cassette")
    store.add(ONE, 0, b"old", "chat")
    side = f"_raw/{sha256(b'x' * 5000).hexdigest()}.bin"
    with full():
        with pytest.raises(StoreError, match=NO_ROOM):
            store.add(TWO, 0, b"x" * 5000, "chat")
        with pytest.raises(StoreError, match=NO_ROOM):
            store.add_side(side, b"x" * 5000)
        assert (store.get(ONE, 0), store.get(TWO, 0), store.get_side(side)) == (b"old", None, None)
    assert names_in(tmp_path / "disk" / "cassette") == [f"chat-{ONE[:16]}.json"]
    store.add_side(side, b"x" * 5000)
    assert store.add(TWO, 0, b"x" * 5000, "chat")
    assert (store.get(TWO, 0), store.get_side(side)) == (b"x" * 5000, b"x" * 5000)


def test_many_entries_and_sidecars_are_written_looked_at_and_removed_as_they_are(tmp_path):
    store = DirectoryStore(tmp_path / "c")
    rows = [(sha256(b"%d" % number).hexdigest(), 0, b"entry %d" % number, "chat") for number in range(150)]
    store.add_all(iter(rows))
    assert {store.raw(key, ordinal) for key, ordinal, *_ in rows} == {data for *_, data, _ in rows}
    store.replace_all((key, ordinal, data + b" anew", label) for key, ordinal, data, label in rows)
    assert {store.raw(key, ordinal) for key, ordinal, *_ in rows} == {data + b" anew" for *_, data, _ in rows}
    assert (store.raw("0" * 64, 0), store.verify()) == (None, [])
    side = f"_raw/{sha256(b'x').hexdigest()}.sse"
    store.add_side(side, b"x")
    (tmp_path / "c" / side).write_bytes(b"another")
    assert (store.raw_side(side), store.delete_side(side), store.raw_side(side)) == (b"another", True, None)
    assert not store.delete_side(side)
    for verb in (store.raw_side, store.delete_side):
        with pytest.raises(StoreError, match="no name of a sidecar"):
            verb("../other")
