from __future__ import annotations

import hashlib
import json
import re
import socket
import sys

import pytest

from onetake.cassette import Cassette
from onetake.cli import demo_models
from onetake.cli.demo_lines import LINES, scripted_answer
from onetake.stores.directory import DirectoryStore
from onetake.testing import local_model


def entries_of(folder):
    return [entry for _, _, entry in Cassette(DirectoryStore(folder)).all()]


def digest_of(bodies):
    whole = hashlib.sha256()
    for body in bodies:
        whole.update(len(body).to_bytes(8, "big") + body)
    return whole.hexdigest()


@pytest.mark.parametrize(
    "environment",
    [
        {},
        pytest.param({"CI": "true"}, marks=pytest.mark.whole),
        pytest.param({"ONETAKE_MODE": "all"}, marks=pytest.mark.whole),
        pytest.param({"HTTP_PROXY": "http://127.0.0.1:9"}, marks=pytest.mark.whole),
    ],
)
def test_the_figures_are_those_of_what_is_on_disk(shell, project, environment):
    done = shell("demo", "--no-model", "--keep", "kept here", "--json", cwd=project, **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    found = json.loads(done.stdout)
    kept = project / "kept here"
    entries = entries_of(kept / "cassettes" / "triage")
    assert found["kept"] == "kept here"
    assert (found["failed"], found["verified"], found["real_model"]) == ([], True, False)
    assert found["recorded"] == found["replayed"] == found["other_port_replayed"] == len(entries) == len(LINES) == 12
    assert found["other_port_recorded"] == 0
    by_question = {json.loads(entry.request.body)["messages"][-1]["content"]: entry for entry in entries}
    assert found["digest"] == digest_of(by_question[line].response.body for line, _ in LINES)
    assert found["same_bytes"] is True
    for line, _ in LINES:
        assert json.loads(by_question[line].answer.choices[0].text) == scripted_answer(line)
        assert by_question[line].contract.name == "triage"
    assert found["ratio"] == pytest.approx(found["live_seconds"] / found["replay_seconds"], rel=0.02)
    assert (kept / found["entry_path"]).is_file()
    (reject,) = entries_of((kept / found["reject_path"]).parent)
    assert (found["rejected"], found["reject_kind"], reject.verdict) == (1, "length", "reject:length")
    assert reject.answer.choices[0].finish == "length"


def test_the_text_says_what_was_checked_and_leaves_nothing(shell, project, tmp_path_factory):
    temporary = tmp_path_factory.mktemp("temporary")
    done = shell("demo", "--no-model", cwd=project, TMPDIR=str(temporary), TEMP=str(temporary), TMP=str(temporary))
    out = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert out.splitlines()[0].startswith("model: a scripted provider at http://127.0.0.1:")
    checks = [line for line in out.splitlines() if line.startswith("  ok ")]
    assert f"All {len(checks)} checks held" in out
    assert "FAILED" not in out
    assert "refused, kind length" in out
    assert ".onetake/rejects/cassettes/triage/" in out
    assert '"onetake": 1' in out
    assert all(line in out for line, _ in LINES)
    assert max(map(len, out.splitlines())) <= 100
    assert "\x1b" not in out
    assert list(temporary.iterdir()) == []
    assert [path.name for path in project.iterdir()] == ["onetake.toml"]


def test_settings_of_a_project_above_do_not_change_it(shell, project):
    (project / "onetake.toml").write_text('mode = "none"\non_reject = "pass"\nkeep = ["length"]\nrepeats = "same"\n')
    done = shell("demo", "--no-model", "--keep", "below", "--json", cwd=project)
    assert done.returncode == 0
    assert json.loads(done.stdout)["reject_kind"] == "length"


@pytest.mark.parametrize("word", ["none", "replay"])
def test_a_sealed_environment_forbids_it(shell, project, word):
    done = shell("demo", "--no-model", "--keep", "x", cwd=project, ONETAKE_MODE=word)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"ONETAKE_MODE" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert not (project / "x").exists()


def test_a_folder_that_holds_something_is_left_alone(run, project):
    code, out, err = run("demo", "--no-model", "--keep", ".")
    assert (code, out) == (2, "")
    assert "not empty" in err
    code, _, err = run("demo", "--no-model", "--keep", "onetake.toml")
    assert code == 2
    assert (project / "onetake.toml").read_bytes() == b""


def test_without_the_sdk_it_says_what_to_install(run, project, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    code, out, err = run("demo")
    assert (code, out) == (2, "")
    assert "pip install openai" in err


def test_without_the_model_it_says_so_in_one_line(monkeypatch):
    real = local_model.find_spec
    monkeypatch.setattr(local_model, "find_spec", lambda name: None if name == "xllamacpp" else real(name))
    serve, why = demo_models.choose(real=True)
    assert why == "the package xllamacpp is not installed"
    with serve() as model:
        assert model.name == "scripted"


def test_a_claim_that_does_not_hold_fails_the_demo(run, project, monkeypatch):
    """On this machine something takes every connection, so the demo must not claim that nothing listens any more."""
    connect, taken = socket.create_connection, []

    def taking(*arguments, **options):
        try:
            return connect(*arguments, **options)
        except ConnectionRefusedError:
            taken.extend(socket.socketpair())
            return taken[-1]

    monkeypatch.setattr(socket, "create_connection", taking)
    try:
        code, out, _ = run("demo", "--no-model")
        assert code == 1
        assert re.search(r"^  FAILED  nothing listens at http://127.0.0.1:\d+ any more$", out, re.MULTILINE)
        assert re.search(r"^1 of \d+ checks FAILED$", out, re.MULTILINE)
        code, out, _ = run("demo", "--no-model", "--json")
    finally:
        for one in taken:
            one.close()
    found = json.loads(out)
    assert (code, found["verified"]) == (1, False)
    assert [text[:18] for text in found["failed"]] == ["nothing listens at"]


@pytest.mark.parametrize("real", [True, False])
def test_a_server_tells_whether_it_was_asked_and_closes_its_port(real):
    import openai

    serve, why = demo_models.choose(real=real)
    if real and why:
        pytest.skip(f"no local model: {why}")
    with serve() as model:
        assert not demo_models.is_closed(model.url)
        assert not model.was_asked()
        with openai.OpenAI(base_url=f"{model.url}/v1", api_key="none", max_retries=0) as client:
            asked = [{"role": "user", "content": LINES[0][0]}]
            client.chat.completions.create(model=model.name, messages=asked, max_tokens=1)
        assert model.was_asked()
    assert demo_models.is_closed(model.url)


@pytest.mark.slow
def test_with_the_real_model(shell, project):
    reason = local_model.available()
    if reason:
        pytest.skip(f"no local model: {reason}")
    done = shell("demo", "--keep", "kept", cwd=project)
    out = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert out.splitlines()[0].startswith("model: smollm2-135m, a real one")
    assert "FAILED" not in out
    assert max(map(len, out.splitlines())) <= 100
    entries = entries_of(project / "kept" / "cassettes" / "triage")
    assert {entry.provenance["model_served"] for entry in entries} == {"smollm2-135m"}
    assert {json.loads(entry.answer.choices[0].text)["level"] for entry in entries} <= {"info", "warning", "error"}
