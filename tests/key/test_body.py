from __future__ import annotations

import gzip
import hashlib
import json
from datetime import date

import pytest

from onetake.key.body import body_text
from onetake.key.rules import BodyRules, compile_rules
from onetake.settings import KeyRules, Replace

RUNS = compile_rules(KeyRules(replace=(Replace("run-[0-9]+", "run-N"),)))


NO_RULES = BodyRules()


def keyed(body: bytes | str, content_type: str = "", encoding: str = "", rules: BodyRules = NO_RULES) -> dict:
    return json.loads(body_text(body.encode() if isinstance(body, str) else body, content_type, encoding, rules))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("content_type", ["", "application/json", "image/png", "multipart/form-data; boundary=b"])
def test_an_empty_body_is_none_whatever_its_type(content_type):
    assert keyed("", content_type) == {"kind": "none"}
    assert keyed(gzip.compress(b""), content_type, "gzip") == {"kind": "none"}


@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON ;charset=utf-8", "application/vnd.api+json", ""]
)
def test_json_by_any_of_its_types_or_by_its_look(content_type):
    assert keyed(' {"b":1.0,"a":[]}', content_type) == {"kind": "json", "json": {"a": [], "b": 1}}


def test_without_a_type_only_objects_and_arrays_are_json():
    assert keyed("[1]") == {"kind": "json", "json": [1]}
    for body in ("1", '"x"', "{broken", "null"):
        assert keyed(body) == {"kind": "bytes", "type": "", "sha256": sha256(body.encode())}
    assert keyed("1", "application/json") == {"kind": "json", "json": 1}


@pytest.mark.parametrize(
    "body", [b'{"n":NaN}', b'{"n":1,"n":2}', b'{"n":1}\n{"n":2}', b"\xff", b"[" * 300 + b"]" * 300]
)
def test_what_is_no_strict_json_is_keyed_by_its_bytes(body):
    assert keyed(body, "application/json") == {"kind": "bytes", "type": "application/json", "sha256": sha256(body)}
    assert keyed(gzip.compress(body), "application/json", "gzip") == keyed(body, "application/json")


def test_another_type_is_bytes_even_if_it_looks_like_json():
    assert keyed("{}", "Text/Plain; charset=utf-8") == {"kind": "bytes", "type": "text/plain", "sha256": sha256(b"{}")}


def test_br_024_a_form_is_its_decoded_pairs_sorted():
    form = "application/x-www-form-urlencoded; charset=utf-8"
    expected = {"kind": "form", "pairs": [["a"], ["a", ""], ["a", "é x"], ["b", "2"]]}
    assert keyed("b=2&a=%C3%A9+x&a=&a", form) == expected
    assert keyed("a&a=&a=é%20x&b=2", form) == expected


def test_rules_work_on_form_values_not_names_and_sorting_comes_after():
    form = "application/x-www-form-urlencoded"
    assert keyed("run-1=x&a=run-9&a=b", form, rules=RUNS) == {
        "kind": "form",
        "pairs": [["a", "b"], ["a", "run-N"], ["run-1", "x"]],
    }


def test_rules_work_on_text_and_not_on_other_bytes():
    assert keyed("in run-7 é", "text/markdown", rules=RUNS)["sha256"] == sha256("in run-N é".encode())
    assert keyed(b"in run-7 \xff", "text/plain", rules=RUNS)["sha256"] == sha256(b"in run-7 \xff")
    assert keyed("in run-7", "application/xml", rules=RUNS)["sha256"] == sha256(b"in run-7")


def test_a_multipart_is_its_parts_in_order_and_rules_work_on_its_texts():
    body = (
        b'--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nrun-7\r\n'
        b'--b\r\nContent-Disposition: form-data; name="f"; filename="a.bin"\r\n'
        b"Content-Type: image/png\r\nX-A: 1\r\n\r\nrun-7\r\n--b--\r\n"
    )
    assert keyed(body, "multipart/form-data; boundary=b", rules=RUNS) == {
        "kind": "multipart",
        "type": "multipart/form-data",
        "parts": [
            {"name": "prompt", "filename": None, "type": None, "sha256": sha256(b"run-N")},
            {
                "name": "f",
                "filename": "a.bin",
                "type": "image/png",
                "sha256": sha256(b"run-7"),
                "headers": [["x-a", "1"]],
            },
        ],
    }


def test_a_broken_multipart_is_bytes():
    assert keyed(b"--b\r\n", "multipart/form-data; boundary=b") == {
        "kind": "bytes",
        "type": "multipart/form-data",
        "sha256": sha256(b"--b\r\n"),
    }


def test_an_encoding_that_cannot_be_undone_leaves_the_bytes_as_sent():
    assert keyed("{}", "application/json", "gzip") == {
        "kind": "bytes",
        "type": "application/json",
        "sha256": sha256(b"{}"),
    }
    assert keyed("{}", "application/json", "x-unknown")["sha256"] == sha256(b"{}")


def test_rules_on_strings_may_bring_in_any_character():
    long = '{"t":"' + "x" * 20_000 + ' 2026-11-29"}'
    dated = BodyRules(days=(date(2026, 11, 29),), replaced=((RUNS.replaced[0][0], "é"),))
    assert "xéx" in body_text(long.replace("xx", "xrun-1", 1).encode(), "application/json", "", dated)
    assert keyed(long, "application/json", rules=dated)["json"]["t"].endswith("x [onetake:today]")
