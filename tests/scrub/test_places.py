"""Where strings are in a JSON text, and what their names say of them."""

import json

import pytest

from onetake.jsonpath import parse
from onetake.scrub.places import Number, Role, holds_a_named_secret, names_a_secret, offsets, places, token_spans


def roles(value, *declared, role=Role.SECRET, **options):
    found = places(json.dumps(value), [parse(path) for path in declared], **options)
    return [(place.where, place.text) for place in found if place.role is role]


@pytest.mark.parametrize(
    "text",
    [
        '{"long_name": "b", "c": ["d", 1.50, {"another_name": "\\u00e9\\n\\"\\ud83d\\ude00"}], "g": -0e1}',
        "[]",
        '"alone"',
        '{"duplicate": 1, "duplicate": "two"}',
        '{"a": NaN, "b": -Infinity, "c": "\tx"}',
        ' [ {"spaced" :\r\n "out" } , 12 ] ',
    ],
)
def test_each_place_finds_its_token_in_the_text(text):
    spans = token_spans(text)
    for place in places(text, [parse("$.c"), parse("$.g")]):
        start, end = spans[place.token]
        spelled = (
            text[start:end] if isinstance(place.text, Number) else json.loads(f'"{text[start:end]}"', strict=False)
        )
        assert spelled == place.text


def test_strings_come_in_the_order_of_the_text():
    assert [place.text for place in places('{"b": "1", "a": ["2", {"c": "3"}], "d": "4"}')] == ["1", "2", "3", "4"]


def test_offsets_map_decoded_characters_to_their_escapes():
    text = r'{"k": "a\né😀b"}'
    start, end = token_spans(text)[1]
    assert offsets(text, start, end) == [start, start + 1, start + 3, start + 4, start + 5, start + 6]
    text = '"\\u00e9\\ud83d\\ude00b"'
    assert offsets(text, 1, len(text) - 1) == [1, 7, 19, 20]


@pytest.mark.parametrize("text", ["{", "", "nothing", '{"a": }', "[" * 100_000])
def test_what_is_no_json_is_said_so(text):
    with pytest.raises(ValueError):
        places(text)


def test_names_count_in_the_envelope_at_any_depth():
    body = {"model": "m", "auth": {"deep": [{"access_token": "t1"}]}, "apiKey": "t2", "password": ["t3", {"type": "x"}]}
    assert roles(body) == [("$.auth.deep[0].access_token", "t1"), ("$.apiKey", "t2"), ("$.password[0]", "t3")]


@pytest.mark.parametrize(
    "field",
    [
        "messages",
        "input",
        "contents",
        "system",
        "prompt",
        "tool_calls",
        "choices",
        "output",
        "candidates",
        "functions",
        "response_format",
        "text",
        "delta",
        "answer",
        "generationConfig",
    ],
)
def test_names_do_not_count_in_content(field):
    assert (
        roles({field: [{"password": "x", "headers": {"Authorization": "y"}, "mcp_servers": [{"api_key": "z"}]}]}) == []
    )


def test_a_tools_parameters_are_content():
    schema = {"type": "object", "properties": {"password": {"type": "string"}, "api_key": {"const": "x"}}}
    tools = [
        {"type": "function", "function": {"name": "login", "parameters": schema}},
        {"name": "login", "input_schema": schema, "password": "p"},
        {"functionDeclarations": [{"name": "login", "parameters": schema}]},
    ]
    assert roles({"tools": tools}) == [("$.tools[1].password", "p")]


def test_br_100_nested_secrets_of_mcp_servers_and_tools():
    body = {
        "mcp_servers": [{"url": "u", "authorization_token": "a", "headers": {"Authorization": "b", "X-Trace": "no"}}],
        "tools": [
            {"type": "mcp", "server_url": "u", "authorization": "c", "headers": {"X-Acme-Token": ["d", "e"]}},
            {"mcpServers": [{"transport": {"headers": {"x-api-key": "f"}, "env": {"GITHUB_TOKEN": "g"}}}]},
        ],
        "requests": [{"params": {"mcp_servers": [{"headers": [["Authorization", "h"], ["Accept", "no"]]}]}}],
        "session": {
            "tools": [{"headers": [{"name": "Authorization", "value": "i"}, {"name": "Accept", "value": "no"}]}]
        },
    }
    assert [text for _, text in roles(body)] == list("abcdefghi")


def test_a_decorated_functions_own_arguments_are_envelope():
    body = {"function": "label", "arguments": {"api_key": "k", "messages": [{"password": "no"}]}}
    assert roles(body) == []
    assert roles(body, arguments_are_envelope=True) == [("$.arguments.api_key", "k")]


def test_declared_paths_hold_all_that_lies_under_them():
    body = {"meta": {"who": {"name": "n", "ids": [12, "x"]}}, "rows": [{"v": "1"}, {"v": "2"}]}
    assert roles(body, "$.meta.who", role=Role.DECLARED) == [
        ("$.meta.who.name", "n"),
        ("$.meta.who.ids[0]", "12"),
        ("$.meta.who.ids[1]", "x"),
    ]
    assert roles(body, "$.rows[*].v", role=Role.DECLARED) == [("$.rows[0].v", "1"), ("$.rows[1].v", "2")]
    assert roles(body, "$.rows[1].v", role=Role.DECLARED) == [("$.rows[1].v", "2")]
    assert roles([{"v": "1"}, {"v": "2"}], "$[1].v", role=Role.DECLARED) == [("$[*].v", "2")]


@pytest.mark.parametrize("name", ["signature", "thoughtSignature", "thought_signature", "encrypted_content"])
def test_opaque_fields(name):
    assert roles({"messages": [{name: "x"}], name: {"y": "z"}}, role=Role.OPAQUE) == [
        (f"$.messages[0].{name}", "x"),
        (f"$.{name}.y", "z"),
    ]


def test_lanes_tell_choices_apart_and_join_events():
    def lane(value):
        return [place.lane for place in places(json.dumps(value)) if place.text in ("a", "b")]

    zero = {"choices": [{"index": 0, "delta": {"content": "a"}}]}
    one = {"choices": [{"index": 1, "delta": {"content": "b"}}]}
    assert lane(zero) != lane(one)
    assert lane(zero) == lane(json.loads(json.dumps(zero).replace('"a"', '"b"')))
    first, second = lane([{"text": "a"}, {"text": "b"}])
    assert first == second


def test_a_quick_look_for_names():
    assert names_a_secret('{"a": {"api_key" : "x"}}') and names_a_secret('{"headers": {}}')
    assert not names_a_secret('{"max_tokens": 5, "messages": [{"content": "api_key"}]}')


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('{"request": {"headers": [["content-type", "application/json"]]}, "key": "7f6f"}', False),
        ('{"headers": {"Accept": "x"}, "env": {"HOME": "/"}, "extra_headers": []}', False),
        ('{"a": {"api_key" : "x"}}', True),
        ('{"headers": [["content-type", "json"], ["Authorization", "x"]]}', True),
        ('{"headers": [["content-type", "json"]], "request": {"headers" :\n [["x-api-key", "x"]]}}', True),
        ('{"headers": {"a": {"headers": {"x-acme-token": "x"}}}}', True),
        ('{"headers": {"\\u0061uthorization": "x"}}', True),
        ('{"headers": [{"name": "Authorization", "value": "x"}]}', True),
        ('{"env": {"GITHUB_TOKEN": "x"}}', True),
        ('{"headers": [{"name": "authorization", "name": "x", "value": "hunter2secret99"}]}', True),
        ('{"headers": {"a": {"x-acme-token": "x"}, "a": 1}}', True),
        ('{"headers": "a \\"headers\\": {", "env": 1, "x": "headers"}', False),
        ('{"headers": [["accept", "x"], ["author', True),  # cut: nobody knows
    ],
)
def test_a_quick_look_also_reads_headers(text, holds):
    assert holds_a_named_secret(text) is holds
    if holds and text[-1] == "}":
        assert any(place.role is Role.SECRET for place in places(text))
