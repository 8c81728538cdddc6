"""Whatever a body holds, an entry gives back its exact bytes, and the file of an entry is stable."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from onetake.errors import FormatError
from onetake.format import dump_entry, load_entry
from onetake.model import Answer, Choice, ContractRef, Cut, Entry, KeySpec, Request, Response, ToolCall, Violation

MODEST = settings(deadline=None)

characters = st.characters() | st.sampled_from('\n\r\t"\\/<>&\x00\x1b\x7f\x85\u2028\u202e\ufeff\ud83d\ufffe😀漢')
texts = st.text(characters, max_size=30)
encodable = st.text(characters.filter(lambda char: not "\ud800" <= char <= "\udfff"), max_size=60)
keys = texts | st.sampled_from(["$json", "$lines", "$literal", "$number", "$raw", "$text", "$ref", "style", "prefix"])
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(10**30, 10**40)
leaves = st.none() | st.booleans() | numbers | texts
trees = st.recursive(
    leaves | st.lists(numbers, min_size=65, max_size=70),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4) | inner.map(json.dumps),
    max_leaves=12,
)
containers = st.lists(trees, max_size=4) | st.dictionaries(keys, trees, max_size=4)


@st.composite
def json_bodies(draw):
    """JSON in any of many spellings; few of them are styles that we know."""
    text = json.dumps(
        draw(containers),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, None, 2, 4, "\t", 0, 9])),
        separators=draw(st.sampled_from([None, (",", ":"), (", ", ": "), (",", ": "), (" ,", " :")])),
    )
    for old, new in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("/", "\\/"), ("e", "E"), (".0", ".00")):
        if draw(st.integers(0, 4)) == 0:
            text = text.replace(old, new)
    text = draw(st.sampled_from(["", "", " ", "\ufeff"])) + text + draw(st.sampled_from(["", "", "\n", "\r\n", " "]))
    return text.encode("utf-8", "surrogatepass")


bodies = st.one_of(
    json_bodies(),
    encodable.map(str.encode),
    st.binary(max_size=60),
    st.binary(min_size=1600, max_size=2100),
    st.binary(min_size=1600, max_size=1700).map(
        lambda data: json.dumps({"b": base64.b64encode(data).decode()}).encode()
    ),
    st.lists(texts, max_size=4).map(lambda lines: "".join(f"data: {json.dumps(line)}\n\n" for line in lines).encode()),
    st.lists(containers, min_size=2, max_size=4).map(lambda rows: "\n".join(map(json.dumps, rows)).encode()),
)
types = st.sampled_from(
    ["", "application/json", "text/plain; charset=utf-8", "text/event-stream", "image/png", "\udcff"]
)
headers = types.map(lambda value: (("Content-Type", value),) if value else ())
choices = st.builds(
    Choice,
    text=st.none() | texts | containers.map(json.dumps) | containers.map(lambda tree: json.dumps(tree, indent=2)),
    tool_calls=st.lists(st.builds(ToolCall, texts, trees), max_size=2).map(tuple),
    finish=st.none() | texts,
    refusal=st.none() | texts,
    reasoning=st.none() | texts,
)
plain = st.dictionaries(texts, leaves | st.lists(leaves, max_size=3), max_size=3)
digests = st.sampled_from(["ab" * 32, "01" * 32])
entries = st.builds(
    Entry,
    verdict=texts,
    request=st.builds(Request, texts, texts, headers, bodies),
    response=st.builds(
        Response, st.integers(100, 599), headers, bodies, st.sampled_from(["", "gzip"]), st.sampled_from(Cut)
    ),
    key=digests,
    ordinal=st.integers(0, 9),
    key_spec=st.builds(KeySpec, texts, texts, plain),
    contract=st.none() | st.builds(ContractRef, texts, st.integers(0, 9), digests, st.none() | digests),
    provenance=plain,
    dialect=st.none() | st.sampled_from(["openai-chat/1"]),
    answer=st.none() | st.lists(choices, max_size=2).map(tuple).map(Answer),
    violations=st.lists(st.builds(Violation, texts, texts, texts), max_size=2).map(tuple),
    metrics=plain,
    scrubbed=st.lists(texts, max_size=2).map(tuple),
    extra=st.dictionaries(keys, leaves, max_size=2),
)
EMPTY = Entry("good", Request("GET", "https://api.example.com/"), Response(200), "ab" * 32, 0, KeySpec("k1", "s1"))


def assert_exact(entry):
    data, sides = dump_entry(entry)
    again = load_entry(data, sides.get)
    assert again == entry
    assert repr(again.answer) == repr(entry.answer)  # 1 == True == 1.0 in Python
    assert dump_entry(again) == (data, sides)


@MODEST
@given(bodies, bodies, headers)
def test_bodies_of_every_kind_come_back_byte_for_byte(asked, answered, head):
    assert_exact(replace(EMPTY, request=Request("POST", "u", head, asked), response=Response(200, head, answered)))


@MODEST
@given(entries)
def test_an_entry_comes_back_whole_and_is_written_the_same_again(entry):
    assert_exact(entry)


@MODEST
@given(entries)
def test_a_file_is_strict_json_that_shows_what_cannot_be_seen(entry):
    data, _ = dump_entry(entry)
    json.loads(data, parse_constant=pytest.fail)
    text = data.decode()
    assert text.endswith("}\n")
    assert not set(text) & set("\r\t\x00\x1b\x7f\x85\u2028\u2029\u202e\ufeff\ufffe")


@MODEST
@given(entries)
def test_br_132_a_copy_with_crlf_holds_the_same_entry(entry):
    data, sides = dump_entry(entry)
    assert load_entry(data.replace(b"\n", b"\r\n"), sides.get) == entry


@MODEST
@given(entries, st.data())
def test_a_torn_file_never_loads(entry, data):
    file, sides = dump_entry(entry)
    cut = data.draw(st.integers(0, len(file) - 2))
    with pytest.raises(FormatError):
        load_entry(file[:cut], sides.get)


class PlainLoader(yaml.SafeLoader):
    """Reads unknown tags as the plain data under them: no tag makes an object."""

    def construct_mapping(self, node, deep=False):
        pairs = ((self.construct_object(key, True), self.construct_object(value, True)) for key, value in node.value)
        return {key if isinstance(key, str | int) else repr(key): value for key, value in pairs}

    def construct_untagged(self, suffix, node):
        if isinstance(node, yaml.ScalarNode):
            return self.construct_scalar(node)
        return (
            self.construct_sequence(node, True) if isinstance(node, yaml.SequenceNode) else self.construct_mapping(node)
        )


PlainLoader.add_multi_constructor("", PlainLoader.construct_untagged)


def cassette(path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return json.loads(data) if path.suffix == ".json" else yaml.load(data, PlainLoader)


def found_bodies(tree):
    """Yield every body of a cassette, as text, as bytes and as a parsed tree."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            if name in ("body", "string", "body_string", "base64_string") and isinstance(value, str | bytes):
                yield value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
            if name in ("parsed_body", "body"):
                yield json.dumps(value, default=str).encode()
            yield from found_bodies(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from found_bodies(value)


def unzipped(body):
    try:
        return gzip.decompress(body)
    except (OSError, EOFError):
        return body


def test_all_bodies_of_other_peoples_cassettes_come_back(corpora):
    paths = [path for path in sorted((corpora / "vcrpy").rglob("*")) if path.is_file()]
    count = 0
    for path in paths:
        for body in found_bodies(cassette(path)):
            for content in {body, unzipped(body)}:
                assert_exact(replace(EMPTY, response=Response(200, (), content)))
                count += 1
    assert len(paths) >= 80
    assert count >= 400


def test_whole_files_of_other_recorders_and_logs_come_back_as_bodies(corpora):
    paths = [path for folder in ("foreign", "logs") for path in sorted((corpora / folder).rglob("*")) if path.is_file()]
    assert len(paths) >= 10
    for path in paths:
        assert_exact(replace(EMPTY, request=Request("POST", "u", (), path.read_bytes())))
