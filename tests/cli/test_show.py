from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256

import pytest

from onetake.cassette import Cassette
from onetake.model import Answer, Choice, Cut, Response, ToolCall, Violation
from onetake.stores.directory import DirectoryStore

HOSTILE = "\x1b[2J\x1b]52;c;cm0gLXJm\x07said\x9b31m\u202e\r\nnext"


def test_contract_and_provenance_come_first_then_what_was_said_then_the_request(run, store, make_entry):
    answer = Answer((Choice("one\ntwo", finish="stop", reasoning="hm"), Choice('{"a": [1, 2]}', finish="length")))
    entry = make_entry("why?", answer=answer, metrics={"latency_ms": 12}, scrubbed=("request.headers.authorization",))
    (path,) = store(entry)
    code, out, err = run("show", path)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"cassettes/a/{path.name}"
    names = [line.split()[0] for line in lines[1:] if line[:1].strip()]
    expected = "verdict contract recorded model dialect finish said request metrics scrubbed key"
    assert names == expected.split()
    assert "contract  triage v2, schema abababababab…" in lines
    assert "recorded  2026-03-01T10:00:00Z, by tests/test_a.py::test_b" in lines
    said = lines.index("said      (1 of 2)")
    assert [line.strip() for line in lines[said + 1 : said + 6]] == [
        "reasoning: hm",
        "one",
        "two",
        "(2 of 2)",
        '{"a": [1, 2]}',
    ]
    assert lines.index("finish    stop, length") < said
    assert any('"content": "why?"' in line for line in lines[said:])
    assert f"key       {entry.key}, ordinal 0, recipe k1, scrub s1" in lines


def test_tool_calls_refusals_and_violations_are_shown(run, store, make_entry):
    choice = Choice(tool_calls=(ToolCall("find", {"q": "x"}),), refusal="I will not", finish="tool_calls")
    found = (Violation("$.level", "one of info, error", '"odd"'),)
    (path,) = store(make_entry(answer=Answer((choice,)), violations=found, verdict="kept:violation"))
    _, out, _ = run("show", path)
    assert 'calls find with {"q": "x"}' in out
    assert "refuses: I will not" in out
    assert 'violations  $.level: expected one of info, error, found "odd"' in out


def test_an_answer_of_no_known_dialect_is_shown_as_a_response(run, store, make_entry):
    entry = replace(make_entry(body=b"plain words"), answer=None, dialect=None, contract=None)
    entry = replace(entry, response=replace(entry.response, decoded="gzip", cut=Cut.LEFT))
    (path,) = store(entry)
    _, out, _ = run("show", path)
    assert "response  200 (decoded: gzip) (cut: left)" in out
    assert "plain words" in out


@pytest.mark.parametrize("answer", [None, Answer()])
def test_bytes_that_are_no_text_are_told_by_length_and_digest(run, store, make_entry, answer):
    entry = make_entry()
    entry = replace(entry, response=Response(200, (("content-type", "audio/wav"),), b"\xff\x00" * 5), answer=answer)
    (path,) = store(entry)
    digest = sha256(b"\xff\x00" * 5).hexdigest()
    assert f'{{"bytes": 10, "sha256": "{digest}"}}' in run("show", path)[1]


def test_a_body_with_a_number_that_is_none_is_shown_as_it_came(run, store, make_entry):
    (path,) = store(make_entry(body=b'{"x":1e999}'))
    code, out, _ = run("show", path, "--response")
    assert code == 0
    assert '{"x":1e999}' in out


def test_request_and_response_alone(run, store, make_entry):
    (path,) = store(make_entry("the question", "the answer"))
    request, response = run("show", path, "--request")[1], run("show", path, "--response")[1]
    assert request.splitlines()[0] == "POST https://api.openai.com/v1/chat/completions"
    assert "the question" in request
    assert "the answer" not in request
    assert response.splitlines()[0] == "200"
    assert "the answer" in response
    assert "the question" not in response
    assert run("show", path, "--request", "--response")[1] == f"{request}\n{response}"


@pytest.mark.parametrize("body", [b'{"a": 1}\r\n\n', b"\x1b[2Jraw \xff\x00\r\n", b""])
def test_raw_writes_the_exact_bytes(shell, store, make_entry, project, body):
    (path,) = store(make_entry(body=body))
    done = shell("show", "--raw", path.relative_to(project), cwd=project)
    assert (done.returncode, done.stdout, done.stderr) == (0, body, b"")


def test_json_is_the_entry_on_disk(run, store, make_entry, project):
    entry = make_entry("q", "a\ud800b", body=b"\xff\xfe", violations=(Violation("$", "x", "y"),))
    (path,) = store(entry, make_entry("other"))[:1]
    code, out, _ = run("show", path, "--json")
    assert code == 0
    (shown,) = json.loads(out)["entries"]
    assert shown["path"] == f"cassettes/a/{path.name}"
    assert (shown["key"], shown["ordinal"], shown["verdict"]) == (entry.key, 0, "good")
    assert shown["answer"]["choices"][0]["text"] == "a\ud800b"
    assert shown["request"]["body"] == {"text": entry.request.body.decode()}
    assert shown["response"]["body"] == {"base64": "//4="}
    assert shown["violations"] == [{"path": "$", "expected": "x", "found": "y"}]
    assert shown["contract"]["name"] == "triage"


def test_several_entries_are_shown_in_the_order_asked_for(run, store, make_entry):
    one, two = store(make_entry("one"), make_entry("two"))
    _, out, _ = run("show", two, one)
    assert out.index(two.name) < out.index(one.name)
    assert [e["path"] for e in json.loads(run("show", two, one, "--json")[1])["entries"]] == [
        f"cassettes/a/{path.name}" for path in (two, one)
    ]


@pytest.mark.parametrize("length", [8, 16, 40, 64])
def test_an_entry_is_found_by_the_first_digits_of_its_key(run, store, make_entry, length):
    entry = make_entry("one")
    path, _ = store(entry, make_entry("two"))
    code, out, _ = run("show", entry.key[:length].upper())
    assert code == 0
    assert out.splitlines()[0].endswith(path.name)


def test_digits_beyond_the_name_count(run, store, make_entry):
    entry = make_entry()
    store(entry)
    code, _, err = run("show", entry.key[:16] + "0" * 48)
    assert code == 2
    assert "no entry below ." in err


def test_an_ambiguous_key_names_its_candidates(run, store, make_entry):
    entry = make_entry()
    one, two = store(entry, replace(entry, ordinal=1))
    (three,) = store(entry, folder="cassettes/b")
    code, out, err = run("show", entry.key[:10])
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "fits 3 entries" in err
    for path in (one, two, three):
        assert "/".join(path.parts[-3:]) in err
    code, out, _ = run("show", f"{entry.key[:10]}-1")
    assert code == 0
    assert out.splitlines()[0] == f"cassettes/a/{two.name}"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("0123456789abcdef", "no entry below ."),
        ("0123456", "8 or more hex digits"),
        ("cassettes/gone.json", "no such file"),
        ("cassettes", "is a folder"),
    ],
)
def test_what_names_no_entry_is_a_usage_error(run, store, make_entry, word, said):
    store(make_entry())
    code, out, err = run("show", word)
    assert (code, out) == (2, "")
    assert err.startswith("onetake: ")
    assert err.count("\n") == 1
    assert said in err


def test_a_path_with_spaces_and_backslashes(run, store, make_entry):
    (path,) = store(make_entry("one"), folder="cassettes/my test[a b]")
    for word in (f"cassettes/my test[a b]/{path.name}", f"cassettes\\my test[a b]\\{path.name}"):
        code, out, _ = run("show", word)
        assert code == 0
        assert out.splitlines()[0] == f"cassettes/my test[a b]/{path.name}"


def test_an_unreadable_entry_is_damage(run, store, make_entry):
    (path,) = store(make_entry())
    path.write_bytes(b'{"onetake": 1')
    for word in (path, path.stem[-16:]):
        code, out, err = run("show", word)
        assert (code, out) == (5, "")
        assert path.name in err
        assert "torn" in err
        assert err.count("\n") == 1


def test_an_entry_that_is_nested_too_deep_is_damage_not_a_traceback(run, store, make_entry):
    (path,) = store(make_entry())
    deep = path.read_bytes().replace(b'"Good day."', b"[" * 50_000 + b"]" * 50_000)
    path.write_bytes(deep)
    for options in ((), ("--json",)):
        code, _, err = run("show", path, *options)
        assert code == 5
        assert "deep" in err


@pytest.mark.parametrize(
    "options", [("--raw", "--json"), ("--raw", "--request"), ("--json", "--response"), ("--raw", "again")]
)
def test_options_that_do_not_go_together(run, store, make_entry, options):
    (path,) = store(make_entry())
    code, out, err = run("show", path, *(path if word == "again" else word for word in options))
    assert code == 2
    assert options[0] in err
    assert (json.loads(out)["error"]["exit"] == 2) if "--json" in options else out == ""


def test_hostile_text_is_made_printable(run, store, make_entry):
    choice = Choice(HOSTILE, (ToolCall(HOSTILE, HOSTILE),), HOSTILE, HOSTILE, HOSTILE)
    entry = make_entry(
        HOSTILE, answer=Answer((choice,)), provenance={"test": HOSTILE, "sdk": HOSTILE}, verdict=f"kept:{HOSTILE}"
    )
    entry = replace(entry, violations=(Violation(HOSTILE, HOSTILE, HOSTILE),), scrubbed=(HOSTILE,))
    (path,) = store(entry)
    for options in ((), ("--request", "--response"), ("--json",)):
        code, out, _ = run("show", path, *options)
        assert code == 0
        assert not set(out) & set("\x1b\x07\x9b\u202e\r")
    assert "said" in run("show", path)[1]


def test_a_kept_stream_is_written_from_its_sidecar(shell, project, make_entry):
    events = b'data: {"x": 1}\n\ndata: [DONE]\n\n'
    entry = make_entry()
    entry = replace(entry, response=Response(200, (("content-type", "text/event-stream"),), events))
    store = DirectoryStore(project / "cassettes")
    Cassette(store).add(entry)
    assert list((project / "cassettes" / "_raw").iterdir())
    assert shell("show", "--raw", entry.key[:8], cwd=project).stdout == events


def test_a_prompt_of_several_lines_is_shown_line_by_line(run, store, make_entry):
    prompt = "\n".join(f"the line number {number} of a prompt that is long enough" for number in range(4))
    (path,) = store(make_entry(prompt))
    lines = [line.strip().rstrip(",") for line in run("show", path, "--request")[1].splitlines()]
    assert all(f'"{line}"' in lines for line in prompt.split("\n"))


def test_a_streamed_response_is_shown_as_the_data_of_its_events(run, store, make_entry):
    body = b': hello\n\nevent: chunk\ndata: {"x": 1}\n\ndata: {"x": 2}\n\ndata: [DONE]\n\n'
    entry = replace(make_entry(), response=Response(200, (("content-type", "text/event-stream"),), body))
    (path,) = store(entry)
    assert run("show", path, "--response")[1].splitlines()[3:] == ['{"x": 1}', '{"x": 2}', "[DONE]"]


def test_embeddings_are_told_by_their_length_in_either_spelling(run, store, make_entry):
    floats = {"embedding": [n / 7 for n in range(1536)], "short": [0.5] * 64}
    packed = b64encode(bytes(range(256)) * 24).decode()
    body = json.dumps({"data": [floats, {"embedding": packed, "$raw": "said $raw"}]}).encode()
    (path,) = store(replace(make_entry(body=body), answer=Answer()))
    for options in ((), ("--response",)):
        code, out, _ = run("show", path, *options)
        assert code == 0
        assert '"embedding": {"$raw": "1536 numbers"}' in out
        assert '"embedding": {"$raw": "6144 bytes", "prefix": ""}' in out
        assert '"$raw": "said $raw"' in out
        assert max(map(len, out.splitlines())) < 400
    assert json.loads(run("show", path, "--json")[1])["entries"][0]["response"]["body"] == {"text": body.decode()}


def test_json_in_the_answer_that_cannot_be_laid_out_is_shown_as_it_came(run, store, make_entry):
    deep = "[" * 400 + "]" * 400
    for said in ('{"x": 1e999}', deep):
        (path,) = store(make_entry(said[:9], said=said, body=b"{}"))
        code, out, err = run("show", path)
        assert (code, err) == (0, "")
        assert said in out


def test_an_adopted_answer_says_at_the_head_where_it_comes_from(run, store, make_entry):
    entry = make_entry(contract=None)
    said = {"from": "ab" * 32, "at": "2026-03-01T10:00:00Z", "reason": "body$.store: added false"}
    (path,) = store(replace(entry, provenance={**entry.provenance, "adopted": said}))
    code, out, _ = run("show", str(path))
    lines = out.split("\n")
    assert code == 0
    told = "adopted   from the entry with the key abababababababab, 2026-03-01T10:00:00Z: body$.store: added false"
    assert told in lines
    assert lines.index(told) < next(number for number, line in enumerate(lines) if line.startswith("said"))


def test_an_imported_entry_says_from_where(run, store, make_entry):
    came = {"imported_from": {"path": "cassettes/a.yaml", "position": 3, "notes": ["its label is left out"]}}
    own, whole, loose, odd = store(
        make_entry("one"),
        make_entry("two", provenance=came),
        make_entry("three", provenance=came, extra={"loose": True}),
        make_entry("four", provenance={"imported_from": {"path": "a", "position": 0, "notes": 7}}),
    )
    assert "imported" not in run("show", str(own))[1]
    lines = run("show", str(whole))[1].splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("imported"))
    assert [" ".join(line.split()) for line in lines[at : at + 2]] == [
        "imported from cassettes/a.yaml, interaction 3",
        "its label is left out",
    ]
    assert "interaction 3, without the request's body (loose)" in run("show", str(loose))[1]
    assert "from a, interaction 0\n" in run("show", str(odd))[1]
