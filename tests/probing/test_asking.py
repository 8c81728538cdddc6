"""On what terms a request is asked again: the budget, the pace, the credential."""

from __future__ import annotations

import json

import pytest

from onetake.errors import UsageError
from onetake.key_specs import current
from onetake.model import Entry, Request, Response
from onetake.probing.asking import Asker, Terms
from onetake.probing.credentials import Credentials
from onetake.probing.findings import Outcome, Unknown
from onetake.probing.sending import Answered, NoAnswerError

URL = "https://api.openai.com/v1/chat/completions"
KEYS = Credentials({}, {"OPENAI_API_KEY": "sk-test-value-1234"})
SAID = {
    "model": "gpt-4o",
    "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 1000},
}


def entry(model="gpt-4o", url=URL, **more):
    body = json.dumps({"model": model, "messages": [], **more}).encode()
    request = Request("POST", url, (("content-type", "application/json"),), body)
    counts = {"input_tokens": 1000, "output_tokens": 10}
    return Entry("good", request, Response(200), "0" * 64, 0, current({}), dialect="openai-chat/1", metrics=counts)


@pytest.fixture
def asker():
    """Return a function that makes an asker which sends nowhere: (the asker, what it sent, its waits)."""

    def make(replies=(), **terms):
        sent, waits, ready = [], [], iter(replies)
        now = [0.0]

        def sends(request, credential, timeout):
            sent.append((request, credential, timeout))
            reply = next(ready, SAID)
            if isinstance(reply, Exception):
                raise reply
            if isinstance(reply, Answered):
                return reply
            return Answered(Response(200, (), json.dumps(reply).encode()), 5)

        def rest(seconds):
            waits.append(seconds)
            now[0] += seconds

        return Asker(Terms(**terms), sends, lambda: now[0], rest), sent, waits

    return make


def ask(asking, one, credentials=KEYS):
    ready = asking.ready(one, credentials)
    return ready if isinstance(ready, Unknown) else asking.ask(one, ready)


def test_the_credential_and_the_time_limit_go_with_the_request(asker):
    asking, sent, _ = asker(timeout=7)
    one = entry()
    assert ask(asking, one).latency_ms == 5
    assert sent == [(one.request, (("authorization", "Bearer sk-test-value-1234"),), 7)]


def test_an_entry_that_points_elsewhere_is_refused_by_name_and_one_without_a_key_failed(asker):
    asking, sent, _ = asker()
    elsewhere = ask(asking, entry(url="https://evil.example/v1/chat/completions"))
    assert (elsewhere.outcome, "https://evil.example" in elsewhere.why) == (Outcome.UNASKABLE, True)
    missing = ask(asking, entry(), Credentials({}, {}))
    assert (missing.outcome, "OPENAI_API_KEY" in missing.why) == (Outcome.FAILED, True)
    assert sent == []


def test_another_model_is_asked_where_its_name_stands(asker):
    asking, sent, _ = asker(model="gpt-5")
    ask(asking, entry())
    assert [json.loads(request.body)["model"] for request, _, _ in sent] == ["gpt-5"]
    unnamed = ask(asking, entry(model=""))
    assert unnamed.outcome is Outcome.UNASKABLE


def test_requests_keep_their_distance(asker):
    asking, sent, waits = asker(rpm=30)
    for _ in range(3):
        ask(asking, entry())
    assert (len(sent), waits) == (3, [2, 2])


@pytest.mark.parametrize(
    "came",
    [
        NoAnswerError("Error: header Bearer gateway-word-1234"),
        Answered(Response(401, (), b'{"error": {"message": "wrong: gateway-word-1234"}}'), 5),
    ],
    ids=["no connection", "status"],
)
def test_what_failed_is_told_without_the_credential(asker, came):
    asking, _, _ = asker([came])
    own = Credentials({}, {"OPENAI_API_KEY": "gateway-word-1234"})  # no pattern knows it
    failed = ask(asking, entry(), own)
    assert (failed.outcome, "…" in failed.why, "gateway-word" in failed.why) == (Outcome.FAILED, True, False)


def test_a_budget_is_kept_by_the_most_that_each_can_cost(asker):
    pytest.importorskip("genai_prices")
    asking, sent, _ = asker(max_cost=0.03)
    came = [ask(asking, entry(max_tokens=1000)) for _ in range(4)]
    # 2.50 and 10 dollars a million tokens: 0.0125 each.
    assert [isinstance(one, Answered) for one in came] == [True, True, False, False]
    assert (len(sent), came[2].outcome) == (2, Outcome.UNASKED)
    assert asking.cost == pytest.approx(0.025)


def test_what_may_have_been_billed_counts_against_the_budget(asker):
    pytest.importorskip("genai_prices")
    asking, sent, _ = asker([NoAnswerError("gone"), NoAnswerError("gone")], max_cost=0.03)
    outcomes = [ask(asking, entry(max_tokens=1000)).outcome for _ in range(3)]
    assert (outcomes, len(sent)) == ([Outcome.FAILED, Outcome.FAILED, Outcome.UNASKED], 2)


@pytest.mark.parametrize(
    "came",
    [
        {name: SAID[name] for name in ("model", "choices")},
        Answered(Response(200, (("content-encoding", "of-its-own"),), b"?"), 5),
    ],
    ids=["no counts", "unreadable"],
)
def test_an_answer_whose_cost_nobody_can_tell_counts_for_the_most_that_it_can_be(asker, came):
    pytest.importorskip("genai_prices")
    asking, sent, _ = asker([came] * 3, max_cost=0.03)
    answers = [ask(asking, entry(max_tokens=1000)) for _ in range(3)]
    assert [isinstance(one, Answered) for one in answers] == [True, True, False]
    assert (len(sent), answers[2].outcome, asking.cost) == (2, Outcome.UNASKED, None)


def test_without_a_price_nothing_is_asked_under_a_budget(asker):
    asking, sent, _ = asker(max_cost=100)
    unasked = ask(asking, entry(model="nobody-knows", url="http://127.0.0.1:1/v1/chat/completions"))
    assert (unasked.outcome, "price is not known" in unasked.why, sent) == (Outcome.UNASKED, True, [])


@pytest.mark.parametrize(
    ("said", "times"),
    [({"n": 4}, 4), ({"best_of": 3, "n": 2}, 3), ({"generationConfig": {"candidateCount": 5}}, 5), ({}, 1)],
)
def test_every_answer_that_a_request_asks_for_counts_against_the_budget(asker, said, times):
    pytest.importorskip("genai_prices")
    # 1,000 tokens in for 0.0025 dollars, each answer of 1,000 for 0.01.
    most = 0.0025 + times * 0.01
    assert ask(asker(max_cost=most - 0.001)[0], entry(max_tokens=1000, **said)).outcome is Outcome.UNASKED
    assert isinstance(ask(asker(max_cost=most + 0.001)[0], entry(max_tokens=1000, **said)), Answered)


def test_several_prompts_in_one_request_have_an_answer_each(asker):
    pytest.importorskip("genai_prices")
    url = "https://api.openai.com/v1/completions"
    several = entry(url=url, max_tokens=1000, prompt=["a", "b", "c"])
    assert ask(asker(max_cost=0.03)[0], several).outcome is Outcome.UNASKED
    assert isinstance(ask(asker(max_cost=0.03)[0], entry(url=url, max_tokens=1000, prompt=[1, 2, 3])), Answered)


def test_without_a_limit_in_the_request_that_of_its_model_counts(asker):
    pytest.importorskip("genai_prices")
    # gpt-4o: 128,000 tokens, 10 dollars a million.
    tight = ask(asker(max_cost=1)[0], entry())
    assert (tight.outcome, "it may cost $1.28" in tight.why) == (Outcome.UNASKED, True)
    assert isinstance(ask(asker(max_cost=1.3)[0], entry()), Answered)
    unknown = ask(asker(max_cost=100)[0], entry(model="gpt-4.5-preview"))
    assert (unknown.outcome, "sets its answer no limit" in unknown.why) == (Outcome.UNASKED, True)


def test_vectors_need_no_limit(asker):
    pytest.importorskip("genai_prices")
    url = "https://api.openai.com/v1/embeddings"
    assert isinstance(ask(asker(max_cost=0.01)[0], entry("text-embedding-3-small", url, input="x")), Answered)


@pytest.mark.parametrize("name", ["timeout", "rpm", "max_cost"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), 1e30, "5", True])
def test_a_number_that_is_out_of_all_reason_is_refused(name, value):
    with pytest.raises(UsageError, match=f"{name} is a number from "):
        Terms(**{name: value})
