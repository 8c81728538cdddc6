"""How a job was edited, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onetake.batch.editing import edit
from onetake.batch.job import Ask
from onetake.batch.remembering import Asked

NOW = Ask("http://h/v1", "m", "Label {message}", system="Brief.", params={"temperature": 0})


def said(**before):
    return edit(Asked(replace(NOW, **before), None, "answer", 0), NOW)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ({"prompt": "Label {message}\n"}, "prompt differs by one trailing newline"),
        ({"prompt": "Label {message}\n\n"}, "prompt differs by 2 trailing newlines"),
        ({"prompt": "Label  {message}"}, "prompt differs in white space alone"),
        ({"prompt": "Name {message}"}, 'prompt was "Name {message}", is "Label {message}"'),
        ({"system": ""}, 'system was "", is "Brief."'),
        ({"model": "n"}, "model was 'n', is 'm'"),
        ({"params": {}}, "params.temperature was not there, is 0"),
        ({"params": {"temperature": 0, "seed": None}}, "params.seed was None, is not there"),
        ({"model": "n", "api": "anthropic"}, "api was 'anthropic', is 'openai'; model was 'n', is 'm'"),
        ({}, "the job was edited"),
    ],
)
def test_what_was_edited_is_said(before, words):
    assert said(**before) == words


def test_another_schema_is_said():
    assert edit(Asked(NOW, {"type": "object"}, "answer", 0), NOW, {"type": "array"}) == "another schema is sent"
