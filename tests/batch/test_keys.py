"""Keys by putting a template's text together: always the key of the whole request."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onetake.batch.asking import Asking, MissingFieldError
from onetake.batch.job import Ask
from onetake.batch.keys import Keys
from onetake.key import Keyer
from onetake.settings import KeyRules, Replace

SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}}


def ask(**more):
    return Ask(**{"base_url": "http://h:1/v1", "model": "m", "prompt": "Label {m}", **more})


ASKS = (
    ask(),
    ask(system="Brief."),
    ask(system="{s}", prompt="{m}"),
    ask(system="As {s}. {{}}", api="anthropic"),
    ask(prompt="no place", params={"temperature": 0.1, "seed": 10**20}, structured=True),
    ask(prompt="{m}{s}\n\u2028", system="\ue000", structured=True),
)
_text = st.text(st.characters(), max_size=20)


@pytest.mark.parametrize("said", ASKS, ids=range(len(ASKS)))
@given(m=_text | st.integers() | st.none(), s=_text)
@example(m="\ue000onetake: the prompt\ue000", s="")
@example(m='"\\\n\u0000', s="\ud83d")
@example(m="1" * 60, s="x" * 17000)
def test_the_key_is_that_of_the_whole_request(said, m, s):
    asking = Asking(said, SCHEMA, "label")
    data = {"m": m, "s": s}
    assert Keys(asking, Keyer()).of(data) == Keyer().key(asking.request(data))


@pytest.mark.parametrize("prompt", ["\ue000onetake: the prompt\ue000", "x \ue000onetake: the system\ue000 {m}"])
def test_a_prompt_that_looks_like_a_mark_is_keyed_as_a_whole(prompt):
    asking = Asking(ask(prompt=prompt, system=prompt, params={"user": prompt}))
    data = {"m": "hi"}
    assert Keys(asking, Keyer()).of(data) == Keyer().key(asking.request(data))


@pytest.mark.parametrize(
    "rules", [KeyRules(replace=(Replace("[0-9]+", "N"),)), KeyRules(ignore=("$.messages",)), KeyRules(ids=("$.user",))]
)
def test_rules_of_the_project_count(rules):
    asking, keyer = Asking(ask()), Keyer(rules)
    for data in ({"m": "7 up"}, {"m": "8 up"}):
        assert Keys(asking, keyer).of(data) == keyer.key(asking.request(data))


def test_what_code_builds_is_keyed_as_a_whole():
    asking = Asking(ask(), build=lambda data: {"model": "m", "messages": [], "user": data["m"]})
    assert Keys(asking, Keyer()).of({"m": "a"}) == Keyer().key(asking.request({"m": "a"}))


def test_a_missing_field_is_told():
    with pytest.raises(MissingFieldError, match="'m'"):
        Keys(Asking(ask()), Keyer()).of({"n": 1})
