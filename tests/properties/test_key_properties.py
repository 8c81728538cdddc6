"""What holds of every key: any other spelling of a body has the same one, any other body another one."""

from __future__ import annotations

import json
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from onetake.key import Keyer
from onetake.key.canonical import Number, dumps, dumps_slowly, encode, is_plain, loads, number
from onetake.model import Request

KEYER = Keyer()
FEW = settings(deadline=None)

texts = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF), max_size=8)
decimals = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    st.integers(0, 10**45).map(str) | st.sampled_from(["0", "1", "9" * 40, "1" + "0" * 40]),
    st.just("") | st.text("0123456789", min_size=1, max_size=20).map(".{}".format),
    st.just("")
    | st.builds("{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 60)),
)


class Spelled(str):
    """A JSON number by its spelling."""


leaves = st.none() | st.booleans() | texts | decimals.map(Spelled)
bodies = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)


def key(body: str) -> str:
    headers = (("content-type", "application/json"),)
    return KEYER.key(Request("POST", "https://h/v1", headers, body.encode("utf-8")))


def spell_text(draw, text: str) -> str:
    out = []
    for char in text:
        code = ord(char)
        plain = char not in '"\\' and code > 0x1F and not 0xD800 <= code <= 0xDFFF
        if plain and draw(st.booleans()):
            out.append(char)
        else:
            escaped = (
                json.dumps(char)[1:-1]
                if draw(st.booleans())
                else "".join(
                    f"\\u{unit:04X}" for unit in memoryview(char.encode("utf-16-le", "surrogatepass")).cast("H")
                )
            )
            out.append(escaped)
    return '"' + "".join(out) + '"'


def spell_number(draw, text: str) -> str:
    """Spell the same decimal value otherwise: zeros behind, another exponent."""
    mantissa, _, power = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    zeros, shift = draw(st.integers(0, 3)), draw(st.integers(0, 5))
    fraction += "0" * zeros
    sign = "-" if whole.startswith("-") else ""
    digits = whole.removeprefix("-") + fraction
    exponent = int(power or "0") - len(fraction) - shift
    digits = (digits + "0" * shift).lstrip("0") or "0"
    return f"{sign}{digits}{draw(st.sampled_from('eE'))}{exponent:+}"


def spell(draw, body: object) -> str:
    space = st.sampled_from(["", " ", "\n\t"])
    if isinstance(body, Spelled):
        return spell_number(draw, body) if draw(st.booleans()) else str(body)
    if isinstance(body, str):
        return spell_text(draw, body)
    if isinstance(body, list):
        return "[" + ",".join(draw(space) + spell(draw, item) + draw(space) for item in body) + "]"
    if isinstance(body, dict):
        names = draw(st.permutations(list(body)))
        members = [f"{draw(space)}{spell_text(draw, name)}{draw(space)}:{spell(draw, body[name])}" for name in names]
        return "{" + ",".join(members) + draw(space) + "}"
    return json.dumps(body)


def joined(body: object) -> bool:
    """Tell whether escapes would join surrogates of this body into other characters."""
    if isinstance(body, dict):
        return any(joined(name) or joined(value) for name, value in body.items())
    if isinstance(body, list):
        return any(map(joined, body))
    return isinstance(body, str) and json.loads(json.dumps(body)) != body


def exact(body: object) -> object:
    """Turn a body into something whose equality is that of JSON values, numbers by exact value."""
    if isinstance(body, Spelled):
        return ("number", Fraction(str(body)))
    if isinstance(body, list):
        return ("list", tuple(exact(item) for item in body))
    if isinstance(body, dict):
        return ("object", frozenset((name, exact(value)) for name, value in body.items()))
    return (type(body).__name__, body)


@FEW
@given(bodies, st.data())
def test_any_spelling_of_a_body_has_one_key(body, data):
    assume(not joined(body))
    assert key(spell(data.draw, body)) == key(spell(data.draw, body))


@FEW
@given(bodies, bodies, st.data())
def test_bodies_have_one_key_exactly_if_they_are_equal(one, other, data):
    assume(not joined(one) and not joined(other))
    assert (key(spell(data.draw, one)) == key(spell(data.draw, other))) is (exact(one) == exact(other))


def changed(draw, body: object) -> object:
    """Change one leaf, or the order of one list, somewhere in the body."""
    if isinstance(body, dict) and body:
        name = draw(st.sampled_from(sorted(body)))
        return {**body, name: changed(draw, body[name])}
    if isinstance(body, list) and body:
        if len(body) > 1 and draw(st.booleans()):
            return body[::-1]
        at = draw(st.integers(0, len(body) - 1))
        return [*body[:at], changed(draw, body[at]), *body[at + 1 :]]
    return draw(leaves)


@FEW
@given(bodies, st.data())
def test_one_changed_leaf_or_list_order_has_another_key(body, data):
    other = changed(data.draw, body)
    assume(not joined(body) and not joined(other) and exact(body) != exact(other))
    assert key(spell(data.draw, body)) != key(spell(data.draw, other))


@FEW
@given(bodies, st.data())
def test_all_encoders_write_the_same_text(body, data):
    source = spell(data.draw, body).encode()
    padded = b"[" + source + b',"' + b"x" * 20_000 + b'"]'
    value = loads(padded)
    assert dumps(value) == dumps_slowly(value) == dumps(value, plain=is_plain(padded))


@FEW
@given(bodies, st.data())
def test_canonical_json_is_its_own_canonical_json(body, data):
    text = dumps(loads(spell(data.draw, body).encode()))
    assert dumps(loads(encode(text))) == text


@FEW
@given(decimals)
def test_a_number_keeps_its_exact_value_and_its_form(spelling):
    found = number(spelling)
    written = dumps(found)
    assert Fraction(written) == Fraction(spelling)
    assert isinstance(found, Number) == ("e" in written)
    if isinstance(found, float):
        assert repr(found) == written
        assert len(written.replace(".", "").strip("-0")) <= 15
