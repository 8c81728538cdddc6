from __future__ import annotations

import copy
import json
import subprocess
import sys
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.compare import Difference, differences, distance, value_differences
from onetake.key.canonical import ExactNumber

CHAT = {
    "model": "gpt-5",
    "messages": [
        {"role": "system", "content": "You label support tickets."},
        {"role": "user", "content": "The printer is on fire."},
    ],
    "temperature": 0,
    "max_tokens": 100,
    "seed": 7,
    "stream": False,
    "tools": [{"type": "function", "function": {"name": name}} for name in ("search", "fetch", "close")],
    "response_format": {"type": "json_object"},
    "metadata": {"tenant": "a"},
}


def parts(body=CHAT, /, **changed):
    whole = {
        "method": "POST",
        "origin": "https://api.openai.com",
        "path": "/v1/chat/completions",
        "query": [],
        "headers": [],
        "body": {"kind": "json", "json": body},
    }
    return {**whole, **changed}


def conversation(turns, length=40):
    """Chat messages, each with its own text of about *length* characters."""
    return [
        {
            "role": ("user", "assistant")[n % 2],
            "content": f"Turn {n}: " + "".join(chr(97 + (n + k) % 26) for k in range(length)),
        }
        for n in range(turns)
    ]


def test_equal_requests_have_no_difference():
    assert differences(parts(), copy.deepcopy(parts())) == []
    assert distance(parts(), copy.deepcopy(parts())) == 0


@pytest.mark.parametrize(
    ("name", "value", "asked", "stored"),
    [
        ("model", "gpt-4.1", '"gpt-4.1"', '"gpt-5"'),
        ("temperature", 0.7, "0.7", "0"),
        ("max_tokens", 200, "200", "100"),
        ("seed", None, "null", "7"),
        ("stream", True, "true", "false"),
        ("response_format", "text", '"text"', '{"type": "json_object"}'),
    ],
)
def test_one_changed_parameter_is_named_by_its_path(name, value, asked, stored):
    found = differences(parts({**CHAT, name: value}), parts())
    assert found == [Difference(f"body$.{name}", "changed", asked, stored)]


def test_a_parameter_that_came_or_went_is_named():
    assert differences(parts({**CHAT, "n": 2}), parts()) == [Difference("body$.n", "added", "2", "")]
    assert differences(parts(), parts({**CHAT, "n": 2})) == [Difference("body$.n", "removed", "", "2")]


def test_numbers_are_equal_by_value_and_true_is_no_number():
    assert value_differences([1, 10, Decimal("0.5")], [1.0, 1e1, 0.5]) == []
    assert value_differences({"a": True}, {"a": 1}) == [Difference("$.a", "changed", "true", "1")]
    assert value_differences({"a": False}, {"a": 0}) == [Difference("$.a", "changed", "false", "0")]
    assert value_differences([10**5000], [10**5000 + 1]) == [
        Difference("$[0]", "changed", "(int, too large to show)", "(int, too large to show)")
    ]


def test_numbers_that_are_held_as_their_text():
    big = ExactNumber("1e999")
    assert value_differences([big], [ExactNumber("1e999")]) == []
    assert value_differences(big, ExactNumber("2e999")) == [Difference("$", "changed", "1e999", "2e999")]
    assert value_differences(1e999, [1e999]) == [Difference("$", "changed", "1e999", '["1e999"]')]
    assert value_differences(big, "1e999") == [Difference("$", "changed", "1e999", '"1e999"')]


def test_omitted_null_and_zero_differ():
    assert [d.kind for d in value_differences({"a": None}, {})] == ["added"]
    assert value_differences({"a": None}, {"a": 0}) == [Difference("$.a", "changed", "null", "0")]


def test_method_and_url_are_compared_part_by_part():
    asked = parts(
        method="GET",
        origin="https://eu.api.openai.com",
        path="/v1/models",
        query=[["api-version", "2026-01-01"], ["tag", "a"], ["tag", "c"]],
    )
    stored = parts(query=[["api-version", "2025-06-01"], ["page", "1"], ["tag", "a"], ["tag", "b"]])
    assert differences(asked, stored) == [
        Difference("method", "changed", '"GET"', '"POST"'),
        Difference("url.origin", "changed", '"https://eu.api.openai.com"', '"https://api.openai.com"'),
        Difference("url.path", "changed", '"/v1/models"', '"/v1/chat/completions"'),
        Difference("url.query.api-version", "changed", '"2026-01-01"', '"2025-06-01"'),
        Difference("url.query.tag[1]", "changed", '"c"', '"b"'),
        Difference("url.query.page", "removed", "", '"1"'),
    ]


def test_headers_are_compared_by_name():
    asked = parts(headers=[["anthropic-beta", "tools-2"], ["openai-beta", "x"]])
    assert differences(asked, parts(headers=[["anthropic-beta", "tools-1"]])) == [
        Difference("headers.anthropic-beta", "changed", '"tools-2"', '"tools-1"'),
        Difference("headers.openai-beta", "added", '"x"', ""),
    ]


def test_bodies_of_other_kinds():
    form = parts(body={"kind": "form", "pairs": [["grant", "a"], ["scope", "x"]]})
    other = parts(body={"kind": "form", "pairs": [["grant", "b"], ["scope", "x"]]})
    assert differences(form, other) == [Difference("body.grant", "changed", '"a"', '"b"')]
    assert differences(form, parts()) == [Difference("body.kind", "changed", '"form"', '"json"')]
    raw = parts(body={"kind": "bytes", "sha256": "aa"})
    assert differences(raw, parts(body={"kind": "bytes", "sha256": "bb"})) == [
        Difference("body.sha256", "changed", '"aa"', '"bb"')
    ]
    file, renamed = (
        parts(body={"kind": "multipart", "parts": [{"name": "file", "filename": name, "sha256": "aa"}]})
        for name in ("a.wav", "b.wav")
    )
    assert differences(file, renamed) == [Difference("body.parts[0].filename", "changed", '"a.wav"', '"b.wav"')]


def test_br_014_a_random_message_id_is_named_by_its_path():
    asked, stored = copy.deepcopy(CHAT), copy.deepcopy(CHAT)
    asked["messages"][0]["id"], stored["messages"][0]["id"] = "mVDEy6MXiFvzKQm4o3fsGF", "HzoDj9nLm7mBz5Mf3uGcgk"
    assert differences(parts(asked), parts(stored)) == [
        Difference("body$.messages[0].id", "changed", '"mVDEy6MXiFvzKQm4o3fsGF"', '"HzoDj9nLm7mBz5Mf3uGcgk"')
    ]


def test_br_017_same_members_in_another_order():
    def with_enum(colours):
        schema = {"type": "object", "properties": {"colour": {"enum": colours}}}
        return parts({**CHAT, "tools": [{"type": "function", "function": {"name": "paint", "parameters": schema}}]})

    found = differences(with_enum(["red", "green", "blue"]), with_enum(["red", "blue", "green"]))
    path = "body$.tools[0].function.parameters.properties.colour.enum"
    assert found == [Difference(path, "order", "green, blue", "blue, green")]


def test_br_017_the_order_does_not_depend_on_the_process():
    script = (
        "from onetake.compare import differences, distance\n"
        "body = lambda names: {'body': {'kind': 'json', 'json': {name: [name, 'x' * len(name)] for name in names}}}\n"
        "a, b = body(['one', 'two', 'three', 'four', 'six']), body(['two', 'one', 'five', 'four', 'seven'])\n"
        "print(differences(a, b), distance(a, b))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(runs) == 1
    assert "body$.three" in runs.pop()


def test_only_the_order_of_tools_differs():
    turned = {**CHAT, "tools": CHAT["tools"][::-1]}
    assert differences(parts(turned), parts()) == [
        Difference("body$.tools", "order", "close, fetch, search", "search, fetch, close")
    ]


def test_members_without_a_name_are_shown_by_their_start():
    assert value_differences({"steps": [[1], {"do": "x" * 60}]}, {"steps": [{"do": "x" * 60}, [1]]}) == [
        Difference(
            "$.steps",
            "order",
            '[1], {"do": "xxxxxxxxxxxx…xxxxxxxxxxxxxxxxx"}',
            '{"do": "xxxxxxxxxxxx…xxxxxxxxxxxxxxxxx"}, [1]',
        )
    ]


def test_a_message_put_in_does_not_shift_what_follows():
    before = conversation(813)
    new = {"role": "user", "content": "By the way, in French please."}
    after = [*before[:400], new, *before[400:]]
    found = differences(parts({**CHAT, "messages": after}), parts({**CHAT, "messages": before}))
    assert found == [
        Difference("body$.messages[400]", "added", json.dumps(new), ""),
    ]
    assert differences(parts({**CHAT, "messages": before}), parts({**CHAT, "messages": after})) == [
        Difference("body$.messages[400]", "removed", "", json.dumps(new))
    ]


def test_a_message_put_in_before_a_changed_one_is_told_apart_from_it():
    before = conversation(6)
    after = copy.deepcopy(before)
    after[5]["content"] += " And quickly."
    after.insert(5, {"role": "user", "content": "Something else altogether."})
    found = differences(parts({**CHAT, "messages": after}), parts({**CHAT, "messages": before}))
    assert [(d.path, d.kind) for d in found] == [
        ("body$.messages[5]", "added"),
        ("body$.messages[6].content", "changed"),
    ]


def test_br_046_a_long_text_is_shown_only_round_its_change():
    asked, stored = copy.deepcopy(CHAT), copy.deepcopy(CHAT)
    filler = "The quick brown fox jumps over the lazy dog. " * 180
    stored["messages"][1]["content"] = filler + "Answer in English." + filler
    asked["messages"][1]["content"] = filler + "Answer in French." + filler
    assert differences(parts(asked), parts(stored)) == [
        Difference(
            "body$.messages[1].content",
            "changed",
            '"… over the lazy dog. Answer in French.The quick brown fox jumps ov…"',
            '"… over the lazy dog. Answer in English.The quick brown fox jumps ov…"',
        )
    ]


def test_json_inside_a_string_is_compared_as_json():
    def call(arguments):
        function = {"name": "weather", "arguments": arguments}
        return parts({"messages": [{"role": "assistant", "tool_calls": [{"function": function}]}]})

    path = "body$.messages[0].tool_calls[0].function.arguments"
    assert differences(call('{"city": "Paris", "days": 1}'), call('{"days": 2, "city": "Paris"}')) == [
        Difference(path + "$.days", "changed", "1", "2")
    ]
    assert differences(call('{"days": 1}'), call('{"days":1}')) == [
        Difference(path, "changed", '"{"days": 1}"', '"{"days":1}"')
    ]
    assert differences(call('{"days": 1'), call('{"days": 2')) == [
        Difference(path, "changed", '"{"days": 1"', '"{"days": 2"')
    ]


@pytest.mark.parametrize(
    ("asked", "stored", "shown"),
    [
        ("\x1b]8;;https://evil.example\x07a\x1b[31m", "b", ('"a"', '"b"')),
        ("\u202eabc", "abd", ('"\\u202eabc"', '"abd"')),
        ("nul\x00", "nul", ('"nul\\x00"', '"nul"')),
        ("\ud800", "x", ('"\ufffd"', '"x"')),
        ("one\ntwo", "one\nthree", ('"one⏎two"', '"one⏎three"')),
    ],
)
def test_excerpts_are_printable(asked, stored, shown):
    (found,) = value_differences({"text": asked}, {"text": stored})
    assert (found.asked, found.stored) == shown


def test_hostile_names_and_megabytes_stay_printable_and_short():
    asked = {"\x1b[31m\n\u202e": 1, "big": "x" * 1_000_000, "list": ["\x1b[2J" * 1000] * 3}
    found = value_differences(asked, {"big": 1, "list": [1]})
    assert [d.path for d in found][:2] == ['$["\\u001b[31m\\n\\u202e"]', "$.big"]
    for difference in found:
        assert difference.asked.isprintable() and difference.stored.isprintable()
        assert len(difference.asked) + len(difference.stored) < 400
    (query,) = differences(parts(query=[["a\x1b[31m\nb", "1"]]), parts())
    assert query.path == "url.query.a⏎b"


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ([1] * 65, [1.0] * 65, []),
        ([True] * 65, [1] * 65, None),
        ([0] * 64, [1] * 64, None),
        (
            [0] * 65,
            [1] * 65,
            [("65 numbers, all differ: " + "0, " * 12 + "…", "65 numbers, all differ: " + "1, " * 12 + "…")],
        ),
        ([0] * 65 + [2], [0] * 65 + [3], [("66 numbers, 1 differs: 2", "66 numbers, 1 differs: 3")]),
        ([0] * 3, [1] * 66, [("3 numbers", "66 numbers")]),
        ([ExactNumber("0.10")] * 65, [ExactNumber("0.2")] * 65, 1),
    ],
)
def test_a_long_array_of_numbers_is_one_difference(a, b, told):
    found = value_differences({"x": a}, {"x": b}, 500)
    if told is None or isinstance(told, int):
        assert len(found) == (told or len(a))
    else:
        assert [(one.asked, one.stored) for one in found] == told


def test_the_list_is_bounded():
    a, b = {str(n): n for n in range(1000)}, {str(n): -n - 1 for n in range(1000)}
    assert len(value_differences(a, b)) == 50
    assert [d.path for d in differences(parts(a), parts(b), limit=2)] == ['body$["0"]', 'body$["1"]']


def test_values_nested_too_deep_to_walk_are_compared_whole():
    def nested(leaf, depth):
        for _ in range(depth):
            leaf = {"a": leaf}
        return leaf

    for depth in (70, 5000):
        assert value_differences(nested(1, depth), nested(1.0, depth)) == []
        (found,) = value_differences(nested(1, depth), nested(2, depth))
        assert found.path == "$" + ".a" * 64
        assert distance(parts(nested(1, depth)), parts(nested(2, depth))) > 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text('ab{"\x1b\ud800', max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab.", max_size=2), inner, max_size=3),
    max_leaves=12,
)


@given(JSON, JSON)
def test_a_difference_is_reported_exactly_where_values_differ(a, b):
    equal = json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)
    assert (value_differences(a, b) == []) is equal
    assert (distance(parts(a), parts(b)) == 0) is equal
    there, back = value_differences(a, b), value_differences(b, a)
    assert sorted(d.kind for d in there if d.kind == "order") == sorted(d.kind for d in back if d.kind == "order")
    for difference in there:
        assert f"{difference.path}{difference.asked}{difference.stored}".isprintable()


def test_distance_orders_what_a_reader_would_call_near():
    text = "Label this ticket: " + "".join(chr(97 + n % 26) for n in range(8000))

    def chat(model="gpt-5", prompt=text, **more):
        return {**CHAT, "model": model, "messages": [{"role": "user", "content": prompt}], **more}

    asked = parts(chat())
    order = [
        parts(chat(temperature=1)),
        parts(chat(model="gpt-4.1")),
        parts(chat(prompt=text[:-200] + "x" * 200)),
        parts(chat(prompt="Something else. " * 500)),
        parts(chat(), path="/v1/responses"),
    ]
    far = [distance(asked, stored) for stored in order]
    assert far == sorted(far) and len(set(far)) == len(far)
    assert far[0] > 0


def test_true_and_one_are_not_at_distance_zero():
    assert distance(parts({"logprobs": True}), parts({"logprobs": 1})) == 0.5
