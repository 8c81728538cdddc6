"""Every kind of body: what is found in it, and that nothing else moves."""

import base64
import json

import pytest

from onetake.eventstream import framed, frames, headers
from onetake.scrub.bodies import chunk_edits, chunks, decode
from onetake.scrub.finder import Finder
from onetake.scrub.lanes import Search
from onetake.testing.provider import bedrock_frame

KEY = "sk-" + "proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8"


def edited(body, content_type="", known=()):
    """Replace each secret by its kind in brackets; return the body and the places."""
    parts, places, last = [], [], 0
    for chunk in chunks(body, content_type):
        text, at = [], 0
        for edit in chunk_edits(chunk, Search(Finder(known))):
            text += [chunk.text[at : edit.start], f"<{edit.hit.kind}>" if edit.hit else ""]
            places.append(edit.where)
            at = edit.end
        parts += [body[last : chunk.start], chunk.encoded("".join(text) + chunk.text[at:])]
        last = chunk.end
    return b"".join(parts) + body[last:], places


def test_json_keeps_its_spelling():
    body = b'{ "a" :\t1.50, "k": "\\u00e9 ' + KEY.encode() + b'\\n",\r\n "z": 1E5 }\n'
    assert edited(body) == (body.replace(KEY.encode(), b"<openai key>"), ["$.k"])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_server_sent_events_keep_their_framing(end):
    lines = [
        b"\xef\xbb\xbf: " + KEY.encode(),
        b"event: delta",
        b'data: {"t": "say ' + KEY[:9].encode() + b'"}',
        b"",
        b"id: 7",
        b'data:{"t": "' + KEY[9:].encode() + b' ok"}',
        b"",
        b"data: [DONE]",
        b"",
        b"",
    ]
    expected = [
        b"\xef\xbb\xbf: <openai key>",
        b"event: delta",
        b'data: {"t": "say <openai key>"}',
        b"",
        b"id: 7",
        b'data:{"t": " ok"}',
        b"",
        b"data: [DONE]",
        b"",
        b"",
    ]
    assert edited(end.join(lines), "text/event-stream") == (end.join(expected), ["", "$.t", "$.t"])


def test_an_event_of_several_data_lines_is_one_document():
    body = b'data: {"api_key":\ndata: "abc",\ndata:  "n": "' + KEY.encode() + b'"}\n\n'
    assert edited(body) == (
        b'data: {"api_key":\ndata: "<secret>",\ndata:  "n": "<openai key>"}\n\n',
        ["$.api_key", "$.n"],
    )


def test_a_stream_that_was_cut_off_in_a_character():
    body = b'data: {"t": "' + KEY.encode() + b'"}\n\ndata: {"t": "\xc3'
    assert edited(body) == (body.replace(KEY.encode(), b"<openai key>"), ["$.t"])


def test_json_lines():
    body = (
        b'{"response": "a '
        + KEY[:12].encode()
        + b'"}\r\n{"response": "'
        + KEY[12:].encode()
        + b'"}\r\n{"done": true}\r\n'
    )
    assert edited(body) == (
        b'{"response": "a <openai key>"}\r\n{"response": ""}\r\n{"done": true}\r\n',
        ["$.response", "$.response"],
    )


def test_the_items_of_a_root_array_are_events():
    items = [{"candidates": [{"content": {"parts": [{"text": text}]}}]} for text in ("a " + KEY[:7], KEY[7:])]
    body, places = edited(json.dumps(items).encode())
    assert [item["candidates"][0]["content"]["parts"][0]["text"] for item in json.loads(body)] == ["a <openai key>", ""]
    assert places == ["$[*].candidates[0].content.parts[0].text"] * 2


def test_forms_by_name_and_by_shape():
    body = f"grant_type=x&client_secret=a+b%21&note=my+{KEY}&empty=&apikey=".encode()
    assert edited(body, "application/x-www-form-urlencoded; charset=utf-8") == (
        b"grant_type=x&client_secret=<secret>&note=my+<openai key>&empty=&apikey=",
        ["?client_secret", "?note"],
    )


def test_forms_find_known_values_however_they_are_spelled():
    assert edited(b"a=two+words+here%21", "application/x-www-form-urlencoded", ["two words here!"]) == (
        b"a=<credential>",
        ["?a"],
    )


def test_multipart_text_parts_only():
    head = b'--b1\r\nContent-Disposition: form-data; name="%s"\r\n%s\r\n'
    body = (
        head % (b"api_key", b"")
        + b"abc\r\n"
        + head % (b"n", b"")
        + b"plain\r\n"
        + head % (b"f", b"Content-Type: application/json\r\n")
        + b'{"password": "x"}\r\n'
        + head % (b"img", b"Content-Type: image/png\r\n")
        + b"\x89PNG\0"
        + KEY.encode()
        + b"\r\n--b1--\r\n"
    )
    expected = body.replace(b"\r\n\r\nabc\r\n", b"\r\n\r\n<secret>\r\n").replace(b'"x"', b'"<secret>"')
    assert edited(body, "multipart/form-data; boundary=b1") == (expected, ["?api_key", "$.password"])


def test_text_labelled_as_json():
    body = f"not json at all: {KEY}".encode()
    assert edited(body, "application/json") == (b"not json at all: <openai key>", [""])


@pytest.mark.parametrize("body", [b"\0" + KEY.encode(), b"\xff\xfe" + KEY.encode(), KEY.encode("utf-16")])
def test_binary_bodies_are_never_edited(body):
    assert chunks(body, "application/octet-stream") == []


def delta(text):
    return bedrock_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": text}})


def wrapped(text):
    data = json.dumps({"delta": {"text": text}}).encode()
    return framed(headers({":event-type": "chunk"}), b'{ "bytes" : "' + base64.b64encode(data) + b'", "p": "ab"}')


@pytest.mark.parametrize("frame", [delta, wrapped])
def test_br_069_changed_frames_are_made_again_with_lengths_and_checksums_that_fit(frame):
    body = frame("plain") + frame(f"a {KEY} b") + frame("say " + KEY[:9]) + frame(KEY[9:] + " ok")
    after, places = edited(body, "application/vnd.amazon.eventstream")
    before = [each.headers for each in frames(body)]
    assert [each.headers for each in frames(after)] == before
    assert [json.loads(each.said)["delta"]["text"] for each in frames(after)] == [
        *("plain", "a <openai key> b"),
        *("say <openai key>", " ok"),
    ]
    assert sum(len(each.raw) for each in frames(after)) == len(after)
    assert places == ["$.delta.text"] * 3
    assert edited(after, "application/vnd.amazon.eventstream") == (after, [])


def test_frames_are_known_by_their_bytes_and_what_is_no_text_in_them_is_left():
    binary = framed(headers({":event-type": "a"}), b"\xff" + KEY.encode())
    nul = framed(headers({":event-type": "b"}), b"\0" + KEY.encode())
    body = binary + delta(KEY) + nul
    after, places = edited(body, "")
    assert [each.raw for each in frames(after)][::2] == [binary, nul]
    assert places == ["$.delta.text"]


def test_a_damaged_frame_and_all_behind_it_is_never_edited():
    damaged = delta(KEY)[:-1] + b"?"
    body = delta("a") + damaged + delta(KEY)
    assert edited(body, "application/vnd.amazon.eventstream") == (body, [])
    assert chunks(f"frame {KEY}".encode(), "application/vnd.amazon.eventstream") == []


@pytest.mark.parametrize("body", [b"", b"{}", b"data: \n\n", b"--b\r\nContent-Type: x", b"[1,2]", b"\n", b'{"a"'])
def test_odd_bodies_stay_as_they_are(body):
    assert edited(body) == (body, [])


def test_decode_lets_only_a_cut_character_through():
    assert decode("aé".encode()) == "aé"
    assert decode("aé".encode()[:-1]) is not None
    assert decode(b"\xe9tait une fois") is None


def test_opaque_fields_are_never_touched():
    body = json.dumps(
        {"content": [{"type": "thinking", "signature": KEY, "thinking": "t"}], "encrypted_content": KEY}
    ).encode()
    assert edited(body, known=[KEY]) == (body, [])


def test_gemini_thought_signatures_are_untouched():
    part = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "CsQB" + KEY + "=="}
    body = json.dumps({"candidates": [{"content": {"parts": [part, {"thought_signature": KEY}]}}]}).encode()
    assert edited(body) == (body, [])
