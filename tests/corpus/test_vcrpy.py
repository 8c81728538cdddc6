"""Other people's cassettes: each fact that their list states of a file is what the importer finds in it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from onetake.cassette import Cassette
from onetake.events import framing
from onetake.importers.counting import by_request, groups_of
from onetake.importers.importing import files_of, import_file
from onetake.importers.judging import Outcome
from onetake.importers.placing import Choices
from onetake.importers.reading import VCRPY, files_under, read
from onetake.key import Keyer
from onetake.model import Entry
from onetake.stores.directory import DirectoryStore
from onetake.upkeep.checking import check
from onetake.upkeep.findings import Severity

_ROW = re.compile(r"\| `(?P<name>.+?)` \|(?P<cells>.*)\|")
_SAME_BUT_OTHERWISE_COUNTED = {
    "openllmetry/test_responses/test_responses.yaml",
    "langsmith-sdk/test_gemini_test_generate_content_stream_async.yaml",
}
"""The list compares bytes there, compressed ones too; the model says the same in all of them."""


@pytest.fixture(scope="session")
def listed(corpora) -> dict[str, dict[str, str]]:
    """What the list of the corpora states, by file."""
    text = (corpora / "README.md").read_text(encoding="utf-8").split("## vcrpy/")[1].split("## foreign/")[0]
    found, project = {}, ""
    for line in text.splitlines():
        project = line.removeprefix("### ") if line.startswith("### ") else project
        row = _ROW.fullmatch(line)
        if row and project:
            cells = [cell.strip() for cell in row["cells"].split("|")]
            names = ("provider", "api", "client", "n", "d", "stream", "stored", "hazards", "note")
            found[f"{project}/{row['name']}"] = dict(zip(names, cells, strict=True))
    return found


@pytest.fixture(scope="session")
def sources(corpora, listed):
    """Every file of the list, read."""
    return {name: read(corpora / "vcrpy" / name) for name in listed}


def number(text: str, word: str) -> int:
    """Return the number behind a word, 0 where it is not there."""
    found = re.search(rf"(?:^|[;,] ?){re.escape(word)} (\d+)", text)
    return int(found[1]) if found else 0


def test_the_list_is_whole_and_every_file_is_read(corpora, listed, sources):
    paths = {path.relative_to(corpora / "vcrpy").as_posix() for path in files_under([corpora / "vcrpy"])}
    assert paths == set(listed)
    assert {(source.kind, source.problem) for source in sources.values()} == {(VCRPY, "")}
    assert [
        one.problem + one.foreign for source in sources.values() for one in source.interactions if one.problem
    ] == []


def test_every_number_of_the_list_is_found(listed, sources):
    for name, source in sources.items():
        said, found = listed[name], source.interactions
        stored, hazards = said["stored"], said["hazards"]
        notes = Counter(note for one in found for note in one.notes)
        assert len(found) == int(said["n"]), name
        assert sum(one.bodyless for one in found) == number(hazards, "no body"), name
        assert sum(400 <= one.response.status < 500 for one in found) == number(hazards, "4xx"), name
        for coding in ("gzip", "br"):
            assert sum(one.response.decoded == coding for one in found) == number(stored, f"{coding}-compressed"), name
        plain = sum(count for note, count in notes.items() if "labelled gzip and is plain" in note)
        assert plain == number(stored, "gzip-but-plain"), name
        for side, note in (("req", "its body was stored parsed"), ("resp", "its answer was stored parsed")):
            parsed = sum(count for each, count in notes.items() if each.startswith(note))
            assert parsed == number(stored, f"{side} parsed_body"), name


def test_every_stream_of_the_list_is_known_by_its_bytes(listed, sources):
    for name, source in sources.items():
        found = Counter(
            framing(one.response.headers, one.response.body[:64]) for one in source.interactions if one.response.body
        )
        for kind in ("sse", "ndjson", "eventstream"):
            if wanted := number(listed[name]["stream"], kind):
                assert found[kind] == wanted, (name, kind)


def test_every_group_of_the_list_is_found(listed, sources):
    for name, source in sources.items():
        groups, hazards = groups_of(by_request(source.interactions)), listed[name]["hazards"]
        assert groups.distinct == int(listed[name]["d"]), name
        assert bool(groups.url_only) == ("url-only" in hazards), name
        assert bool(groups.other_statuses) == ("other status" in hazards), name
        if name not in _SAME_BUT_OTHERWISE_COUNTED:
            assert bool(groups.other_answers) == ("other answer" in hazards or "other status" in hazards), name
        if "same request" in hazards:
            assert groups.repeated, name


def test_objects_are_named_where_the_list_says_so(listed, sources):
    for name, source in sources.items():
        expected = "python/object" in listed[name]["note"] or "safe load fails" in listed[name]["note"]
        assert any(one.objects for one in source.interactions) == expected, name


def test_what_the_list_tells_of_single_files(sources):
    def of(name):
        return next(source.interactions for key, source in sources.items() if key.endswith(name))

    assert of("test_gemini_test_generate_content_async.yaml")[0].request.method == "POST"
    assert of("vcrpy/old_cassette.yaml")[0].request.url == of("new_cassette.json")[0].request.url
    (structured,) = of("test_tool_choice_matrix[list_single-huggingface].yaml")
    assert b'"tool_choice":{' in structured.request.body
    (broken,) = of("test_bedrock_model_other_parameters.yaml")
    assert broken.request.body.count(b"{") == broken.request.body.count(b"}") + 1
    (headers,) = of("amazon_invoke_stream.yaml")
    assert dict(headers.request.headers)["X-Amzn-Bedrock-Accept"] == "application/json"
    first, second = of("agent_run_reasoning.yaml")
    assert {first.response.decoded, second.response.decoded} == {"", "br"}


def sample(corpora) -> list[Path]:
    """A few files in which nearly everything comes up."""
    names = ("llm-anthropic", "langchain-aws", "dd-trace-py", "vcrpy", "curator")
    return [path for name in names for path in files_under([corpora / "vcrpy" / name])]


def imported(paths, to, **choices):
    files = files_of([paths] if isinstance(paths, Path) else paths, to)
    return [import_file(file, Choices(to=to, keep_bodyless=True, **choices)) for file in files]


def test_a_sample_is_imported_whole_and_each_entry_gives_its_key(corpora, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = []
    for number_, path in enumerate(sample(corpora)):
        (one,) = imported([path], Path(f"out/{number_}"), keep=("status:4xx",))
        rows += one.rows
    outcomes = Counter(row.outcome for row in rows)
    assert outcomes == {Outcome.IMPORTED: 32, Outcome.LOOSE: 10, Outcome.REFUSED: 2}
    for row in rows:
        if row.entry:
            cassette = Cassette(DirectoryStore(tmp_path / row.entry.rpartition("/")[0]))
            entry = next(each for _, _, each in cassette.all() if isinstance(each, Entry) and each.key == row.key)
            assert Keyer().key(entry.request) == row.key


@pytest.mark.whole
def test_all_are_imported_checked_and_imported_again(corpora, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "onetake.toml").write_text('keep = ["status:4xx"]\n')
    found = imported(corpora / "vcrpy", Path("out"))
    rows = [row for one in found for row in one.rows]
    assert Counter(row.outcome for row in rows) == {
        Outcome.IMPORTED: 218,
        Outcome.LOOSE: 11,
        Outcome.REFUSED: 10,
        Outcome.WOULD_NOT_RECORD: 1,
    }
    assert sum(one.written for one in found) == len({row.entry for row in rows if row.entry}) == 229
    assert [f for f in check(tmp_path / "out").findings if f.severity is Severity.ERROR] == []
    again = imported(corpora / "vcrpy", Path("out"))
    assert sum(one.written for one in again) == 0
    assert [row for one in again for row in one.rows] == rows
