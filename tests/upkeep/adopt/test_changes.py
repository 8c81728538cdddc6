"""What changed between two requests, in words."""

from __future__ import annotations

import json

import pytest

from onetake.compare import differences
from onetake.key import Keyer
from onetake.model import Request
from onetake.upkeep.adopt.changes import changes

URL = "https://api.openai.com/v1/chat/completions"
BODY = {"model": "gpt-5", "messages": [{"role": "user", "content": "Sort this"}], "temperature": 0.5}


def parts(body, url=URL, headers=()):
    return Keyer().parts(
        Request("POST", url, (("content-type", "application/json"), *headers), json.dumps(body).encode())
    )


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ({"messages": [{"role": "user", "content": "Sort that"}]}, "the prompt changed"),
        (
            {"messages": [{"role": "user", "content": "Sort this"}, {"role": "user", "content": "?"}]},
            "the prompt changed",
        ),
        ({"messages": [{"role": "user", "content": "Sort this", "refusal": None}]}, "field refusal added"),
        ({"system": "Be brief"}, "the prompt changed"),
        ({"model": "gpt-6"}, "the model changed"),
        ({"seed": 7}, "field seed added"),
        ({"metadata": {"sdk": "2"}}, "field metadata added"),
        ({"temperature": 0.7}, "parameter temperature changed"),
        ({"tools": [{"type": "function"}]}, "field tools added"),
    ],
)
def test_a_difference_of_the_body_has_a_name(now, said):
    assert changes(differences(parts({**BODY, **now}), parts(BODY))) == (said,)


def test_what_is_gone_is_removed():
    assert changes(differences(parts(BODY), parts({**BODY, "seed": 7}))) == ("field seed removed",)


def test_address_and_headers_have_names_too():
    there = parts(BODY, URL.replace("/v1/", "/v2/"), (("openai-beta", "assistants=v2"),))
    assert changes(differences(there, parts(BODY))) == ("the URL changed", "header openai-beta added")


def test_several_changes_are_each_said_once_in_order():
    now = {**BODY, "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}], "a": 1, "n": 2}
    assert changes(differences(parts(now), parts(BODY))) == ("field a added", "the prompt changed", "field n added")
