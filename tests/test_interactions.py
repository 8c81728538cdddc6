import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from onetake import interactions
from onetake.contract import Contract
from onetake.errors import ContractError
from onetake.key import Keyer
from onetake.model import KeySpec, Request, Response, Violation
from onetake.scrub.scanning import Finding
from onetake.settings import KeyRules

SECRET = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2
LABEL = {"type": "object", "properties": {"label": {"type": "string", "enum": ["bug"]}}}


def judged(direct, request, response, **policy):
    talk = direct(**policy)
    return entry_of(talk, talk.ask(request), response)


def entry_of(talk, step, response):
    judged = talk.engine.judge(step, response)
    return interactions.entry_of(step, response, judged.judgement, talk.engine.policy)


def test_an_entry_holds_what_came_and_where_it_comes_from(direct):
    asked = direct.chat("q", headers=(("User-Agent", "OpenAI/Python 3.57.0"), ("Authorization", f"Bearer {SECRET}")))
    contract = Contract({}, name="any", schema_version=4)
    entry = judged(direct, asked, direct.said("hello"), contracts=(contract,), test="tests/test_x.py::test_a")
    origin = entry.provenance
    assert (entry.verdict, entry.contract, entry.dialect) == ("reject:violation", contract.ref(Path()), "openai-chat/1")
    assert (origin["client"], origin["sdk"], origin["test"]) == (
        "httpx2 2.16.2",
        "OpenAI/Python 3.57.0",
        "tests/test_x.py::test_a",
    )
    assert (origin["model_asked"], origin["model_served"]) == ("gpt-5", "gpt-5-2026")
    assert entry.answer.choices[0].text == "hello"
    assert (entry.ordinal, entry.key) == (0, Keyer().key(entry.request))
    assert entry.scrubbed == ("request.headers.authorization",)
    assert SECRET not in str(entry)
    assert set(entry.metrics) == {"latency_ms"}


def test_an_http_clients_own_name_is_no_sdk(direct):
    for agent in (
        "python-httpx/0.28",
        "python-httpx2/2.16",
        "python-requests/2.32",
        "Python-urllib/3.11",
        "Python/3.11",
    ):
        asked = direct.chat("q", headers=(("user-agent", agent),))
        assert "sdk" not in judged(direct, asked, direct.said("a")).provenance


def test_the_first_byte_and_the_tokens_are_measured_where_they_are_known(direct):
    talk = direct()
    step = talk.ask("q")
    step.saw_first_byte()
    first = step.first_byte
    step.saw_first_byte()
    assert step.first_byte == first
    body = direct.said("a").body[:-1] + b', "usage": {"prompt_tokens": 3, "completion_tokens": 5}}'
    metrics = entry_of(talk, step, Response(200, (("content-type", "application/json"),), body)).metrics
    assert (metrics["input_tokens"], metrics["output_tokens"]) == (3, 5)
    assert metrics["latency_ms"] >= metrics["first_byte_ms"] >= 0


def test_what_a_violation_quotes_is_scrubbed(direct):
    found = judged(direct, "q", direct.said(f'{{"label": "{SECRET}"}}'), contracts=(Contract(LABEL, name="l"),))
    assert found.verdict == "reject:violation"
    assert SECRET[8:20] not in str(found)


def test_what_the_path_of_a_violation_names_is_scrubbed(direct):
    contracts = (Contract({"type": "object", "properties": {"a": {}}}, name="l"),)
    found = judged(direct, "q", direct.said(f'{{"a": 1, "{SECRET}": 2}}'), contracts=contracts)
    assert found.verdict == "reject:violation"
    assert SECRET[8:20] not in str(found)


def test_the_secret_of_the_request_is_gone_from_the_answer_and_the_served_model(direct):
    asked = direct.chat("q", headers=(("authorization", "Bearer local-password-1234"),))
    body = direct.said("you are local-password-1234").body.replace(b"gpt-5-2026", b"for-local-password-1234")
    entry = judged(direct, asked, Response(200, (("content-type", "application/json"),), body))
    assert "local-password-1234" not in str(entry)


def _packed(response):
    headers = (*response.headers, ("content-encoding", "gzip"))
    return replace(response, headers=headers, body=gzip.compress(response.body))


def test_the_answer_of_what_is_still_encoded_is_that_of_its_content(direct):
    asked, response = direct.chat("q"), _packed(direct.said("hello"))
    entry = judged(direct, asked, response)
    assert (entry.response, entry.scrubbed) == (response, ())
    assert (entry.answer.choices[0].text, entry.provenance["model_served"]) == ("hello", "gpt-5-2026")


@pytest.mark.parametrize("secret", [SECRET, "local-password-1234"], ids=["by its shape", "of the request"])
def test_a_secret_that_is_still_encoded_refuses_the_entry(direct, secret):
    talk = direct()
    step = talk.ask(direct.chat("q", headers=(("authorization", "Bearer local-password-1234"),)))
    with pytest.raises(ContractError):
        talk.answer(step, _packed(direct.said(f"you are {secret}")))
    (reject,) = talk.entries(talk.rejects)
    assert (talk.entries(), reject.verdict) == ([], "reject:secret")
    assert secret not in str(reject)
    assert reject.violations[0].path.startswith("response.body$.choices[0]")


def test_an_answer_without_a_dialect_has_no_answer_and_is_unjudged(direct):
    entry = judged(direct, Request("POST", "https://api.example/x"), Response(200), contracts=(Contract({}, name="c"),))
    assert (entry.answer, entry.dialect, entry.contract, entry.unjudged) == (None, None, None, True)


def mismatch(direct, entry, request, keyer=None):
    keyer = keyer or Keyer()
    asked = direct(keyer=keyer).ask(request).asked
    return interactions.mismatch(entry, asked, keyer)


def test_the_same_request_is_no_mismatch_however_it_is_spelled(direct):
    entry = judged(direct, "q", direct.said("a"))
    assert mismatch(direct, entry, "q") == ""
    respelled = direct.chat("q")
    respelled = replace(respelled, body=respelled.body.replace(b": ", b":  "))
    assert mismatch(direct, entry, respelled) == ""


def test_another_request_under_the_same_name_is_a_mismatch(direct):
    entry = judged(direct, "q", direct.said("a"))
    changed = replace(entry, request=direct.chat("other"))
    assert mismatch(direct, changed, "q") == "its request was changed: it no longer gives the stored key"
    assert mismatch(direct, replace(entry, key="0" * 64), "q").startswith("the key in the file")


def test_an_entry_is_keyed_by_its_own_rules(direct):
    keyer = Keyer(KeyRules(ignore=("$.user",)))
    entry = judged(direct, direct.chat("q", user="ann"), direct.said("a"), keyer=keyer)
    assert mismatch(direct, entry, direct.chat("q", user="bob"), keyer) == ""
    damaged = replace(entry, key_spec=KeySpec("k1", "s1", {"later": 1}))
    assert "later" in mismatch(direct, damaged, direct.chat("q", user="bob"), keyer)


def test_the_schema_of_the_contract_that_judged_goes_beside_the_entry(direct):
    first, second = Contract({}, name="first", on="tool:x"), Contract({"type": "string"}, name="second")
    entry = judged(direct, "q", direct.said('"a"'), contracts=(first, second))
    assert list(interactions.schema_of(entry, (first, second))) == [f"_schemas/{second.digest}.json"]
    assert interactions.schema_of(entry, (first,)) == {}
    assert interactions.schema_of(judged(direct, "q", direct.said("a")), (first,)) == {}


def test_what_cannot_be_scrubbed_leaves_digests_and_no_text(direct):
    entry = judged(direct, direct.chat("q", url=f"https://api.example/{SECRET}/x"), direct.said("the answer"))
    findings = [Finding("openai key", "$.request.body", 3), Finding("openai key", f'$["{SECRET}"]', 4)]
    bare = interactions.without_secret(entry, findings)
    assert (bare.verdict, bare.answer, bare.scrubbed, bare.response) == ("reject:secret", None, (), Response(200))
    assert bare.request == Request("POST", "https://api.example")
    assert bare.violations[:2] == (
        Violation("$.request.body", "no secret", "openai key"),
        Violation("", "no secret", "openai key"),
    )
    assert [violation.path for violation in bare.violations[2:]] == ["request body", "response body"]
    assert SECRET[8:20] not in str(bare)
