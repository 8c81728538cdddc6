"""`onetake batch plan`."""

from __future__ import annotations

import json

PLAN = ("batch", "plan", "in.jsonl", "-c", "job.toml")


def test_what_is_missing_and_why_and_an_unknown_price_is_said(run, batch, provider):
    code, out, _ = run(*PLAN)
    assert code == 0
    said = dict(line.split(maxsplit=1) for line in out.splitlines() if line)
    assert (said["records"], said["stored"], said["requests"], said["bad"]) == ("3", "0", "2 different", "lines  1")
    assert said["cost"].startswith("unknown: the price of m is not known")
    assert out.splitlines()[-1] == "2        line 1  not asked before"
    assert provider.count == 0


def test_an_edit_is_named_with_its_cost(run, batch, provider):
    run("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none")
    assert "to send    nothing" in run(*PLAN)[1]
    with (batch / "job.toml").open("r+") as job:
        text = job.read().replace('{message}"', '{message}\\n"')
        job.seek(0)
        job.write(text + "[run]\nprices = { input = 1, output = 1 }\n")
    found = json.loads(run(*PLAN, "--json")[1])
    (why,) = found["reasons"]
    assert (why["reason"], why["count"], why["example"]) == ("prompt differs by one trailing newline", 2, 1)
    command = f"onetake adopt job.toml --from {why['adopt']} --input in.jsonl"
    assert f"where the new words ask the same, `{command}` takes over what is stored" in run(*PLAN)[1]
    assert "to adopt  2 entries" in run(*command.split()[1:])[1]
    assert (found["misses"], found["orphans"], found["cost_low"] > 0) == (2, 2, True)
    assert "orphans    2 stored, which no record leads to" in run(*PLAN)[1]


def test_explain_prints_what_the_key_is_made_of(run, batch, provider):
    found = json.loads(run(*PLAN, "--json", "--explain")[1])["request"]
    assert (found["method"], found["origin"], found["path"]) == ("POST", provider.url, "/v1/chat/completions")
    assert found["body"]["json"] == {"model": "m", "messages": [{"role": "user", "content": "Label one"}]}
    assert '"content": "Label one"' in run(*PLAN, "--explain")[1]
    (batch / "in.jsonl").write_bytes(b"\n{}\n")
    assert "no record of this input makes a request" in run(*PLAN, "--explain")[1]
