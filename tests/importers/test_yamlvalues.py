"""YAML as values: as vcrpy's loader reads it, and nothing that another's file could hold us up with."""

from __future__ import annotations

import sys

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from onetake.errors import FormatError, UsageError
from onetake.importers import yamlvalues
from onetake.importers.tagged import Tagged

MOST = 10_000


def load(text, most_text=MOST):
    found, more = yamlvalues.load(text if isinstance(text, bytes) else text.encode(), most_text=most_text)
    assert not more
    return found


@pytest.mark.parametrize(
    "text",
    [
        "[1, -2, 0x1f, 0o7, 017, 1_000, 190:20:30, 1.5, 1.0e+3, .inf, true, No, off, ~, null, '', 'null', \"yes\"]",
        "{a: {b: [c, {d: e}]}}",
        "f: |\n  g\n  h\ni: >-\n  j\n  k\n",
        "a: &x {b: 1}\nc: *x\nd: [*x, *x]\n",
        "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\ne: {<<: [*x, {b: 9, z: 8}]}\n",
        "a: !!binary aGk=\nb: !!str 12\nc: !!int '12'\nd: !!float '1'\n",
        "a: 1\na: 2\n",
        "2: a\ntrue: b\n",
        '"\\u2028\\x85\\U0001F600": "\\r\\n"',
        "plain text: with 'quotes' and \"others\"",
        "'<<': {a: 1}",
    ],
)
def test_values_are_those_of_the_safe_loader(text):
    expected = yaml.safe_load(text)
    found = load(text)
    if isinstance(expected, dict):
        expected = {key if isinstance(key, str) else str(key): value for key, value in expected.items()}
    assert found == expected
    assert typed(found) == typed(expected)


def typed(tree):
    """Return a tree with the types of its scalars: 1, 1.0 and true are equal to Python."""
    if isinstance(tree, dict):
        return {name: typed(value) for name, value in tree.items()}
    return [typed(one) for one in tree] if isinstance(tree, list) else (type(tree), tree)


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_whatever_is_dumped_is_read(tree):
    assert load(yaml.safe_dump(tree), 1 << 20) == tree


def test_a_date_stays_text():
    assert load("[2024-01-02, 2024-01-02T03:04:05Z]") == ["2024-01-02", "2024-01-02T03:04:05Z"]


def test_objects_are_named_and_not_built(tmp_path):
    mark = tmp_path / "mark"
    found = load(f"- !!python/object/apply:os.mkdir ['{mark.as_posix()}']\n- !!python/name:os.system ''\n")
    assert found == [Tagged([mark.as_posix()]), Tagged("")]
    assert not mark.exists()


def test_halves_of_a_character_that_json_escapes_are_one():
    assert load('a: "\\uD83D\\uDE00!"') == {"a": "\U0001f600!"}


def test_documents_behind_the_first_are_told():
    assert yamlvalues.load(b"a: 1\n---\nb: 2\n", most_text=MOST) == ({"a": 1}, True)
    assert yamlvalues.load(b"# nothing\n", most_text=MOST) == (None, False)


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: &a " + "x" * 4000 + "\nb: [*a, *a, *a]\n", "characters, with what its anchors stand for"),
        ("a: &a [*a]\n", "line 1: an alias of what is not there, or of what it stands in"),
        ("[*b]", "an alias of what is not there"),
        ("- " * 5000, "line 1: nested deeper than 200 levels"),
        ("[" * 5000, "nest"),
        ("? " * 5000, "nest"),
        ("a:\n\t- b", "line 2"),
        ("a: 'b", "no YAML"),
        ("a: " + "9" * 5000, "line 1: a number that is too long"),
        ("a: 1" + ":59" * 2000, "line 1: a number that is too long"),
        ("a: 1" + ":59" * 2000 + ".5", "line 1: a number that is too long"),
        ("a: !!int ''", "line 1: a number that cannot be read"),
        ("{<<: 5}", "a merge of what is no mapping"),
        (b"a: \xff\xfe", "no YAML"),
        (b"a: \x01", "no YAML"),
        (b'a: "\\uD83D"' + b" " * (5 << 20), "half a character"),
    ],
)
def test_what_is_not_read_says_why(text, why):
    with pytest.raises(FormatError, match=why):
        load(text)


def test_a_bomb_of_anchors_is_not_unfolded():
    with pytest.raises(FormatError, match="more than 2000000 values, with what its anchors stand for"):
        load(BOMB, most_text=1 << 40)


def test_no_piece_of_the_file_is_in_the_error():
    with pytest.raises(FormatError) as error:
        load("secret: [sk-proj-abcdefghijklmnopqrstuvwxyz0123456789\n: {")
    assert "sk-proj" not in str(error.value)


def test_without_pyyaml_the_command_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UsageError, match=r'pip install "onetake\[vcr\]"'):
        load("a: 1")


def test_without_libyaml_the_values_are_the_same(monkeypatch):
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert load("a: &x [1, 'b', !!binary aGk=]\nc: *x\n") == {"a": [1, "b", b"hi"], "c": [1, "b", b"hi"]}


def test_many_merges_into_one_mapping_are_each_found_at_once():
    text = "- &a {x: 1}\n- {" + "<<: *a, " * 20_000 + "y: 2}\n"
    assert load(text.encode(), most_text=1_000_000)[1] == {"x": 1, "y": 2}
    text = "- &a {x: 1}\n- {<<: *a, z: <<, <<: {w: 3}, '<<': 4}\n"
    assert load(text.encode(), most_text=1000)[1] == {"x": 1, "w": 3, "z": "<<", "<<": 4}
