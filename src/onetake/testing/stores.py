"""What every store must do. Subclass `StoreConformance` in a file of your own tests, and say how yours is opened."""

from __future__ import annotations

import inspect
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from onetake.errors import StoreError
from onetake.stores import Store
from onetake.testing import store_processes as work
from onetake.testing.store_processes import key, whole

_SPAWN = multiprocessing.get_context("spawn")
_PATIENCE_S = 60


class StoreConformance:
    """The behaviour of a store, as tests that pytest collects from a subclass.

    class TestSqliteStore(StoreConformance):
        def make(self, tmp_path):
            return SqliteStore(tmp_path / "calls.sqlite")
    """

    processes = True
    """False for a store that lives in one process: what several do to it is skipped."""

    def make(self, tmp_path: Path) -> Store:
        """Open the store that lies in a folder; asked again, here or in another process, open the same one."""
        raise NotImplementedError

    def damage(self, store: Store, key: str, ordinal: int) -> None:
        """Make an entry unreadable; leave this out where nothing can."""
        pytest.skip(f"nothing makes an entry of {type(store).__name__} unreadable")

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        """The store under test, empty."""
        return self.make(tmp_path)

    def test_an_entry_is_found_by_key_and_ordinal(self, store: Store) -> None:
        assert store.add(key(1), 0, b"first", "chat-model")
        assert store.add(key(1), 1, b"second", "chat-model")
        assert store.add(key(2), 0, b"other")
        assert [store.get(key(1), 0), store.get(key(1), 1), store.get(key(2), 0)] == [b"first", b"second", b"other"]
        assert (store.get(key(1), 2), store.get(key(3), 0)) == (None, None)

    def test_add_never_overwrites(self, store: Store) -> None:
        assert store.add(key(1), 0, b"first", "a")
        assert not store.add(key(1), 0, b"second", "a")
        assert not store.add(key(1), 0, b"second", "other-label")
        assert store.get(key(1), 0) == b"first"

    @pytest.mark.parametrize("data", [b"", b"\r\n\x00\xff", b"{}\n", bytes(range(256)) * 20_000], ids=len)
    def test_bytes_come_back_as_they_went(self, store: Store, data: bytes) -> None:
        mutable: Any = bytearray(data)
        assert store.add(key(1), 0, mutable)
        mutable[:1] = b"changed afterwards"
        found = store.get(key(1), 0)
        assert found == data
        assert type(found) is bytes

    def test_replace_writes_over_an_entry_or_over_none(self, store: Store) -> None:
        store.replace(key(1), 0, b"new")
        assert store.get(key(1), 0) == b"new"
        store.replace(key(1), 0, b"newer and longer", "label")
        store.replace(key(1), 0, b"newest", "another-label")
        assert store.get(key(1), 0) == b"newest"
        assert [number for _, number in store.names()] == [0]
        assert not store.add(key(1), 0, b"late")

    def test_delete_removes_one_entry_and_says_whether_it_was_there(self, store: Store) -> None:
        store.add(key(1), 0, b"first", "label")
        store.add(key(1), 1, b"second", "label")
        assert store.delete(key(1), 0)
        assert not store.delete(key(1), 0)
        assert (store.get(key(1), 0), store.get(key(1), 1)) == (None, b"second")
        assert store.add(key(1), 0, b"again", "label")
        assert store.get(key(1), 0) == b"again"

    def test_names_lists_all_entries_and_each_name_can_be_read(self, store: Store) -> None:
        assert list(store.names()) == []
        expected = {(key(turn % 5)[:16], turn // 5): b"%d" % turn for turn in range(12)}
        for turn in range(12):
            store.add(key(turn % 5), turn // 5, b"%d" % turn)
        found = list(store.names())
        assert sorted((name[:16], ordinal) for name, ordinal in found) == sorted(expected)
        assert {(name[:16], ordinal): store.get(name, ordinal) for name, ordinal in found} == expected

    def test_the_ordinals_of_a_key_are_told_without_reading(self, store: Store) -> None:
        assert store.ordinals(key(1)) == set()
        for number in (0, 3, 1):
            store.add(key(1), number, b"%d" % number)
        store.replace(key(2), 7, b"other")
        assert (store.ordinals(key(1)), store.ordinals(key(2)), store.ordinals(key(3))) == ({0, 1, 3}, {7}, set())
        store.delete(key(1), 3)
        store.ordinals(key(1)).add(9)
        assert store.ordinals(key(1)[:16]) == {0, 1}

    def test_the_ordinals_that_another_added_are_told(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        other = self.make(tmp_path) if self.processes else store
        for turn in range(5):
            assert store.ordinals(key(turn)) == set()
            other.add(key(turn), turn, b"x")
            assert store.ordinals(key(turn)) == {turn}

    def test_what_another_did_is_seen(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        other = self.make(tmp_path) if self.processes else store
        for turn in range(20):
            assert store.get(key(turn), 0) is None
            assert other.add(key(turn), 0, b"%d" % turn, "label")
            assert store.get(key(turn), 0) == b"%d" % turn
            other.replace(key(turn), 0, b"again %d" % turn, "other-label")
            assert store.get(key(turn), 0) == b"again %d" % turn
            assert other.delete(key(turn), 0)
            assert store.get(key(turn), 0) is None

    @pytest.mark.parametrize(
        ("name", "ordinal"), [("short", 0), ("../" + "a" * 61, 0), ("A" * 64, 0), (key(1), -1)], ids=repr
    )
    def test_what_is_no_key_is_refused(self, store: Store, name: str, ordinal: int) -> None:
        for verb in (store.get, store.delete):
            with pytest.raises(StoreError):
                verb(name, ordinal)
        with pytest.raises(StoreError):
            store.add(name, ordinal, b"")
        with pytest.raises(StoreError):
            store.replace(name, ordinal, b"")

    @pytest.mark.parametrize("label", ["a/b", "..", ".hidden", "UPPER", "x" * 41, "nul.x", "a\n", "é"])
    def test_what_is_no_label_is_refused(self, store: Store, label: str) -> None:
        with pytest.raises(StoreError):
            store.add(key(1), 0, b"", label)
        assert list(store.names()) == []

    def test_unreadable_is_not_absent(self, store: Store) -> None:
        store.add(key(1), 0, b"one", "label")
        store.add(key(2), 0, b"two", "label")
        self.damage(store, key(1), 0)
        with pytest.raises(StoreError, match=key(1)[:16]):
            store.get(key(1), 0)
        assert not store.add(key(1), 0, b"another", "label")
        assert store.get(key(2), 0) == b"two"

    def test_messages_can_say_where_things_are(self, store: Store) -> None:
        store.add(key(1), 0, b"one", "label")
        assert store.locate(key(1), 0).startswith(store.place)
        assert key(1)[:16] in store.locate(key(1), 0)
        assert key(2)[:16] in store.locate(key(2), 3)

    def test_sidecars_are_kept_apart_from_entries(self, store: Store) -> None:
        raw, schema = f"_raw/{sha256(b'x').hexdigest()}.sse", f"_schemas/{key('schema')}.json"
        assert store.get_side(raw) is None
        for _ in range(2):
            store.add_side(raw, b"x")
            store.add_side(schema, b"{}\n")
        assert (store.get_side(raw), store.get_side(schema)) == (b"x", b"{}\n")
        assert sorted(store.side_names()) == sorted([raw, schema])
        assert list(store.names()) == []

    @pytest.mark.parametrize(
        "name",
        [
            f"_raw/../{'a' * 64}.x",
            f"/_raw/{'a' * 64}.x",
            f"_raw/{'a' * 64}.x/y",
            f"_raw/{'a' * 63}.x",
            "",
            "_schemas/x.json",
        ],
    )
    def test_what_is_no_sidecar_is_refused(self, store: Store, name: str) -> None:
        with pytest.raises(StoreError):
            store.get_side(name)
        with pytest.raises(StoreError):
            store.add_side(name, b"")

    def test_a_sidecar_has_the_digest_of_its_name(self, store: Store) -> None:
        with pytest.raises(StoreError, match="digest"):
            store.add_side(f"_raw/{sha256(b'x').hexdigest()}.bin", b"y")
        assert list(store.side_names()) == []

    def test_one_of_many_threads_wins(self, store: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            for turn in range(10):
                own = [b"%d %d" % (turn, number) for number in range(8)]
                won = list(pool.map(lambda data, turn=turn: store.add(key(turn), 0, data, "label"), own))
                assert won.count(True) == 1
                assert store.get(key(turn), 0) == own[won.index(True)]

    @pytest.mark.parametrize("labels", [["same"] * 4, ["a", "b", "c", "d"]], ids=["one label", "four labels"])
    def test_one_of_four_processes_wins_and_the_losers_read_its_bytes(self, tmp_path: Path, labels: list[str]) -> None:
        gate = _SPAWN.Barrier(4)
        work_of_all = [(gate, f"process {number}", label, 20) for number, label in enumerate(labels)]
        results = self._run_all(tmp_path, work.race, work_of_all)
        for turn, outcomes in enumerate(zip(*results, strict=True)):
            winners = [number for number, (won, _) in enumerate(outcomes) if won]
            assert len(winners) == 1
            assert {data for _, data in outcomes} == {f"process {winners[0]} {turn}".encode()}

    def test_four_processes_lose_nothing(self, tmp_path: Path) -> None:
        gate = _SPAWN.Barrier(4)
        created = self._run_all(tmp_path, work.add_own, [(gate, f"process {number}", 20) for number in range(4)])
        assert created == [20, 20, 20, 20]
        store = self.make(tmp_path)
        assert len(list(store.names())) == 80
        keys = [key(f"process {number}", turn) for number in range(4) for turn in range(20)]
        assert [store.get(digits, 0) for digits in keys] == [digits.encode() for digits in keys]

    def test_a_reader_sees_nothing_or_a_whole_entry(self, tmp_path: Path) -> None:
        store, seen = self.make(tmp_path), 0
        with self._started(tmp_path, work.add_some, 40) as (process, _):
            while process.is_alive():
                found = store.get(key("big", seen), 0)
                assert found in (None, whole(key("big", seen)))
                seen += found is not None
        assert process.exitcode == 0
        assert [store.get(key("big", turn), 0) == whole(key("big", turn)) for turn in range(40)] == [True] * 40

    def test_a_reader_sees_the_old_or_the_new_entry(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        store.add(key("replaced"), 0, b"0", "label0")
        with self._started(tmp_path, work.replace_some, 200) as (process, _):
            while process.is_alive():
                found = store.get(key("replaced"), 0)
                assert found is not None
                assert len(set(found)) == 1
        assert process.exitcode == 0
        assert store.get(key("replaced"), 0) == b"9" * (1 + 199 % 7 * 10_000)

    def test_kill_9_loses_nothing_that_was_kept(self, tmp_path: Path) -> None:
        with self._started(tmp_path, work.add_without_end) as (process, out):
            kept = [out.recv() for _ in range(20)]
            process.kill()
        store = self.make(tmp_path)
        found = {name[:16] for name, _ in store.names()}
        assert found >= {key("big", turn)[:16] for turn in kept}
        for turn in range(kept[-1] + 10):
            digits = key("big", turn)
            assert store.get(digits, 0) == (whole(digits) if digits[:16] in found else None)
            assert store.add(digits, 0, b"resumed", "chat-model") is (digits[:16] not in found)

    def _run_all(self, tmp_path: Path, target: Callable[..., None], work_of_all: list[tuple[Any, ...]]) -> list[Any]:
        running = [self._start(tmp_path, target, *arguments) for arguments in work_of_all]
        try:
            return [_receive(out) for _, out in running]
        finally:
            for process, _ in running:
                process.join(_PATIENCE_S)

    @contextmanager
    def _started(
        self, tmp_path: Path, target: Callable[..., None], *arguments: Any
    ) -> Iterator[tuple[BaseProcess, Connection]]:
        process, out = self._start(tmp_path, target, *arguments)
        try:
            assert out.poll(_PATIENCE_S), "the other process did not start"
            yield process, out
            process.join(_PATIENCE_S)
        finally:
            process.kill()
            process.join()

    def _start(self, tmp_path: Path, target: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
        if not self.processes:
            pytest.skip("this store lives in one process")
        origin = (inspect.getfile(type(self)), type(self).__qualname__, tmp_path)
        mine, its = _SPAWN.Pipe(duplex=False)
        process = _SPAWN.Process(target=target, args=(origin, its, *arguments), daemon=True)
        process.start()
        its.close()
        return process, mine


def _receive(out: Connection) -> Any:
    assert out.poll(_PATIENCE_S), "the other process said nothing"
    return out.recv()
