"""A cassette that is one file: `.db` wherever a cassette is named."""

from __future__ import annotations

import httpx
import pytest

import onetake
from onetake.testing.provider import Provider


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "onetake.toml").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(url, text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(f"{url}/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]


def test_a_program_records_into_one_file_and_replays_from_it_with_the_provider_gone(project):
    with Provider() as provider:
        with onetake.use_cassette(project / "calls.db", mode="once") as session:
            first = [ask(provider.url, text) for text in ("one", "two", "one")]
        assert (len(session.recorded), session.played) == (3, ())
        assert provider.count == 3
        url = provider.url
    assert sorted(path.name for path in project.iterdir() if path.name != ".onetake") == ["calls.db", "onetake.toml"]
    with onetake.use_cassette(project / "calls.db", mode="none") as session:
        assert [ask(url, text) for text in ("one", "two", "one")] == first
        with session.expect_refusal(), pytest.raises(onetake.InteractionNotFound, match=r"calls\.db"):
            ask(url, "three")
    assert (session.recorded, len(session.played)) == ((), 3)
    assert (project / "calls.db").stat().st_size > 0
