"""Other people's cassettes: what their list says vcrpy cannot tell apart is what the doctor finds in them."""

from __future__ import annotations

import re

import pytest

from onetake.doctor.examining import examine
from onetake.doctor.hazards import HazardKind
from onetake.importers.reading import files_under

_ROW = re.compile(r"\| `(?P<name>.+?)` \|(?P<cells>.*)\|")
_THE_SAME_WAS_SAID = {
    "openllmetry/test_responses/test_responses.yaml",
    "langsmith-sdk/test_gemini_test_generate_content_stream_async.yaml",
}
"""The list compares bytes there; the model said the same each time."""
_TELEMETRY = (
    "openinference/test_instrumentor/"
    "test_async_pipeline_with_chat_prompt_builder_and_chat_generator_produces_expected_spans.yaml"
)
"""Its different bodies are those of telemetry alone."""
_OBJECTS = {
    "dd-trace-py/anthropic/anthropic_v1_messages_post_a6302ed3.yaml",
    "dd-trace-py/openai/openai_chat_completions_post_930afee9.yaml",
    "vcrpy/old_cassette.yaml",
}


@pytest.fixture(scope="module")
def hazards(corpora) -> dict[str, dict[HazardKind, str]]:
    """What is found in each file."""
    found: dict[str, dict[HazardKind, str]] = {}
    folder = corpora / "vcrpy"
    for one in examine(folder).hazards:
        found.setdefault(one.path.relative_to(folder.absolute()).as_posix(), {})[one.kind] = one.message
    return found


@pytest.fixture(scope="module")
def listed(corpora) -> dict[str, str]:
    """The hazards that the list states, by file."""
    text = (corpora / "README.md").read_text(encoding="utf-8").split("## vcrpy/")[1].split("## foreign/")[0]
    found, project = {}, ""
    for line in text.splitlines():
        project = line.removeprefix("### ") if line.startswith("### ") else project
        if project and (row := _ROW.fullmatch(line)):
            found[f"{project}/{row['name']}"] = row["cells"].split("|")[7]
    return found


def test_every_file_has_the_hazards_of_the_list_and_no_others(hazards, listed):
    assert len(listed) == 83
    seen = {}
    for name in listed:
        kinds = hazards.get(name, {}).keys()
        seen[name] = (
            bool(kinds & {HazardKind.DIFFERENT_SHAPES, HazardKind.EQUAL_SHAPES}),
            HazardKind.REPEATED in kinds,
            HazardKind.NO_BODY in kinds,
        )
    said = {
        name: (
            "url-only" in stated and name != _TELEMETRY,
            ("other answer" in stated or "other status" in stated) and name not in _THE_SAME_WAS_SAID,
            "no body" in stated,
        )
        for name, stated in listed.items()
    }
    assert seen == said


def test_python_objects_are_in_three_files(hazards):
    assert {name for name, kinds in hazards.items() if HazardKind.PYTHON_OBJECTS in kinds} == _OBJECTS


def test_answers_to_different_questions_are_split_by_their_shapes(hazards):
    shapes = hazards["langsmith-sdk/test_openai_test_responses_sync_api.yaml"][HazardKind.DIFFERENT_SHAPES]
    assert shapes.endswith("3 different bodies, answers of 3 shapes: text | streamed text | JSON {speech}")
    equal = hazards["openinference/test_instrumentor/test_compilation.yaml"][HazardKind.EQUAL_SHAPES]
    assert equal.endswith("6 different bodies, answers of one shape: text with fields {answer}")


def test_secrets_are_counted_and_never_told(hazards):
    found = hazards["openllmetry/test_generate/test_generate_text_stream.yaml"][HazardKind.SECRET]
    assert found == "2 × jwt"


def test_foreign_files_are_no_cassettes(corpora):
    report = examine(corpora / "foreign")
    assert (report.cassettes, report.hazards) == (0, [])
    assert sum(report.foreign.values()) == len(list(files_under([corpora / "foreign"])))
