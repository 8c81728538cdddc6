"""Three jobs at once on one endpoint, each under its own contract: where matching by URL was found out.

Writer, critic and a post-processor of another shape run in a thread pool. Fifty replays, the jobs in a new order each
time and let go by a barrier, give every job its own answers, in both engines.
"""

from __future__ import annotations

import inspect
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import onetake
from onetake.settings_start import set_start
from onetake.testing.provider import openai_chat

pytestmark = [pytest.mark.sdk("dspy"), pytest.mark.timeout(300)]

ROUNDS = 50
TOPICS = ("tides", "bread", "glass", "moss")
SHAPES = {
    "writer": {"draft": {"type": "string"}},
    "critic": {"score": {"type": "integer"}, "why": {"type": "string"}},
    "tagger": {"tags": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
}


def _contract(job):
    properties = SHAPES[job]
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return onetake.Contract(schema, name=job, on=lambda request: f"You are the {job}." in request.body.decode())


def _answer(request):
    """Answer as the job that asks: wrongly shaped for the other two, and with the number of the call."""
    system, user = (message["content"] for message in request.json()["messages"])
    job, topic = system.removeprefix("You are the ").rstrip("."), user.rsplit(" ", 1)[-1]
    said = {
        "writer": {"draft": f"{topic}, as call {request.number} put it"},
        "critic": {"score": request.number, "why": f"too little on {topic}"},
        "tagger": {"tags": [topic, str(request.number)]},
    }[job]
    return openai_chat(json.dumps(said))


def _messages(job, topic):
    if job == "tagger":  # another shape: its words come in another order and it asks for more
        return [{"role": "system", "content": "You are the tagger."}, {"role": "user", "content": f"Tags for {topic}"}]
    return [{"role": "system", "content": f"You are the {job}."}, {"role": "user", "content": f"Work on {topic}"}]


def _run(model, order):
    """Ask everything in that order by twelve threads that start together; what each job got, by job and topic."""
    barrier = threading.Barrier(len(order))

    def one(work):
        barrier.wait(timeout=60)
        (found,) = model(messages=_messages(*work), temperature=0.5 if work[0] == "tagger" else 0)
        return work, json.loads(found if isinstance(found, str) else found["text"])

    with ThreadPoolExecutor(len(order)) as pool:
        return dict(pool.map(one, order))


@pytest.mark.parametrize("engine", ["default", "litellm"])
def test_fifty_shuffled_replays_give_every_job_its_own_answers(engine, provider, tmp_path):
    import dspy

    takes_engine = "engine" in inspect.signature(dspy.LM.__init__).parameters
    if engine == "default" and not takes_engine:
        pytest.skip("this version of dspy has litellm alone")
    options = {"engine": "litellm"} if engine == "litellm" and takes_engine else {}
    model = dspy.LM("openai/m", api_base=provider.url + "/v1", api_key="sk-test", cache=False, num_retries=0, **options)
    provider.script(_answer)
    (tmp_path / "onetake.toml").touch()
    contracts = [_contract(job) for job in SHAPES]
    order = [(job, topic) for job in SHAPES for topic in TOPICS]
    before = set_start(tmp_path / "program.py")
    try:
        with onetake.use_cassette("essay", mode="once", contract=contracts) as session:
            recorded = _run(model, order)
        assert (provider.count, len(session.recorded)) == (len(order), len(order))
        assert sorted(entry.contract.name for entry in session.recorded) == sorted([*SHAPES] * len(TOPICS))
        assert all(topic in json.dumps(recorded[job, topic]) for job, topic in order)
        provider.close()
        dice, right = random.Random(17), 0
        for _ in range(ROUNDS):
            dice.shuffle(order)
            with onetake.use_cassette("essay", mode="none", contract=contracts) as session:
                right += _run(model, order) == recorded
            assert len(session.played) == len(order)
    finally:
        set_start(before)
    assert (right, provider.count) == (ROUNDS, len(order))
