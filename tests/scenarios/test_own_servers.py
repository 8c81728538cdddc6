"""A program's own server whose paths are also those of a model API: its streams pass, and are nobody's answers."""

import httpx
import pytest

import onetake
from onetake.testing.provider import stream_reply

EVENTS = stream_reply([b'data: {"delta": "he"}\n\n', b'data: {"delta": "llo"}\n\n'])
WHOLE = b"".join(EVENTS.pieces)


@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat", "/v2/chat", "/v1/conversations", "/api/v1/responses"])
def test_on_loopback_it_passes_in_every_mode_and_is_not_stored(provider, tmp_path, path):
    provider.script(lambda request: EVENTS)
    for number, mode in enumerate(("once", "none"), 1):
        with onetake.use_cassette(tmp_path / "c", mode=mode) as session:
            assert httpx.post(provider.url + path, json={}).content == WHOLE
        assert (session.requests, session.recorded, provider.count) == ((), (), number)


@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat", "/v2/chat", "/v1/files", "/v1/audio/transcriptions"])
def test_where_hosts_names_it_its_stream_is_whole_when_it_ends(provider, tmp_path, path):
    provider.script(lambda request: EVENTS)
    hosts = [provider.url.removeprefix("http://")]
    with onetake.use_cassette(tmp_path / "c", mode="once", hosts=hosts) as session:
        assert httpx.post(provider.url + path, json={}).content == WHOLE
    assert [entry.verdict for entry in session.recorded] == ["good"]
    with onetake.use_cassette(tmp_path / "c", mode="none", hosts=hosts):
        assert httpx.post(provider.url + path, json={}).content == WHOLE
    assert provider.count == 1
