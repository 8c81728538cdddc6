from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onetake import placing
from onetake.aside import AsideStore
from onetake.errors import ContractError, InteractionNotFound
from onetake.format import dump_entry
from onetake.making import Making
from onetake.model import Answer, Choice
from onetake.review.deciding import accept, discard, sweep_up
from onetake.stores import open_store
from onetake.stores.directory import DirectoryStore

SECRET = "sk-proj-" + "Ab3dEf6hIj" * 5


def said(path, desk):
    return json.loads(desk.load(path).answer.choices[0].text)


def test_an_accepted_entry_is_not_touched_and_not_asked_about_again(desk):
    path = desk.put(desk.entry())
    before = path.read_bytes()
    done = accept(*desk.read(path))
    assert (done.is_done, done.said) == (True, "accepted as it is")
    assert path.read_bytes() == before
    assert desk.changes().found[0].is_accepted


def test_what_is_gone_can_stay_gone(desk):
    path = desk.put(desk.entry())
    desk.commit()
    path.unlink()
    assert accept(*desk.read()).said == "accepted: it stays gone"
    assert not path.exists()
    assert desk.changes().found[0].is_accepted


def test_what_waits_goes_into_its_cassette_with_its_schema(desk):
    path = desk.aside("pending", desk.entry(), "cassettes/test_a/test_b")
    data = path.read_bytes()
    done = accept(*desk.read())
    entered = desk.root / "cassettes/test_a/test_b" / path.name
    assert done.said == f"accepted: it is in the cassette now: cassettes/test_a/test_b/{path.name}"
    assert entered.read_bytes() == data
    assert (entered.parent / "_schemas" / f"{desk.contract.digest}.json").exists()
    assert not (desk.root / ".onetake" / "pending" / "cassettes" / "test_a" / "test_b").exists()
    assert [one.is_accepted for one in desk.changes().found] == [True]


def test_what_waits_takes_the_place_of_the_one_there_which_goes_to_the_trash(desk):
    there = desk.put(desk.entry(said={"label": "old"}))
    old = there.read_bytes()
    waits = desk.aside("pending", desk.entry(said={"label": "new"}))
    assert "instead of the one there" in accept(*desk.read(waits)).said
    assert said(there, desk) == {"label": "new"}
    assert desk.trash == [old]


def test_what_waits_and_breaks_the_contract_of_today_is_refused(desk):
    waits = desk.aside("pending", desk.entry(said={"label": 1}))
    done = accept(*desk.read(waits))
    assert not done.is_done
    assert done.said.startswith("the check finds an error in it: its answer breaks contract 'items'")
    assert waits.exists()


def test_a_kept_reject_lies_behind_the_answers_there_are(desk):
    first = desk.put(desk.entry("one", {"label": "first"}))
    refused = desk.aside("rejects", desk.reject("one"))
    data = refused.read_bytes()
    done = accept(*desk.read(refused))
    name = f"cassettes/a/{first.stem}-1.json"
    assert done.said == (
        f"kept as kept:violation, behind 1 to the same request: {name};"
        ' it replays where the session has keep=["violation"]'
    )
    kept = desk.load(desk.root / name)
    assert (kept.verdict, kept.ordinal, kept.violations) == ("kept:violation", 1, desk.reject().violations)
    assert kept.provenance["accepted"]["commit"] == desk.git("rev-parse", "HEAD")
    assert not refused.exists()
    assert desk.trash == [data]
    assert said(first, desk) == {"label": "first"}


def test_a_new_entry_that_is_discarded_goes_to_the_trash_with_its_schema(desk):
    path = desk.put(desk.entry())
    data = path.read_bytes()
    done = discard(*desk.read(path))
    assert done.said == "moved to the trash: .onetake/trash/cassettes/a"
    assert not path.exists()
    assert desk.trash == [data]
    assert (desk.root / ".onetake/trash/cassettes/a/_schemas" / f"{desk.contract.digest}.json").exists()


def test_what_no_entry_names_any_more_goes_to_the_trash_in_the_end(desk):
    one, two = desk.put(desk.entry("one")), desk.put(desk.entry("two"))
    schema = one.parent / "_schemas" / f"{desk.contract.digest}.json"
    first = desk.read(one)
    assert discard(*first).is_done
    sweep_up([first[0]])
    assert schema.exists()
    second = desk.read(two)
    assert discard(*second).is_done
    place = placing.hold(desk.root, one.parent, "")
    sweep_up([second[0]])
    assert schema.exists()
    place.let_go()
    sweep_up([second[0]])
    assert not schema.exists()
    assert (desk.root / ".onetake/trash/cassettes/a/_schemas" / schema.name).exists()


@pytest.mark.parametrize("kind", ["pending", "rejects"])
def test_an_answer_that_nothing_here_can_judge_is_not_taken(desk, kind):
    entry = desk.entry() if kind == "pending" else desk.reject()
    path = desk.aside(kind, entry)
    (desk.root / "onetake.toml").write_text('[contracts.items]\nschema = "no_such:Type"\n', encoding="utf-8")
    done = accept(*desk.read())
    assert done.said == "its contract cannot be read here, so nothing would judge it: try --import"
    assert path.exists()
    assert not list((desk.root / "cassettes").rglob("chat*.json"))


def test_a_reject_whose_answer_is_there_already_is_not_kept_twice(desk):
    refused = desk.aside("rejects", desk.reject())
    data = refused.read_bytes()
    assert accept(*desk.read(refused)).is_done
    again = desk.aside("rejects", desk.reject())  # as a kill leaves it between the two steps
    assert again.read_bytes() == data
    assert accept(*desk.read(again)).said.startswith("kept as kept:violation: ")
    assert len(list((desk.root / "cassettes" / "a").glob("*.json"))) == 1
    assert not again.exists()


def test_a_cassette_that_is_being_made_is_left_alone(desk):
    path = desk.put(desk.entry())
    making = Making(desk.root, path.parent, was_empty=True)
    making.mark()
    read = desk.read()
    assert discard(*read).said.startswith("its cassette is being made: try again ")
    assert path.exists()
    making.end()
    assert discard(*read).is_done


@pytest.mark.parametrize("kind", ["pending", "rejects"])
def test_what_lies_aside_goes_to_the_trash_and_leaves_no_folder(desk, kind):
    path = desk.aside(kind, desk.entry() if kind == "pending" else desk.reject())
    data = path.read_bytes()
    assert discard(*desk.read()).said == f"moved to the trash: .onetake/trash/.onetake/{kind}/cassettes/a"
    assert desk.trash == [data]
    assert not path.parent.exists()


@pytest.mark.parametrize("decide", [accept, discard])
def test_beside_a_test_that_records_nothing_is_moved(desk, decide):
    waits = desk.aside("pending", desk.entry())
    read = desk.read()
    place = placing.hold(desk.root, desk.root / "cassettes" / "a", "")
    try:
        done = decide(*read)
        assert (done.is_done, done.said.partition(":")[0]) == (
            False,
            "a test, or another session, that records is at work here, and may be about to use it",
        )
        assert waits.exists()
    finally:
        place.let_go()
    assert decide(*read).is_done


@pytest.mark.parametrize("what", ["new", "again", "pending", "gone"])
def test_what_has_changed_since_it_was_shown_is_left_alone(desk, what):
    path = desk.aside("pending", desk.entry()) if what == "pending" else desk.put(desk.entry())
    if what in ("again", "gone"):
        desk.commit()
    if what == "gone":
        path.unlink()
    elif what == "again":
        desk.put(desk.entry(said={"label": "new"}))
    read = desk.read(path)
    path.write_bytes(b"another program's")
    done = discard(*read)
    assert not done.is_done
    assert path.read_bytes() == b"another program's"
    if what == "pending":
        assert not accept(*read).is_done
    assert desk.trash == []


def test_what_cannot_be_read_is_not_accepted(desk):
    path = desk.put(desk.entry())
    path.write_bytes(b"{")
    assert accept(*desk.read(path)).said == "what cannot be read cannot be accepted: no replay would serve it"


def test_a_link_is_left_to_the_person(desk):
    path = desk.put(desk.entry())
    target = path.rename(desk.root / "target.json")
    path.symlink_to(target)
    done = discard(*desk.read(path))
    why = "it cannot be read: is a symbolic link, and none is followed"
    assert done.said == f"{why}: look at it yourself, and move it away"
    assert path.is_symlink()


def test_a_secret_is_not_written(desk):
    entry = desk.entry()
    waits = desk.aside("pending", entry)
    holding = replace(entry, answer=Answer((Choice(f"x {SECRET}"),)))
    waits.write_bytes(dump_entry(holding)[0])
    done = accept(*desk.read(waits))
    assert not done.is_done
    assert SECRET not in done.said
    assert not (desk.root / "cassettes").exists()


def test_a_secret_in_a_reject_is_not_written_into_the_cassette(desk):
    refused = desk.aside("rejects", desk.reject())
    holding = replace(desk.reject(), provenance={"test": SECRET})
    refused.write_bytes(dump_entry(holding)[0])
    done = accept(*desk.read(refused))
    assert done.said.startswith("it holds a secret that cannot be scrubbed (")
    assert not list((desk.root / "cassettes").rglob("chat*.json"))
    assert refused.exists()


def test_a_place_that_names_no_cassette_is_told(desk):
    path = desk.aside("rejects", desk.reject(), desk.root.parent / "outside")
    read, base = desk.read(path)
    assert read.change.folder is None
    assert "lies outside of the settings' folder" in accept(read, base).said
    assert path.exists()


def test_what_waits_for_a_store_in_one_file_goes_into_it(desk):
    waits = desk.aside("pending", desk.entry(), "calls.db")
    assert accept(*desk.read(waits)).is_done
    store = open_store(desk.root / "calls.db")
    assert store.get(desk.entry().key, 0) == dump_entry(desk.entry())[0]
    again = desk.aside("pending", desk.entry(said={"label": "other"}), "calls.db")
    assert "which has no trash" in accept(*desk.read(again)).said
    store.close()


def test_the_trash_that_cannot_be_written_keeps_the_entry(desk):
    path = desk.put(desk.entry())
    (desk.root / ".onetake").mkdir(exist_ok=True)
    (desk.root / ".onetake" / "trash").write_bytes(b"in the way")
    done = discard(*desk.read(path))
    assert not done.is_done
    assert DirectoryStore(path.parent).get(desk.entry().key, 0) is not None


def test_a_reject_that_is_accepted_replays_where_its_kind_is_kept(desk, direct):
    folder = desk.root / "cassettes" / "a"
    store, rejects = DirectoryStore(folder), AsideStore(desk.root, "rejects", folder)
    policy = {"root": desk.root, "contracts": (desk.contract,)}
    with pytest.raises(ContractError):
        direct(store, rejects=rejects, **policy).call("Sort this", '{"label": 1}')
    refused = desk.changes().found[0].path
    assert accept(*desk.read(refused)).is_done
    sealed = direct(DirectoryStore(folder), "none", keep=("violation",), **policy)
    assert sealed.call("Sort this") == '{"label": 1}'
    with pytest.raises(InteractionNotFound):
        direct(DirectoryStore(folder), "none", **policy).call("Sort this")
