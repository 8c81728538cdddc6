"""`onetake probe`."""

from __future__ import annotations

import json
import signal

import jsonschema_rs
import pytest

from onetake.cassette_files import read_entry
from onetake.probing.report import schema
from onetake.testing.provider import openai_chat, openai_error


@pytest.fixture
def answers(chats, provider):
    """A function that says what the provider answers from now on; two entries are stored: `{"n": 1}`."""

    def say(said, model="m-1", **more):
        provider.script(lambda request: said if not isinstance(said, str) else openai_chat(said, model=model, **more))

    say('{"n": 1}')
    say.files = chats("one", "two")
    return say


def test_an_agreeing_a_drifting_and_a_dead_provider_have_their_codes(run, answers):
    assert run("probe")[:2] == (
        0,
        "".join(f"agreed: {name}\n" for name in told(run)) + "\nsampled  2: 2 agreed\n",
    )
    answers('{"n": "1"}')
    code, out, _ = run("probe")
    assert code == 3
    assert out.count('  error: type, answer$.n: was "number", is "string"\n') == 2
    assert "\nsampled  2: 2 drifted\nnext     read what drifted" in out
    answers(openai_error(503))
    code, out, _ = run("probe")
    assert (code, out.count("failed: "), out.count("  status 503")) == (4, 2, 2)


def told(run):
    """Return the entries of a probe in the order in which they are told."""
    return [one["entry"] for one in json.loads(run("probe", "--json")[1])["entries"]]


def test_the_report_is_written_as_it_is_printed_and_fits_its_schema(run, answers, project):
    answers('{"n": "1"}')
    code, out, _ = run("probe", "--json", "--report", "probe.json", "--sample", "1", "--seed", "x", "--oldest")
    document = json.loads(out)
    assert document == json.loads((project / "probe.json").read_text(encoding="utf-8"))
    assert jsonschema_rs.is_valid(schema(), document)
    assert (code, document["exit"], document["sampled"], document["drifted"]) == (3, 3, 1, 1)
    assert {"size": 1, "seed": "x", "oldest": True}.items() <= document["selection"].items()


def test_strict_lets_warnings_count(run, answers):
    answers('{"m": 1}')
    codes = [run("probe", *words)[0] for words in ((), ("--strict",))]
    assert codes == [0, 3]


def test_what_is_unaskable_is_counted_by_name(run, answers):
    path = answers.files[0]
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("http://127.0.0.1", "https://evil.example"), encoding="utf-8")
    code, out, _ = run("probe")
    assert (code, "unaskable: 1 entry: its request does not give the stored key" in out) == (0, True)
    assert f"  cassettes/a/{path.name}\n" in out
    assert out.endswith("sampled  1: 1 agreed, 1 unaskable\n")


def test_status_knows_the_last_probe(run, answers):
    assert json.loads(run("status", "--json")[1])["probe"] is None
    answers('{"n": "1"}')
    run("probe")
    assert ": 2 sampled, 2 drifted\n" in run("status")[1].partition("last probe: ")[2]
    assert json.loads(run("status", "--json")[1])["probe"]["exit"] == 3


def test_what_is_accepted_is_recorded_again_and_the_rest_is_not(run, answers):
    first, second = answers.files
    answers('{"n": "1"}')
    code, out, _ = run("probe", "--accept", first.stem[-16:])
    assert (code, out.startswith(f"recorded again: cassettes/a/{first.name}\n  error: type, answer$.n: ")) == (0, True)
    assert [read_entry(path).answer.choices[0].text for path in (first, second)] == ['{"n": "1"}', '{"n": 1}']
    assert run("check")[0] == 0
    told = json.loads(run("probe", "--json", "--select", second.stem[-16:])[1])["findings"]
    (accepted,) = json.loads(run("probe", "--accept", second, "--json")[1])["accepted"]
    assert (accepted["key"], accepted["findings"]) == (read_entry(second).key, told)
    assert told[0]["path"] == "answer$.n"


def test_what_is_not_accepted_is_said_with_its_reason(run, answers):
    first, second = answers.files
    answers(openai_error(503))
    code, out, _ = run("probe", "--accept", first, second)
    assert (code, out.count("left as it was: "), out.count("  status 503")) == (1, 2, 2)
    assert out.endswith("2 answers not stored\n")
    code, out, _ = run("probe", "--accept", first, "--json")
    document = json.loads(out)
    assert (code, document["accepted"]) == (1, [])
    (refused,) = document["refused"]
    assert (refused["key"], refused["findings"]) == (read_entry(first).key, [])
    assert refused["why"].startswith("status 503")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a", "b"], "takes one PATH"),
        (["--accept"], "--accept needs the keys of entries"),
        (["--chain"], "--chain goes with --accept"),
        (["--accept", "--model", "x", "0123456789abcdef"], "--model is for what is only compared"),
        (["--accept", "--sample", "5", "0123456789abcdef"], "--sample is for what is only compared"),
        (["--accept", "0123456789abcdef"], "no entry below"),
        (["--select", "model:none"], "no entry is selected"),
        (["--select", ""], "--select is empty"),
        (["none"], "there is no such folder"),
        (["--sample", "0"], "--sample"),
        (["--repeat", "3"], "--repeat"),
        (["--select", "modle:m-1"], "did you mean 'model'?"),
        (["--timeout", "nan"], "timeout is a number from"),
        (["--max-cost", "inf"], "max_cost is a number from"),
        (["--rpm", "nan"], "rpm is a number from"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_nothing_is_asked(run, answers, provider, words, said):
    count = provider.count
    code, _, err = run("probe", *words)
    assert (code, said in err, provider.count) == (2, True, count)


def test_a_report_that_cannot_be_written_is_said_before_anything_is_asked(run, answers, provider):
    count = provider.count
    code, _, err = run("probe", "--report", "none/probe.json")
    assert (code, "none/probe.json: cannot be written" in err, provider.count) == (5, True, count)
    assert run("probe", "--report", "cassettes")[0] in (2, 5)


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def stopped(answers, monkeypatch, request):
    """The command is told to stop at the second call: the exit code that follows."""
    from onetake.probing import asking

    calls, true = iter(range(1, 100)), asking.send

    def sends(*sent):
        if next(calls) == 2:
            signal.raise_signal(request.param)
        return true(*sent)

    make = asking.Asker
    monkeypatch.setattr(asking, "Asker", lambda terms: make(terms, sends))
    answers('{"n": "1"}')
    return 128 + request.param


def test_what_was_asked_before_it_was_stopped_is_told_and_written(run, stopped, project):
    code, out, _ = run("probe", "--json", "--report", "probe.json")
    document = json.loads(out)
    assert (code, document["drifted"], document["unasked"]) == (stopped, 1, 1)
    assert document == json.loads((project / "probe.json").read_text("utf-8"))
    assert jsonschema_rs.is_valid(schema(), document)
    assert json.loads(run("status", "--json")[1])["probe"]["unasked"] == 1


def test_what_was_recorded_again_before_it_was_stopped_is_told(run, stopped, answers):
    code, out, _ = run("probe", "--accept", *answers.files, "--json")
    accepted = json.loads(out)["accepted"]
    assert (code, [one["path"] for one in accepted]) == (stopped, [f"cassettes/a/{answers.files[0].name}"])


def test_what_can_no_longer_be_written_loses_no_report(run, answers, project, provider):
    def answer(request):
        for place in ("probe.json", ".onetake/probed.json"):
            (project / place).mkdir(parents=True, exist_ok=True)
        return openai_chat('{"n": "1"}', model="m-1")

    provider.script(answer)
    code, out, err = run("probe", "--json", "--report", "probe.json")
    assert (code, json.loads(out)["drifted"]) == (5, 2)
    assert [f"{name}: cannot be written" in err for name in ("probe.json", "probed.json")] == [True, True]


def test_paths_are_told_from_where_one_stands_and_the_report_counts_from_the_settings(
    run, answers, project, monkeypatch
):
    monkeypatch.chdir(project / "cassettes")
    assert run("probe", "a")[1].count("agreed: a/chat-") == 2
    assert all(name.startswith("cassettes/a/") for name in told(run))


def test_under_a_seal_nothing_is_asked(run, answers, monkeypatch, provider):
    count = provider.count
    monkeypatch.setenv("ONETAKE_MODE", "none")
    assert [run("probe")[0], run("probe", "--accept", answers.files[0])[0], provider.count] == [2, 2, count]


@pytest.mark.whole
def test_python_m_onetake_probe(shell, answers, project):
    done = shell("probe", "--sample", "1", cwd=project)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, b"sampled  1: 1 agreed")
