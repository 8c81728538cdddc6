"""botocore's own reader of event streams finds in them what we find, and takes the frames that we made again."""

from __future__ import annotations

import random
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

import onetake
from onetake.eventstream import framed, frames, headers
from onetake.model import Response
from onetake.scrub import Scrubber
from onetake.settings_start import set_start
from onetake.testing.provider import bedrock_converse_stream, bedrock_exception, bedrock_invoke_stream

pytestmark = pytest.mark.sdk("boto3")

SECRET = "sk-" + "proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8"
STREAMS = {
    "converse": bedrock_converse_stream(f"the key is {SECRET} here", tool_calls=[("add", {"n": 1})]).body,
    "exception": bedrock_converse_stream("one two three", ending="error").body,
    "invoke": bedrock_invoke_stream("anthropic", f"the key is {SECRET} here").body,
    "no text": framed(headers({":event-type": "chunk"}), b"\xff\0") + framed(b"\1a\4" + struct.pack(">i", 7), b""),
}


def read_by_botocore(body, borders=()):
    """Return (headers, payload) of every frame, up to the first that it refuses."""
    from botocore.eventstream import EventStreamBuffer, ParserError

    buffer, found = EventStreamBuffer(), []
    try:
        for start, end in zip((0, *borders), (*borders, len(body)), strict=True):
            buffer.add_data(body[start:end])
            for message in buffer:
                found.append((message.headers, message.payload))  # one by one: damage raises in the middle
    except ParserError:
        pass
    return found


def read_by_us(body):
    return [(dict(frame.headers), frame.payload) for frame in frames(body)]


def texts(found):
    return [({name: value for name, value in head.items() if isinstance(value, str)}, body) for head, body in found]


@pytest.mark.parametrize("name", STREAMS)
def test_whole_streams_are_read_alike_whatever_their_borders(name):
    body, dice = STREAMS[name], random.Random(name)
    assert len(read_by_us(body)) > 1
    for _ in range(50):
        borders = sorted(dice.sample(range(len(body) + 1), 5))
        assert texts(read_by_botocore(body, borders)) == read_by_us(body)


@pytest.mark.parametrize("name", STREAMS)
def test_damaged_and_cut_streams_are_read_alike(name):
    body, dice = STREAMS[name], random.Random(name)
    for _ in range(300):
        damaged = bytearray(body[: dice.randrange(len(body)) + 1])
        damaged[dice.randrange(len(damaged))] ^= dice.choice([0, dice.randrange(1, 256)])
        assert texts(read_by_botocore(bytes(damaged))) == read_by_us(damaged)


@pytest.mark.parametrize("name", ["converse", "invoke"])
def test_br_069_botocore_takes_frames_that_were_scrubbed(name):
    kind = (("content-type", "application/vnd.amazon.eventstream"),)
    scrubbed = Scrubber().begin().response(Response(200, kind, STREAMS[name])).body
    found = read_by_botocore(scrubbed)
    assert len(found) == len(read_by_botocore(STREAMS[name]))
    assert texts(found) == read_by_us(scrubbed)
    assert scrubbed != STREAMS[name]


def client_of(url):
    import boto3
    from botocore.config import Config

    config = Config(retries={"total_max_attempts": 1}, max_pool_connections=12)
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client("bedrock-runtime", endpoint_url=url, region_name="us-east-1", config=config, **keys)


def streamed(client, said, model="m"):
    messages = [{"role": "user", "content": [{"text": said}]}]
    return list(client.converse_stream(modelId=model, messages=messages)["stream"])


@pytest.fixture
def project(tmp_path):
    (tmp_path / "onetake.toml").touch()
    before = set_start(tmp_path / "program.py")
    yield tmp_path
    set_start(before)


def test_br_069_a_scrubbed_stream_replays_through_botocore(provider, project):
    provider.script([bedrock_converse_stream(f"the key is {SECRET} here")])
    client = client_of(provider.url)
    with onetake.use_cassette("c", mode="once"):
        first = streamed(client, "hi")
    provider.close()
    with onetake.use_cassette("c", mode="none"):
        again = streamed(client, "hi")
    assert SECRET in str(first)
    assert str(again) == str(first).replace(SECRET, "[openai key 1]")
    assert not [path for path in project.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_twelve_streams_at_once_each_get_their_own(provider, project):
    client = client_of(provider.url)

    def ask(number):
        return streamed(client, f"question {number}")

    with onetake.use_cassette("c", mode="once") as session, ThreadPoolExecutor(12) as pool:
        first = list(pool.map(ask, range(12)))
    assert len(session.recorded) == provider.count == 12
    provider.close()
    with onetake.use_cassette("c", mode="none") as session, ThreadPoolExecutor(12) as pool:
        again = list(pool.map(ask, reversed(range(12))))[::-1]
    assert again == first
    said = [
        "".join(e["contentBlockDelta"]["delta"]["text"] for e in each if "contentBlockDelta" in e) for each in again
    ]
    assert [each.partition(" to: ")[2] for each in said] == [f"question {number}" for number in range(12)]


def test_an_exception_in_the_stream_reaches_the_caller_and_is_no_entry(provider, project):
    from botocore.exceptions import EventStreamError

    frames_sent = bedrock_converse_stream("one two three", ending="error")
    assert frames_sent.pieces[-1] == bedrock_exception()
    provider.script([frames_sent])
    with (
        onetake.use_cassette("c", mode="once") as session,
        pytest.raises(EventStreamError, match="throttlingException"),
    ):
        streamed(client_of(provider.url), "hi")
    assert session.recorded == ()
