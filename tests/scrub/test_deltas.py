from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.scrub.deltas import holds_none
from onetake.scrub.finder import Finder
from onetake.scrub.lanes import Search, document, edits

KEY = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vW7"
FINDER = Finder()


def lanes_find(events):
    """Tell whether the walk through every event, which `holds_none` spares, finds something to edit."""
    origins = range(0, 10_000 * len(events), 10_000)
    documents = [
        document(text, range(start, start + len(text) + 1), Search(FINDER), clean=True, joins=joins)
        for start, (text, joins) in zip(origins, events, strict=True)
    ]
    return bool(edits(documents, FINDER, clean=True))


def sent(*bodies, joins=True):
    return [(body if isinstance(body, str) else json.dumps(body), joins) for body in bodies]


def delta(text, **more):
    return {"id": "chatcmpl-1", "n": 7, "choices": [{"index": 0, "delta": {"content": text}}], **more}


HALVES = (KEY[:13], KEY[13:])


@pytest.mark.parametrize(
    "events",
    [
        sent(*map(delta, HALVES)),
        sent(*map(delta, KEY)),
        sent(delta("a"), delta("b"), delta("c "), *map(delta, HALVES)),
        sent(delta(HALVES[0], n=1), delta("", n=2.5e3), delta(HALVES[1], n=-3)),
        sent(*({"type": "delta", "item_id": item, "d": text} for text in HALVES for item in ("a", "b"))),
        sent(*({"output_index": number, "d": text} for text in HALVES for number in (0, 1))),
        sent("data ", *HALVES),
        sent('{"a": "' + HALVES[0], HALVES[1] + '"}'),
        sent(*(json.dumps(delta(text)).replace("sk-proj", "\\u0073k-proj") for text in HALVES)),
        sent({"api_key": "hunter2 hunter2"}),
        sent('{"api_key": "hunter2 hunter2'),
        sent({"tools": [{"headers": [["authorization", "hunter2"]]}]}, joins=False),
        sent("https://a.example.com/", "https://user:hunter22", "hunter22@b.example.com/"),
    ],
)
def test_what_the_walk_finds_is_not_let_pass(events):
    assert lanes_find(events)
    assert not holds_none(events, FINDER)


def test_streams_that_are_built_alike_share_no_text():
    assert [holds_none(sent(delta(half)), FINDER) for half in HALVES] == [True, True]
    assert not holds_none(sent(*map(delta, HALVES)), FINDER)
    turns = [{"output_index": number, "d": text} for number, text in enumerate(HALVES)]
    assert holds_none(sent(*turns), FINDER)
    assert not holds_none(sent(*turns, {"output_index": 0, "d": HALVES[1]}), FINDER)


@pytest.mark.parametrize(
    "events",
    [
        sent(delta("Hello"), delta(" world"), "[DONE]"),
        sent(*(delta(text, usage=[number, number / 3]) for number, text in enumerate(HALVES[0]))),
        sent(*({"choices": [{"index": number, "delta": text}]} for number, text in enumerate(HALVES))),
        sent(*({"encrypted_content": text} for text in HALVES)),
        sent(*map(delta, ["https://a.example.com/sk-", "https://b.example.com/" + HALVES[1]])),
        sent(*(delta("x", id="chatcmpl-CkYw0y2HhXy2lq8PpN1c") for _ in range(3))),
        sent(*HALVES, joins=False),
        sent('{"broken": ', "no JSON", '{"index": 01}', '{"index": 1}'),
    ],
)
def test_what_holds_none_is_let_pass(events):
    assert holds_none(events, FINDER)
    assert not lanes_find(events)


pieces = st.sampled_from(["", "a", "sk-", "proj-", HALVES[0], HALVES[1], KEY[:3], KEY[3:], 'q"\\', "long enough"])
leaves = pieces | st.integers(0, 2) | st.floats(allow_nan=False, width=16) | st.none()
names = st.sampled_from(["index", "type", "item_id", "delta", "text", "signature", "a1", "a2"])
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)
texts = st.builds(json.dumps, values) | pieces.filter(bool) | st.sampled_from(['{"a": 01}', '{"a": 1 1}', '["x'])


@given(st.lists(texts, max_size=4), st.lists(st.integers(0, 3), max_size=9), st.booleans())
def test_it_never_lets_pass_what_the_walk_finds(texts, order, joins):
    events = [(texts[at], joins) for at in order if at < len(texts)]
    if all(not FINDER.suspects(text) for text, _ in events) and holds_none(events, FINDER):
        assert not lanes_find(events)
