"""The JSON that a text is."""

import pytest

from onetake.probing.heard import NOTHING
from onetake.probing.texts import is_fenced, said_json


@pytest.mark.parametrize(
    ("text", "is_held", "value"),
    [
        ('{"a": 1}', False, {"a": 1}),
        (" [1]\n", False, [1]),
        ("42", False, NOTHING),
        ("42", True, 42),
        ("null", True, None),
        ('{"a": 1', True, NOTHING),
        ('{"a": NaN}', False, NOTHING),
        ("```json\n{}\n```", False, {}),
        ("```\n42\n```", False, NOTHING),
        ("```\n42\n```", True, 42),
        ("Here: {}", True, NOTHING),
        (None, True, NOTHING),
    ],
)
def test_which_texts_are_json(text, is_held, value):
    assert said_json(text, is_held=is_held) == value


@pytest.mark.parametrize(
    ("text", "fenced"),
    [
        ('```json\n{"a": "`x`"}\n```', True),
        (" \n~~~ JSON \r\n[]\r\n ~~~\n", True),
        ("````json\n{}\n````", True),
        ("```json\n```", True),
        ("````json\n{}\n```", False),
        ("```json\n{}", False),
        ("```json\n{}\n~~~", False),
        ("Here:\n```json\n{}\n```", False),
        ("```json\n{}\n```\nThat is it.", False),
        ("```{}```", False),
        ("{}", False),
        (None, False),
    ],
)
def test_a_fence_is_the_whole_text(text, fenced):
    assert is_fenced(text) is fenced


def test_two_fences_are_no_json():
    assert said_json("```\n{}\n```\n```\n{}\n```", is_held=True) is NOTHING
