"""Bodies that are parsed for several askers."""

from __future__ import annotations

from onetake.picking import document


def test_a_body_is_parsed_once_for_all_who_ask_and_another_one_anew():
    body, other = bytes(bytearray(b'{"a": 1}')), bytes(bytearray(b'{"a": 2}'))
    first = document(body)
    assert document(body) is first == {"a": 1}
    assert document(other) == {"a": 2}
    assert document('{"a": 3}') == {"a": 3}
    assert document(body) == {"a": 1}


def test_what_is_no_object_or_no_strict_json_is_empty():
    assert [document(data) for data in (b"", b"[1]", b'{"a": NaN}', b'{"a": 1, "a": 2}', "x")] == [{}] * 5
