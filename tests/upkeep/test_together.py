"""What several processes gather of one cassette is joined to what one would have gathered."""

from __future__ import annotations

import pickle

import pytest

from onetake.cassette_files import list_folders
from onetake.upkeep.findings import Code
from onetake.upkeep.holding import holding_of
from onetake.upkeep.projects import Projects, Schemas
from onetake.upkeep.together import Together


@pytest.fixture
def joined(folder):
    """Return a function that says what is wrong with a cassette, each file of which another process has seen."""

    def check():
        (holding,) = [held for listed in list_folders(folder.root) if (held := holding_of(listed))]
        project = Projects(folder.root, importing=False).of(holding.folder)
        whole = Together()
        for held in holding.read():
            part = Together()
            part.add(held, is_known=True, is_of_today=True, has_sides=bool(holding.sides))
            whole.join(pickle.loads(pickle.dumps(part)))
        return list(whole.check(holding, project, Schemas()))

    return check


def codes(found):
    return [one.code for one in found]


def test_answers_that_differ_are_told_at_their_files(folder, joined):
    folder.settings(top='repeats = "same"')
    paths = folder.record(("one", '{"label": "a", "tags": []}'), ("one", '{"label": "b", "tags": []}'))
    (found,) = [one for one in joined() if one.code is Code.DIFFERING_ANSWERS]
    assert found.path == paths[0]
    assert found.message.startswith("2 answers are stored")


def test_a_second_file_of_one_slot_is_no_second_answer(folder, joined, answer):
    folder.settings(top='repeats = "same"')
    (path,) = folder.record(("one", answer))
    other = path.with_name(f"other-{path.name.split('-')[-1]}")
    other.write_text(path.read_text(encoding="utf-8").replace("bug", "boo"), encoding="utf-8")
    assert Code.DIFFERING_ANSWERS not in codes(joined())


def test_twins_of_which_the_first_cannot_be_read_are_told(folder, joined, answer):
    folder.settings(top='repeats = "same"')
    (path,) = folder.record(("one", answer))
    path.with_name(f"other-{path.name.split('-')[-1]}").write_bytes(path.read_bytes())
    path.write_bytes(path.read_bytes()[:100])
    assert Code.DIFFERING_ANSWERS not in codes(joined())


def test_a_missing_answer_is_told_at_the_one_behind_it(folder, joined, answer):
    first, second = folder.record(("one", answer), ("one", answer))
    first.unlink()
    (found,) = [one for one in joined() if one.code is Code.MISSING_ANSWER]
    assert found.path == second


def test_a_schema_that_any_of_the_parts_names_is_used(folder, joined, answer):
    folder.record(("one", answer), ("two", answer))
    assert codes(joined()) == []


def test_no_sidecar_is_unused_where_a_part_cannot_be_read(folder, joined, answer):
    path, _ = folder.record(("one", answer), ("two", answer))
    (path.parent / "_raw").mkdir()
    (path.parent / f"_raw/{'1' * 64}.bin").write_bytes(b"unused")
    assert codes(joined()) == [Code.UNUSED_SIDECAR]
    path.write_bytes(path.read_bytes()[:100])
    assert codes(joined()) == []
