"""Secrets that are escaped, known by value, or matched by the user's own pattern."""

import base64
import json
import re
from urllib.parse import quote

import pytest

from onetake.scrub import finder as finder_module
from onetake.scrub.finder import Finder, Hit, json_view, merged

KEY = "sk-" + "proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8"
VALUE = 'p4ss/word "of" mine+'


def found_in(text, known=(), patterns=()):
    return [(hit.kind, hit.secret) for hit in Finder(known, patterns).find(text)]


def percent(text):
    return "".join(f"%{byte:02x}" for byte in text.encode())


@pytest.mark.parametrize(
    "escaped",
    [
        percent(KEY),
        "a%20" + quote(KEY),
        json.dumps({"k": KEY}),
        json.dumps(json.dumps({"k": f"\n{KEY}"})),
        "\\u0073k" + KEY[2:],
        f"\\n{KEY}\\n",
    ],
)
def test_an_escaped_secret_is_the_secret_itself(escaped):
    assert found_in(escaped) == [("openai key", KEY)]


def test_a_span_covers_the_escapes():
    text = f"x={percent(KEY)}&y"
    assert Finder().find(text) == [Hit(2, 2 + 3 * len(KEY), "openai key", KEY)]


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "u", "ur", "user:"])
@pytest.mark.parametrize("padded", [True, False])
def test_base64_at_every_alignment(encode, before, padded):
    run = encode(f"{before} {KEY} end".encode()).decode()
    run = run if padded else run.rstrip("=")
    assert Finder().find(f"v: {run}.") == [Hit(3, 3 + len(run), "openai key", run)]


def test_base64_of_exactly_the_secret_is_the_secret():
    run = base64.b64encode(KEY.encode()).decode()
    assert found_in(f"{KEY} {run}") == [("openai key", KEY), ("openai key", KEY)]


def test_base64_behind_a_path():
    run = base64.b64encode(f'{{"k":"{KEY}"}}'.encode()).decode()
    assert [kind for kind, _ in found_in(f"/v1/{run}")] == ["openai key"]


def test_base64_in_base64():
    twice = base64.b64encode(base64.b64encode(f" {KEY}".encode())).decode()
    assert [kind for kind, _ in found_in(twice)] == ["openai key"]


def test_binary_base64_is_no_secret():
    media = base64.b64encode(bytes(range(256)) * 40).decode()
    assert found_in(media) == []


@pytest.mark.parametrize(
    "written",
    [VALUE, json.dumps(VALUE)[1:-1], quote(VALUE, safe=""), json.dumps(json.dumps(VALUE))],
)
def test_a_known_value_is_found_however_it_is_spelled(written):
    assert found_in(f"a {written} b", known=[VALUE]) == [("credential", VALUE)]
    assert found_in(f"a {written} b", known=["other value"]) == []


@pytest.mark.parametrize("before", ["", "u", "us"])
def test_a_short_known_value_in_base64(before):
    run = base64.b64encode(f"{before}hunter22;".encode()).decode()
    assert [hit.kind for hit in Finder(["hunter22"]).find(f"x {run} y")] == ["credential"]


def test_a_known_value_of_a_known_shape_keeps_the_kind_of_its_shape():
    assert found_in(f"my {KEY}", known=[KEY]) == [("openai key", KEY)]


def test_a_pattern_finds_its_whole_match():
    assert found_in("badge B-1234 and B-99", patterns=(re.compile(r"B-\d{4}"),)) == [("secret", "B-1234")]


def test_a_pattern_never_eats_a_placeholder():
    assert found_in("[secret 1] secret", patterns=(re.compile("secret"),)) == [("secret", "secret")]


def test_placeholders_are_no_secrets():
    assert found_in("Bearer [bearer token 1] sig=[signed url 12] ?api_key=%5Bsecret%201%5D") == []


def test_of_hits_that_overlap_the_first_and_longest_wins():
    text = "0123456789"
    hits = [Hit(2, 5, "b", "234"), Hit(0, 3, "a", "012"), Hit(0, 2, "c", "01"), Hit(7, 9, "d", "78")]
    assert merged(text, hits) == [Hit(0, 5, "a", "01234"), Hit(7, 9, "d", "78")]


def test_hits_of_one_place_keep_the_first_kind():
    assert merged("0123", [Hit(0, 3, "jwt", "012"), Hit(0, 3, "bearer token", "012")]) == [Hit(0, 3, "jwt", "012")]


@pytest.mark.parametrize("text", ['a\\"b\\\\n', "\\ud83d\\ude00x", "é\\u00e9\\n", "\\ud83dx", "plain"])
def test_a_view_is_what_the_json_reader_reads(text):
    view = json_view(text)
    assert view.text == json.loads(f'"{text}"')
    assert len(view.origin) == len(view.text) + 1 and view.origin[-1] == len(text)


def test_suspects_is_certain_when_it_says_no():
    words = json.dumps({"messages": [{"content": "nothing but words, and an id: call_0123456789abcdef"}]})
    assert not Finder().suspects(words)
    assert Finder().suspects(words.replace("words", KEY))


def test_a_word_that_was_harmless_is_looked_at_again_with_what_makes_it_one():
    finder = Finder()
    word = KEY.removeprefix("sk-proj-")
    assert not finder.suspects(f"a {word} b") and not finder.suspects(f"a {word} b")
    assert finder.suspects(f"Bearer {word}") and finder.suspects(f"sk-proj-{word}") and finder.suspects(f"?sig={word}")
    assert not finder.suspects(f"a {word} b") and Finder([word]).suspects(f"a {word} b")


def test_a_word_that_was_suspected_is_suspected_again():
    finder = Finder()
    assert [finder.suspects(f"{said} and_some_more_long_words") for said in ("hello", KEY, "hello", KEY)] == [
        *(False, True),
        *(False, True),
    ]


def test_words_are_kept_in_mind_up_to_a_number(monkeypatch):
    monkeypatch.setattr(finder_module, "_MOST_WORDS", 2)
    finder = Finder()
    words = [f"a_long_and_harmless_word_{number}" for number in range(5)]
    assert not any(map(finder.suspects, words)) and len(finder._harmless) == 2
    assert not any(map(finder.suspects, words)) and finder.suspects(KEY)
