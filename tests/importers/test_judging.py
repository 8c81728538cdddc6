"""What becomes of an interaction: keyed, scrubbed and judged as if it came today."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from onetake.contract import Contract
from onetake.importers.judging import Outcome, judge, quiet_kind
from onetake.key import Keyer
from onetake.model import Request
from onetake.scrub import Scrubber
from onetake.settings import KeyRules
from onetake.traffic import Traffic

PATH = "tests/cassettes/test_a/test_b.yaml"
KEY = "sk-proj-" + "Ab3dEf6hIj" * 5


def test_a_good_answer_is_an_entry_under_its_whole_request(interaction, read_one, rules):
    one = read_one(
        interaction(
            "Hello?",
            "Good day.",
            response={"headers": {"content-type": ["application/json"], "date": ["Mon, 21 Apr 2025 23:06:09 GMT"]}},
        )
    )
    judged = judge(one, PATH, rules)
    assert (judged.outcome, judged.reason, judged.secrets) == (Outcome.IMPORTED, "good", {})
    entry = judged.entry
    assert entry.key == Keyer().key(one.request)
    assert (entry.verdict, entry.ordinal, entry.dialect, entry.extra) == ("good", 0, "openai-chat/1", {})
    assert entry.answer.choices[0].text == "Good day."
    assert entry.provenance == {
        "recorded_at": "2025-04-21T23:06:09Z",
        "recorder": "vcrpy",
        "model_asked": "gpt-5",
        "imported_from": {"path": PATH, "position": 0},
    }


def test_what_vcrpy_did_not_write_down_is_not_invented(interaction, read_one, rules):
    provenance = judge(read_one(interaction()), PATH, rules).entry.provenance
    assert provenance.keys() == {"recorder", "model_asked", "imported_from"}


@pytest.mark.parametrize("date", ["soon", "", "Mon, 21 Apr 1970 23:06:09 GMT", "99999999999999999999"])
def test_a_date_that_can_be_none_is_none(interaction, read_one, rules, date):
    headers = {"content-type": ["application/json"], "date": [date]}
    assert (
        "recorded_at" not in judge(read_one(interaction(response={"headers": headers})), PATH, rules).entry.provenance
    )


def test_nobody_answered_in_the_future(interaction, read_one, rules):
    date = (datetime.now(UTC) + timedelta(days=2)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = {"content-type": ["application/json"], "date": [date]}
    assert (
        "recorded_at" not in judge(read_one(interaction(response={"headers": headers})), PATH, rules).entry.provenance
    )


def test_the_sdk_and_a_commit_that_was_asked_for_are_named(interaction, read_one, rules):
    headers = {"content-type": ["application/json"], "user-agent": ["OpenAI/Python 1.2.3"]}
    entry = judge(read_one(interaction(request={"headers": headers})), PATH, rules, commit="ab" * 20).entry
    assert (entry.provenance["sdk"], entry.provenance["commit"]) == ("OpenAI/Python 1.2.3", "ab" * 20)


def test_secrets_are_scrubbed_and_counted_by_kind(interaction, read_one, rules):
    request = {
        "uri": "https://api.openai.com/v1/chat/completions?api_key=abcdefgh12345678",
        "headers": {"content-type": ["application/json"], "authorization": [f"Bearer {KEY}"], "cookie": ["a=bcdefgh"]},
    }
    one = read_one(interaction(f"my key is {KEY}", f"{KEY}? Never say it.", request=request))
    judged = judge(one, PATH, rules)
    assert judged.secrets == {
        "authorization header": 1,
        "cookie header": 1,
        "credential in a URL": 1,
        "openai key": 1,
    }
    assert KEY not in repr(judged)
    assert judged.entry.key == Keyer().key(judged.entry.request)


def test_notes_are_part_of_the_provenance(interaction, read_one, rules):
    item = interaction()
    item["request"]["parsed_body"] = json.loads(item["request"].pop("body"))
    entry = judge(read_one(item), PATH, rules).entry
    assert entry.provenance["imported_from"]["notes"] == list(read_one(item).notes) != []


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_an_error_would_not_be_recorded_and_is_kept_where_it_is_wanted(interaction, read_one, rules, status):
    one = read_one(interaction(status=status))
    judged = judge(one, PATH, rules)
    assert (judged.outcome, judged.reason, judged.entry) == (Outcome.WOULD_NOT_RECORD, f"status:{status}", None)
    kept = judge(one, PATH, replace(rules, keep=(f"status:{status}",)))
    assert (kept.outcome, kept.entry.verdict) == (Outcome.IMPORTED, f"kept:status:{status}")


def test_a_cut_stream_would_not_be_recorded_and_is_kept_where_it_is_wanted(interaction, read_one, rules):
    stream = 'data: {"choices": [{"delta": {"content": "hi"}}]}\n\n'
    response = {"headers": {"content-type": ["text/event-stream"]}, "body": {"string": stream}}
    one = read_one(interaction(response=response))
    assert (judge(one, PATH, rules).outcome, judge(one, PATH, rules).reason) == (Outcome.WOULD_NOT_RECORD, "cut")
    assert judge(one, PATH, replace(rules, keep=("cut",))).entry.verdict == "kept:cut"


@pytest.mark.parametrize(
    ("body", "reason"),
    [("", "json: $: expected JSON"), ('{"error": {"message": "no"}}', "error: "), ('{"a": ', "json: $: expected JSON")],
)
def test_what_is_no_answer_says_so(interaction, read_one, rules, body, reason):
    judged = judge(read_one(interaction(response={"body": {"string": body}})), PATH, rules)
    assert judged.outcome is Outcome.WOULD_NOT_RECORD
    assert judged.reason.startswith(reason)


def test_a_secret_in_what_an_error_says_is_not_told(interaction, read_one, rules):
    response = {"body": {"string": json.dumps({"error": {"message": f"wrong key {KEY}"}})}}
    assert KEY not in judge(read_one(interaction(response=response)), PATH, rules).reason


def test_credentials_in_urls_are_counted_wherever_they_stand(interaction, read_one, rules):
    headers = {"location": ["https://a:b@h/x?api_key=1"], "content-type": ["application/json"]}
    request = {"uri": "https://bob:hunter22@h/v1", "body": "client_secret=abcdefgh"}
    request["headers"] = {"content-type": ["application/x-www-form-urlencoded"]}
    item = interaction(request=request, response={"headers": headers})
    assert judge(read_one(item), PATH, rules).secrets == {"credential in a URL": 3, "secret": 1}


@pytest.mark.parametrize("length", range(0, 100, 7))
def test_no_part_of_a_secret_is_told_where_the_text_is_cut(interaction, read_one, rules, length):
    schema = {"type": "object", "properties": {"label": {"type": "string", "maxLength": 5}}}
    rules = replace(rules, contracts=(Contract(schema, name="items", schema_version=1),))
    own = "Qz7Wx9Rt5Lk3Vb1"  # known by its value alone: the request carries it
    request = {"headers": {"content-type": ["application/json"], "authorization": [f"Bearer {own}"]}}
    for secret in (KEY, own):
        said = json.dumps({"label": "y" * length + " " + secret})
        one = read_one(interaction("?", said, request=request))
        refused, kept = judge(one, PATH, rules), judge(one, PATH, replace(rules, keep=("violation",)))
        told = [refused.reason, *(each.found for each in kept.entry.violations)]
        assert len(told) == 2
        assert not [each for each in told if secret[8:12] in each]
        broken = read_one(interaction(request=request, response={"body": {"string": f"{secret} oops"}}))
        assert secret[8:12] not in judge(broken, PATH, rules).reason


def test_a_contract_judges(interaction, read_one, rules):
    schema = {"type": "object", "properties": {"label": {"enum": ["bug", "idea"]}}, "required": ["label"]}
    rules = replace(rules, contracts=(Contract(schema, name="items", schema_version=3),))
    good = judge(read_one(interaction(said='{"label": "bug"}')), PATH, rules)
    assert (good.outcome, good.entry.contract.name, good.entry.contract.schema_version) == (
        Outcome.IMPORTED,
        "items",
        3,
    )
    bad = read_one(interaction(said='{"label": "chat"}'))
    judged = judge(bad, PATH, rules)
    assert judged.outcome is Outcome.WOULD_NOT_RECORD
    assert judged.reason.startswith("violation: $.label: ")
    kept = judge(bad, PATH, replace(rules, keep=("violation",))).entry
    assert (kept.verdict, kept.violations[0].path) == ("kept:violation", "$.label")


def test_a_request_without_its_body_is_loose_and_only_where_that_is_wanted(interaction, read_one, rules):
    one = read_one(interaction(request={"body": None}))
    judged = judge(one, PATH, rules)
    assert (judged.outcome, judged.entry) == (Outcome.REFUSED, None)
    assert "--keep-bodyless" in judged.reason
    loose = judge(one, PATH, replace(rules, keep_bodyless=True))
    assert (loose.outcome, loose.reason, loose.entry.extra) == (Outcome.LOOSE, "good", {"loose": True})
    assert loose.entry.request == Request(one.request.method, one.request.url)
    assert loose.entry.key == Keyer().key(loose.entry.request)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://oauth2.googleapis.com/token", "token exchange"),
        ("https://us.i.posthog.com/batch/", "telemetry"),
        ("https://api.example.com/x", ""),
    ],
)
def test_what_is_never_played_is_named(interaction, read_one, rules, url, kind):
    one = read_one(interaction(request={"uri": url}))
    judged = judge(one, PATH, rules)
    assert judged.is_never_played is bool(kind)
    assert quiet_kind(one.request) == kind
    if kind:
        assert (judged.outcome, judged.reason) == (Outcome.REFUSED, f"never played: {kind}")


def test_the_settings_say_what_is_never_played_too(interaction, read_one, rules):
    one = read_one(interaction(request={"uri": "https://api.example.com/x"}))
    ignoring = replace(rules, traffic=Traffic(ignore=["api.example.com"]))
    assert judge(one, PATH, ignoring).reason == "never played: the settings ignore it"
    quiet = replace(rules, traffic=Traffic(quiet=["api.example.com"]))
    assert judge(one, PATH, quiet).reason == "never played: the settings call it quiet"


def test_a_server_of_the_programs_own_is_told(interaction, read_one, rules):
    own = judge(read_one(interaction(request={"uri": "http://localhost:8000/api/items"})), PATH, rules)
    model = judge(read_one(interaction(request={"uri": "http://localhost:8000/v1/chat/completions"})), PATH, rules)
    assert (own.is_local, model.is_local) == (True, False)


def test_what_cannot_be_read_and_what_is_anothers_is_no_entry(interaction, read_one, rules):
    broken = judge(read_one(interaction(request={"method": None})), PATH, rules)
    assert (broken.outcome, broken.reason) == (Outcome.REFUSED, "the request has no method")
    other = judge(replace(read_one(interaction()), foreign="go-vcr"), PATH, rules)
    assert (other.outcome, other.reason, other.entry) == (Outcome.FOREIGN, "go-vcr", None)


def test_the_key_rules_of_the_project_count_and_today_is_the_day_of_the_recording(interaction, read_one, rules):
    keyer = Keyer(KeyRules(volatile=("today",)))
    headers = {"content-type": ["application/json"], "date": ["Mon, 21 Apr 2025 23:06:09 GMT"]}
    one = read_one(interaction("Today is 2025-04-21.", response={"headers": headers}))
    entry = judge(one, PATH, replace(rules, keyer=keyer)).entry
    assert entry.key_spec.rules == {"volatile": ["today"], "today": ["2025-04-21"]}
    assert entry.key == keyer.key(
        replace(one.request, body=one.request.body.replace(b"2025-04-21", b"2026-01-02")),
        (datetime(2026, 1, 2).date(),),
    )


def test_a_key_header_of_the_project_is_kept(interaction, read_one, rules):
    headers = {"content-type": ["application/json"], "x-tenant": ["a"]}
    one = read_one(interaction(request={"headers": headers}))
    rules = replace(rules, keyer=Keyer(KeyRules(headers=("x-tenant",))), scrubber=Scrubber(key_headers=("x-tenant",)))
    entry = judge(one, PATH, rules).entry
    assert ("x-tenant", "a") in entry.request.headers
    assert entry.key != judge(read_one(interaction()), PATH, rules).entry.key
