"""What a project told vcrpy to leave alone."""

from __future__ import annotations

import pytest

from onetake.importers.ignoring import ignored_hosts

LOCAL = ("localhost", "127.0.0.1", "0.0.0.0")


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ('@pytest.fixture\ndef vcr_config():\n    return {"ignore_localhost": True, "record_mode": "none"}\n', LOCAL),
        ('vcr = VCR(ignore_hosts=["b.example", "a.example"])\n', ("a.example", "b.example")),
        ('X = {"ignore_localhost": False, "ignore_hosts": ("a",), **rest}\nf(**more)\n', ("a",)),
        ('X = {"ignore_hosts": hosts(), "other": ["c"]}\n', ()),
        ("not python at all (\n", ()),
        ("x = '\0'\n", ()),
        ("", ()),
    ],
)
def test_what_is_written_down_is_read_and_nothing_is_run(tmp_path, text, hosts):
    (tmp_path / "conftest.py").write_text(text)
    assert ignored_hosts([tmp_path / "cassettes/test_a/test_b.yaml"]) == hosts


def test_each_conftest_up_to_the_top_of_the_project_counts_once(tmp_path):
    for folder, host in (("", "above"), ("project", "top"), ("project/tests", "own"), ("project/other", "other")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "conftest.py").write_text(f'X = dict(ignore_hosts=["{host}"])\n')
    (tmp_path / "project/pyproject.toml").write_bytes(b"")
    sources = [tmp_path / "project/tests/cassettes/a.yaml", tmp_path / "project/tests/cassettes/b.yaml"]
    assert ignored_hosts(sources) == ("own", "top")
