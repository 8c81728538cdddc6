"""Files as they are: cassettes of vcrpy in every packing, and whatever else lies there."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from onetake.importers import reading, yamlvalues
from onetake.importers.reading import UNKNOWN, UNREADABLE, VCRPY, files_under, read, stem_of

ONE = {
    "request": {"method": "GET", "uri": "https://h/x", "headers": {"accept": ["*/*"]}, "body": None},
    "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "hi"}},
}
DOCUMENT = {"version": 1, "interactions": [ONE, ONE]}
YAML = yaml.safe_dump(DOCUMENT).encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.yaml", YAML),
        ("a.yaml", YAML.replace(b"\n", b"\r\n")),
        ("a.yaml", b"\xef\xbb\xbf" + YAML),
        ("a.yaml", YAML.decode().encode("utf-16")),
        ("a.yaml.gz", gzip.compress(YAML, mtime=0)),
        ("a.yaml", gzip.compress(YAML, mtime=0)),
        ("a.yaml.gz", gzip.compress(YAML[:40], mtime=0) + gzip.compress(YAML[40:], mtime=0)),
        ("a.json", json.dumps(DOCUMENT).encode()),
        ("a.json", b"\xef\xbb\xbf" + json.dumps(DOCUMENT, indent=2).encode()),
        ("a.json.gz", gzip.compress(json.dumps(DOCUMENT).encode(), mtime=0)),
        ("a.yaml", json.dumps(DOCUMENT).encode()),
        ("a.yaml", yaml.safe_dump(DOCUMENT, default_flow_style=True).encode()),
        ("a.json", YAML),
        ("no ending", YAML),
        ("a [x, y]! b.yaml", YAML),
        ("a.yaml", yaml.safe_dump({"interactions": {"first": ONE, "second": ONE}}).encode()),
        ("a.yaml", yaml.safe_dump({"requests": [ONE["request"]] * 2, "responses": [ONE["response"]] * 2}).encode()),
        ("a.yaml", yaml.safe_dump([ONE, ONE]).encode()),
    ],
)
def test_br_137_every_packing_and_layout_is_read(read_text, name, content):
    source = read_text(content, name)
    assert (source.kind, source.problem) == (VCRPY, "")
    assert [one.position for one in source.interactions] == [0, 1]
    for one in source.interactions:
        assert (one.request.method, one.request.url, one.response.body) == ("GET", "https://h/x", b"hi")
        assert (one.problem, one.foreign, one.objects, one.bodyless, one.notes) == ("", "", False, False, ())
        assert one.request.url == "https://h/x"


def test_a_cassette_without_interactions_is_one(read_text):
    assert read_text("interactions: []\nversion: 1\n") == reading.Source(read_text("x").path, VCRPY, "")


def test_objects_that_a_file_names_are_data(read_text, tmp_path):
    mark = tmp_path / "mark"
    source = read_text(f"""
- request: !!python/object:vcr.request.Request
    body: !!python/object/new:_io.BytesIO
      state: !!python/tuple [!!binary aGk=, 0, null]
    headers: !!python/object/apply:__builtin__.frozenset
    - - !!python/tuple [accept, '*/*']
    host: h
    method: POST
    path: /x
    port: 80
    protocol: http
  response:
    body: {{string: !!python/unicode "hi"}}
    headers: [!!python/unicode "a: b\\r\\n"]
    status: {{code: 200, message: OK}}
- request:
    method: GET
    uri: http://h/y
    headers:
      ? !!python/object/apply:multidict._multidict.istr
      - Accept
      : - text/plain
  response: {{status: {{code: 200}}, body: {{string: ho}}}}
- request: !!python/object/apply:os.mkdir ['{mark.as_posix()}']
  response: {{status: {{code: 200}}}}
- {{request: {{method: GET, uri: 'http://h/z'}}, response: {{status: 200}}}}
""")
    first, second, third, fourth = source.interactions
    assert (first.request.url, first.request.body, first.request.headers) == ("http://h/x", b"hi", (("accept", "*/*"),))
    assert (first.response.body, first.response.headers) == (b"hi", (("a", "b"),))
    assert second.request.headers == (("Accept", "text/plain"),)
    assert third.problem == "no request"
    assert not mark.exists()
    assert [one.objects for one in source.interactions] == [True, True, True, False]
    assert (fourth.request.method, fourth.request.url) == ("GET", "http://h/z")


def test_what_is_wrong_with_one_interaction_does_not_stop_the_others(read_text):
    odd = [7, {"request": {}}, {"request": ONE["request"]}, ONE | {"response": {}}, {"request_sample": 1}, ONE]
    source = read_text(yaml.safe_dump({"interactions": odd, "version": 1}))
    said = [(one.problem, one.foreign.partition(" ")[0], one.request is None) for one in source.interactions]
    assert said == [
        ("no request", "", True),
        ("the request has no method", "", True),
        ("no response", "", False),
        ("the response has no status", "", False),
        ("", "gRPC", True),
        ("", "", False),
    ]


@pytest.mark.parametrize(
    ("name", "content", "kind", "why"),
    [
        ("a.yaml", "", UNREADABLE, "is empty"),
        ("a.yaml", " \n\t", UNREADABLE, "is empty"),
        ("a.yaml", "# nothing\n", UNKNOWN, ""),
        ("a.yaml", "services: {}\n", UNKNOWN, ""),
        ("a.json", "[]", UNKNOWN, ""),
        ("a.json", "{", UNREADABLE, "no JSON"),
        ("a.yaml", "interactions:\n- a\0b\n", UNREADABLE, "a NUL character"),
        ("a.json", '{"a": "\0"}', UNREADABLE, "a NUL character"),
        ("a.yaml", "a: 'grüße'".encode("latin-1"), UNREADABLE, "no YAML"),
        ("a.json", '{"a": "grüße"}'.encode("latin-1"), UNREADABLE, "no UTF-8 at byte 9"),
        ("a.json", "[" * 100_000, UNREADABLE, "nested too deep"),
        ("a.json", '{"a":' * 100_000, UNREADABLE, "nested too deep"),
        ("a.yaml", "- " * 100_000, UNREADABLE, "nested deeper"),
        ("a.json", "[" + "9" * 5000 + "]", UNREADABLE, "a number that is too long"),
        ("a.yaml.gz", gzip.compress(YAML, mtime=0)[:-9], UNREADABLE, "its packing is cut off"),
        ("a.yaml.gz", gzip.compress(YAML, mtime=0)[:10] + b"\xff" * 20, UNREADABLE, "its packing is broken"),
        ("a.yaml", "version https://git-lfs.github.com/spec/v1\noid x\n", UNREADABLE, "git lfs pull"),
        ("a.yaml", YAML + b"---\n" + YAML, UNREADABLE, "several YAML documents"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(read_text, name, content, kind, why):
    source = read_text(content, name)
    assert (source.kind, source.interactions) == (kind, ())
    assert why in source.problem
    assert bool(source.problem) == (kind == UNREADABLE)


def test_no_more_is_read_or_unpacked_than_may_be(read_text, monkeypatch):
    monkeypatch.setattr(reading, "LARGEST", 1000)
    assert "larger than the 1000 bytes" in read_text(b"a: b\n" * 201).problem
    assert "larger than the 1000 bytes" in read_text(gzip.compress(b"\n" * 10_000_000), "a.yaml.gz").problem
    assert read_text(gzip.compress(b"a: b\n", mtime=0), "a.yaml.gz").kind == UNKNOWN


def test_no_more_values_of_json_are_read_than_may_be(read_text, monkeypatch):
    monkeypatch.setattr(reading.yamlvalues, "MOST_VALUES", 10)
    assert read_text("[" + "1," * 30 + "1]", "a.json").problem == "more than 20 values"


def test_a_folder_and_what_is_not_there_are_no_files(tmp_path):
    assert read(tmp_path).problem == "is no file, or a folder that cannot be listed"
    assert read(tmp_path / "a.yaml").problem == "is not there"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in this system's folders")
def test_a_pipe_holds_nobody(tmp_path):
    os.mkfifo(tmp_path / "a.yaml")
    os.mkfifo(tmp_path / "b")
    assert list(files_under([tmp_path])) == [tmp_path / "a.yaml"]
    assert read(tmp_path / "a.yaml").problem.startswith("is no file")


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_raise(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    assert read(path).kind


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=8) | st.sampled_from(["GET", "http://h/", b"x", 200, True, 1.5]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["method", "uri", "body", "headers", "status", "code", "string", "parsed_body", "content", "host"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@settings(max_examples=80, deadline=None)
@given(VALUES, VALUES)
def test_no_interaction_raises(tmp_path_factory, request, response):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(yaml.safe_dump({"interactions": [{"request": request, "response": response}]}))
    (one,) = read(path).interactions
    assert (one.request is None or one.response is None) == bool(one.problem)


def test_files_are_listed_once_in_order_and_none_of_ours(tmp_path):
    key = "0123456789abcdef"
    names = ["b.yaml", "a/z.yml", "a/b.json.gz", "a/plain", "a/other", ".hidden/a.yaml", "node_modules/a.yaml"]
    names += [f"a/chat-{key}.json", "a/_schemas/x.json", "a/_raw/y.json", "a/c.py", "a/.d.yaml", "B/e.YAML"]
    names += ["a/..yaml", "a/._b.yaml", "a/.plain"]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(b"interactions: []" if name == "a/plain" else b"x")
    explicit = tmp_path / f"a/chat-{key}.json"
    found = [path.relative_to(tmp_path).as_posix() for path in files_under([tmp_path, tmp_path / "a", explicit])]
    below = ["a/..yaml", "a/.d.yaml", "a/b.json.gz", "a/plain", "a/z.yml"]
    assert found == ["b.yaml", "B/e.YAML", *below, f"a/chat-{key}.json"]


def test_a_folder_that_cannot_be_listed_is_told(tmp_path, monkeypatch):
    def scandir(path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    real = os.scandir
    (tmp_path / "closed").mkdir()
    (tmp_path / "a.yaml").write_bytes(YAML)
    monkeypatch.setattr(os, "scandir", scandir)
    assert list(files_under([tmp_path])) == [tmp_path / "a.yaml", tmp_path / "closed"]


def test_links_below_a_folder_are_named_and_not_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.yaml").write_bytes(YAML)
    try:
        (tmp_path / "real/b.yaml").symlink_to(tmp_path / "real/a.yaml")
        (tmp_path / "linked").symlink_to(tmp_path / "real")
    except OSError:
        pytest.skip("no links for this user")
    found = [path.relative_to(tmp_path).as_posix() for path in files_under([tmp_path])]
    assert found == ["linked", "real/a.yaml", "real/b.yaml"]


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("test_a[x.y].yaml", "test_a[x.y]"),
        ("test_a.yaml.gz", "test_a"),
        ("a.YML", "a"),
        ("a.json", "a"),
        ("plain", "plain"),
        ("plain.gz", "plain"),
        (".yaml", ".yaml"),
    ],
)
def test_the_stem_is_the_tests_name(name, stem):
    assert stem_of(Path(name)) == stem


def test_marks_inside_texts_are_no_values(read_text, monkeypatch):
    monkeypatch.setattr(yamlvalues, "MOST_VALUES", 40)
    request = {"method": "POST", "uri": "https://h/", "body": '[{,"\\' * 100, "headers": {}}
    item = {"request": request, "response": {"status": {"code": 200}, "headers": {}, "body": {"string": ""}}}
    found = read_text(json.dumps({"interactions": [item]}), "a.json")
    assert (found.problem, len(found.interactions)) == ("", 1)
    many = read_text(json.dumps({"interactions": [item], "x": [1] * 100}), "a.json")
    assert many.problem == "more than 80 values"
