"""What the outputs of a store need."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from onetake.batch.manifest import load_manifest
from onetake.batch.opening import ledger_of
from onetake.batch.remembering import Told
from onetake.batch.roots import Needs, Root, check_known, listed, note, roots_of
from onetake.batch.running import replay, run
from onetake.contract import Contract
from onetake.errors import InteractionNotFound, StoreError, UsageError
from onetake.testing.provider import openai_chat, openai_error


def ran(filling, *records, out="rows.jsonl", way=run, **told):
    filling.write(*({"m": record} for record in records))
    with closing(filling.opened(filling.job(**told))) as batch:
        way(batch, filling.folder / out)
        return batch.job.run.store


def needed(store):
    return {Path(one.told.output).name: {*listed(store, one)} for one in roots_of(store)}


def files_of(store):
    return sorted((store.parent / ".onetake/batch" / f"{store.name}.needed").iterdir())


def test_each_output_has_the_keys_of_its_last_run(filling):
    store = ran(filling, "a", "b", "a")
    both = needed(store)["rows.jsonl"]
    assert len(both) == 2
    ran(filling, "b", out="other.jsonl")
    assert needed(store) == {"rows.jsonl": both, "other.jsonl": both & needed(store)["other.jsonl"]}
    assert len(needed(store)["other.jsonl"]) == 1
    (root,) = [one for one in roots_of(store) if one.told.output.endswith("other.jsonl")]
    assert root.keys == load_manifest(filling.folder / "other.jsonl").keys
    ran(filling, "a", "b", "c", way=run)
    assert (len(needed(store)["rows.jsonl"]), len(files_of(store))) == (3, 4)


def test_a_chain_of_repairs_is_needed_whole(filling):
    filling.contract = Contract({"type": "object", "properties": {"x": {"type": "string"}}}, name="x")
    filling.provider.script([openai_chat(json={"x": said}) for said in (1, "b")])
    assert len(needed(ran(filling, "a", repairs=1))["rows.jsonl"]) == 2


def test_a_run_that_stops_leaves_what_stands_and_says_that_it_has_not_ended(filling):
    store = ran(filling, "a")
    before = needed(store)
    filling.provider.script(lambda request: openai_error(402))
    ran(filling, "a", "b", "c")
    (root,) = roots_of(store)
    assert (root.keys, needed(store)) == ("", before)
    filling.provider.script(lambda request: openai_chat("yes"))
    ran(filling, "a", "b")
    assert (roots_of(store)[0].keys != "", len(needed(store)["rows.jsonl"])) == (True, 2)


def test_a_replay_is_noted_when_it_is_published(filling):
    store = ran(filling, "a", "b")
    before = roots_of(store)
    with pytest.raises(InteractionNotFound):
        ran(filling, "a", "c", way=replay)
    assert roots_of(store) == before
    ran(filling, "a", out="again.jsonl", way=replay)
    assert len(needed(store)["again.jsonl"]) == 1


def test_between_the_list_and_the_output_both_lists_count(filling):
    store = ran(filling, "a")
    (key,) = needed(store)["rows.jsonl"]
    other = "0" * 64
    with Needs(store, filling.folder / "rows.jsonl") as needs:
        needs.add([other])
        needs.keep(sha256_of(other))
    assert needed(store) == {"rows.jsonl": {key, other}}
    with Needs(store, filling.folder / "rows.jsonl") as needs:
        needs.add([other])
    assert not [path for path in files_of(store) if path.suffix == ".tmp"]
    (root,) = roots_of(store)
    note(root.told, root.job, sha256_of(other))
    assert needed(store) == {"rows.jsonl": {other}}


def sha256_of(*keys):
    return sha256("".join(f"{key}\n" for key in keys).encode()).hexdigest()


@pytest.mark.parametrize("suffix", [".json", ".keys"])
@pytest.mark.parametrize("how", ["emptied", "cut", "changed", "gone"])
def test_damage_is_named_and_never_taken_for_no_need(filling, suffix, how):
    store = ran(filling, "a", "b")
    (path,) = [one for one in files_of(store) if one.suffix == suffix]
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes({"emptied": b"", "cut": data[:-9], "changed": data[:5] + bytes([data[5] ^ 1]) + data[6:]}[how])
    if (suffix, how) == (".json", "gone"):
        assert roots_of(store) == []  # the ledger knows of it: see `check_known`
        return
    with pytest.raises(StoreError, match="--forget"):
        needed(store)
    assert roots_of(store, [str(filling.folder / "rows.jsonl")]) == []


def test_a_project_that_was_moved_needs_what_it_did(filling, tmp_path_factory):
    store = ran(filling, "a", "b")
    before, moved = needed(store), tmp_path_factory.mktemp("moved") / "project"
    filling.folder.rename(moved)
    filling.folder.mkdir()
    assert needed(moved / store.name) == before


@pytest.mark.parametrize(("number", "is_said"), [(errno.EROFS, False), (errno.ENOSPC, True)])
def test_where_nobody_can_write_nothing_is_listed_and_else_it_is_said(filling, monkeypatch, number, is_said):
    store = ran(filling, "a")
    (root,) = roots_of(store)

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("onetake.batch.roots.hide", refuse)
    for work in (lambda: note(root.told, "0" * 64), Needs(store, filling.folder / "rows.jsonl").__enter__):
        if is_said:
            with pytest.raises(StoreError, match="cannot be written: No space left"):
                work()
        else:
            work()
    assert roots_of(store) == [root]


@pytest.mark.parametrize(("job", "source"), [("", "in.jsonl"), ("job.toml", "-")])
def test_what_cannot_be_told_is_no_reason_to_delete(filling, job, source):
    filling.write()
    told = Told(job, source, "jsonl", None, "rows.jsonl", False, 0, "calls.db")
    with closing(filling.opened()) as batch, closing(batch.ledger()) as ledger:
        with pytest.raises(UsageError, match=r"rows\.jsonl needs cannot be told.*--forget"):
            check_known([Root(told, "0" * 64)], ledger, "calls.db", [])
        check_known([Root(told, "0" * 64, "f" * 64)], ledger, "calls.db", [])


def test_an_output_of_which_the_ledger_alone_knows_is_no_reason_to_delete(filling):
    store, out = ran(filling, "a"), str(filling.folder / "rows.jsonl")
    with closing(ledger_of(store)) as ledger:
        check_known(roots_of(store), ledger, "calls.db", [])
        with pytest.raises(UsageError, match=r"rows\.jsonl needs cannot be told, as the note of it"):
            check_known([], ledger, "calls.db", [])
        check_known([], ledger, "calls.db", [out])
