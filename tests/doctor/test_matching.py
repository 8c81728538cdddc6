"""Whether a matcher's text compares whole bodies."""

from __future__ import annotations

import ast
import textwrap

import pytest

from onetake.doctor.matching import compares_body

NAMES = {
    "whole": "vcr.matchers.body",
    "path": "vcr.matchers.path",
    "m.body": "vcr.matchers.body",
    "m.uri": "vcr.matchers.uri",
}


def told(text):
    """Return what the text of a function of the requests *a* and *b* tells."""
    tree = ast.parse("def mine(a, b):\n" + textwrap.indent(text, "    "))
    return compares_body(tree.body[0], lambda name: NAMES.get(name, name))


@pytest.mark.parametrize(
    "text",
    [
        "return a.body == b.body",
        "assert a.raw_body == b.raw_body",
        "if a.body != b.body:\n    raise AssertionError",
        "return a.method == b.method and json.loads(a.body) == json.loads(b.body)",
        "return json.loads(a.body.decode()) == json.loads(b.body.decode())",
        "one = json.loads(a.body or b'{}')\ntwo = json.loads(b.body or b'{}')\nassert one == two",
        "one, two = a.body, b.body\nif isinstance(one, bytes) and not two:\n    return False\nreturn one == two",
        "return (a.method, a.body) == (b.method, b.body)",
        "try:\n    return json.loads(a.body) == json.loads(b.body)\nexcept ValueError:\n    return a.body == b.body",
        "if a.method == 'GET':\n    return True\nreturn a.body == b.body",
        "whole(a, b)",
        "return m.body(a, b)",
    ],
)
def test_these_compare_whole_bodies(text):
    assert told(text) is True


@pytest.mark.parametrize(
    "text",
    [
        "return json.loads(a.body)['model'] == json.loads(b.body)['model']",
        "return a.body == b.body or a.path == b.path",
        "return len(a.body) == len(b.body)",
        "return clean(a.body) == clean(b.body)",
        "one, two = json.loads(a.body), json.loads(b.body)\none.pop('user')\ntwo.pop('user')\nreturn one == two",
        "one = json.loads(a.body)\ntwo = json.loads(b.body)\ndrop(one)\nassert one == two",
        "one = json.loads(a.body)\none = one['model']\nassert one == json.loads(b.body)",
        "return a.body[:9] == b.body[:9]",
        "print(a.body)\nreturn a.path == b.path",
        "return same(a, b)",
        "return json.loads(a.body)['x'] == 1 if a.body else a.body == b.body",
    ],
)
def test_of_these_it_is_not_clear(text):
    assert told(text) is None


@pytest.mark.parametrize("text", ["return a.path == b.path", "path(a, b)", "return True", "return m.uri(a, b)"])
def test_these_do_not_look_at_bodies(text):
    assert told(text) is False
