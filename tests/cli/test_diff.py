from __future__ import annotations

import json
import subprocess
from dataclasses import replace

import pytest

from onetake import key_specs
from onetake.key import Keyer
from onetake.model import Answer, Choice, ContractRef, Response, Violation
from onetake.settings import KeyRules


def paths_of(listed):
    return [difference["path"] for difference in listed]


def test_an_entry_equals_itself(run, store, make_entry):
    (path,) = store(make_entry())
    code, out, _ = run("diff", path, path)
    assert code == 0
    assert out.splitlines()[-1] == "no difference in request, answer, contract and provenance"
    found = json.loads(run("diff", path, path, "--json")[1])
    assert found == {
        "a": f"cassettes/a/{path.name}",
        "b": f"cassettes/a/{path.name}",
        "equal": True,
        "request": [],
        "answer": [],
        "contract": [],
        "provenance": [],
    }


def test_every_part_is_compared_by_path(run, store, make_entry):
    one = make_entry("first", "Yes.", provenance={"recorded_at": "2026-01-01T00:00:00Z", "sdk": "x"})
    two = make_entry(
        "second", '{"a": 1}', contract=ContractRef("triage", 3, "ab" * 32), provenance={"recorded_at": "2026-02-01"}
    )
    a, b = store(one, two)
    code, out, _ = run("diff", a, b, "--json")
    found = json.loads(out)
    assert (code, found["equal"]) == (1, False)
    assert found["request"] == [
        {"path": "body$.messages[0].content", "kind": "changed", "a": '"first"', "b": '"second"'}
    ]
    assert found["answer"] == [{"path": "$.choices[0].text", "kind": "changed", "a": '"Yes."', "b": '"{"a": 1}"'}]
    assert found["contract"] == [{"path": "$.contract.schema_version", "kind": "changed", "a": "2", "b": "3"}]
    assert {d["path"]: d["kind"] for d in found["provenance"]} == {"$.recorded_at": "changed", "$.sdk": "only_a"}


def test_swapping_the_entries_swaps_the_sides(run, store, make_entry):
    a, b = store(make_entry("first"), make_entry("second", provenance={"commit": "c" * 40}))
    there, back = (json.loads(run("diff", *pair, "--json")[1]) for pair in ((a, b), (b, a)))
    mirrored = {"only_a": "only_b", "only_b": "only_a", "changed": "changed"}
    for part in ("request", "answer", "contract", "provenance"):
        assert sorted((d["path"], mirrored[d["kind"]], d["b"], d["a"]) for d in there[part]) == sorted(
            (d["path"], d["kind"], d["a"], d["b"]) for d in back[part]
        )


def test_plain_output_says_which_side_holds_what(run, store, make_entry):
    a, b = store(make_entry("first", provenance={"test": "t"}), make_entry("second", provenance={}))
    code, out, _ = run("diff", a, b)
    assert code == 1
    lines = out.splitlines()
    at = lines.index("  body$.messages[0].content")
    assert lines[at + 1 : at + 3] == ['    a "first"', '    b "second"']
    assert lines[lines.index("  $.test (only in a)") + 1] == '    a "t"'


def test_only_the_order_differs(run, store, make_entry):
    one, two = (Answer((Choice(json.dumps(value)),)) for value in ([1, 2, 3], [3, 1, 2]))
    a, b = store(make_entry(answer=one), make_entry("other", answer=two))
    _, out, _ = run("diff", a, b)
    assert "  $.choices[0].text$: only the order differs" in out


def test_json_answers_are_compared_inside(run, store, make_entry):
    a, b = store(make_entry(said='{"level": "info", "n": 1}'), make_entry("x", said='{"level":"error","n":1.0}'))
    assert paths_of(json.loads(run("diff", a, b, "--json")[1])["answer"]) == ["$.choices[0].text$.level"]


@pytest.mark.parametrize("answer", [None, Answer()])
def test_what_holds_no_choice_is_compared_by_its_body(run, store, make_entry, answer):
    bare = {"answer": answer, "dialect": None}
    a, b = store(
        replace(make_entry("one", body=b'{"x": 1}'), **bare), replace(make_entry("two", body=b'{"x": 2}'), **bare)
    )
    assert paths_of(json.loads(run("diff", a, b, "--json")[1])["answer"]) == ["$.body.x"]


def test_bytes_that_are_no_text_differ_too(run, store, make_entry):
    made = [make_entry("same", ordinal=n) for n in (0, 1)]
    wav = (("content-type", "audio/wav"),)
    bare = [
        replace(entry, answer=None, dialect=None, response=Response(200, wav, body))
        for entry, body in zip(made, (b"\xff\x01", b"\xff\x02"), strict=True)
    ]
    a, b = store(*bare)
    code, out, _ = run("diff", a, b, "--json")
    assert code == 1
    assert paths_of(json.loads(out)["answer"])


def test_verdict_and_violations_are_compared(run, store, make_entry):
    a, b = store(
        make_entry(), make_entry(ordinal=1, verdict="kept:violation", violations=(Violation("$.a", "x", "y"),))
    )
    found = json.loads(run("diff", a, b, "--json")[1])
    assert paths_of(found["contract"]) == ["$.verdict", "$.violations[0]"]
    assert found["request"] == []


def test_what_a_shared_key_rule_takes_out_is_no_difference(run, store, make_entry):
    rules = KeyRules(ignore=("$.messages[*].content",))
    spec = key_specs.current(Keyer(rules).spec())

    def ruled(entry):
        return replace(entry, key_spec=spec, key=Keyer(rules).key(entry.request))

    one, two = ruled(make_entry("first")), replace(ruled(make_entry("second")), ordinal=1)
    assert one.key == two.key
    a, b, plain = store(one, two, make_entry("third"))
    assert json.loads(run("diff", a, b, "--json")[1])["request"] == []
    assert paths_of(json.loads(run("diff", a, plain, "--json")[1])["request"]) == ["body$.messages[0].content"]


def test_hostile_text_is_made_printable(run, store, make_entry):
    hostile = "\x1b]0;x\x07\x1b[31mred\x9b1m"
    a, b = store(make_entry(said=hostile), make_entry(hostile, provenance={hostile: hostile}))
    code, out, _ = run("diff", a, b)
    assert code == 1
    assert not set(out) & set("\x1b\x07\x9b")
    assert "red" in out


def test_what_cannot_be_read_is_damage_and_what_is_not_there_is_usage(run, store, make_entry):
    a, b = store(make_entry("one"), make_entry("two"))
    b.write_bytes(b"{")
    assert run("diff", a, b)[0] == 5
    assert run("diff", a, "gone.json")[0] == 2


@pytest.fixture
def committed(project):
    """Return a function that commits everything in the project."""

    def commit():
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
            subprocess.run([*git, *words], cwd=project, check=True, capture_output=True)

    return commit


def test_against_head_with_its_sidecars(run, store, make_entry, committed):
    def stream(text):
        events = Response(200, (("content-type", "text/event-stream"),), f"data: {text}\n\n".encode())
        return replace(make_entry(said=text), response=events)

    (path,) = store(stream("old"), folder="cassettes/with space")
    committed()
    assert run("diff", path)[0] == 0
    for file in (path.parent / "_raw").iterdir():
        file.unlink()
    path.unlink()
    store(stream("new"), folder="cassettes/with space")
    code, out, _ = run("diff", path.stem[-16:], "--json")
    found = json.loads(out)
    assert code == 1
    assert found["a"] == f"HEAD:cassettes/with space/{path.name}"
    assert found["answer"] == [{"path": "$.choices[0].text", "kind": "changed", "a": '"old"', "b": '"new"'}]


def test_against_head_where_what_git_has_cannot_be_read(run, store, make_entry, committed):
    (path,) = store(make_entry())
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    committed()
    path.write_bytes(whole)
    code, _, err = run("diff", path)
    assert code == 5
    assert f"HEAD:cassettes/a/{path.name}: torn" in err


def test_against_head_where_git_has_nothing(run, store, make_entry, committed):
    committed()
    (path,) = store(make_entry())
    code, _, err = run("diff", path)
    assert code == 2
    assert "git has no such file at HEAD" in err


def test_embeddings_are_one_difference_each(run, store, make_entry):
    def answered(asked, step):
        data = [{"embedding": [(n + index) / step for n in range(1536)]} for index in (1, 2, 3)]
        data[2]["embedding"] = [0.5] * 1536
        data[2]["embedding"][9] = step
        return replace(make_entry(asked, body=json.dumps({"data": data}).encode()), answer=Answer())

    a, b = store(answered("same", 7), replace(answered("same", 8), ordinal=1))
    code, out, _ = run("diff", a, b)
    assert code == 1
    assert out.count("1536 numbers, all differ: ") == 4
    assert "$.body.data[2].embedding\n    a 1536 numbers, 1 differs: 7\n    b 1536 numbers, 1 differs: 8\n" in out
    assert "maybe more" not in out
    assert len(out.splitlines()) < 20
