"""Bodies that are parsed for several askers."""

from __future__ import annotations

import pytest

from onetake import picking
from onetake.picking import document, remember


def test_a_body_is_parsed_once_for_all_who_ask_and_another_one_anew():
    body, other = bytes(bytearray(b'{"a": 1}')), bytes(bytearray(b'{"a": 2}'))
    first = document(body)
    assert document(body) is first == {"a": 1}
    assert document(other) == {"a": 2}
    assert document('{"a": 3}') == {"a": 3}
    assert document(body) == {"a": 1}


def test_what_is_no_object_or_no_strict_json_is_empty():
    assert [document(data) for data in (b"", b"[1]", b'{"a": NaN}', b'{"a": 1, "a": 2}', "x")] == [{}] * 5


def test_the_bodies_of_a_request_and_of_its_response_are_parsed_once_each():
    asked, answered, other = (bytes(bytearray(data)) for data in (b'{"a": 1}', b'{"b": 2}', b'{"c": 3}'))
    first, second = document(asked), document(answered)
    assert document(asked) is first and document(answered) is second
    document(other)
    assert document(answered) is second and document(asked) == first == {"a": 1}


def test_what_is_known_of_a_body_is_not_parsed_and_one_that_is_alike_is_another():
    body, known = bytes(bytearray(b'{"a": 1}')), {"a": 1}
    remember(body, known)
    assert document(body) is known
    assert document(bytes(bytearray(body))) is not known


@pytest.mark.parametrize(("value", "is_one"), [(2**53, True), (2**53 + 1, False), (10**30, False), (True, False)])
def test_a_count_is_no_larger_than_a_number_of_tokens_can_be(value, is_one):
    assert picking.count(value) == (value if is_one else None)
