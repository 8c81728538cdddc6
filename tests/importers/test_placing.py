"""Where entries go, and what counts there."""

from __future__ import annotations

from pathlib import Path

import pytest

from onetake.errors import UsageError
from onetake.importers.placing import Choices, File, named_in, rules_of, target_of
from onetake.importers.reading import stem_of
from onetake.model import Request
from onetake.options import without_secrets
from onetake.scrub import Scrubber
from onetake.settings import load_settings
from onetake.stores.naming import folder_name


@pytest.mark.parametrize(
    "name",
    [
        "test_a.yaml",
        "TestItems.test_query.yaml",
        "test_a[Say hello!-types0-str].yaml",
        "test_a[Return [1, 2, 3]-types2-list].yaml",
        "test_a[v0].yaml.gz",
        "CON.yaml",
    ],
)
def test_a_cassette_is_called_as_the_folder_of_its_test(tmp_path, name):
    path = tmp_path / "cassettes/test_m" / name
    assert target_of(path, path, None) == path.parent / folder_name(stem_of(path))


def test_a_cassette_is_called_as_the_folder_of_a_test_whose_name_holds_a_secret(project):
    (project / "onetake.toml").write_text('[scrub]\npatterns = ["badge-[0-9]{6}"]\n')
    for secret in ("badge-123456", "sk-proj-" + "Ab3dEf6hIj" * 5):
        path = project / f"cassettes/test_m/test_a[{secret}].yaml"
        name = without_secrets(stem_of(path), Scrubber(load_settings(project).scrub))
        assert secret not in name
        assert target_of(path, path, None) == path.parent / folder_name(name)


def test_two_formats_of_one_name_have_two_cassettes_and_the_first_has_the_name(tmp_path):
    for name in ("a.yaml", "a.json", "b.json"):
        (tmp_path / name).write_bytes(b"")
    found = [target_of(tmp_path / name, tmp_path, None).name for name in ("a.yaml", "a.json", "b.json")]
    assert found == ["a", "a.json", "b"]


def test_under_another_folder_what_lies_below_the_named_one_keeps_its_place(tmp_path):
    path = tmp_path / "tests/cassettes/test_m/test_a.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    to = Path("out")
    assert target_of(path, tmp_path / "tests", to) == Path("out/cassettes/test_m/test_a")
    assert target_of(path, path, to) == Path("out/test_a")


def test_the_settings_nearest_above_the_cassette_count(project):
    (project / "sub").mkdir()
    (project / "sub/onetake.toml").write_text('ignore = ["a.example.com"]\nkeep = ["length"]\nkey.headers = ["x-a"]\n')
    inner = rules_of(project / "sub/cassettes/a", Choices())
    outer = rules_of(project / "cassettes/a", Choices(keep=("cut",), keep_bodyless=True))
    assert (inner.root, inner.keep, inner.keep_bodyless) == (project / "sub", ("length",), False)
    assert (outer.root, outer.keep, outer.keep_bodyless) == (project, ("cut",), True)
    request = Request("GET", "https://a.example.com/x", (("x-a", "1"),))
    assert inner.traffic.verdict("GET", request.url) != outer.traffic.verdict("GET", request.url)
    assert inner.keyer.key(request) != outer.keyer.key(request)
    assert inner.scrubber.begin().request(request).headers == request.headers


def test_a_contract_is_one_that_the_settings_declare(project):
    (project / "onetake.toml").write_text('[contracts.items]\nschema = "items.json"\n')
    (project / "items.json").write_text('{"type": "object", "properties": {"a": {"type": "string"}}}')
    assert [one.name for one in rules_of(project / "c", Choices(contracts=("items",))).contracts] == ["items"]
    with pytest.raises(UsageError, match="'item' is not declared"):
        rules_of(project / "c", Choices(contracts=("item",)))


def test_a_file_is_named_from_the_project_or_from_above_what_the_user_named(tmp_path, monkeypatch):
    path = tmp_path / "other/cassettes/a.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    target = tmp_path / "x"
    assert named_in(File(path, target, path), tmp_path) == "other/cassettes/a.yaml"
    for named in (path, path.parent):
        assert named_in(File(path, target, named), tmp_path / "project") == "other/cassettes/a.yaml"
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "other"))
    assert named_in(File(path, target, path), tmp_path / "project") == "cassettes/a.yaml"
