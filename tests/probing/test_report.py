"""The report of a probe, and `probe.json`."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path

import jsonschema_rs
import pytest

from onetake.exits import Exit
from onetake.model import ContractRef
from onetake.probing.report import (
    Case,
    Compared,
    Finding,
    Kind,
    Label,
    Labelled,
    Note,
    Outcome,
    Report,
    Selection,
    Severity,
    Thresholds,
    Unknown,
    baseline_of,
    schema,
)

THEN, TODAY = ContractRef("items", 1, "a" * 64, "c" * 64), ContractRef("items", 1, "b" * 64)
FAILED, UNASKABLE = Unknown(Outcome.FAILED, "status 429"), Unknown(Outcome.UNASKABLE, "its prompt was scrubbed")
UNASKED = Unknown(Outcome.UNASKED, "the budget is used up")
GOOD = Compared()


def drifted(severity, *labels):
    finding = Finding("a.json", "$.x", severity, Kind.TYPE, "array", "string")
    return Compared((finding,), labels, (Note("latency_ms", 12, 15.5),), "gpt-5-2026", TODAY)


def labelled(differs, noise=None, path="$.label"):
    return Compared(labels=(Label(path, differs, noise),))


def report(*came, strict=False, **more):
    cases = [
        Case(f"{n}.json", f"{n:064x}", baseline_of(b"%d" % n), "chat", "gpt-5", "gpt-5-2025", THEN, one)
        for n, one in enumerate(came)
    ]
    started = datetime(2026, 5, 1, 14, 30, 15, 123456, timezone(timedelta(hours=2)))
    more.setdefault("versions", {"onetake": "0.1.0", "python": "3.12.1"})
    return Report(tuple(cases), Selection(5), Thresholds.of(strict=strict), started, **more)


@pytest.mark.parametrize(
    ("came", "code"),
    [
        ([GOOD], Exit.OK),
        ([drifted(Severity.INFO)], Exit.OK),
        ([drifted(Severity.WARNING)], Exit.OK),
        ([drifted(Severity.ERROR)], Exit.DRIFT),
        ([GOOD, GOOD, GOOD, GOOD, FAILED], Exit.OK),
        ([GOOD, GOOD, GOOD, FAILED], Exit.INCONCLUSIVE),
        ([GOOD, UNASKED], Exit.INCONCLUSIVE),
        ([FAILED, FAILED, UNASKED, drifted(Severity.ERROR)], Exit.DRIFT),
        ([GOOD, *[UNASKABLE] * 9], Exit.OK),
        ([labelled(True)], Exit.OK),
    ],
)
def test_br_183_errors_set_the_exit_code(came, code):
    assert report(*came).exit_code is code
    assert report(*came).document()["exit"] == code


@pytest.mark.parametrize("came", [[FAILED], [FAILED, FAILED], [UNASKABLE], [UNASKED], []])
def test_br_179_where_nothing_was_compared_nothing_is_said(came):
    assert report(*came).exit_code is Exit.INCONCLUSIVE


def test_under_strict_a_warning_is_drift():
    assert report(drifted(Severity.WARNING), strict=True).exit_code is Exit.DRIFT
    assert report(drifted(Severity.INFO), strict=True).exit_code is Exit.OK


def test_every_entry_is_counted_once():
    found = report(GOOD, drifted(Severity.ERROR), drifted(Severity.WARNING), FAILED, UNASKABLE, UNASKABLE, UNASKED)
    document = found.document()
    counts = {name: document[name] for name in ("sampled", "agreed", "drifted", "failed", "unaskable", "unasked")}
    assert counts == {"sampled": 5, "agreed": 2, "drifted": 1, "failed": 1, "unaskable": 2, "unasked": 1}
    assert [one["outcome"] for one in document["entries"]] == [
        "agreed", "drifted", "agreed", "failed", "unaskable", "unaskable", "unasked",
    ]  # fmt: skip


def test_br_180_the_report_says_against_what_and_by_which_rules(tmp_path):
    entry = tmp_path / "0.json"
    entry.write_bytes(b"0")
    found = report(drifted(Severity.ERROR), strict=True, versions={"onetake": "0.1.0", "python": "3", "commit": "abc"})
    entry.write_bytes(b"re-recorded since")
    reread = json.loads(json.dumps(found.document()))
    one = reread["entries"][0]
    assert one["baseline"] == sha256(b"0").hexdigest() != baseline_of(entry.read_bytes())
    assert one["model"] == {"asked": "gpt-5", "recorded": "gpt-5-2025", "live": "gpt-5-2026"}
    assert (one["contract"]["recorded"]["schema"], one["contract"]["live"]["schema"]) == ("a" * 64, "b" * 64)
    assert reread["thresholds"] == {"drift": "warning", "failed": 0.2}
    assert reread["versions"]["commit"] == "abc" and reread["started_at"] == "2026-05-01T12:30:15Z"
    assert reread["selection"]["seed"] == "onetake"


def test_labels_are_counted_by_answers_with_the_interval_of_their_share():
    found = report(*[labelled(number < 3) for number in range(20)], GOOD, FAILED)
    assert found.labelled() == Labelled(3, 20)
    assert found.document()["labels"] == {
        "differing": 3,
        "of": 20,
        "interval": [0.0524, 0.3604],
        "noise": None,
        "paths": [{"path": "$.label", "differing": 3, "of": 20, "interval": [0.0524, 0.3604], "noise": None}],
    }


def test_an_answer_with_several_labels_differs_once_and_its_noise_stands_beside():
    two = Compared(labels=(Label("$.a", True, False), Label("$.b", True, True)))
    found = report(two, labelled(False, False, "$.a"), labelled(True, None, "$.a"))
    assert (found.labelled(), found.noise()) == (Labelled(2, 3), Labelled(1, 2))
    assert (found.labelled("$.a"), found.noise("$.a")) == (Labelled(2, 3), Labelled(0, 2))
    assert (found.labelled("$.b"), found.noise("$.b")) == (Labelled(1, 1), Labelled(1, 1))
    assert report(GOOD).labelled() is report(GOOD).document()["labels"] is None


def fits(document):
    return jsonschema_rs.validator_for(schema(), validate_formats=True).is_valid(document)


def test_what_is_written_fits_the_published_schema():
    jsonschema_rs.meta.validate(schema())
    full = report(
        drifted(Severity.ERROR, Label("$.label", True, False)), FAILED, UNASKABLE, UNASKED, GOOD, cost_usd=0.01
    )
    for one in (full, report(), report(GOOD)):
        assert fits(json.loads(json.dumps(one.document())))


def test_the_schema_names_every_field_and_every_word():
    document = report(drifted(Severity.ERROR, Label("$.label", True, False))).document()
    for name in document:
        assert not fits({key: value for key, value in document.items() if key != name}), name
    assert not fits(document | {"more": 1}) and not fits(document | {"exit": 1})
    published = schema()
    finding, entry = (published["properties"][name]["items"]["properties"] for name in ("findings", "entries"))
    assert finding["kind"]["enum"] == [str(kind) for kind in Kind]
    assert sorted(entry["outcome"]["enum"]) == sorted(map(str, Outcome))
    assert published["$defs"]["severity"]["enum"] == [str(grade) for grade in Severity]


PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "probe.md").read_text("utf-8")


def test_the_page_shows_a_report_that_fits_and_names_every_field():
    [shown] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert fits(json.loads(shown))
    table = PAGE.partition("## probe.json")[2].partition("`baseline` is")[0]
    named = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE)))
    assert named == list(report(GOOD).document())


@pytest.mark.parametrize("words", [Kind, Outcome, Severity])
def test_the_page_names_every_word(words):
    assert set(map(str, words)) <= set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
