"""`onetake pin`: entries that nothing prunes."""

from __future__ import annotations

import json

import pytest

from onetake.cassette_files import read_entry


@pytest.fixture
def path(store, make_entry):
    """The file of an entry."""
    return store(make_entry("one"))[0]


def pinned(path):
    return read_entry(path).provenance.get("pinned")


def test_an_entry_is_pinned_by_its_key_and_unpinned_by_its_path(run, path):
    code, out, _ = run("pin", read_entry(path).key[:10], "--reason", "the golden one")
    assert (code, out) == (0, f"pinned: cassettes/a/{path.name}\n")
    assert pinned(path)["reason"] == "the golden one"
    assert f"pinned    {pinned(path)['at']}: the golden one\n" in run("show", path)[1]
    code, out, _ = run("pin", path, "--remove")
    assert (code, out, pinned(path)) == (0, f"not pinned: cassettes/a/{path.name}\n", None)


def test_json_names_each_once(run, path):
    code, out, _ = run("pin", path, read_entry(path).key, "--json")
    (said,) = json.loads(out)["entries"]
    entry = read_entry(path)
    assert (code, said) == (
        0,
        {"path": f"cassettes/a/{path.name}", "key": entry.key, "ordinal": 0, "pinned": True, "why": ""},
    )
    assert pinned(path).keys() == {"at"}


def test_what_the_settings_pin_stays_pinned(run, path, project):
    (project / "onetake.toml").write_text('pinned = ["cassettes"]')
    run("pin", path)
    code, out, _ = run("pin", path, "--remove", "--json")
    (said,) = json.loads(out)["entries"]
    assert (code, said["pinned"], said["why"]) == (1, True, "pinned by the settings: 'cassettes'")
    assert pinned(path) is None


def test_a_secret_in_the_reason_is_scrubbed(run, path):
    secret = "sk-proj-" + "aB3dE5fG7hJ9kL1m" * 3
    code, _, _ = run("pin", path, "--reason", f"asked with {secret}")
    assert code == 0
    assert secret not in path.read_text()
    assert pinned(path)["reason"].startswith("asked with ")


def test_what_is_wrong_is_told_before_anything_is_written(run, path):
    before = path.read_bytes()
    assert run("pin", path, "nothing.json")[0] == 2
    assert run("pin", path, "--remove", "--reason", "x")[0] == 2
    assert run("pin")[0] == 2
    other = path.with_name(f"x-{'0' * 16}.json")
    other.write_bytes(b"{")
    assert run("pin", path, other)[0] == 5
    assert path.read_bytes() == before


@pytest.mark.parametrize("words", [("--reason", "the golden one"), (), ("--remove",)])
def test_of_an_entry_that_holds_a_secret_that_is_said_and_what_the_check_says_mends_it(run, store, make_entry, words):
    secret = "sk-proj-" + "aB3dE5fG7hJ9kL1m" * 3
    (path,) = store(make_entry("one"))
    text = path.read_text().replace("tests/test_a.py::test_b", f"tests/test_a.py::test_b[{secret}]")
    path.write_text(text.replace('"recorded_at"', '"pinned": {"at": "now", "reason": "so"}, "recorded_at"'))
    before = path.read_bytes()
    code, out, _ = run("pin", path, *words, "--json")
    (said,) = json.loads(out)["entries"]
    (found,) = [one for one in json.loads(run("check", "--json")[1])["findings"] if one["code"] == "secret"]
    assert (code, said["why"]) == (1, f"the entry itself holds a secret, and is not changed: {found['mend']}")
    assert "onetake rekey cassettes/a --yes" in found["mend"]
    assert path.read_bytes() == before
