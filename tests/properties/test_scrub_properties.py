"""For any body: scrubbing is idempotent, leaves no secret, and touches nothing else."""

import base64
import json
import string
from itertools import pairwise
from urllib.parse import parse_qsl, urlencode

from hypothesis import given
from hypothesis import strategies as st

from onetake.eventstream import framed, frames, headers
from onetake.model import Request, Response
from onetake.scrub import Scrubber, scan

LETTERS = string.ascii_letters + string.digits
tails = st.text(LETTERS, min_size=40, max_size=48).filter(lambda text: len(set(text.lower())) > 1)
secrets = st.builds(
    lambda prefix, tail: prefix + tail,
    st.sampled_from(["sk-" + "proj-", "sk-" + "ant-api03-", "gsk_", "ghp_", "hf_", "xai-", "glpat-"]),
    tails,
)
escapes = st.sampled_from(
    [
        str,
        lambda secret: json.dumps({"k": f"\n{secret}"}),
        lambda secret: base64.b64encode(f"user:{secret}".encode()).decode(),
        lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
        lambda secret: f"Bearer {secret}",
    ]
)
hidden = st.builds(lambda escape, secret: escape(secret), escapes, secrets)
# No letters or digits, so that nothing harmless joins a secret to one longer word.
around = st.text(st.sampled_from(" .,;:!?()\n\t\"'\\/éß漢😀"), max_size=6)
hiding = st.builds(lambda before, secret, after: f"{before} {secret} {after}", around, hidden, around)
words = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
names = st.sampled_from(["model", "messages", "content", "text", "max_tokens", "metadata", "choices", "é"])


def trees(leaves):
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=12
    )


plain = trees(words | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none())
holding = st.builds(lambda tree, secret: {"content": [tree, secret]}, trees(words | hiding), hiding)
styles = st.sampled_from([{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}])


def ask(body, kind="application/json"):
    return Request("POST", "https://api.example.com/v1/chat", (("content-type", kind),), body)


def scrubbed(request):
    once = Scrubber().begin().request(request)
    assert Scrubber().begin().request(once) is once
    assert scan(once.body) == []
    return once.body


@given(plain, styles)
def test_json_without_secrets_is_the_same_to_the_byte(tree, style):
    request = ask(json.dumps(tree, **style).encode())
    assert Scrubber().begin().request(request) is request
    assert scan(request.body) == []


@given(holding, styles)
def test_json_with_secrets_stays_the_same_tree_without_them(tree, style):
    body = json.dumps(tree, **style).encode()
    assert scan(body)
    after = json.loads(scrubbed(ask(body)))

    def shape(value):
        if isinstance(value, dict):
            return {name: shape(inner) for name, inner in value.items()}
        return [shape(inner) for inner in value] if isinstance(value, list) else type(value)

    assert shape(after) == shape(tree)
    assert after["content"][1] != tree["content"][1]


@given(hiding, st.lists(st.integers(0, 80), max_size=6), st.sampled_from(["sse", "ndjson", "array"]))
def test_streams_stay_streams_wherever_a_secret_is_cut(text, cuts, kind):
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    deltas = [text[start:end] for start, end in pairwise(places)] + ["."]
    events = [json.dumps({"index": 0, "delta": {"text": delta}}) for delta in deltas]
    if kind == "sse":
        body, content_type = "".join(f"data: {event}\n\n" for event in events), "text/event-stream"
    elif kind == "ndjson":
        body, content_type = "".join(f"{event}\n" for event in events), "application/x-ndjson"
    else:
        body, content_type = f"[{', '.join(events)}]", "application/json"
    response = Response(200, (("content-type", content_type),), body.encode())
    once = Scrubber().begin().response(response)
    assert Scrubber().begin().response(once) is once
    assert scan(response.body) and scan(once.body) == []
    lines = once.body.decode().replace("data: ", "").split("\n")
    after = json.loads(once.body) if kind == "array" else [json.loads(line) for line in lines if line]
    assert [sorted(event) for event in after] == [["delta", "index"]] * len(events)
    assert after[-1]["delta"]["text"] == "."


@given(hiding, st.lists(st.integers(0, 80), max_size=6), st.booleans(), st.binary(max_size=9))
def test_frames_stay_frames_wherever_a_secret_is_cut(text, cuts, wrapped, more):
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    deltas = [text[start:end] for start, end in pairwise(places)] + ["."]
    said = [json.dumps({"index": 0, "delta": {"text": delta}}) for delta in deltas]
    if wrapped:
        said = [json.dumps({"bytes": base64.b64encode(each.encode()).decode(), "p": "abc"}) for each in said]
    head = headers({":event-type": "chunk" if wrapped else "contentBlockDelta", ":message-type": "event"})
    body = b"".join(framed(head, each.encode()) for each in said)
    response = Response(200, (("content-type", "application/vnd.amazon.eventstream"),), body + more)
    once = Scrubber().begin().response(response)
    assert Scrubber().begin().response(once) is once
    assert scan(response.body) and scan(once.body) == []
    after = list(frames(once.body))
    assert b"".join(frame.raw for frame in after) + more == once.body
    assert [frame.head for frame in after] == [head] * len(said)
    assert [sorted(json.loads(frame.said)) for frame in after] == [["delta", "index"]] * len(said)
    assert after[-1].raw == framed(head, said[-1].encode())


@given(st.lists(st.tuples(st.sampled_from(["q", "note"]), words | hiding), max_size=4), secrets, words)
def test_forms_keep_their_other_fields(pairs, secret, word):
    pairs = [*pairs, ("client_secret", secret), ("last", f"-{word}")]
    after = parse_qsl(scrubbed(ask(urlencode(pairs).encode(), "application/x-www-form-urlencoded")).decode(), True)
    assert [name for name, _ in after] == [name for name, _ in pairs]
    assert after[-1] == pairs[-1] and after[-2][1].startswith("[")


@given(st.binary(max_size=200), st.sampled_from(["application/json", "text/event-stream", "multipart/form-data", ""]))
def test_any_bytes_are_taken(body, kind):
    request = ask(body, kind)
    assert Scrubber().begin().request(request) is request
    assert scan(body) == []


@given(st.text(max_size=60), hidden, st.text(max_size=20))
def test_texts_settle(before, secret, after):
    once = Scrubber().begin().text(f"{before} {secret} {after}")
    assert Scrubber().begin().text(once) == once
    assert scan(once.encode("utf-8", "surrogatepass")) == []
