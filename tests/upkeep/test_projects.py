"""Which settings count for which folder, and contracts that are compiled once."""

from __future__ import annotations

import json

import pytest

from onetake.errors import FormatError, UsageError
from onetake.upkeep.projects import Projects, Schemas, aimed


def test_the_settings_nearest_above_a_folder_count_and_are_read_once(tmp_path):
    (tmp_path / "onetake.toml").write_text('keep = ["length"]')
    (tmp_path / "sub/a/b").mkdir(parents=True)
    (tmp_path / "sub/pyproject.toml").write_text('[tool.onetake]\nkeep = ["refusal"]')
    (tmp_path / "sub/a/pyproject.toml").write_text('[project]\nname = "of another kind"')
    projects = Projects(tmp_path, importing=False)
    above, below = projects.of(tmp_path / "other"), projects.of(tmp_path / "sub/a/b")
    assert (above.settings.keep, below.settings.keep) == (("length",), ("refusal",))
    assert below.file == tmp_path / "sub/pyproject.toml"
    assert projects.of(tmp_path / "sub") is below
    assert list(projects) == [above, below]


def test_wrong_settings_are_refused(tmp_path):
    (tmp_path / "onetake.toml").write_text("keeep = []")
    with pytest.raises(UsageError, match="did you mean 'keep'"):
        Projects(tmp_path, importing=False).of(tmp_path)


def test_a_schema_that_several_cassettes_hold_is_compiled_once_and_a_changed_copy_is_not_it(folder):
    (path,) = folder.record()
    (schema,) = (path.parent / "_schemas").iterdir()
    schemas, data = Schemas(), schema.read_bytes()
    first = schemas.contract(schema.stem, data)
    assert schemas.contract(schema.stem, bytes(bytearray(data))) is first
    with pytest.raises(FormatError):
        schemas.contract(schema.stem, data.replace(b"string", b"number"))


def test_a_contract_can_be_aimed_at_other_answers(folder):
    (path,) = folder.record()
    (schema,) = (path.parent / "_schemas").iterdir()
    contract = Schemas().contract(schema.stem, schema.read_bytes())
    other = aimed(contract, "tool:sort")
    assert (contract.on, other.on, other.digest) == ("text", "tool:sort", contract.digest)
    assert other.judge_text(json.dumps({})) == contract.judge_text(json.dumps({})) != ()
