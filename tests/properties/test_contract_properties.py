"""Closing a schema never refuses an answer that fits it, and always refuses a key that no schema describes."""

from __future__ import annotations

import copy
import itertools
import json
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onetake.contract import Contract

NUMBERS = itertools.count()


@dataclass
class Sample:
    """A schema, an instance that fits it, and the paths of the objects in it that are described key by key."""

    schema: dict
    instance: object
    described: list[tuple] = field(default_factory=list)

    def under(self, *steps):
        return [(*steps, *path) for path in self.described]


SCALARS = [
    Sample({"type": "integer", "maximum": 10}, 3),
    Sample({"type": "string", "minLength": 1}, "text"),
    Sample({"enum": ["a", None]}, None),
    Sample({"const": {"whole": 1}}, {"whole": 1}),
    Sample({}, {"anything": 1}),
    Sample({"type": "object", "additionalProperties": True}, {"open": 1}),
]


@st.composite
def samples(draw, depth=3):
    kinds = [scalar, described_object] if depth > 0 else [scalar]
    if depth > 1:
        kinds += [
            array,
            tuple_,
            mapping,
            shared,
            extended,
            overlapping,
            refined,
            tagged,
            conditional,
            dependent,
            patterned,
        ]
        kinds += [recursive, required_only]
    return draw(st.sampled_from(kinds))(draw, depth - 1)


def scalar(draw, depth):
    return copy.deepcopy(draw(st.sampled_from(SCALARS)))


def described_object(draw, depth, names="abc", kind=None):
    parts = {name: draw(samples(depth)) for name in draw(st.sets(st.sampled_from(names), min_size=1))}
    present = {name for name in parts if draw(st.booleans())}
    properties = {name: part.schema for name, part in parts.items()}
    instance = {name: part.instance for name, part in parts.items() if name in present}
    if kind:
        properties["kind"], instance["kind"] = {"const": kind}, kind
    schema = {"properties": properties, "required": [*sorted(present), *(["kind"] if kind else [])]}
    if draw(st.booleans()):
        schema["type"] = "object"
    return Sample(schema, instance, [(), *(path for name in present for path in parts[name].under(name))])


def array(draw, depth):
    item = draw(samples(depth))
    return Sample({"type": "array", "items": item.schema}, [item.instance] * 2, item.under(0) + item.under(1))


def tuple_(draw, depth):
    first, rest = draw(samples(depth)), draw(samples(depth))
    schema = {"prefixItems": [first.schema], "items": rest.schema}
    return Sample(schema, [first.instance, rest.instance], first.under(0) + rest.under(1))


def mapping(draw, depth):
    value = draw(samples(depth))
    return Sample({"type": "object", "additionalProperties": value.schema}, {"k": value.instance}, value.under("k"))


def ref(sample):
    """Put a sample's schema under `$defs` of the root (see `gather`) and refer to it."""
    name = f"D{next(NUMBERS)}"
    return {"$ref": f"#/$defs/{name}", "$defs": {name: sample.schema}}


def shared(draw, depth):
    part = draw(samples(depth))
    to = ref(part)
    schema = {"type": "object", "properties": {"one": to, "two": {"$ref": to["$ref"]}}}
    instance = {"one": part.instance, "two": copy.deepcopy(part.instance)}
    return Sample(schema, instance, [(), *part.under("one"), *part.under("two")])


def extended(draw, depth):
    base, more = described_object(draw, depth, "ab"), described_object(draw, depth, "cd")
    schema = {"allOf": [ref(base), more.schema]}
    return Sample(schema, base.instance | more.instance, [(), *base.described[1:], *more.described[1:]])


def overlapping(draw, depth):
    """Two branches describe one inner object, each a part of its keys: it must stay open, and nothing else."""
    inner, other = described_object(draw, depth, "ab"), described_object(draw, depth, "cd")
    schema = {
        "type": "object",
        "properties": {"o": inner.schema},
        "allOf": [{"properties": {"o": other.schema}}],
    }
    kept = [path for part in (inner, other) for path in part.under("o") if path != ("o",)]
    return Sample(schema, {"o": inner.instance | other.instance}, [(), *kept])


def refined(draw, depth):
    """A branch only narrows an inner object that another describes whole: the whole one is closed."""
    inner = described_object(draw, depth, "ab")
    narrow = {"properties": {"o": {"required": sorted(inner.instance), "type": "object"}}}
    schema = {"type": "object", "properties": {"o": inner.schema}, "allOf": [narrow]}
    return Sample(schema, {"o": inner.instance}, [(), *inner.under("o")])


def tagged(draw, depth):
    one, two = described_object(draw, depth, "ab", "one"), described_object(draw, depth, "bc", "two")
    word = draw(st.sampled_from(["anyOf", "oneOf"]))
    branches = [ref(one) if draw(st.booleans()) else one.schema, two.schema]
    chosen = draw(st.sampled_from([one, two]))
    return Sample({word: branches}, chosen.instance, chosen.described)


def conditional(draw, depth):
    base, more = described_object(draw, depth, "ab", "more"), described_object(draw, depth, "cd")
    condition = {"properties": {"kind": {"const": "more"}}, "required": ["kind"]}
    if draw(st.booleans()):
        schema = base.schema | {"if": condition, "then": more.schema}
        return Sample(schema, base.instance | more.instance, [(), *base.described[1:], *more.described[1:]])
    schema = base.schema | {"if": {"not": condition}, "then": more.schema}
    return Sample(schema, base.instance, base.described)


def dependent(draw, depth):
    base, more = described_object(draw, depth, "a", "x"), described_object(draw, depth, "cd")
    schema = base.schema | {"dependentSchemas": {"kind": more.schema}}
    return Sample(schema, base.instance | more.instance, [(), *base.described[1:], *more.described[1:]])


def patterned(draw, depth):
    part = draw(samples(depth))
    schema = {"type": "object", "patternProperties": {"^x-": part.schema, "^y-": {"type": "integer"}}}
    return Sample(schema, {"x-1": part.instance, "y-1": 1}, [(), *part.under("x-1")])


def recursive(draw, depth):
    node = described_object(draw, depth, "ab")
    to = ref(node)
    node.schema["properties"]["next"] = {"anyOf": [{"$ref": to["$ref"]}, {"type": "null"}]}
    instance = copy.deepcopy(node.instance) | {"next": copy.deepcopy(node.instance)}
    return Sample(to, instance, [*node.described, *node.under("next")])


def required_only(draw, depth):
    return Sample({"type": "object", "required": ["must"]}, {"must": 1}, [()])


def gather(schema, definitions):
    """Move every inner `$defs` to the root's."""
    if isinstance(schema, dict):
        for name, target in schema.pop("$defs", {}).items():
            definitions[name] = gather(target, definitions)
        for value in schema.values():
            gather(value, definitions)
    elif isinstance(schema, list):
        for item in schema:
            gather(item, definitions)
    return schema


def contract_of(sample):
    definitions = {}
    schema = gather(copy.deepcopy(sample.schema), definitions)
    return Contract(schema | {"$defs": definitions}, name="generated")


GENEROUS = settings(deadline=None, suppress_health_check=list(HealthCheck))


@GENEROUS
@given(samples())
def test_closing_never_refuses_an_answer_that_fits(sample):
    assert contract_of(sample).judge_text(json.dumps(sample.instance)) == ()


@GENEROUS
@given(samples())
def test_closing_refuses_an_unknown_key_at_every_described_object(sample):
    contract = contract_of(sample)
    for path in sample.described:
        answer = copy.deepcopy(sample.instance)
        at = answer
        for step in path:
            at = at[step]
        at["unheard of"] = 1
        assert contract.judge_value(answer), path


@GENEROUS
@given(samples())
def test_closing_twice_changes_nothing(sample):
    once = contract_of(sample)
    twice = Contract(once.schema, name="generated")
    assert (twice.schema, twice.digest) == (once.schema, once.digest)
