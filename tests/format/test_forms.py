from __future__ import annotations

import base64
import json

import pytest

from onetake.errors import FormatError
from onetake.format.forms import DEEPEST, TooDeepError, fold, fold_json, fold_text, unfold
from onetake.format.jsonstyle import Spelled, style
from onetake.format.sidecar import put_aside

COMPACT = style("compact")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 7


def folded(tree, sides=None):
    return fold(tree, COMPACT, {} if sides is None else sides)


def raw(sides):
    """What an entry says of the only sidecar."""
    [(name, data)] = sides.items()
    digest, _, ext = name.removeprefix("_raw/").partition(".")
    return {"sha256": digest, "ext": ext, "bytes": len(data)}


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("one line", "one line"),
        ("", ""),
        ("a\nb", {"$lines": ["a", "b"]}),
        ("a\r\nb\n", {"$lines": ["a\r", "b", ""]}),
        ("a\u2028b\x85c", "a\u2028b\x85c"),
        ('{"city":"Rome"}', {"style": "compact", "$json": {"city": "Rome"}}),
        ('{"city": "Rome"}', {"style": "spaced", "$json": {"city": "Rome"}}),
        ('[1,{"text":"a\\nb"}]', {"style": "compact", "$json": [1, {"text": {"$lines": ["a", "b"]}}]}),
        ('["[1]"]', {"style": "compact", "$json": [{"style": "compact", "$json": [1]}]}),
        ('{"city":"Rome" }', '{"city":"Rome" }'),
        ('{"a":1,"a":2}', '{"a":1,"a":2}'),
        ("{}", "{}"),
        ("[]", "[]"),
        ("{curly prose}", "{curly prose}"),
        ("17", "17"),
        ("\ud83d", "\ud83d"),
        ('["\ud83d"]', '["\ud83d"]'),
        ('["\\ud83d"]', {"style": "compact", "$json": ["\ud83d"]}),
        (Spelled("1.10"), {"$number": "1.10"}),
        (9007199254740993, 9007199254740993),
        ({"$json": 1, "b": "x\ny"}, {"$literal": {"$json": 1, "b": {"$lines": ["x", "y"]}}}),
        ({"$literal": {"$lines": 1}}, {"$literal": {"$literal": {"$literal": {"$lines": 1}}}}),
        ({"$ref": "#/$defs/A", "$defs": {}, "$schema": "s"}, {"$ref": "#/$defs/A", "$defs": {}, "$schema": "s"}),
        ([None, True, 1.5], [None, True, 1.5]),
    ],
)
def test_a_value_has_its_form_and_comes_back(value, form):
    assert folded(value) == form
    assert unfold(folded(value), {}.get) == value


def test_the_forms_are_plain_json():
    tree = {"text": "a\nb", "args": '{"n":1.10}', "n": Spelled("1E5")}
    again = json.loads(json.dumps(folded(tree)))
    assert unfold(again, {}.get) == tree


def test_br_030_nineteen_digit_ids_in_tool_arguments_stay_exact():
    arguments = '{"id":9007199254740993,"other":1234567890123456789}'
    form = json.loads(json.dumps(folded({"arguments": arguments})))
    assert form["arguments"]["$json"] == {"id": 9007199254740993, "other": 1234567890123456789}
    assert unfold(form, {}.get) == {"arguments": arguments}


@pytest.mark.parametrize(
    ("prefix", "encode", "more"),
    [
        ("", base64.b64encode, {}),
        ("data:image/png;base64,", base64.b64encode, {}),
        ("", base64.urlsafe_b64encode, {"alphabet": "url"}),
        ("data:image/png;charset=x;base64,", base64.urlsafe_b64encode, {"alphabet": "url"}),
    ],
)
def test_long_base64_goes_aside_decoded(prefix, encode, more):
    text, sides = prefix + encode(PNG).decode(), {}
    form = folded({"url": text}, sides)
    assert form == {"url": {"$raw": raw(sides), "prefix": prefix} | more}
    assert (raw(sides)["ext"], list(sides.values())) == ("png", [PNG])
    assert unfold(form, sides.get) == {"url": text}


@pytest.mark.parametrize(
    "text",
    [
        base64.b64encode(b"x" * 1500).decode(),
        base64.b64encode(PNG).decode().rstrip("=") + "\n",
        base64.b64encode(PNG + b"1").decode().rstrip("="),
        base64.b64encode(PNG).decode()[:-1],
        "word " * 600,
        "A" * 2049,
        base64.b64encode(b"\xff" * 1600).decode()[:-2] + "B=",
    ],
    ids=["short", "newline", "unpadded", "one short", "prose", "no multiple of 4", "stray bits"],
)
def test_what_is_no_exact_long_base64_stays_text(text):
    sides: dict = {}
    assert unfold(folded([text], sides), {}.get) == [text]
    assert sides == {}


@pytest.mark.parametrize("count", [64, 65])
def test_over_64_numbers_go_aside_as_their_exact_text(count):
    numbers = [0.5, -1, Spelled("1.10")] + [0.25] * (count - 3)
    sides: dict = {}
    form = folded({"embedding": numbers}, sides)
    if count == 64:
        assert form["embedding"][:3] == [0.5, -1, {"$number": "1.10"}]
        assert sides == {}
    else:
        text = "[0.5,-1,1.10" + ",0.25" * 62 + "]"
        assert form == {"embedding": {"$raw": raw(sides)}}
        assert (raw(sides)["ext"], list(sides.values())) == ("json", [text.encode()])
        assert unfold(form, sides.get) == {"embedding": Spelled(text)}


def test_an_indented_array_goes_aside_as_it_is_indented():
    data = json.dumps({"data": [{"embedding": [0.5] * 70}]}, indent=2).encode()
    sides: dict = {}
    form = fold_json(data, sides)
    [text] = sides.values()
    assert text.startswith(b"[\n        0.5,\n") and text.endswith(b"\n      ]")
    assert form == {"style": "indent-2", "$json": {"data": [{"embedding": {"$raw": raw(sides)}}]}}


def test_truth_values_are_no_numbers():
    sides: dict = {}
    assert folded([True] * 70, sides) == [True] * 70
    assert sides == {}


def test_values_are_python_values_where_they_are_asked_for():
    sides: dict = {}
    tree = {"a": [0.5] * 70, "b": float("inf"), "c": -float("inf"), "d": "x\ny", "e": 10**30}
    form = json.loads(json.dumps(folded(tree, sides)))
    assert form["b"] == {"$number": "1e999"}
    assert unfold(form, sides.get, values=True) == tree
    assert unfold({"$number": "17"}, sides.get, values=True) == 17


@pytest.mark.parametrize(("depth", "fits"), [(DEEPEST, True), (DEEPEST + 1, False)])
@pytest.mark.parametrize("wrap", [lambda tree: [tree], lambda tree: {"$raw": tree}], ids=["arrays", "literals"])
def test_a_tree_is_folded_down_to_a_fixed_depth(depth, fits, wrap):
    tree = 1
    for _ in range(depth):
        tree = wrap(tree)
    data = json.dumps(tree, separators=(",", ":")).encode()
    if fits:
        assert style("compact").spell(unfold(fold_json(data, {})["$json"], {}.get)) == data
    else:
        assert fold_json(data, {}) is None
        with pytest.raises(TooDeepError):
            folded(tree)


def test_json_in_strings_shares_the_depth_of_what_holds_it():
    inner = "[" * 60 + "]" * 60
    tree: object = inner
    for _ in range(50):
        tree = [tree]
    assert unfold(folded(tree), {}.get) == tree
    assert folded([inner]) != [inner]


def test_sidecars_of_a_tree_that_is_given_up_are_not_kept():
    tree: object = 1
    for _ in range(DEEPEST + 1):
        tree = [tree]
    sides: dict = {}
    assert fold_json(json.dumps([[0.5] * 70, tree], separators=(",", ":")).encode(), sides) is None
    assert sides == {}


@pytest.mark.parametrize("text", ['{"a":1}', "x"])
def test_a_text_that_is_not_to_be_json_stays_text(text):
    assert fold_text(text, {}) == text


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"$lines": "a"}, r"\$lines must be a list of strings"),
        ({"$lines": ["a", 1]}, r"\$lines must be a list of strings"),
        ({"$lines": ["a"], "x": 1}, r"no form has exactly the keys \$lines, x"),
        ({"$text": "a"}, r"no form has exactly the keys \$text"),
        ({"$json": {}}, "no form has exactly"),
        ({"style": "loud", "$json": {}}, "unknown style 'loud'"),
        ({"style": 1, "$json": {}}, "style of .json must be a string"),
        ({"$number": "1]"}, "text of a JSON number"),
        ({"$number": "٣"}, "text of a JSON number"),
        ({"$number": 1}, "text of a JSON number"),
        ({"$literal": [1]}, r"\$literal must be an object"),
        ({"$raw": {"sha256": "a" * 64, "ext": "json", "bytes": 1}}, "is missing"),
        ({"$raw": {}, "prefix": 1}, "prefix must be a string"),
        ({"$raw": {}, "prefix": "", "alphabet": "rot13"}, "alphabet can only be url"),
    ],
)
def test_a_malformed_form_is_named(form, why):
    with pytest.raises(FormatError, match=why):
        unfold({"deep": [form]}, {}.get)


@pytest.mark.parametrize(("data", "values"), [("[0.5, ½]".encode(), False), (b"[0.5, nonsense]", True)])
def test_an_array_that_holds_something_else_is_damage(data, values):
    sides: dict = {}
    with pytest.raises(FormatError, match="must hold an array of numbers"):
        unfold({"$raw": put_aside(data, "json", sides)}, sides.get, values=values)
