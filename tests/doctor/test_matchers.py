"""The matchers that a project registers."""

from __future__ import annotations

import pytest

from onetake.doctor.examining import examine
from onetake.doctor.matchers import Matchers
from onetake.doctor.sources import Sources

HOOK = "from vcr import matchers\nfrom own import partly\n\ndef pytest_recording_configure(config, vcr):\n    {}\n"
PARTLY = "import json\n\ndef partly(a, b):\n    return json.loads(a.body)['model'] == json.loads(b.body)['model']\n"


@pytest.mark.parametrize(
    ("body", "compares"),
    [
        ("def mine(a, b):\n        return a.body == b.body\n    vcr.register_matcher('mine', mine)", True),
        ("mine = lambda a, b: a.body == b.body\n    vcr.register_matcher('mine', mine)", True),
        ("def mine(a, b):\n        assert a.path == b.path\n    vcr.register_matcher('mine', mine)", False),
        ("vcr.register_matcher('mine', lambda a, b: a.host == b.host)", False),
        ("vcr.register_matcher('mine', partly)", None),
        ("vcr.register_matcher('mine', matchers.raw_body)", True),
        ("vcr.register_matcher('mine', matchers.uri)", False),
        ("vcr.register_matcher('mine', make())", None),
        ("vcr.register_matcher(name, make())", None),
    ],
)
def test_one_is_known_by_what_is_registered(project, body, compares):
    matchers = Matchers(Sources(project({"conftest.py": HOOK.format(body), "own.py": PARTLY})))
    assert matchers.compares_body(("uri", "mine")) is compares
    assert matchers.compares_body(("uri", "mine", "body")) is True
    assert matchers.compares_body(("uri", "query")) is False
    assert matchers.compares_body(None) is None


def test_a_matcher_that_sees_a_part_of_the_body_is_not_clear_and_no_hazard(project, interaction, cassette):
    conftest = HOOK.format("vcr.register_matcher('mine', partly)")
    test = "import pytest\n\n@pytest.mark.vcr(match_on=['uri', 'mine'])\ndef test_a(): ...\n"
    calls = cassette(interaction("a", '{"x": 1}'), interaction("b", "[1]"))
    files = {"conftest.py": conftest, "own.py": PARTLY, "test_m.py": test, "cassettes/test_m/test_a.yaml": calls}
    report = examine(project(files))
    assert report.hazards == []
    ((path, line, what),) = report.unclear
    assert (path.name, line) == ("test_m.py", 3)
    assert (
        what == "what is compared cannot be told from the text: 1 cassette with requests that only the body tells apart"
    )
