"""What other people recorded more than once: the same request, asked again on another day, of real providers."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest

from onetake import dialects
from onetake.importers.reading import files_under, read
from onetake.model import Entry, KeySpec
from onetake.probing.comparing import compare
from onetake.probing.findings import Compared, Severity


@pytest.fixture(scope="module")
def answered(corpora) -> list[Entry]:
    """Every answer of a known API, as an entry."""
    found = [one for path in files_under([corpora / "vcrpy"]) for one in read(path).interactions]
    return [
        Entry("good", one.request, one.response, "0" * 64, 0, KeySpec("k1", "s1"))
        for one in found
        if one.request and one.response and one.request.method == "POST" and 200 <= one.response.status < 300
        if dialects.find("POST", one.request.url)
    ]


def beside(entry: Entry, other: Entry):
    return compare(entry, other.response, name="a.json", root=Path(), scrub=str)


@pytest.mark.whole
def test_no_answer_differs_from_itself(answered):
    assert len(answered) > 100
    found = [(entry.request.url, beside(entry, entry)) for entry in answered]
    assert [one for one in found if not isinstance(one[1], Compared) or one[1].findings] == []


@pytest.mark.whole
def test_the_same_request_asked_again_does_not_drift(answered):
    same = defaultdict(dict)
    for entry in answered:
        same[entry.request.url, entry.request.body][entry.response.body] = entry
    pairs = [pair for answers in same.values() for pair in list(combinations(answers.values(), 2))[:4]]
    worst = [found.worst() for pair in pairs if isinstance(found := beside(*pair), Compared)]
    assert len(worst) > 30
    assert Severity.ERROR not in worst
    assert worst.count(Severity.WARNING) <= 1, "OpenAI had added `annotations` between the two"
