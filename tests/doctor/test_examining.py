"""The examination of whole projects."""

from __future__ import annotations

import json

import pytest

from onetake.doctor.examining import counts, examine
from onetake.doctor.hazards import HazardKind
from onetake.doctor.sources import root_of

CONFTEST = """
import pytest

@pytest.fixture(scope="module")
def vcr_config():
    return {"filter_headers": ["authorization"]}
"""
SUITE = """
import pytest
from app.label import label_all

@pytest.mark.vcr
def test_labels():
    assert label_all(["a", "b"]) == ["x", "y"]
"""
THREADS = """
from concurrent.futures import ThreadPoolExecutor

def ask(text):
    return text

def label_all(lines):
    with ThreadPoolExecutor() as pool:
        return list(pool.map(ask, lines))
"""
LABEL, REASON, WORDS = '{"label": "x"}', '{"reason": "y", "score": 1}', "[[ ## summary ## ]]\nwell"


def test_the_third_call_type_is_named_as_the_cause_with_the_threads_that_make_it_fatal(
    project, interaction, cassette, found
):
    calls = [interaction("a", LABEL), interaction("b", REASON), interaction("c", WORDS)]
    folder = project(
        {
            "tests/conftest.py": CONFTEST,
            "tests/test_label.py": SUITE,
            "app/label.py": THREADS,
            "tests/cassettes/test_label/test_labels.yaml": cassette(*calls),
        }
    )
    assert found(folder) == [
        ("different-shapes", "tests/cassettes/test_label/test_labels.yaml", 19),
        ("concurrent", "tests/test_label.py", 6),
        ("match-without-body", "tests/conftest.py", 5),
    ]
    shapes, threads, config = examine(folder).hazards
    assert shapes.message.split("\n") == [
        "POST https://api.openai.com/v1/chat/completions: 3 different bodies, answers of 3 shapes:"
        " JSON {label} | JSON {reason, score} | text with fields {summary}",
        "opened by tests/test_label.py::test_labels, which can run calls at the same time (ThreadPoolExecutor)",
    ]
    assert threads.message == (
        "tests/test_label.py::test_labels may run calls at the same time (ThreadPoolExecutor, line 8 in app/label.py)"
    )
    assert config.message == (
        "match_on without the body (nothing is said, so vcrpy compares method, scheme, host, port, path, query): 1 test"
    )
    assert all(one.cassettes == (folder / "tests/cassettes/test_label/test_labels.yaml",) for one in (shapes, config))


def test_a_suite_that_compares_bodies_has_no_hazard(project, interaction, cassette, found):
    conftest = CONFTEST.replace("{", '{"match_on": ["method", "uri", "body"], ', 1)
    calls = [interaction("a", LABEL), interaction("b", REASON)]
    folder = project(
        {
            "tests/conftest.py": conftest,
            "tests/test_label.py": SUITE,
            "app/label.py": THREADS,
            "tests/cassettes/test_label/test_labels.yaml": cassette(*calls),
        }
    )
    assert found(folder) == []


def test_answers_of_one_shape_are_told_apart_from_those_of_several(project, interaction, cassette):
    folder = project({"a.yaml": cassette(interaction("a", LABEL), interaction("b", LABEL.replace("x", "y")))})
    (hazard,) = examine(folder).hazards
    assert (hazard.kind, hazard.line) == (HazardKind.EQUAL_SHAPES, 19)
    assert hazard.message.endswith("2 different bodies, answers of one shape: JSON {label}")


def test_what_is_no_cassette_of_vcrpy_is_counted_or_left_alone(project, cassette, interaction):
    ruby = {"http_interactions": [], "recorded_with": "VCR 6.0.0"}
    folder = project(
        {
            "ruby.yml": json.dumps(ruby),
            "compose.yaml": "services: {web: {image: nginx}}\n",
            "package.json": '{"dependencies": {"request": "1"}}',
            "cassettes/torn.yaml": "interactions:\n- request: {",
            "cassettes/other.yaml": "interactions:\n- request_stream: {}\n  response_stream: {}\nversion: 1\n",
            "cassettes/empty.yaml": "interactions: []\nversion: 1\n",
            "a.yaml": cassette(interaction()),
        }
    )
    report = examine(folder)
    assert (report.cassettes, report.interactions, report.hazards) == (2, 1, [])
    assert sum(report.foreign.values()) + len(report.unread) == 3
    assert [path.name for path, _ in report.unread][-1:] == ["torn.yaml"]


def test_a_part_of_a_project_is_examined_under_the_configuration_above_it(project, interaction, cassette, found):
    calls = cassette(interaction("a", LABEL), interaction("b", REASON))
    folder = project(
        {
            "tests/conftest.py": CONFTEST,
            "tests/one/test_a.py": "import pytest\n\n@pytest.mark.vcr(match_on=['body'])\ndef test_a(): ...\n",
            "tests/one/cassettes/test_a/test_a.yaml": calls,
            "tests/two/test_b.py": "import pytest\n\n@pytest.mark.vcr\ndef test_b(): ...\n",
            "tests/two/cassettes/test_b/test_b.yaml": calls,
        }
    )
    assert root_of(folder / "tests" / "one") == folder
    assert found(folder, folder / "tests" / "one") == []
    assert [kind for kind, _, _ in found(folder, folder / "tests" / "two")] == [
        "different-shapes",
        "match-without-body",
    ]


def test_nothing_of_a_project_runs(project, found):
    trap = "raise SystemExit('it ran')\n"
    folder = project({"conftest.py": trap, "tests/conftest.py": trap + CONFTEST, "tests/test_a.py": trap + SUITE})
    assert [kind for kind, _, _ in found(folder)] == ["match-without-body"]


def test_counts_are_by_kind_the_worst_first(project, interaction, cassette):
    secret = interaction(headers={"authorization": ["Bearer a8f3k29dk20dk39dk2"]})
    folder = project({"b.yaml": cassette(secret), "a.yaml": cassette(interaction("a"), interaction("b"))})
    assert list(counts(examine(folder).hazards).items()) == [("equal-shapes", 1), ("secret", 1)]


@pytest.mark.parametrize("text", ["a: *x", "&a [*a]", "\0", "- " * 5000, "!!python/object/apply:os.system ['true']"])
def test_hostile_files_are_no_error(project, found, text):
    folder = project({"cassettes/a.yaml": f"interactions: {text}", "conftest.py": "(" * 3000, "test_a.py": "x = \0"})
    assert found(folder) == []
