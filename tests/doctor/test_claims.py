"""Comments and docstrings that say that bodies are compared."""

from __future__ import annotations

import pytest

from onetake.doctor.claims import find_claims
from onetake.doctor.sources import Sources


@pytest.fixture
def claims(project):
    """Return a function that finds the claims in the text of a file: (line, text)."""

    def run(text):
        folder = project({"conftest.py": text})
        return [(one.line, one.text) for one in find_claims(Sources(folder).module(folder / "conftest.py"))]

    return run


@pytest.mark.parametrize(
    "said",
    [
        "Match requests on method, uri and body",
        "cassettes are matched on the request body",
        "Requests are matched by URL and body, so concurrent calls are safe",
        "most tests use the default (matches on request body)",
        "on replay the body of the request is compared, too",
        "We match on the body, so nothing is swapped",
        "requests are matched by body because the URL does not tell them apart",
        "cassette entries are keyed by the whole payload",
        "match on everything, incl. the request body",
        "body matching keeps replayed calls apart",
        "vcrpy distinguishes these calls by their bodies",
    ],
)
def test_what_says_so_is_found_in_comments_and_docstrings(claims, said):
    assert claims(f"x = 1\n# {said}\n") == [(2, said)]
    assert claims(f'def vcr_config():\n    """{said}."""\n') == [(2, said)]


@pytest.mark.parametrize(
    "said",
    [
        "Requests are not matched on the body",
        "match on method and uri, ignoring the request body",
        "Body is excluded because URI normalization affects matching",
        "match requests without the body",
        "nothing here matches on a recorded request body",
        "requests match on the path, so the body is not compared",
        "the body has a timestamp, so requests are not matched on it",
        "TODO: match requests on the body",
        "we should match requests on body",
        "compare the response body",
        "sends it twice and compares the two recorded request bodies",
        "requests match by method only on the path, never their body",
        "'match_on': ['method', 'body'],",
        "the request is sent. Everybody matches",
        "match on everything but the body of a request",
    ],
)
def test_what_says_otherwise_or_something_else_is_none(claims, said):
    assert claims(f"x = 1\n# {said}\n") == []


def test_a_claim_over_several_lines_is_one_at_its_own_line(claims):
    text = (
        'x = 1\n# The recorder\n# matches requests by their\n# JSON body.\n\ndef f():\n    """First.\n'
        '\n    Requests match on\n    the body.\n    """\n'
    )
    assert claims(text) == [
        (3, "The recorder matches requests by their JSON body"),
        (9, "Requests match on the body"),
    ]
