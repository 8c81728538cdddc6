"""The file that a type's schema is frozen to: what is written, what counts, and what is never written over."""

from __future__ import annotations

import json
import sys

import pytest

from onetake.contract import Contract
from onetake.errors import UsageError
from onetake.settings import ContractSettings
from onetake.upkeep.freezing import (
    Frozen,
    check_apart,
    check_own,
    frozen_path,
    read_frozen,
    schema_bytes,
    write_frozen,
)

SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "format": "file-path"}}, "$comment": "its own"}
TYPED = ContractSettings("typed", "app.models:Typed")


@pytest.fixture
def contract():
    """A contract as a type gives it: with a format that only the type knows."""
    from onetake.contract.types import Given

    return Contract(Given(SCHEMA, formats=False), name="typed")


def test_what_is_written_is_read_as_the_same_contract_and_says_what_it_is(tmp_path, contract):
    frozen = read_frozen(TYPED, tmp_path)
    assert frozen == Frozen(tmp_path / "schemas/typed.json")
    data = schema_bytes(contract, TYPED)
    assert write_frozen(frozen, data) is True
    said = json.loads(frozen.path.read_bytes())
    assert said.pop("$comment").startswith(
        f"Frozen by `onetake contract freeze` from app.models:Typed, digest {contract.digest}"
    )
    assert said == {name: value for name, value in contract.schema.items() if name != "$comment"}
    again = read_frozen(TYPED, tmp_path)
    assert (again.contract.digest, again.why, again.is_foreign) == (contract.digest, "", False)
    assert again.differs(TYPED, contract) == ""
    assert write_frozen(again, data) is False
    assert [path.name for path in frozen.path.parent.iterdir()] == ["typed.json"]


def test_line_ends_that_git_turned_count_as_ours(tmp_path, contract):
    data = schema_bytes(contract, TYPED)
    write_frozen(read_frozen(TYPED, tmp_path), data)
    path = frozen_path(TYPED, tmp_path)
    path.write_bytes(data.replace(b"\n", b"\r\n"))
    found = read_frozen(TYPED, tmp_path)
    assert found.differs(TYPED, contract) == ""
    assert write_frozen(found, data) is False


def changed(path, old, new):
    path.write_text(path.read_text().replace(old, new))


WRONG = {
    "changed by hand": (
        lambda path: changed(path, '"string"', '"number"'),
        "was changed since it was frozen: it holds another",
    ),
    "of another type": (lambda path: changed(path, "models:Typed", "models:Old"), "was frozen from app.models:Old"),
    "torn": (
        lambda path: path.write_bytes(path.read_bytes()[:-20]),
        "was changed since it was frozen: it holds no JSON",
    ),
    "a pattern that cannot be": (
        lambda path: changed(path, '"file-path"', '"uri", "pattern": "("'),
        "was changed since it was frozen: contract 'typed'",
    ),
    "a reference in a circle": (
        lambda path: changed(path, '"type": "object"', '"type": "object", "$ref": "#/x"'),
        "was changed since it was frozen: contract 'typed'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_of_ours_that_does_not_hold_what_it_says_is_written_again(tmp_path, contract, name):
    change, said = WRONG[name]
    data = schema_bytes(contract, TYPED)
    write_frozen(read_frozen(TYPED, tmp_path), data)
    change(frozen_path(TYPED, tmp_path))
    found = read_frozen(TYPED, tmp_path)
    assert found.contract is None
    assert found.why.startswith(said)
    assert found.differs(TYPED, contract) == found.why
    check_own(found)
    assert write_frozen(found, data) is True
    assert read_frozen(TYPED, tmp_path).contract.digest == contract.digest


def test_a_schema_that_the_type_gives_no_longer(tmp_path, contract):
    write_frozen(read_frozen(TYPED, tmp_path), schema_bytes(contract, TYPED))
    today = Contract({"type": "string"}, name="typed")
    assert "is out of date: app.models:Typed gives another schema today" in read_frozen(TYPED, tmp_path).differs(
        TYPED, today
    )


def test_a_missing_file_is_a_difference_only_where_the_settings_ask_for_one(tmp_path, contract):
    asked = ContractSettings("typed", "app.models:Typed", frozen="own/typed.json")
    assert read_frozen(TYPED, tmp_path).differs(TYPED, contract) == ""
    assert read_frozen(asked, tmp_path).path == tmp_path / "own/typed.json"
    assert read_frozen(asked, tmp_path).differs(asked, contract) == "is not there"
    (tmp_path / "own").write_text("a file in the folder's place")
    assert read_frozen(asked, tmp_path) == Frozen(tmp_path / "own/typed.json")
    with pytest.raises(UsageError, match=r"typed\.json: cannot be written"):
        write_frozen(read_frozen(asked, tmp_path), b"{}")


def test_what_somebody_else_wrote_is_never_written_over(tmp_path):
    asked = ContractSettings("typed", "app.models:Typed", frozen="own.json")
    (tmp_path / "schemas").mkdir()
    for path in (tmp_path / "schemas/typed.json", tmp_path / "own.json"):
        path.write_text(json.dumps(SCHEMA))
    found = [read_frozen(TYPED, tmp_path), read_frozen(asked, tmp_path)]
    assert [one.is_foreign for one in found] == [True, True]
    assert [bool(one.why) for one in found] == [False, True]  # nobody said that ours lies at the usual place
    for one in found:
        with pytest.raises(UsageError, match="was not written by `onetake contract freeze`: move it, or say `frozen"):
            check_own(one)


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas/typed.json").symlink_to("/etc/passwd")
    found = read_frozen(TYPED, tmp_path)
    assert (found.contract, "is a symbolic link" in found.why) == (None, True)
    with pytest.raises(UsageError, match="is a symbolic link"):
        check_own(found)


def test_names_of_files_are_safe_on_every_system(tmp_path):
    names = ("items", "Items", "list[Ticket]", "../up", "con", "a:b", "x" * 300)
    found = [frozen_path(ContractSettings(name, "m:T"), tmp_path) for name in names]
    assert [path.name for path in found[:3]] == ["items.json", "Items.json", "list[Ticket].json"]
    assert {path.parent for path in found} == {tmp_path / "schemas"}
    assert all("~" in path.name and len(path.name) < 110 for path in found[3:])


@pytest.mark.parametrize(
    "two",
    [
        (ContractSettings("items", "m:T"), ContractSettings("Items", "m:T")),
        (ContractSettings("a", "m:T", frozen="x.json"), ContractSettings("b", "m:U", frozen="x.json")),
        (ContractSettings("a", "m:T"), ContractSettings("b", "m:U", frozen="schemas/./a.json")),
    ],
)
def test_two_types_are_not_frozen_to_one_file(tmp_path, two):
    with pytest.raises(UsageError, match="would be frozen to one file"):
        check_apart(two, tmp_path)


def test_two_contracts_of_one_type_may_share_a_file(tmp_path):
    first, second = (ContractSettings(name, "m:T", frozen="x.json") for name in "ab")
    check_apart([first, second], tmp_path)
    made = Contract({"type": "string"}, name="typed")
    assert write_frozen(read_frozen(first, tmp_path), schema_bytes(made, first))
    found = read_frozen(second, tmp_path)
    assert (found.path, found.why) == (tmp_path / "x.json", "")
    assert not write_frozen(found, schema_bytes(made, second))


def test_a_secret_among_the_defaults_of_a_type_is_not_written(tmp_path):
    secret = "sk-" + "proj-" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1" * 2
    contract = Contract({"type": "string", "default": secret}, name="typed")
    with pytest.raises(UsageError, match="has a secret in its schema") as told:
        schema_bytes(contract, TYPED)
    assert secret not in str(told.value)
