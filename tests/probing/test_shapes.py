"""Shapes: what is in them, and what is not."""

import pytest

from onetake.probing.shapes import Shaper, shape_of, type_of


def envelope(*values, said=()):
    shaper = Shaper(is_envelope=True, said=said)
    for value in values:
        shaper.add(value)
    return shaper.shape


def fields(shape, word=""):
    return shape.forms[word]


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "null"), (True, "boolean"), (1, "number"), (1.5, "number"), ("1", "string"), ([], "array"), ({}, "object")],
)
def test_the_type_of_a_value(value, kind):
    assert type_of(value) == kind
    assert shape_of(value).types == {kind}


def test_a_list_has_the_union_of_its_items():
    shape = shape_of([{"a": 1}, {"a": None, "b": ["x"]}])
    items = fields(shape.items)
    assert items["a"].types == {"number", "null"} and items["b"].items.types == {"string"}
    assert shape_of([]).items is None


def test_several_values_make_one_shape():
    shape = envelope({"a": 1}, {"b": 1}, {"a": "x"})
    assert fields(shape).keys() == {"a", "b"} and fields(shape)["a"].types == {"number", "string"}


def test_objects_of_an_api_are_told_apart_by_their_word_and_those_of_a_model_are_not():
    values = [{"type": "text", "text": "a"}, {"type": "image", "url": "b"}]
    assert envelope(values).items.forms.keys() == {"text", "image"}
    assert fields(envelope(values).items, "text")["type"].words == {"text"}
    assert shape_of(values).items.forms.keys() == {""}
    assert fields(envelope({"role": "assistant"}))["role"].words == {"assistant"}
    assert fields(envelope({"type": "x" * 65})).keys() == {"type"}, "no word is so long"


def test_what_the_model_said_is_told_from_what_the_api_says():
    arguments = {"city": "Paris"}
    body = {"id": "7", "content": "Hello", "part": "ello", "input": arguments, "mixed": ["Hello", "x"], "empty": ""}
    found = fields(envelope(body, said=["Hello", arguments]))
    assert [name for name, shape in found.items() if shape.said] == ["content", "part", "input"]
    assert found["input"].forms == {}, "its inside is the model's"
    assert found["mixed"].items.spoken and not found["mixed"].items.said


def test_a_word_of_the_api_that_is_in_a_long_text_by_chance_is_not_said():
    text = "By default, it is said in one word: default."
    found = fields(envelope({"tier": "default", "text": text}, said=[text]))
    assert [name for name, shape in found.items() if shape.said] == ["text"]
    pieces = [{"delta": piece} for piece in ("By default, ", "it is said in one word", ": default.")]
    assert fields(envelope(*pieces, said=[text]))["delta"].said, "piece by piece"


class Text(str):
    """A text that counts how often it is searched."""

    searched = 0

    def __contains__(self, piece):
        Text.searched += 1
        return super().__contains__(piece)


def test_what_stands_in_every_event_is_looked_for_once():
    events = [{"id": "chat-1", "model": "m-1"}] * 100
    assert not fields(envelope(*events, said=[Text("It rains.")]))["id"].said
    assert Text.searched == 2


def test_of_many_numbers_the_shape_is_that_of_one():
    shape = shape_of([1, 2.5, 3])
    assert shape.items.types == {"number"} and shape.items.own
    assert shape_of([1, True, "x", None]).items.types == {"number", "boolean", "string", "null"}


def test_names_that_are_data_have_no_fields():
    shape = envelope([{" to": -0.1, "ken": -0.2}])
    assert shape.items.forms == {} and shape.items.items.types == {"number"}
    assert fields(envelope({"odata.x": 1, "$y": 2, "a-b": 3})).keys() == {"odata.x", "$y", "a-b"}
    assert fields(shape_of({" to": 1})).keys() == {" to"}, "a model may name its fields as it likes"


def test_what_lies_very_deep_has_a_type_and_no_shape():
    value = "x"
    for _ in range(500):
        value = [value]
    shape, depth = shape_of(value), 0
    while shape.items:
        shape, depth = shape.items, depth + 1
    assert (shape.types, depth) == ({"array"}, 64)
