"""`onetake doctor`: what is printed of a suite that replays by vcrpy."""

from __future__ import annotations

import json

import pytest
import yaml

URL = "https://api.openai.com/v1/chat/completions"


def call(asked, said):
    message = {"choices": [{"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}]}
    headers = {"content-type": ["application/json"]}
    return {
        "request": {
            "body": json.dumps({"model": "m", "messages": asked}),
            "headers": headers,
            "method": "POST",
            "uri": URL,
        },
        "response": {
            "body": {"string": json.dumps(message)},
            "headers": headers,
            "status": {"code": 200, "message": "OK"},
        },
    }


@pytest.fixture
def suite(project):
    """A suite of one test in the current folder, whose cassette holds two calls of different kinds."""
    (project / "test_a.py").write_text("import pytest\n\n@pytest.mark.vcr\ndef test_a(): ...\n", encoding="utf-8")
    folder = project / "cassettes" / "test_a"
    folder.mkdir(parents=True)
    cassette = {"interactions": [call("one", "x\x1b[31m"), call("two", '{"a": 1}')], "version": 1}
    (folder / "test_a.yaml").write_text(yaml.safe_dump(cassette), encoding="utf-8")
    return project


def test_each_hazard_says_where_why_how_many_and_the_mend(run, suite):
    code, out, err = run("doctor")
    assert (code, err) == (1, "")
    lines = out.split("\n")
    assert lines[0] == "different-shapes (1)"
    assert lines[2:4] == [
        "  cassettes/test_a/test_a.yaml:17  1 cassette exposed",
        f"    POST {URL}: 2 different bodies, answers of 2 shapes: text | JSON {{a}}",
    ]
    assert "  mend: onetake import vcr cassettes/test_a/test_a.yaml: the entries are keyed by the whole request" in out
    assert "match-without-body (1)" in lines
    assert "  test_a.py:4  1 cassette exposed" in lines
    assert lines[-2] == "1 cassette with 2 interactions, opened at 1 place: 2 hazards"


def test_the_document(run, suite):
    code, out, _ = run("doctor", "--json")
    document = json.loads(out)
    assert code == 1
    assert document["counts"] == {"different-shapes": 1, "match-without-body": 1}
    assert (document["cassettes"], document["interactions"], document["openings"]) == (1, 2, 1)
    assert document["foreign"] == {}
    assert document["unread"] == document["unclear"] == []
    first = document["hazards"][0]
    assert set(first) == {"kind", "path", "line", "message", "why", "exposed", "cassettes", "mends"}
    assert (first["kind"], first["path"], first["exposed"]) == ("different-shapes", "cassettes/test_a/test_a.yaml", 1)
    assert len(first["mends"]) == 3


def test_a_project_without_hazards(run, project):
    code, out, err = run("doctor")
    assert (code, out, err) == (0, "0 cassettes with 0 interactions, opened at 0 places: 0 hazards\n", "")


def test_what_was_not_read_and_what_is_not_clear_is_told(run, suite):
    (suite / "cassettes" / "test_a" / "torn.yaml").write_text("interactions: {", encoding="utf-8")
    (suite / "test_b.py").write_text("import vcr\n\nwith vcr.use_cassette(name()): ...\n", encoding="utf-8")
    _, out, _ = run("doctor")
    assert "not read: cassettes/test_a/torn.yaml: " in out
    assert "not clear: test_b.py:3: the name of the cassette cannot be told from the text\n" in out


def test_a_path_that_is_no_folder_is_a_usage_error(run, suite):
    assert run("doctor", "nowhere")[::2] == (2, "onetake: nowhere: there is no such folder\n")


def test_no_secret_is_told(run, project):
    secret = "sk-proj-" + "Ab3dEf6hIj" * 5
    text = f"import pytest\n\n# we match on the body {secret}\n@pytest.mark.vcr\ndef test_a(): ...\n"
    (project / "test_a.py").write_text(text, encoding="utf-8")
    folder = project / "cassettes" / "test_a"
    folder.mkdir(parents=True)
    calls = [call("one", "x"), call("two", json.dumps({secret: 1}))]
    (folder / f"{secret}.yaml").write_text(yaml.safe_dump({"interactions": calls, "version": 1}), encoding="utf-8")
    (folder / f"{secret}.yml").write_text("interactions: [", encoding="utf-8")
    for words in (("doctor",), ("doctor", "--json")):
        code, out, err = run(*words)
        assert (code, err) == (1, "")
        assert "bodies are compared, and they are not: we match on the body [openai key 1]" in out
        assert "cassettes/test_a/[openai key 1].yml" in out
        assert secret[:12] not in out
