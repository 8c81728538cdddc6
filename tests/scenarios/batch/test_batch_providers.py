"""A provider that misbehaves in every way: what is no answer is never stored, and what is one is never asked again."""

from __future__ import annotations

import json

import httpx
import pytest

import onetake

NOT_BILLED = ("408", "409", "500", "502", "503", "504", "529")
UNSURE = ("leave", "short", "reset", "stall", "stall-inside", "late", "html", "error-200", "empty-200", "half-json")
AGAIN = (*NOT_BILLED, *UNSURE)
REFUSED = ("400", "404", "413", "422")
BAD = ("prose", "twice", "nan")
STREAMS = ("stream-cut", "stream-error", "stream-utf8", "stream-alive", "short", "reset")


def words(trial):
    """What came of each call, by key, in the order of the calls."""
    found = {}
    for call in trial.calls():
        found.setdefault(call["key"], []).append(call["word"])
    return sorted(found.values())


def classes(trial):
    return [row["error"]["class"] if "error" in row else "answered" for row in trial.rows()]


def test_what_fails_on_its_way_is_asked_again_and_never_stored(trial):
    trial.job(run="timeout = 1")
    trial.write(*(f"<{word}> text" for word in AGAIN))
    code, said = trial.run("--concurrency", "20")
    assert code == 0, said
    assert words(trial) == sorted([word, "good"] for word in AGAIN)
    trial.check(unsure=len(UNSURE))


@pytest.mark.parametrize(("word", "seconds"), [("429-seconds", 1), ("429-ms", 0.3), ("429-date", 1), ("429", 0.25)])
def test_a_rate_limit_is_waited_for_by_the_whole_run(trial, word, seconds):
    trial.write(f"<{word}> first", "second", "third")
    code, said = trial.run("--concurrency", "1", "--max-attempts", "1")
    assert code == 0, said
    limited, *rest = trial.calls()
    assert limited["word"] == word
    assert all(call["at"] - limited["at"] >= seconds for call in rest)
    trial.check()


@pytest.mark.parametrize("word", ["quota", "402"])
def test_nothing_is_sent_after_the_money_is_gone_and_the_run_can_go_on(trial, word):
    trial.write("one", f"<{word}> two", "three", "four")
    code, said = trial.run("--concurrency", "1")
    assert code == 75, said
    assert [call["word"] for call in trial.calls()] == ["good", word]
    assert not trial.out.exists()
    assert trial.run()[0] == 0
    assert len(trial.calls()) == 5
    trial.check()


@pytest.mark.parametrize("word", ["401", "403", "model"])
def test_three_alike_that_concern_every_request_stop_the_run(trial, word):
    trial.write("good", *(f"<{word} {word} {word}> {number}" for number in range(6)))
    code, said = trial.run("--concurrency", "1")
    assert (code, [call["word"] for call in trial.calls()]) == (75, ["good", word, word, word]), said
    assert not trial.out.exists()


def test_a_refused_record_is_stored_and_never_asked_again(trial):
    trial.write("one", *(f"<{word} {word}> text" for word in REFUSED))
    for _ in range(2):
        code, said = trial.run()
        assert code == 7, said
        assert classes(trial) == ["answered", *["refused"] * 4]
    assert words(trial) == sorted([["good"], *([word] for word in REFUSED)])


def test_a_run_whose_first_twenty_are_refused_stops(trial):
    trial.write(*(f"<400> {number}" for number in range(30)))
    code, said = trial.run("--concurrency", "1")
    assert (code, len(trial.calls())) == (75, 20), said


def test_dead_letters_are_stored_each_with_its_class(trial):
    kept = {"length": "truncated", "refusal": "refusal", "filter": "filtered"}
    trial.write(*(f"<{word} {word}> text" for word in (*kept, *BAD)))
    for _ in range(2):
        code, said = trial.run()
        assert code == 7, said
        assert classes(trial) == [*kept.values(), *["invalid"] * len(BAD)]
    assert words(trial) == sorted([word] for word in (*kept, *BAD))
    assert trial.totals().cost > 0


def test_a_bad_answer_is_repaired_and_the_chain_is_replayed(trial):
    trial.job(run="repairs = 2")
    trial.write("<repaired> one", "<prose> two", "three")
    for _ in range(2):
        code, said = trial.run()
        assert code in (0, 7), said
    assert classes(trial)[0] == classes(trial)[2] == "answered"
    calls = trial.calls()
    assert len({call["key"] for call in calls}) == len(calls)
    assert trial.totals().attempts == len(calls) == trial.totals().stored
    bill = sum(call["tokens"][0] * 15 + call["tokens"][1] * 60 for call in calls)
    assert trial.totals().cost * 100_000_000 == bill


@pytest.mark.parametrize("word", ["fenced", "trailing"])
def test_json_with_something_around_it_is_one_answer_now_and_later(trial, word):
    trial.write(f"<{word} {word}> text")
    first = trial.run()[0], trial.out.read_bytes()
    assert (trial.run()[0], trial.out.read_bytes()) == first
    assert words(trial) == [[word]]


def test_a_stream_counts_with_its_terminal_event_alone(trial, monkeypatch):
    monkeypatch.chdir(trial.folder)
    trial.write(*(f"<{word}> text" for word in STREAMS))

    def body(record):
        asked = [{"role": "user", "content": f"Label {record['message']}"}]
        return {"model": trial.model, "messages": asked, "stream": True, "stream_options": {"include_usage": True}}

    batch = onetake.Batch("in.jsonl", prompt=body, base_url=f"{trial.server}/v1", timeout=2, concurrency=8)
    ended = batch.run("rows.jsonl", progress="none")
    assert (ended.exit_code, ended.published.rows) == (0, len(STREAMS))
    # What is cut without a reset may be all of a stream that is short.
    assert words(trial) == sorted([word, "good"] for word in STREAMS)
    assert all("number" in row["answer"] for row in trial.rows())
    assert batch.verify("rows.jsonl") == []


def test_records_of_a_function_that_share_their_first_request_each_get_their_row(trial, monkeypatch):
    monkeypatch.chdir(trial.folder)
    trial.write(*"abcdef")

    def ask(text):
        with httpx.Client() as client:
            body = {"model": trial.model, "messages": [{"role": "user", "content": f"Label {text}"}]}
            said = client.post(f"{trial.server}/v1/chat/completions", json=body).json()
        return json.loads(said["choices"][0]["message"]["content"])["label"]

    batch = onetake.Batch("in.jsonl", call=lambda record: [ask("the rules"), ask(record["message"])], concurrency=4)
    ended = batch.run("rows.jsonl", progress="none")
    assert (ended.exit_code, ended.published.failures) == (0, {})
    assert len({tuple(row["answer"]) for row in trial.rows()}) == 6
    assert len(trial.calls()) == 7


def test_the_credential_goes_to_the_base_url_of_the_job(trial, monkeypatch):
    monkeypatch.setenv("OUR_KEY", "sk-ours-0123456789")
    trial.job(ask='api_key_env = "OUR_KEY"')
    trial.write("one")
    assert trial.run()[0] == 0
    assert [call["credential"] for call in trial.calls()] == ["sk-ours-0123456789"]
    kept = [path for path in trial.folder.rglob("*") if path.is_file() and b"sk-ours-0123456789" in path.read_bytes()]
    assert kept == []
