"""Which differences may be adopted, which with a caution, and which never."""

from __future__ import annotations

import json

import pytest

from onetake.key import Keyer
from onetake.model import Request
from onetake.upkeep.adopt.allowing import EDITED, Pair, cautions, may_be_taken, refusal
from onetake.upkeep.adopt.nearness import Asked
from onetake.upkeep.adopt.operations import operations, tree_of, whole

CHAT = "https://api.openai.com/v1/chat/completions"
OTHER = "https://api.example.com/v1/rerank-all"
MESSAGES = "https://api.anthropic.com/v1/messages"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent"
BASE = {"model": "gpt-5", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": {"type": "object"}}}
TOOL = {"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}
OTHER_TOOL = {"type": "function", "function": {"name": "u", "parameters": {"type": "object"}}}
UUIDS = ("5f2b9c1e-7a30-4d68-9c1e-7a304d685f2b", "0c7d4e9a-12b8-4f36-8e9a-12b85f360c7d")


def request(body, url=CHAT, *headers):
    return Request("POST", url, (("content-type", "application/json"), *headers), json.dumps(body).encode())


def judged(old, new, adopted=()):
    """Return the refusal and the cautions for taking the answer to one request for that to another."""
    before, after = (tree_of(Keyer().parts(one)) for one in (old, new))
    found = whole(operations(before, after), before, after)
    assert found
    pair = Pair(old, new, before["body"].get("json"), "2026-03-01T10:00:00Z", adopted)
    return refusal(found, pair), cautions(found)


def told(old, new, **more):
    return judged(request({**BASE, **old}), request({**BASE, **new}), **more)


def messages(*said):
    return {"messages": [{"role": role, "content": content} for role, content in said]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"store": False}),
        ({}, {"service_tier": "auto"}),
        ({}, {"user": "b"}),
        ({"metadata": {"sdk": "1"}}, {"metadata": {"sdk": "1", "lang": "py"}}),
        ({}, {"metadata": {"sdk": "2"}, "store": True}),
        (messages(("user", "a")), {"messages": [{"role": "user", "content": "a", "refusal": None}]}),
    ],
)
def test_a_member_that_was_added_is_adopted_without_a_word(old, new):
    assert told(old, new) == (None, ())


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ({}, {"model": "gpt-6"}, 'another model is asked: "gpt-5" is now "gpt-6"'),
        ({}, {"models": ["a"]}, "$.models: another model"),
        ({}, {"stream": True}, "$.stream: a parameter"),
        ({"stream": True}, {}, "a parameter"),
        ({}, {"temperature": 1}, "$.temperature: a parameter"),
        ({}, {"temperature": None}, "a parameter"),
        ({}, {"topP": 1}, "a parameter"),
        ({}, {"generationConfig": {"seed": 1}}, "a parameter"),
        ({}, {"stream_options": {"include_usage": True}}, "a parameter"),
        ({"temperature": 0}, {"temperature": 1}, "a parameter"),
        ({"max_tokens": 5}, {}, "a parameter"),
        ({}, {"response_format": SCHEMA}, "schema"),
        ({"response_format": SCHEMA}, {"response_format": {"type": "json_object"}}, "schema"),
        ({}, {"tools": [TOOL]}, "the tools"),
        ({"tools": [TOOL]}, {"tools": [OTHER_TOOL]}, "the tools"),
        ({"tools": [TOOL, OTHER_TOOL]}, {"tools": [OTHER_TOOL, TOOL]}, "the tools"),
        ({}, {"system": "Be brief"}, "the prompt"),
        ({}, {"input": "x"}, "the prompt"),
        ({}, {"previous_response_id": "r"}, "the conversation"),
        ({"conversation_id": "red"}, {"conversation_id": "blue"}, "it looks like an id"),
        ({"user": "a"}, {"user": "b"}, "$.user: it has another value, and nothing is known"),
        ({"user": "a"}, {}, "$.user: it is gone, and nothing is known"),
        ({"metadata": {"sdk": 1}}, {"metadata": {"sdk": 2}}, "it has another value"),
        ({"labels": ["a", "b"]}, {"labels": ["b", "a"]}, "it is in another order"),
        ({}, {"messages": [*BASE["messages"], {"role": "user", "content": "And?"}]}, "more than its words"),
        (messages(("user", "Sort it")), messages(("system", "Sort it")), "more than its words"),
    ],
)
def test_everything_else_is_refused(old, new, word):
    why, _ = told(old, new)
    assert word in why.why


@pytest.mark.parametrize(
    "more",
    [
        {"temperature": 2},
        {"n": 5},
        {"max_tokens": 1},
        {"tool_choice": "none"},
        {"logit_bias": {"1": -100}},
        {"seed": 7},
        {"stop": ["."]},
        {"response_format": {"type": "json_object"}},
        {"web_search_options": {"x": 1}},
        {"prediction": {"type": "content", "content": "no"}},
    ],
)
@pytest.mark.parametrize("url", [CHAT, MESSAGES, OTHER])
def test_a_parameter_that_was_added_is_refused_beside_a_field_that_is_none(url, more):
    why, _ = judged(request(BASE, url), request({**BASE, "store": False, **more}, url))
    assert f"$.{next(iter(more))}: " in why.why


def test_other_words_of_the_program_in_a_prompt_are_adopted_with_a_caution():
    assert told(messages(("user", "Sort teh list")), messages(("user", "Sort the list"))) == (None, (EDITED,))
    parts = [{"role": "user", "content": [{"type": "text", "text": text}]} for text in ("Sort teh list", "Sort it")]
    assert told({"messages": parts[:1]}, {"messages": parts[1:]}) == (None, (EDITED,))


@pytest.mark.parametrize(
    ("url", "old", "new"),
    [
        (MESSAGES, {"system": "Be breif, do"}, {"system": "Be brief, do"}),
        (GEMINI, {"contents": [{"parts": [{"text": "a b"}]}]}, {"contents": [{"parts": [{"text": "a c"}]}]}),
        ("https://api.openai.com/v1/responses", {"input": "a b"}, {"input": "a c"}),
    ],
)
def test_each_api_has_its_own_places_of_a_prompt(url, old, new):
    assert judged(request(old, url), request(new, url)) == (None, (EDITED,))


@pytest.mark.parametrize(
    ("url", "old", "new", "word"),
    [
        (OTHER, {"prompt": "a b"}, {"prompt": "a c"}, "the prompt"),
        ("https://api.openai.com/v1/embeddings", {"input": "a b"}, {"input": "a c"}, "the prompt"),
        (CHAT, {"input": "a b"}, {"input": "a c"}, "the prompt"),
        (MESSAGES, {"output_format": {}}, {"output_format": {"type": "x"}}, "the schema"),
    ],
)
def test_where_an_api_is_not_known_to_have_words_none_are_adopted(url, old, new, word):
    assert word in judged(request(old, url), request(new, url))[0].why


def test_of_an_unknown_api_members_that_were_added_pass():
    assert judged(request({"a": 1}, OTHER), request({"a": 1, "b": 2}, OTHER)) == (None, ())


def test_arguments_of_a_function_are_refused_added_ones_too():
    def call(**arguments):
        return Request(
            "CALL",
            "function:app.label",
            (("content-type", "application/json"),),
            json.dumps({"function": "app.label", "arguments": arguments}).encode(),
        )

    for new in (call(text="a c"), call(text="a b", verbose=False)):
        assert "other arguments" in judged(call(text="a b"), new)[0].why


def test_br_044_an_answer_that_is_repeated_in_the_request_is_no_edit_of_the_prompt():
    old, new = (messages(("user", "a"), ("assistant", said), ("user", "b")) for said in ("It is 1", "It is 2"))
    assert "hang on the old answer" in told(old, new)[0].why
    tool = ({"messages": [{"role": "tool", "content": said}]} for said in ("no rain", "much rain"))
    assert "what a tool returned" in told(*tool)[0].why


def test_br_014_an_id_is_named_as_one_with_its_rule():
    old, new = ({"messages": [{"role": "user", "content": "a", "id": one}]} for one in UUIDS)
    why, _ = told(old, new)
    assert "looks like an id" in why.why
    assert why.rules == 'ids = ["$.messages[*].id"]'


def test_br_111_what_changes_by_itself_in_a_text_is_not_called_an_edit():
    why, _ = told(*(messages(("user", f"Session {one} asks")) for one in UUIDS))
    assert ("looks like an id" in why.why, why.rules.startswith("replace = ")) == (True, True)
    why, _ = told(*(messages(("user", f"Item {one} of the list")) for one in (3, 4)))
    assert "only its digits differ" in why.why


def test_br_111_what_was_adopted_over_one_place_is_not_adopted_over_it_again():
    old, new = messages(("user", "Greet red now")), messages(("user", "Greet blue now"))
    assert told(old, new)[0] is None
    assert "every run" in told(old, new, adopted=["body$.messages[0].content"])[0].why
    assert told(old, new, adopted=["body$.messages[1].content"])[0] is None


def test_an_added_id_is_let_pass_with_a_caution():
    why, (said,) = told({}, {"trace": UUIDS[0]})
    assert why is None
    assert "looks like an id" in said


def test_headers_and_query_that_count_are_refused_in_every_way():
    plain, beta = request(BASE), request(BASE, CHAT, ("anthropic-beta", "a"))
    other = request(BASE, CHAT, ("anthropic-beta", "b"))
    said = [judged(*pair)[0].why for pair in ((plain, beta), (beta, plain), (beta, other))]
    name = "headers.anthropic-beta: a header that counts in the key"
    assert said == [f"{name} was added", f"{name} is gone", f"{name} has another value"]
    assert "part of the query" in judged(plain, request(BASE, CHAT + "?v=2"))[0].why


@pytest.mark.parametrize(
    ("new", "word"),
    [
        (request(BASE, "https://other.example/v1/chat/completions"), "another host"),
        (request(BASE, "https://api.openai.com/v1/responses"), "another call"),
        (Request("PUT", CHAT, (("content-type", "application/json"),), json.dumps(BASE).encode()), "another call"),
        (Request("POST", CHAT, (("content-type", "text/plain"),), b"x"), "another"),
    ],
)
def test_another_call_is_refused(new, word):
    assert word in judged(request(BASE), new)[0].why


def test_a_model_in_the_path_is_shown_whole():
    old, new = (request({"contents": []}, GEMINI.replace("models/g", f"models/{name}")) for name in ("g-1", "g-2"))
    assert judged(old, new)[0].why == 'another model is asked: "g-1" is now "g-2"'


def test_a_promise_of_another_schema_is_refused():
    old = {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"responseMimeType": "application/json"}}
    new = {**old, "generationConfig": {**old["generationConfig"], "responseSchema": {"type": "OBJECT"}}}
    assert "schema" in judged(request(old, GEMINI), request(new, GEMINI))[0].why


@pytest.mark.parametrize(("new", "may"), [({"store": False}, True), ({"model": "gpt-6"}, False)])
def test_status_and_adopt_ask_the_same_table(new, may):
    asked = [Asked(None, "", 0, "", "", request({**BASE, **more}), {}) for more in ({}, new)]
    assert may_be_taken(*asked) is may
