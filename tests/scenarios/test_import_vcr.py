"""From vcrpy itself: what it recorded is replayed to the byte, to whoever asks the same."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from onetake.testing.provider import Reply, stream_reply

RECORD = """
import sys
import requests
import vcr

with vcr.VCR(record_mode="all").use_cassette(sys.argv[2], filter_headers=["authorization"]):
    for body in BODIES:
        requests.post(sys.argv[1] + "/v1/chat/completions", json=body, headers={"authorization": "Bearer x"})
"""
REPLAY = """
import json, sys
import httpx, requests
import onetake

with onetake.use_cassette(sys.argv[2], mode="none") as session:
    url = sys.argv[1] + "/v1/chat/completions"
    found = [client.post(url, json=BODIES[number]).text for client, number in ((httpx, 1), (httpx, 0), (requests, 2))]
print(json.dumps(found))
"""
BODIES = [
    {"model": "m", "messages": [{"role": "user", "content": "first – “one”"}]},
    {"model": "m", "messages": [{"role": "user", "content": "second"}], "stream": True},
    {"model": "m", "messages": [{"role": "user", "content": "first – “one”"}]},
]


@pytest.fixture
def python(tmp_path):
    """Return a function that runs a program in the folder of this test: what it printed."""

    def start(text, *words):
        code = f"BODIES = {BODIES!r}\n{text}"
        command = [sys.executable, "-c", code, *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=100)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    return start


def test_br_136_what_vcrpy_recorded_is_replayed_to_the_byte(provider, python, tmp_path):
    said = ({"choices": [{"message": {"content": f"é {number}"}, "finish_reason": "stop"}]} for number in range(2))
    answers = [json.dumps(each, ensure_ascii=False) for each in said]
    events = [b'data: {"choices": [{"delta": {"content": "hi"}}]}\n\n', b"data: [DONE]\n\n"]
    plain = [Reply(200, (("content-type", "application/json"),), (each.encode(),)) for each in answers]
    replies = iter([plain[0], stream_reply(events), plain[1]])
    provider.script(lambda request: next(replies))
    python(RECORD, provider.url, "old.yaml")
    command = [sys.executable, "-m", "onetake", "import", "vcr", "old.yaml", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=100)
    found = json.loads(done.stdout)
    assert (done.returncode, found["imported"], found["written"]) == (0, 3, 3)
    told = json.loads(python(REPLAY, provider.url, "old"))
    assert told == [b"".join(events).decode(), *answers]
    assert provider.count == 3
