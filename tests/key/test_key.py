from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from onetake.errors import FormatError, UsageError
from onetake.key import Keyer
from onetake.key.canonical import ExactNumber
from onetake.key.volatile import today
from onetake.model import Request
from onetake.settings import KeyRules, Replace

URL = "https://api.example.com/v1/chat/completions"
JSON = (("content-type", "application/json"),)
CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def post(body: object, url: str = URL, headers: tuple[tuple[str, str], ...] = ()) -> Request:
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return Request("POST", url, JSON + headers, data)


NO_RULES = KeyRules()


def keys(*bodies: object, rules: KeyRules = NO_RULES) -> list[str]:
    return [Keyer(rules).key(post(body)) for body in bodies]


def differ(*bodies: object) -> bool:
    return len(set(keys(*bodies))) == len(bodies)


def same(*bodies: object) -> bool:
    return len(set(keys(*bodies))) == 1


def test_the_key_is_the_digest_of_the_text_that_the_reference_shows():
    request = Request(
        "post",
        "https://API.openai.com:443/v1/chat/completions?b=2&key=secret&a=1",
        (("OpenAI-Beta", "x=1"), ("Content-Type", "application/json"), ("User-Agent", "any")),
        b'{"temperature": 1.0, "model": "m", "t": "\\u00e9\\ud83d"}',
    )
    canonical = (
        '{"body":{"json":{"model":"m","t":"é\\ud83d","temperature":1},"kind":"json"},'
        '"headers":[["openai-beta","x=1"]],"method":"POST","origin":"https://api.openai.com",'
        '"path":"/v1/chat/completions","query":[["a","1"],["b","2"]]}'
    )
    assert Keyer().key(request) == hashlib.sha256(canonical.encode()).hexdigest()


def test_parts_are_what_is_hashed_as_plain_data():
    found = Keyer().parts(post('{"n":1e50,"f":0.5,"i":2}', URL + "?b=1&a", (("Anthropic-Beta", "t"),)))
    assert found == {
        "method": "POST",
        "origin": "https://api.example.com",
        "path": "/v1/chat/completions",
        "query": [["a"], ["b", "1"]],
        "headers": [["anthropic-beta", "t"]],
        "body": {"kind": "json", "json": {"f": 0.5, "i": 2, "n": "1e50"}},
    }
    assert isinstance(found["body"]["json"]["n"], ExactNumber)


def test_a_decorated_function_has_its_own_origin():
    found = Keyer().parts(Request("CALL", "function:app.Labels.label", (), b'{"model":"m"}'))
    assert (found["origin"], found["path"], found["body"]["json"]) == ("function:", "app.Labels.label", {"model": "m"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"max_tokens": 16}, {"max_tokens": 4000}),
        ({"logit_bias": {"5": 1}}, {"logit_bias": {"5": 2}}),
        ({"seed": 1}, {"seed": 2}),
    ],
)
def test_br_001_sampling_fields_count(one, other):
    assert differ(CHAT, CHAT | one, CHAT | other)


@pytest.mark.parametrize("field", [{"options": {"num_ctx": 1}}, {"top_k": 1}, {"x_vendor_flag": True}])
def test_br_002_fields_that_nobody_knows_count(field):
    changed = json.loads(json.dumps(field).replace("1", "2").replace("true", "false"))
    assert differ(CHAT, CHAT | field, CHAT | changed)


def test_br_004_tool_choice_counts_streamed_or_not():
    choices = ["auto", "required", "none", {"type": "function", "function": {"name": "f"}}]
    bodies = [CHAT | {"tool_choice": choice, "stream": stream} for choice in choices for stream in (True, False)]
    assert len(bodies) == 8
    assert differ(*bodies)


def test_br_012_the_order_of_fields_does_not_count():
    assert same('{"model":"m","messages":[]}', '{"messages":[],"model":"m"}')


def test_br_014_fresh_ids_on_the_wire_miss_unless_a_path_ignores_them():
    def sent(one: str, two: str) -> dict[str, object]:
        return {"model": "m", "messages": [{"role": "user", "content": "hi", "id": one}, {"id": two}]}

    rules = KeyRules(ignore=("$.messages[*].id",))
    assert differ(sent("a", "b"), sent("c", "d"))
    assert len(set(keys(sent("a", "b"), sent("c", "d"), rules=rules))) == 1
    assert Keyer(rules).spec() == {"ignore": ["$.messages[*].id"]}


def test_br_017_the_order_of_a_wire_list_counts():
    assert differ(*({"tools": [{"enum": list(order)}]} for order in itertools.permutations("abc")))


def test_br_021_omitted_null_and_zero_are_three():
    assert differ(
        CHAT,
        CHAT | {"temperature": None},
        CHAT | {"temperature": 0},
        CHAT | {"temperature": False},
        CHAT | {"temperature": ""},
    )


def test_br_022_what_travels_outside_the_body_counts():
    requests = [
        post(CHAT),
        post(CHAT, "https://api.example.org/v1/chat/completions"),
        post(CHAT, "https://api.example.com/v2/chat/completions"),
        post(CHAT, "http://api.example.com/v1/chat/completions"),
        post(CHAT, URL + "?api-version=1"),
        post(CHAT, URL + "?api-version=2"),
        post(CHAT, headers=(("anthropic-beta", "a"),)),
        post(CHAT, headers=(("anthropic-beta", "b"),)),
        Request("PUT", URL, JSON, post(CHAT).body),
    ]
    assert len({Keyer().key(request) for request in requests}) == 9


def test_br_023_white_space_does_not_count():
    assert same(json.dumps(CHAT), json.dumps(CHAT, separators=(",", ":")), json.dumps(CHAT, indent=3) + "\r\n")


def test_br_024_raw_and_escaped_text_have_one_key():
    assert same('{"t":"é"}', '{"t":"\\u00e9"}', '{"t":"\\u00E9"}')
    assert differ('{"t":"é"}', '{"t":"e\u0301"}', '{"t":"\\\\u00e9"}')


def test_br_026_keys_beyond_the_bmp_are_sorted_by_code_point():
    # Ours is no RFC 8785, where U+1F600 comes before U+FF21: the reference says so.
    request = post('{"\U0001f600":1,"\uff21":2}')
    assert list(Keyer().parts(request)["body"]["json"]) == ["\uff21", "\U0001f600"]
    assert same('{"\U0001f600":1,"\uff21":2}', '{"\\uff21":2,"\\ud83d\\ude00":1}')


def test_br_029_a_lone_surrogate_has_a_key_of_its_own():
    assert same('{"t":"\\ud83d"}', '{"t":"\\uD83D"}')
    assert differ('{"t":"\\ud83d"}', '{"t":"\\\\ud83d"}', '{"t":"\\ud83e"}', '{"t":"?"}', '{"t":""}')


def test_br_030_integers_beyond_doubles_are_exact():
    assert differ('{"id":9007199254740992}', '{"id":9007199254740993}', '{"id":9007199254740992.5}')
    digits = "7" * 6000
    assert differ(f'{{"id":{digits}}}', f'{{"id":{digits[:-1]}8}}')
    assert same(f'{{"id":{digits}}}', f'{{"id":{digits}.0}}', f'{{"id":{digits[0]}.{digits[1:]}e5999}}')


def test_br_031_nan_is_keyed_by_bytes():
    assert differ('{"n":NaN}', '{"n": NaN}', '{"n":null}', '{"n":"NaN"}', '{"n":Infinity}')
    assert Keyer().parts(post('{"n":NaN}'))["body"]["kind"] == "bytes"


def test_br_032_duplicate_keys_are_never_folded():
    assert differ('{"score":1,"score":5}', '{"score":5}', '{"score":1}', '{"score":5,"score":1}')
    assert differ('{"a":[{"k":1,"k":5}]}', '{"a":[{"k":5}]}')


def test_br_035_header_noise_does_not_count():
    noise = (
        *(("user-agent", "SDK 3"), ("x-stainless-lang", "python"), ("content-length", "1"), ("traceparent", "00-1")),
        *(("idempotency-key", "k"), ("cookie", "s=1"), ("authorization", "Bearer x"), ("accept-encoding", "gzip")),
    )
    assert Keyer().key(post(CHAT, headers=noise)) == Keyer().key(post(CHAT))


def upload(boundary: str, data: bytes) -> Request:
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n'
    body = f"{head}Content-Type: image/png\r\n\r\n".encode() + data + f"\r\n--{boundary}--\r\n".encode()
    return Request("POST", URL, (("Content-Type", f"multipart/form-data; boundary={boundary}"),), body)


def test_br_037_a_random_boundary_does_not_count_and_one_byte_of_the_file_does():
    key = Keyer().key
    assert key(upload("a1b2", b"\xff\xd8\x00")) == key(upload("----c3d4", b"\xff\xd8\x00"))
    assert key(upload("a1b2", b"\xff\xd8\x00")) != key(upload("a1b2", b"\xff\xd8\x01"))


def test_br_045_a_turn_without_user_text_is_keyed_whole():
    def turn(call: str, result: str) -> dict[str, object]:
        return {"messages": [*CHAT["messages"], {"role": "tool", "tool_call_id": call, "content": result}]}

    assert differ(turn("c1", "4"), turn("c2", "4"), turn("c1", "5"))


def test_br_075_a_body_that_is_no_text_is_keyed_by_its_bytes():
    data = bytes.fromhex("ffd8003dfe")
    key = Keyer().key
    sent = [
        Request("POST", URL, (("content-type", "image/jpeg"),), body)
        for body in (data, data[:-1], data.replace(b"\xff", b""))
    ]
    assert len({key(request) for request in sent}) == 3
    assert Keyer().parts(sent[0])["body"] == {
        "kind": "bytes",
        "type": "image/jpeg",
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    assert key(upload("b", data)) != key(upload("b", data[1:]))


RULES = KeyRules(
    ignore=("$.trace",),
    ids=("$.id",),
    volatile=("today",),
    replace=(Replace("run-[0-9]+", "run-N"),),
    headers=("x-my-tenant",),
    origins={"http://127.0.0.1:*": "local"},
)


def test_a_rule_that_touches_nothing_moves_nothing():
    for request in (post(CHAT), post("x=1"), Request("GET", URL), upload("b", b"\xff")):
        assert Keyer(RULES).key(request) == Keyer().key(request)


def test_rules_leave_url_and_headers_alone():
    request = post(CHAT, URL + "?run=run-1&day=2026-11-29", (("openai-beta", "run-1"),))
    assert Keyer(RULES).key(request, (date(2026, 11, 29),)) == Keyer().key(request)


def test_origins_and_declared_headers():
    local = [post(CHAT, f"http://127.0.0.1{port}/v1") for port in ("", ":1", ":65535")]
    assert {Keyer(RULES).parts(request)["origin"] for request in local} == {"local"}
    assert len({Keyer(RULES).key(request) for request in local}) == 1
    tenants = [post(CHAT, headers=(("X-My-Tenant", name),)) for name in ("a", "b")]
    assert len({Keyer(RULES).key(request) for request in tenants}) == 2
    assert len({Keyer().key(request) for request in tenants}) == 1


def test_volatile_takes_todays_days_unless_told_others():
    day = today()[0]
    asked = post({"t": f"Today is {day}."})
    assert Keyer(RULES).key(asked) == Keyer(RULES).key(post({"t": "Today is [onetake:today]."}))
    assert Keyer(RULES).key(asked, (date(1999, 1, 1),)) != Keyer(RULES).key(asked)
    assert Keyer(RULES).today() == today()
    assert Keyer().today() is None


def test_what_spec_stores_keys_the_request_again_on_any_later_day():
    days = (date(2026, 11, 28), date(2026, 11, 29))
    spec = Keyer(RULES).spec(days)
    assert spec == {
        "ignore": ["$.trace"],
        "ids": ["$.id"],
        "volatile": ["today"],
        "today": ["2026-11-28", "2026-11-29"],
        "replace": [{"pattern": "run-[0-9]+", "with": "run-N"}],
        "headers": ["x-my-tenant"],
        "origins": {"http://127.0.0.1:*": "local"},
    }
    request = post({"t": "2026-11-29 run-5", "trace": 1, "id": "x"}, "http://127.0.0.1:9/v1", (("x-my-tenant", "t"),))
    keyer, stored_days = Keyer.from_spec(json.loads(json.dumps(spec)))
    assert stored_days == days
    assert keyer.key(request, stored_days) == Keyer(RULES).key(request, days) != Keyer().key(request)
    assert keyer.spec(stored_days) == spec


def test_without_rules_the_spec_is_empty():
    keyer, days = Keyer.from_spec({})
    assert (Keyer().spec(), keyer.spec(), days) == ({}, {}, None)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"volatyle": ["today"]}, "'volatyle' is unknown"),
        ({"ignore": "$.a"}, "ignore is no list"),
        ({"ignore": ["a"]}, "must start with"),
        ({"ignore": [1]}, "damaged"),
        ({"volatile": ["today"]}, "volatile and today go together"),
        ({"today": ["2026-11-29"]}, "volatile and today go together"),
        ({"volatile": ["today"], "today": ["29.11.2026"]}, "Invalid isoformat"),
        ({"replace": [{"pattern": "a"}]}, "with"),
        ({"origins": ["a"]}, "damaged"),
    ],
)
def test_damaged_rules_of_an_entry_are_a_format_error(spec, message):
    with pytest.raises(FormatError, match=message):
        Keyer.from_spec(spec)


def test_a_wrong_rule_is_a_usage_error_when_the_keyer_is_made():
    for rules in (
        KeyRules(ignore=("a",)),
        KeyRules(headers=("cookie",)),
        KeyRules(origins={"h": "w"}),
        KeyRules(volatile=("now",)),
    ):
        with pytest.raises(UsageError, match=r"^key\."):
            Keyer(rules)


def test_what_is_taken_from_the_headers_can_be_compared():
    one = post(CHAT, headers=(("User-Agent", "a"),))
    assert Keyer().headers(one) == Keyer().headers(post(CHAT)) == ("application/json", "", "[]")
    assert Keyer().headers(post(CHAT, headers=(("openai-beta", "a"),))) != Keyer().headers(one)


def test_the_example_of_the_reference_has_the_key_that_it_says():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "key.md").read_text(encoding="utf-8")
    request = post('{"temperature":1.0,"model":"m"}', "https://api.openai.com/v1/chat/completions?b=2&a=1")
    request = replace(request, headers=(*JSON, ("OpenAI-Beta", "x=1")))
    assert f"This one's key is `{Keyer().key(request)}`." in page
