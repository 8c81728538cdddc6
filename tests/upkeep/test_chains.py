"""Which entries hold an answer that no entry gives any more, in the shapes of the APIs that carry conversations."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pytest

from onetake.dialects.conversations import response_id
from onetake.model import Request, Response
from onetake.testing.provider import (
    anthropic_message,
    anthropic_stream,
    bedrock_converse,
    cohere_message,
    gemini_content,
    ollama_message,
    openai_chat,
    openai_response,
    openai_response_stream,
    openai_stream,
)
from onetake.upkeep.chains import Chains
from onetake.upkeep.checking import check
from onetake.upkeep.findings import Severity
from onetake.upkeep.statuses import status

OLD, NEW = "2026-03-01T10:00:00Z", "2026-03-02T10:00:00Z"
CALL = ("look", {"place": "Oslo", "days": 2})
OTHER = ("look", {"place": "Rome", "days": 2})


def came(reply):
    return Response(reply.status, reply.headers, b"".join(reply.pieces))


class Api:
    """One API: where its requests go, and how a program goes on from an answer."""

    def __init__(self, url, reply, history, said, asks, body):
        self.url, self.reply = url, reply
        self.history, self.said, self.asks, self.body = history, said, asks, body

    def talk(self, answers, *, calls=None):
        """Return the calls of a conversation: each answer that came is repeated in the next request."""
        items, made = [], []
        for number, text in enumerate(answers):
            items = [*items, *self.asks(f"question {number}")]
            body = json.dumps({**self.body, self.history: items}).encode()
            request = Request("POST", self.url, (("content-type", "application/json"),), body)
            response = came(self.reply(text, tool_calls=[calls] if calls and not number else []))
            made.append((request, response))
            items = [*items, *self.said(json.loads(response.body) if response.body[:1] == b"{" else text)]
        return made


def user(text):
    return [{"role": "user", "content": text}]


CHAT = Api(
    "https://api.openai.com/v1/chat/completions",
    openai_chat,
    "messages",
    lambda body: [body["choices"][0]["message"]],
    user,
    {"model": "m"},
)
APIS = {
    "chat": CHAT,
    "chat-stream": Api(
        CHAT.url, openai_stream, "messages", lambda text: [{"role": "assistant", "content": text}], user, {"model": "m"}
    ),
    "anthropic": Api(
        "https://api.anthropic.com/v1/messages",
        anthropic_message,
        "messages",
        lambda body: [{"role": "assistant", "content": body["content"]}],
        user,
        {"model": "m", "max_tokens": 99, "system": "Be brief."},
    ),
    "anthropic-stream": Api(
        "https://api.anthropic.com/v1/messages",
        anthropic_stream,
        "messages",
        lambda text: [{"role": "assistant", "content": text}],
        lambda text: [{"role": "user", "content": [{"type": "text", "text": text}]}],
        {"model": "m", "max_tokens": 99, "stream": True},
    ),
    "responses": Api(
        "https://api.openai.com/v1/responses",
        openai_response,
        "input",
        lambda body: body["output"],
        user,
        {"model": "m"},
    ),
    "gemini": Api(
        "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
        gemini_content,
        "contents",
        lambda body: [body["candidates"][0]["content"]],
        lambda text: [{"role": "user", "parts": [{"text": text}]}],
        {},
    ),
    "ollama": Api(
        "http://127.0.0.1:11434/api/chat",
        ollama_message,
        "messages",
        lambda body: [body["message"]],
        user,
        {"model": "m", "stream": False},
    ),
    "converse": Api(
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse",
        bedrock_converse,
        "messages",
        lambda body: [body["output"]["message"]],
        lambda text: [{"role": "user", "content": [{"text": text}]}],
        {},
    ),
    "cohere": Api(
        "https://api.cohere.com/v2/chat",
        cohere_message,
        "messages",
        lambda body: [{"role": "assistant", "content": body["message"]["content"]}],
        user,
        {"model": "m"},
    ),
}

USUAL = ("chat", "anthropic", "responses", "gemini")


def ask(request, **fields):
    """Return a request with other fields in its body."""
    return replace(request, body=json.dumps(json.loads(request.body) | fields).encode())


def chat(*messages, said):
    """Return a chat call: `user` and `assistant` take turns in its messages."""
    asked = [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(messages)]
    body = json.dumps({"model": "m", "messages": asked}).encode()
    return Request("POST", CHAT.url, (("content-type", "application/json"),), body), came(openai_chat(said))


def follow(text, previous="", reply=openai_response, **said):
    """Return a call of the responses API that goes on from another one by its id, and the id of what came."""
    body = {"model": "m", "input": text, **({"previous_response_id": previous} if previous else {})}
    headers = (("content-type", "application/json"),)
    response = came(reply(f"to {text}", **said))
    request = Request("POST", APIS["responses"].url, headers, json.dumps(body).encode())
    return (request, response), response_id(response)


@pytest.fixture
def store(folder):
    """Return a function that records calls, each at its moment; returns the files in the order of the calls."""

    def record(calls, at=OLD, *, mode="new_episodes", where="cassettes/test_a/test_b"):
        paths = []
        for request, response in calls:
            before = {path: path.read_bytes() for path in (folder.root / where).glob("*.json")}
            folder.record((request, response), contract=None, folder=where, mode=mode)
            new = [path for path in (folder.root / where).glob("*.json") if before.get(path) != path.read_bytes()]
            folder.rewrite(*new, recorded_at=at)
            paths += new
        return paths

    return record


def chained(folder):
    return [(one.path, one.origin) for one in status(folder.root).chained]


@pytest.mark.parametrize("name", [one if one in USUAL else pytest.param(one, marks=pytest.mark.whole) for one in APIS])
def test_what_holds_the_old_answer_is_named_when_turn_1_is_recorded_again(folder, store, name):
    api = APIS[name]
    first, second, third = store(api.talk(["Good day.", "It rains.", "Bye."]))
    assert chained(folder) == []
    store(api.talk(["Hello there!"]), NEW, mode="all")
    assert chained(folder) == [(second, first), (third, first)]


@pytest.mark.parametrize("name", USUAL)
def test_an_answer_of_tool_calls_is_compared_by_their_arguments(folder, store, name):
    api = APIS[name]
    first, second = store(api.talk(["", "It rains."], calls=CALL))
    store(api.talk([""], calls=CALL), NEW, mode="all")
    assert chained(folder) == []
    store(api.talk([""], calls=OTHER), NEW, mode="all")
    assert chained(folder) == [(second, first)]


def test_what_was_recorded_again_in_the_middle_bears_on_what_came_after_it_alone(folder, store):
    calls = CHAT.talk(["Good day.", "It rains.", "Bye."])
    _, second, third = store(calls)
    store([(calls[1][0], came(openai_chat("The sun shines.")))], NEW, mode="all")
    assert chained(folder) == [(third, second)]


def test_the_finding_says_which_answer_it_was_and_how_to_record_what_is_asked_now(folder, store):
    first, second = store(CHAT.talk(["Good day.", "Bye."]))
    store(CHAT.talk(["Hello there!"]), NEW, mode="all")
    (one,) = check(folder.root).findings
    assert (one.code, one.severity, one.path) == ("old-answer", Severity.WARNING, second)
    assert one.message == (
        f"its request holds, as answer 1 of the conversation, another one than {first.name} gives, which was recorded "
        "after it"
    )
    assert "--record-mode=new_episodes" in one.mend
    (advised,) = (one for one in status(folder.root).entries if one.path == second)
    assert (advised.advice, advised.reason) == ("replay", one.message)


def test_what_was_asked_with_the_new_answer_leaves_the_old_one_behind(folder, store):
    store(CHAT.talk(["Good day.", "Bye."]))
    again = CHAT.talk(["Hello there!", "See you."])
    store(again[:1], NEW, mode="all")
    store(again[1:], NEW)
    (one,) = status(folder.root).chained
    assert (one.is_left, one.finding.severity) == (True, Severity.INFO)
    assert "onetake prune" in one.finding.mend


NO_CHAIN = {
    "the same short answer in two conversations": (
        [chat("Is it?", said="yes"), chat("Is it?", "yes", "Sure?", said="yes"), chat("Are you?", said="yes")],
        [chat("Are you?", said="no"), chat("Is he?", said="")],
    ),
    "an empty answer": ([chat("a", said=""), chat("a", "", "b", said="")], [chat("b", said="new")]),
    "the same answer again": ([chat("a", said="one"), chat("a", "one", "b", said="two")], [chat("a", said="one")]),
    "the same JSON, spelled otherwise": (
        [chat("a", said='{"n": 1}'), chat("a", '{"n":1}', "b", said="two")],
        [chat("a", said='{ "n": 1 }')],
    ),
    "words that the program took out of the answer": (
        [chat("a", said="think ANSWER: one"), chat("a", "one", "b", said="two")],
        [chat("a", said="think more ANSWER: one")],
    ),
    "an example that is no answer to anything": (
        [chat("2 + 2", "4", "3 + 3", said="6")],
        [chat("3 + 3", said="six"), chat("2 + 3", said="five")],
    ),
    "a question that is only alike": (
        [chat("a", said="one"), chat("a", "one", "b", said="two")],
        [chat("a ", said="another")],
    ),
}


@pytest.mark.parametrize(("before", "after"), NO_CHAIN.values(), ids=NO_CHAIN)
def test_nothing_is_chained_by_accident(folder, store, before, after):
    store(before)
    store(after, NEW, mode="all")
    assert chained(folder) == []
    assert "old-answer" not in folder.codes()


def test_what_was_recorded_before_is_no_proof(folder, store):
    store([chat("a", said="one")], OLD)
    store([chat("a", "what the program made of it", "b", said="two")], NEW)
    assert chained(folder) == []


def test_an_answer_that_another_ordinal_gives_is_given(folder, store):
    for path in folder.record(chat("a", said="one"), chat("a", said="two"), contract=None):
        folder.rewrite(path, recorded_at=OLD)
    store([chat("a", "two", "b", said="so")])
    store([chat("a", said="new")], NEW, mode="all")
    assert sorted(one.ordinal for one in status(folder.root).entries) == [0, 0, 1]
    assert chained(folder) == []


def test_a_conversation_ends_at_its_cassette(folder, store):
    store([chat("a", said="one"), chat("a", "one", "b", said="two")])
    store([chat("a", said="new")], NEW, where="cassettes/test_a/test_c")
    assert chained(folder) == []


def test_marks_of_the_prompt_cache_say_nothing(folder, store):
    mark = {"cache_control": {"type": "ephemeral"}}
    api = APIS["anthropic-stream"]
    (request, response), (after, last) = api.talk(["Good day.", "Bye."])
    asked = json.loads(request.body)["messages"]
    asked[-1]["content"][-1] |= mark
    first, second = store([(ask(request, messages=asked), response), (after, last)])
    store([(ask(request, messages=asked), came(anthropic_stream("Hello!")))], NEW, mode="all")
    assert chained(folder) == [(second, first)]


def test_an_answer_that_git_has_is_proven(folder, store, repository):
    calls = CHAT.talk(["yes", "Bye."])
    first, second = store(calls)
    repository.commit("Record")
    store([(calls[0][0], came(openai_chat("yes, of course")))], NEW, mode="all")
    (one,) = status(folder.root).chained
    assert (one.path, one.origin) == (second, first)
    assert one.finding.message.endswith(f"what {first.name} said before it was recorded again")
    repository.commit("Record again")
    assert chained(folder) == [(second, first)]


def test_what_git_knows_another_answer_of_was_made_by_the_program(folder, store, repository):
    store([chat("a", said="one"), chat("a", "uno", "b", said="two")])
    repository.commit("Record")
    store([chat("a", said="another")], NEW, mode="all")
    assert chained(folder) == []


@pytest.mark.parametrize("reply", [openai_response, openai_response_stream])
def test_what_goes_on_by_ids_is_chained_where_git_has_the_response(folder, store, repository, reply):
    one, first_id = follow("a", reply=reply)
    two, second_id = follow("b", first_id)
    three, _ = follow("c", second_id)
    first, second, third = store([one, two, three])
    repository.commit("Record")
    assert chained(folder) == []
    store([follow("a", reply=reply)[0]], NEW, mode="all")
    assert chained(folder) == [(second, first), (third, first)]


def test_an_id_that_the_key_ignores_does_no_harm(folder, store, repository):
    folder.settings(top='[key]\nignore = ["$.previous_response_id"]')
    one, first_id = follow("a")
    store([one, follow("b", first_id)[0]])
    repository.commit("Record")
    store([follow("a")[0]], NEW, mode="all")
    assert chained(folder) == []


def test_without_git_an_id_that_no_entry_gives_proves_nothing(folder, store):
    store([follow("a")[0], follow("b", "resp_of_somebody_else")[0]])
    store([follow("a")[0]], NEW, mode="all")
    assert chained(folder) == []


def test_what_a_batch_asked_is_left_to_the_batch(folder, store):
    first, second = store([chat("a", said="one"), chat("a", "one", "mend it", said="two")])
    store([chat("a", said="new")], NEW, mode="all")
    assert chained(folder) == [(second, first)]
    intents = first.parent.parent / f".onetake/batch/{first.parent.name}.intents.db"
    intents.parent.mkdir(parents=True)
    intents.touch()
    assert chained(folder) == [(second, first)]
    for path in (first, second):
        at = folder.load(path).provenance["recorded_at"]
        folder.rewrite(path, test="", recorded_at=at)
    assert chained(folder) == []


def test_what_another_process_left_out_is_read_again_where_it_matters(folder, store):
    first, second = store(CHAT.talk(["Good day.", "Bye."]))
    store(CHAT.talk(["Hello there!"]), NEW, mode="all")
    chains = Chains(first.parent, folder.root)
    for path in (first, second):
        chains.add(path, folder.load(path))
    told = Chains(first.parent, folder.root)
    told.join(pickle.loads(pickle.dumps(chains)))
    told.read_again()
    assert [one.path for one in told.chained()] == [one.path for one in chains.chained()] == [second]


def test_what_cannot_hold_an_old_answer_is_not_read_again(folder, store):
    (path,) = store(CHAT.talk(["Good day."]))
    chains = Chains(path.parent, folder.root)
    chains.add(path, folder.load(path))
    told = Chains(path.parent, folder.root)
    told.join(pickle.loads(pickle.dumps(chains)))
    path.write_bytes(b"gone")
    told.read_again()
    assert told.chained() == []
