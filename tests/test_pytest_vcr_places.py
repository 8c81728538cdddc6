"""Where the cassettes of tests that are marked `vcr` lie, and which settings count there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from onetake import key_specs
from onetake.cassette import Cassette
from onetake.model import Entry, Request, Response
from onetake.pytest_vcr_places import cassette_name, folder_name_in, moved, settings_for
from onetake.settings import load_settings
from onetake.stores.directory import DirectoryStore
from onetake.stores.naming import folder_name
from onetake.vcrwords.naming import without_ending

pytest_plugins = ("pytester",)


class TestIt:
    @pytest.mark.parametrize("text", ["a/b"])
    def test_a_cassette_has_the_name_that_pytest_recording_gives(self, request, text):
        own = "TestIt.test_a_cassette_has_the_name_that_pytest_recording_gives[a-b]"
        assert cassette_name(request.node) == own
        request.node.add_marker(pytest.mark.default_cassette)
        assert cassette_name(request.node) == own
        request.node.add_marker(pytest.mark.default_cassette("named.yaml"), append=False)
        assert cassette_name(request.node) == "named.yaml"


@pytest.mark.parametrize("name", ["a.b", "a.b.yaml", "a.b.YML", "a.b.json", "a.b.yaml.gz"])
def test_an_ending_that_tells_a_format_is_no_part_of_a_name(name):
    assert without_ending(name) == "a.b"


def test_under_entries_of_their_own_a_folder_of_the_project_is_there_and_any_other_where_it_is(pytester, tmp_path):
    there = tmp_path / "entries"
    config, plain = pytester.parseconfig(f"--onetake-vcr-entries={there}"), pytester.parseconfig()
    assert moved(config, Path("tests/cassettes")) == there / "tests/cassettes"
    assert moved(config, config.rootpath / "a") == there / "a"
    assert moved(config, tmp_path / "elsewhere") == tmp_path / "elsewhere"
    assert moved(plain, Path("tests/cassettes")) == Path("tests/cassettes")


def test_under_entries_of_their_own_the_projects_settings_count_with_that_folder_as_theirs(pytester, tmp_path):
    (pytester.path / "onetake.toml").write_text(
        'hosts = ["a"]\nlegacy_differing = 3\n[contracts.c]\nschema = "c.json"\nschema_version = 1\n'
    )
    settings = load_settings(pytester.path)
    (tmp_path / "hosts.json").write_text('["b"]')
    config = pytester.parseconfig(f"--onetake-vcr-entries={tmp_path}")
    found = settings_for(config, settings)
    assert (found.root, found.match, found.legacy_differing) == (tmp_path, "legacy", None)
    assert tuple(found.hosts) == ("a", "b")
    assert found.contracts["c"].schema == str(pytester.path / "c.json")
    assert settings_for(pytester.parseconfig(), settings) is settings


def test_a_test_finds_what_was_imported_under_the_name_that_pytest_recording_gave_its_cassette(tmp_path):
    key = "ab" * 32
    request, response = Request("GET", "https://h/x"), Response(200)
    recorded = Entry("good", request, response, key, 0, key_specs.current({}))
    imported = replace(recorded, provenance={"imported_from": {"path": "a.yaml", "position": 0}})
    names = ("test_a[x-y]", "test_b[x-y]", "test_c[x-y]", "test_d[x]")
    for name, entry in zip(names, (imported, recorded, imported, imported), strict=True):
        Cassette(DirectoryStore(tmp_path / name)).add(entry)
    tests = [f"test_{letter}[x{sign}y]" for letter in "abc" for sign in "/:"] + ["test_d[x]", "test_e[x/y]"]
    (tmp_path / folder_name("test_c[x/y]")).mkdir()
    found = {test: folder_name_in(tmp_path, test) for test in tests}
    assert found == {
        "test_a[x/y]": "test_a[x-y]",
        "test_a[x:y]": "test_a[x-y]",
        "test_b[x/y]": folder_name("test_b[x/y]"),
        "test_b[x:y]": folder_name("test_b[x:y]"),
        "test_c[x/y]": folder_name("test_c[x/y]"),
        "test_c[x:y]": "test_c[x-y]",
        "test_d[x]": "test_d[x]",
        "test_e[x/y]": folder_name("test_e[x/y]"),
    }
