"""No secret reaches the disk, standard error or a message, wherever in the traffic it stood."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from urllib.parse import quote

import anthropic
import httpx
import openai
import pytest

import onetake
from onetake import settings_start
from onetake.errors import ContractError
from onetake.testing.provider import anthropic_message, json_reply, openai_chat, openai_stream, stream_reply

SECRET = "sk-proj-Q7fJ2mXk9LwZ4tRb8VnC3yHd6GsP1uEa5TqMoWiKzNjBxYvUcDrFlShAgO0e"
COOKIE = "__cf_bm=Zt5Qw8Er2Ty6Ui0Op3As7Df1Gh4Jk9Lz"
ORGANISATION = "org-Vb6Nm1Qa5Ws9Ed3Rf7Tg2Yh4"
LABEL = {"type": "object", "properties": {"label": {"enum": ["bug"]}}}


@pytest.fixture(autouse=True)
def project(tmp_path):
    """A project of its own for each test; cassettes lie in it."""
    before = settings_start.set_start(tmp_path)
    yield tmp_path
    settings_start.set_start(before)


def as_base64(text):
    return base64.b64encode(text.encode()).decode().rstrip("=")


def escaped(text):
    return "".join(f"%{ord(character):02X}" for character in text)


@pytest.fixture
def clean(tmp_path, capsys):
    """Assert that no file, no file name and no message holds a secret or any 12 characters of it."""

    def check(*texts, secrets=(SECRET,)):
        said = capsys.readouterr()
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        places = {str(path.relative_to(tmp_path)): path.read_bytes() for path in files}
        places |= {"standard error": said.err.encode(), "standard output": said.out.encode()}
        places |= {f"text {number}": text.encode() for number, text in enumerate([*texts, *places])}
        assert files, "nothing was written"
        for secret in secrets:
            pieces = {secret[start : start + 12] for start in range(len(secret) - 11)}
            for spelled in (str, as_base64, escaped):
                for place, content in places.items():
                    found = [piece for piece in pieces if spelled(piece).encode() in content]
                    assert not found, f"{place} holds {found[:3]}"

    return check


def cassette(mode, **options):
    return onetake.use_cassette("c", mode=mode, **options)


def client(provider, key=SECRET, **options):
    return openai.OpenAI(base_url=f"{provider.url}/v1", api_key=key, max_retries=0, **options)


def ask(of, content, **fields):
    return of.chat.completions.create(model="m", messages=[{"role": "user", "content": content}], **fields)


def test_br_102_credentials_and_account_names_in_headers(provider, clean):
    def both():
        ask(client(provider, organization=ORGANISATION), "hello")
        anthropic.Anthropic(base_url=provider.url, api_key=SECRET).messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hello"}]
        )

    spoken = {"openai-organization": ORGANISATION, "anthropic-organization-id": ORGANISATION, "set-cookie": COOKIE}
    headers = (*spoken.items(), ("set-cookie", f"other={COOKIE}"))
    provider.script(
        [
            replace(openai_chat("a"), headers=(("content-type", "application/json"), *headers)),
            replace(anthropic_message("a"), headers=(("content-type", "application/json"), *headers)),
        ]
    )
    with cassette("once"):
        both()
    assert provider.requests[0].key == provider.requests[1].key == SECRET, "the provider still gets it"
    provider.close()
    with cassette("none"):
        both()
    clean(secrets=(SECRET, COOKIE.partition("=")[2], ORGANISATION))


def test_br_096_a_key_in_the_query_and_in_the_redirect_that_repeats_it(provider, clean):
    place = f"/v1beta/models/m:generateContent?key={SECRET}"
    provider.script(
        [
            replace(json_reply({}), status=307, headers=(("location", f"{provider.url}/v1/moved?key={SECRET}&x=1"),)),
            json_reply({"candidates": []}),
        ]
    )
    url = provider.url + place

    def post():
        with httpx.Client(follow_redirects=True) as of:
            return of.post(url, json={"contents": []}).json()

    with cassette("once", hosts=[provider.url.partition("//")[2]]) as session:
        assert post() == {"candidates": []}
        assert len(session.recorded) == 2
    assert SECRET in provider.requests[0].path
    provider.close()
    with cassette("none", hosts=[provider.url.partition("//")[2]]):
        assert post() == {"candidates": []}
    clean()


PLACED = {
    "in a prompt": {"content": f"is {SECRET} a key?"},
    "in the middle of a line of a prompt": {"content": f"export A=1\nexport KEY={SECRET}\nexport B=2"},
    "in a prompt as base64": {"content": "decode " + base64.b64encode(f"key={SECRET}".encode()).decode()},
    "in a prompt as a URL": {"content": f"get https://x.example/?a={quote(SECRET, safe='')}&b=1"},
    "percent-escaped": {"content": "get " + escaped(SECRET)},
    "as JSON in a prompt": {"content": json.dumps({"key": SECRET, "deep": json.dumps({"again": SECRET})})},
    "at any depth of the body": {
        "content": "x",
        "extra_body": {"mcp_servers": [{"headers": {"Authorization": f"Bearer {SECRET}"}}]},
    },
    "in a key of the body": {"content": "x", "extra_body": {"metadata": {SECRET: "1"}}},
    "in a tool's arguments": {
        "content": "x",
        "extra_body": {"tools": [{"type": "function", "function": {"name": "t", "description": f"use {SECRET}"}}]},
    },
    "in the model's name": {"content": "x", "extra_body": {"model": SECRET}},
}


@pytest.mark.parametrize("placed", PLACED.values(), ids=PLACED)
def test_br_098_a_secret_in_the_request_is_sent_and_never_written_and_still_matches(provider, clean, placed):
    with cassette("once"):
        recorded = ask(client(provider, "none"), **placed)
    assert provider.requests[0].json()["messages"][0]["content"] == placed["content"]
    provider.close()
    with cassette("none"):
        again = ask(client(provider, "none"), **placed)
    assert again.id == recorded.id
    clean()


ANSWERS = {
    "in the text": openai_chat(f"your key is {SECRET}"),
    "in a tool call": openai_chat(tool_calls=[("login", {"key": SECRET, "other": "x"})]),
    "as base64": openai_chat(base64.b64encode(f'{{"k": "{SECRET}"}}'.encode()).decode()),
    "in one delta": openai_stream(f"your key is {SECRET} indeed"),
    "in a field of the envelope": json_reply({"choices": [], "access_token": "Hq3Wx7Zc1Vb5Nm9Lk2Jh6Gf4Ds8Ap0Oi"}),
}


def split_stream():
    """A stream whose deltas cut the secret in two, and in many."""
    pieces = [SECRET[:11], SECRET[11:40], SECRET[40:], " and ", *SECRET]
    events = [
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": piece}}]}).encode() + b"\n\n"
        for piece in pieces
    ]
    return stream_reply([*events, b"data: [DONE]\n\n"])


@pytest.mark.parametrize("where", [*ANSWERS, "cut by the borders of deltas"])
def test_br_107_a_secret_in_the_answer_is_never_written(provider, clean, where):
    reply = ANSWERS.get(where) or split_stream()
    stream = {"stream": True} if b"data: " in reply.body else {}
    provider.script([reply])
    with cassette("once"):
        texts = [text_of(ask(client(provider), "what is my key?", **stream), stream)]
    provider.close()
    with cassette("none"):
        texts.append(text_of(ask(client(provider), "what is my key?", **stream), stream))
    assert (SECRET in texts[0], SECRET[8:20] in texts[1]) == (b"data: " in reply.body, False)
    clean(secrets=(SECRET, "Hq3Wx7Zc1Vb5Nm9Lk2Jh6Gf4Ds8Ap0Oi"))


def text_of(answer, stream):
    """Return the text that a caller reads; nothing for an answer that does not come in events."""
    return "".join(chunk.choices[0].delta.content or "" for chunk in answer) if stream else ""


def test_the_check_itself_finds_what_it_looks_for(tmp_path, clean):
    for spelled in (str, as_base64, escaped):
        (tmp_path / "file").write_text("x" + spelled(SECRET[6:36]) + "x")
        with pytest.raises(AssertionError, match="file holds"):
            clean()


def test_a_key_without_any_known_shape_is_gone_where_the_answer_echoes_it(provider, clean):
    odd = "correct-horse-battery-staple-42"
    provider.script([openai_chat(f"you are {odd}")])
    with cassette("once"):
        ask(client(provider, odd), "who am I?")
    clean(secrets=(odd,))


def test_a_secret_in_a_reject_and_in_its_refusal(provider, clean):
    provider.script([openai_chat(json={"label": SECRET})])
    contract = onetake.Contract(LABEL, name="label")
    with cassette("once", contract=contract) as session, session.expect_refusal() as expected:
        ask(client(provider), f"is {SECRET} a bug?")
    (refusal,) = expected.refusals
    assert isinstance(refusal, ContractError)
    clean(str(refusal), repr(refusal.args))


def test_a_secret_in_a_reject_that_the_provider_cut(provider, clean):
    whole = openai_chat(f"your key is {SECRET} " + "x" * 400)
    provider.script([replace(whole, cut_after=len(whole.body) - 100)])
    with cassette("once"), pytest.raises(openai.APIConnectionError):
        ask(client(provider), "q")
    clean()


def test_a_secret_in_a_miss(provider, clean):
    with cassette("once"):
        ask(client(provider), f"the first key is {SECRET}")
    with cassette("none") as session, session.expect_refusal() as expected:
        ask(client(provider), f"the other key is {SECRET}", extra_query={"key": SECRET})
    clean(str(expected.refusals[0]), repr(expected.refusals[0].args))


def test_a_secret_in_a_pending_entry(provider, clean, tmp_path):
    from onetake.model import Mode
    from onetake.options import Options
    from onetake.session_run import SessionRun
    from onetake.settings import load_settings

    options = Options("cassettes/t", "once")
    session = SessionRun(options, load_settings(tmp_path), Mode.ONCE, "test_x.py::test_a")
    scope = session.open()
    try:
        ask(client(provider), f"is {SECRET} a key?")
    finally:
        session.close()
    assert scope
    assert list((tmp_path / ".onetake" / "pending").rglob("*.json"))
    clean()


def test_br_095_no_secret_comes_back_when_entries_are_replaced(provider, clean):
    for mode in ("once", "all", "new_episodes"):
        with cassette(mode):
            ask(client(provider), f"is {SECRET} a key?")
    clean()


def test_words_that_only_look_like_secrets_survive(provider, tmp_path):
    provider.script([openai_chat("a monkey on a desk-chair")])
    with cassette("once") as session:
        ask(client(provider, "none"), "token by token", max_tokens=7, metadata={"tokenizer": "sk-learn"})
        (entry,) = session.recorded
    assert json.loads(entry.request.body) == provider.requests[0].json()
    assert entry.answer.choices[0].text == "a monkey on a desk-chair"
