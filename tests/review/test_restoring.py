from __future__ import annotations

import shutil
from dataclasses import replace

from onetake.review.deciding import accept, discard


def test_one_that_was_recorded_again_is_as_git_has_it(desk):
    path = desk.put(desk.entry(said={"label": "old"}))
    old = path.read_bytes()
    desk.commit()
    desk.put(desk.entry(said={"label": "new"}))
    new = path.read_bytes()
    assert discard(*desk.read(path)).said.startswith("as at HEAD again; what was there is in the trash: ")
    assert path.read_bytes() == old
    assert desk.trash == [new]
    assert desk.changes().found == []


def test_one_that_is_gone_comes_back_with_its_sidecars(desk):
    audio = replace(desk.entry(), answer=None, dialect=None)
    audio = replace(audio, response=replace(audio.response, body=bytes(range(256)) * 20, headers=()))
    path = desk.put(audio)
    desk.commit()
    for one in sorted(path.parent.rglob("*"), reverse=True):
        one.rmdir() if one.is_dir() else one.unlink()
    path.parent.rmdir()
    assert discard(*desk.read()).said == "brought back as at HEAD"
    assert desk.load(path) == audio
    assert desk.git("status", "--short") == ""


def test_sidecars_that_are_missing_or_damaged_come_back(desk):
    audio = replace(desk.entry(), answer=None, dialect=None)
    audio = replace(audio, response=replace(audio.response, body=bytes(range(256)) * 20, headers=()))
    path = desk.put(audio)
    desk.commit()
    (raw,) = (path.parent / "_raw").iterdir()
    (schema,) = (path.parent / "_schemas").iterdir()
    raw.unlink()
    schema.write_bytes(b"{}")
    assert not accept(*desk.read()).is_done
    assert discard(*desk.read()).said.startswith("as at HEAD again; ")
    assert desk.load(path) == audio
    assert desk.git("status", "--short") == ""
    assert (desk.root / ".onetake/trash/cassettes/a/_schemas" / schema.name).read_bytes() == b"{}"


def test_what_git_has_in_a_form_of_its_own_is_not_written_over_an_entry(desk):
    desk.git("config", "filter.turned.clean", "tr a-z n-za-m")
    (desk.root / ".gitattributes").write_text("*.json filter=turned\n", encoding="utf-8")
    path = desk.put(desk.entry())
    desk.commit()
    desk.put(desk.entry(said={"label": "new"}))
    before = path.read_bytes()
    done = discard(*desk.read())
    assert not done.is_done
    assert done.said.endswith(f"`git checkout HEAD -- cassettes/a/{path.name}` brings that back")
    assert path.read_bytes() == before
    path.unlink()
    assert not discard(*desk.read()).is_done
    assert not path.exists()


def test_nothing_is_written_through_a_link(desk, tmp_path_factory):
    path = desk.put(desk.entry())
    desk.commit()
    path.unlink()
    read = desk.read()
    away = path.parent.rename(tmp_path_factory.mktemp("away") / "a")
    path.parent.symlink_to(away, target_is_directory=True)
    assert discard(*read).said == "cassettes/a: a link is on the way there, and none is followed"
    assert not list(away.glob("*.json"))


def test_what_was_moved_is_where_it_was_again(desk):
    path = desk.put(desk.entry(), "cassettes/one")
    data = path.read_bytes()
    desk.commit()
    shutil.move(path.parent, desk.root / "cassettes" / "two")
    assert discard(*desk.read()).said == (
        "brought back as at HEAD; what it was moved to is in the trash: .onetake/trash/cassettes/two"
    )
    assert path.read_bytes() == data
    assert not list((desk.root / "cassettes" / "two").glob("*.json"))
    assert desk.trash == [data]


def test_a_place_that_is_taken_meanwhile_is_not_written_over(desk):
    path = desk.put(desk.entry())
    desk.commit()
    path.unlink()
    read = desk.read()
    other = path.with_name(f"other-{path.name.rpartition('-')[2]}")
    other.write_bytes(b"another program's")
    assert discard(*read).said == "another entry has taken its place meanwhile"
    assert other.read_bytes() == b"another program's"
