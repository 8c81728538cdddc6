from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Annotated, Any, Literal, Optional

import pydantic
import pytest
from pydantic import BaseModel, Field, field_validator, model_validator
from typing_extensions import TypedDict

from onetake.contract import Contract
from onetake.contract.types import read, type_name
from onetake.errors import UsageError


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(le=9)


class Dog(BaseModel):
    kind: Literal["dog", "puppy"]
    name: str

    @field_validator("name")
    @classmethod
    def is_a_name(cls, value: str) -> str:
        if value != value.title():
            raise ValueError("a name has a capital")
        return value


class Home(BaseModel):
    pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]]
    rooms: dict[str, int] = {}
    beside: Home | None = None

    @model_validator(mode="after")
    def is_not_full(self) -> Home:
        if len(self.pets) > 2:
            raise ValueError("too many pets")
        return self


class Person(TypedDict):
    name: str
    pet: Cat


@dataclasses.dataclass
class Street:
    homes: list[Person]


class Broken(BaseModel):
    a: int

    @field_validator("a")
    @classmethod
    def fails(cls, value: int) -> int:
        return {}[value]


CAT = {"kind": "cat", "lives": 9}


@pytest.mark.parametrize(
    ("described", "answer", "places"),
    [
        (Cat, CAT, [()]),
        (Home, {"pets": [CAT], "beside": {"pets": [CAT, CAT]}}, [(), ("pets", 0), ("beside",), ("beside", "pets", 1)]),
        (Person, {"name": "A", "pet": CAT}, [(), ("pet",)]),
        (Street, {"homes": [{"name": "A", "pet": CAT}]}, [(), ("homes", 0), ("homes", 0, "pet")]),
        (list[Cat], [CAT, CAT], [(0,), (1,)]),
        (dict[str, Cat], {"any": CAT}, [("any",)]),
        (Cat | Dog, CAT, [()]),
        (tuple[int, Cat], [1, CAT], [(1,)]),
        (Literal["a", "b"], "b", []),
        (dict[str, int], {"any": 1}, []),
    ],
)
def test_a_type_is_closed_at_every_level(described, answer, places):
    contract = Contract(described)
    assert contract.judge_value(answer) == ()
    for path in places:
        wrong = pydantic.TypeAdapter(Any).validate_json(pydantic.TypeAdapter(Any).dump_json(answer))
        at = wrong
        for step in path:
            at = at[step]
        at["extra"] = 1
        (violation,) = contract.judge_value(wrong)
        assert (violation.expected, violation.found) == ("no other key", "1")
        assert violation.path.endswith(".extra")


def told(described, answer):
    return [str(violation) for violation in Contract(described).judge_value(answer)]


def test_the_schema_judges_before_the_type():
    assert told(Cat, {"kind": "cat", "lives": "9"}) == ['$.lives: expected integer, found "9"']
    assert told(Home, {"pets": [{"kind": "puppy"}, {"kind": "cow"}]}) == [
        "$.pets[0].name: expected required key, found missing",
        '$.pets[1].kind: expected "cat" or one of "dog", "puppy", found "cow"',
    ]


def test_a_field_validator_counts_with_its_path():
    assert told(Home, {"pets": [CAT, {"kind": "dog", "name": "rex"}]}) == [
        '$.pets[1].name: expected what Home accepts (a name has a capital), found "rex"'
    ]


def test_a_model_validator_counts():
    assert told(Home, {"beside": {"pets": [CAT] * 3}, "pets": []}) == [
        '$.beside: expected what Home accepts (too many pets), found {"pets": [{"kind": "cat", "lives": 9}, {"kind": '
        '"cat", "lives": 9}, {"kind": "c…'
    ]


def test_a_validator_that_breaks_has_not_accepted():
    assert told(Broken, {"a": 1}) == ['$: expected what Broken accepts (KeyError: 1), found {"a": 1}']


def test_extra_keys_are_spoken_of_by_the_model_itself():
    class Open(BaseModel, extra="allow"):
        a: int

    assert told(Open, {"a": 1, "b": 2}) == []


def test_formats_that_only_pydantic_knows_are_judged_by_the_type():
    class File(BaseModel):
        at: pydantic.UUID4
        digest: pydantic.Base64Str

    right = {"at": "16fd2706-8baf-433b-82eb-8c7fada847da", "digest": "aGk="}
    assert told(File, right) == []
    assert told(File, right | {"at": "16fd2706"})[0].startswith("$.at: expected what ")


@pytest.mark.parametrize(
    ("described", "name"),
    [
        (Cat, "Cat"),
        (list[Cat], "list[Cat]"),
        (dict[str, Cat | None], "dict[str, Cat | None]"),
        (Literal["a", 1], "Literal['a', 1]"),
        (Annotated[Cat, Field(title="x")], "Cat"),
        (Optional[int], "int | None"),  # noqa: UP045  the older spelling is met in programs
        (tuple[int, ...], "tuple[int, ...]"),
    ],
)
def test_the_name_of_a_type(described, name):
    assert type_name(described) == name


def test_the_qualified_name_holds_the_class_around():
    class Inner(BaseModel):
        a: int

    assert Contract(Inner).name == "test_the_qualified_name_holds_the_class_around.<locals>.Inner"


class NoType:
    pass


def test_what_pydantic_cannot_describe_is_refused():
    with pytest.raises(UsageError, match=r"NoType.* is no type that pydantic can describe"):
        Contract(NoType)
    with pytest.raises(UsageError, match="no type that pydantic can describe"):
        Contract(type(lambda: 0))


@pytest.mark.parametrize("given", [None, True, 5, 1.5, b"x", [Cat], (Cat,)])
def test_what_is_no_contract_is_refused(given):
    with pytest.raises(UsageError, match="is no contract: give a JSON Schema"):
        read(given)


@pytest.mark.parametrize(("text", "told"), [("[1]", "holds"), ("{", "is no JSON"), ('{"a":1,"a":2}', "duplicate key")])
def test_a_file_that_holds_no_schema_is_refused(tmp_path, text, told):
    (tmp_path / "items.json").write_text(text)
    with pytest.raises(UsageError, match=rf"items\.json' .*{told}"):
        read(tmp_path / "items.json")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"items\.json' cannot be read"):
        read(str(tmp_path / "items.json"))


def test_pydantic_is_imported_for_a_type_only():
    program = (
        "import sys; from onetake.contract import Contract; Contract({'type': 'object'}, name='n').judge_text('{}');"
        "assert 'pydantic' not in sys.modules; sys.modules['pydantic'] = None\n"
        "try: Contract(dict[str, int])\nexcept BaseException as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "a type as contract needs pydantic 2: install onetake[pydantic]", done.stderr
