"""The scripted provider, seen by the SDKs and clients that people use."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import anthropic
import httpx
import openai
import pytest

from onetake.testing.provider import (
    Provider,
    Reply,
    anthropic_error,
    anthropic_message,
    anthropic_stream,
    bytes_reply,
    json_reply,
    openai_chat,
    openai_error,
    openai_stream,
    text_reply,
)


def ask(text):
    return [{"role": "user", "content": text}]


@pytest.fixture
def gpt(provider):
    with openai.OpenAI(base_url=f"{provider.url}/v1", api_key="sk-test", max_retries=0, timeout=20) as client:
        yield client


@pytest.fixture
def claude(provider):
    with anthropic.Anthropic(base_url=provider.url, api_key="sk-ant-test", max_retries=0, timeout=20) as client:
        yield client


@pytest.fixture
def web(provider):
    with httpx.Client(base_url=provider.url, timeout=20) as client:
        yield client


def chat(gpt, text="hi", **more):
    return gpt.chat.completions.create(model="gpt-x", messages=ask(text), **more)


def message(claude, text="hi", **more):
    return claude.messages.create(model="claude-x", max_tokens=9, messages=ask(text), **more)


class TestEcho:
    def test_each_call_is_answered_with_its_number_and_text(self, gpt, claude):
        assert chat(gpt, "one").choices[0].message.content == "answer 1 to: one"
        assert message(claude, "two").content[0].text == "answer 2 to: two"
        assert chat(gpt, "one").choices[0].message.content == "answer 3 to: one"

    def test_no_two_answers_share_their_ids(self, gpt, claude):
        chats, messages = [chat(gpt) for _ in range(2)], [message(claude) for _ in range(2)]
        assert chats[0].id != chats[1].id
        assert chats[0].system_fingerprint != chats[1].system_fingerprint
        assert chats[0]._request_id != chats[1]._request_id
        assert messages[0].id != messages[1].id

    def test_a_stream_says_the_same_a_word_an_event(self, gpt, claude):
        said = [c.choices[0].delta.content for c in chat(gpt, "a b", stream=True) if c.choices[0].delta.content]
        assert said == ["answer", " 1", " to:", " a", " b"]
        with claude.messages.stream(model="claude-x", max_tokens=9, messages=ask("a b")) as stream:
            assert list(stream.text_stream) == ["answer", " 2", " to:", " a", " b"]

    def test_the_usage_event_comes_if_asked_for(self, gpt):
        *_, last = chat(gpt, stream=True, stream_options={"include_usage": True})
        assert last.choices == []
        assert last.usage.total_tokens == last.usage.prompt_tokens + last.usage.completion_tokens

    def test_n_choices(self, gpt):
        assert [c.index for c in chat(gpt, n=3).choices] == [0, 1, 2]

    def test_the_last_user_text_counts_also_in_parts(self, gpt):
        parts = [{"type": "text", "text": "see"}, {"type": "text", "text": "this"}]
        answer = gpt.chat.completions.create(model="gpt-x", messages=[*ask("old"), {"role": "user", "content": parts}])
        assert answer.choices[0].message.content == "answer 1 to: see this"

    def test_a_required_tool_is_called_with_arguments_of_its_schema(self, gpt, claude):
        schema = {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 2}},
        }
        function = {"type": "function", "function": {"name": "weather", "parameters": schema}}
        call = chat(gpt, "Rome", tools=[function], tool_choice="required").choices[0].message.tool_calls[0].function
        assert (call.name, json.loads(call.arguments)) == ("weather", {"city": "answer 1 to: Rome", "days": 2})
        tool = {"name": "weather", "input_schema": schema}
        block = message(claude, "Oslo", tools=[tool], tool_choice={"type": "any"}).content[0]
        assert (block.name, block.input) == ("weather", {"city": "answer 2 to: Oslo", "days": 2})

    def test_a_schema_of_the_request_is_filled(self, gpt):
        schema = {"type": "object", "properties": {"label": {"enum": ["bug", "wish"]}, "why": {"type": "string"}}}
        wanted = {"type": "json_schema", "json_schema": {"name": "t", "strict": True, "schema": schema}}
        answer = json.loads(chat(gpt, "x", response_format=wanted).choices[0].message.content)
        assert answer == {"label": "bug", "why": "answer 1 to: x"}

    def test_embeddings_are_a_function_of_the_text(self, gpt):
        first, second, again = gpt.embeddings.create(model="e", input=["a", "b", "a"]).data
        assert first.embedding == again.embedding != second.embedding
        plain = gpt.embeddings.create(model="e", input="a", encoding_format="float").data[0].embedding
        assert plain == pytest.approx(first.embedding)

    def test_tokens_are_counted(self, claude):
        counted = claude.messages.count_tokens(model="claude-x", messages=ask("x" * 40))
        assert counted.input_tokens == 10

    def test_an_unknown_path_is_404_and_a_broken_body_400(self, web):
        assert web.post("/v1/nothing", json={}).status_code == 404
        assert web.post("/v1/chat/completions", content=b"{").status_code == 400


class TestScript:
    def test_replies_are_given_in_order_of_arrival_then_the_echo(self, provider, gpt):
        chat(gpt)
        provider.script([openai_chat("first"), openai_chat("second")])
        assert [chat(gpt, "x").choices[0].message.content for _ in range(3)] == ["first", "second", "answer 4 to: x"]

    def test_a_function_sees_the_request_and_may_leave_it_to_the_echo(self, provider, gpt):
        def reply(request):
            return openai_chat(f"your key is {request.key}") if request.json()["model"] == "gpt-x" else None

        provider.script(reply)
        assert chat(gpt).choices[0].message.content == "your key is sk-test"
        other = gpt.chat.completions.create(model="other", messages=ask("x"))
        assert other.choices[0].message.content == "answer 2 to: x"

    def test_what_arrived_can_be_looked_at(self, provider, web):
        web.post("/v1/messages?beta=true", content=b'{"a": 1}', headers={"X-Api-Key": "k", "X-Odd": "1"})
        (request,) = provider.requests
        assert (request.number, request.method, request.path) == (1, "POST", "/v1/messages?beta=true")
        assert (request.body, request.json(), request.key) == (b'{"a": 1}', {"a": 1}, "k")
        assert request.header("x-odd") == "1"
        assert provider.count == 1

    def test_a_chunked_request_arrives_whole(self, provider, web):
        web.post("/x", content=iter([b"ab", b"cd"]))
        assert provider.requests[0].body == b"abcd"

    def test_one_connection_carries_many_requests(self, provider):
        connection = http.client.HTTPConnection(provider.url.removeprefix("http://"), timeout=20)
        connection.connect()
        port = connection.sock.getsockname()
        for _ in range(3):
            connection.request("POST", "/v1/chat/completions", b'{"messages": []}')
            connection.getresponse().read()
            assert connection.sock.getsockname() == port
        connection.close()

    def test_64_clients_at_once_each_get_their_own_answer(self, provider, web):
        def call(i):
            answer = httpx.post(f"{provider.url}/v1/chat/completions", json={"messages": ask(f"q{i}")}, timeout=30)
            return answer.json()["choices"][0]["message"]["content"].partition(" to: ")[2]

        with ThreadPoolExecutor(64) as pool:
            assert list(pool.map(call, range(64))) == [f"q{i}" for i in range(64)]
        assert [request.number for request in provider.requests] == list(range(1, 65))


class TestOpenAi:
    def test_everything_that_a_model_may_say(self, provider, gpt):
        provider.script(
            [
                openai_chat(json={"a": "é"}),
                openai_chat(tool_calls=[("f", {"x": 1}), ("g", "not json")]),
                openai_chat(refusal="I can't.", finish="content_filter"),
                openai_chat(["one", "two"], usage={"prompt_tokens": 77}, model="gpt-served"),
            ]
        )
        assert chat(gpt).choices[0].message.content == '{"a": "é"}'
        called = chat(gpt).choices[0]
        assert [(c.function.name, c.function.arguments) for c in called.message.tool_calls] == [
            ("f", '{"x": 1}'),
            ("g", "not json"),
        ]
        assert called.finish_reason == "tool_calls"
        refused = chat(gpt).choices[0]
        assert (refused.message.refusal, refused.finish_reason) == ("I can't.", "content_filter")
        two = chat(gpt)
        assert [c.message.content for c in two.choices] == ["one", "two"]
        assert (two.usage.prompt_tokens, two.model) == (77, "gpt-served")

    def test_a_streamed_tool_call_is_put_together(self, provider, gpt):
        provider.script([openai_stream(tool_calls=[("f", {"x": [1, 2]})])])
        with gpt.chat.completions.stream(model="gpt-x", messages=ask("x")) as stream:
            function = stream.get_final_completion().choices[0].message.tool_calls[0].function
        assert (function.name, json.loads(function.arguments)) == ("f", {"x": [1, 2]})

    @pytest.mark.parametrize(
        ("status", "error"),
        [
            (400, openai.BadRequestError),
            (401, openai.AuthenticationError),
            (429, openai.RateLimitError),
            (500, openai.InternalServerError),
        ],
    )
    def test_an_error_becomes_the_sdks_own(self, provider, gpt, status, error):
        provider.script([openai_error(status, "no, because")])
        with pytest.raises(error, match="no, because"):
            chat(gpt)

    def test_an_error_under_200_has_no_choices(self, provider, gpt):
        provider.script([openai_error(200, "overloaded")])
        assert chat(gpt).choices is None

    def test_a_stream_may_be_cut_or_end_with_an_error(self, provider, gpt):
        provider.script([openai_stream("a b c d", ending="cut"), openai_stream("a b c d", ending="error")])
        assert [c.choices[0].finish_reason for c in chat(gpt, stream=True)] == [None, None, None]
        with pytest.raises(openai.APIError, match="error while processing"):
            list(chat(gpt, stream=True))


class TestAnthropic:
    def test_everything_that_a_model_may_say(self, provider, claude):
        provider.script(
            [
                anthropic_message("text", tool_calls=[("f", {"x": 1})]),
                anthropic_message(refusal="No."),
                anthropic_message(json=[1], finish="max_tokens", usage={"input_tokens": 77}),
            ]
        )
        text, tool = (both := message(claude)).content
        assert (text.text, tool.name, tool.input, both.stop_reason) == ("text", "f", {"x": 1}, "tool_use")
        refused = message(claude)
        assert (refused.content[0].text, refused.stop_reason) == ("No.", "refusal")
        cut = message(claude)
        assert (cut.content[0].text, cut.stop_reason, cut.usage.input_tokens) == ("[1]", "max_tokens", 77)

    def test_a_stream_adds_up_to_the_message(self, provider, claude):
        provider.script([anthropic_stream("a b", tool_calls=[("f", {"x": [1, 2]})])])
        with claude.messages.stream(model="claude-x", max_tokens=9, messages=ask("x")) as stream:
            whole = stream.get_final_message()
        assert (whole.content[0].text, whole.content[1].input) == ("a b", {"x": [1, 2]})
        assert whole.stop_reason == "tool_use"

    @pytest.mark.parametrize(
        ("status", "error"),
        [(400, anthropic.BadRequestError), (429, anthropic.RateLimitError), (529, anthropic.InternalServerError)],
    )
    def test_an_error_becomes_the_sdks_own(self, provider, claude, status, error):
        provider.script([anthropic_error(status, "no, because", "some_error")])
        with pytest.raises(error, match="no, because"):
            message(claude)

    def test_a_stream_may_be_cut_or_end_with_an_error(self, provider, claude):
        provider.script([anthropic_stream("a b c", ending="cut"), anthropic_stream("a b c", ending="error")])
        assert "message_stop" not in [event.type for event in message(claude, stream=True)]
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            list(message(claude, stream=True))


TEXT = "naïve Ω 漢字 🎉 " * 50


class TestWire:
    @pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
    @pytest.mark.parametrize("size", [7, 10_000])
    def test_a_compressed_body_is_undone_by_the_client(self, provider, web, encoding, size):
        provider.script([replace(text_reply(TEXT), encoding=encoding).in_pieces(size)])
        answer = web.get("/")
        assert answer.headers["content-encoding"] == encoding
        assert answer.text == TEXT

    @pytest.mark.parametrize("framing", ["length", "chunked", "close"])
    def test_every_framing_carries_the_whole_body(self, provider, web, framing):
        provider.script([replace(text_reply(TEXT), framing=framing), text_reply("next")])
        assert web.get("/").text == TEXT
        assert web.get("/").text == "next"

    def test_pieces_split_characters_and_come_one_by_one(self, provider, web):
        provider.script([replace(text_reply("é" * 3).in_pieces(1), delay=0.001)])
        with web.stream("GET", "/") as answer:
            assert b"".join(answer.iter_raw()) == "ééé".encode()

    def test_a_body_that_is_cut_short_is_noticed(self, provider, web):
        provider.script([replace(text_reply(TEXT), cut_after=5)])
        with pytest.raises(httpx.RemoteProtocolError, match="5 bytes"):
            web.get("/")

    def test_a_chunked_body_that_is_cut_short_is_noticed(self, provider, web):
        provider.script([replace(text_reply(TEXT).in_pieces(4), cut_after=6)])
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
            web.get("/")

    def test_a_reset_in_mid_body_is_a_read_error(self, provider, web):
        provider.script([replace(text_reply(TEXT), cut_after=5, reset=True)])
        with pytest.raises(httpx.ReadError):
            web.get("/")

    @pytest.mark.parametrize("before", [0, 2])
    def test_a_reply_hangs_until_it_is_released(self, provider, web, before):
        release = threading.Event()
        provider.script([replace(text_reply("abcd").in_pieces(1), hold=release, hold_before=before)])
        with pytest.raises(httpx.ReadTimeout):
            web.get("/", timeout=0.2)
        provider.script([replace(text_reply("abcd").in_pieces(1), hold=release, hold_before=before)])
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(web.get, "/")
            provider.wait_for(2)
            release.set()
            assert answer.result(timeout=20).text == "abcd"

    def test_what_was_sent_before_a_hold_has_arrived(self, provider, web):
        release = threading.Event()
        provider.script([replace(text_reply("ab").in_pieces(1), hold=release, hold_before=1)])
        with web.stream("GET", "/") as answer:
            pieces = answer.iter_raw()
            assert next(pieces) == b"a"
            release.set()
            assert next(pieces) == b"b"

    @pytest.mark.parametrize(("status", "method"), [(307, "POST"), (302, "GET")])
    def test_a_redirect_is_followed_as_its_status_says(self, provider, web, status, method):
        provider.script([Reply(status, (("location", "/there"),)), text_reply("here")])
        assert web.post("/", content=b"x", follow_redirects=True).text == "here"
        assert [(r.method, r.path) for r in provider.requests] == [("POST", "/"), (method, "/there")]

    def test_headers_and_status_go_out_as_they_are(self, provider, web):
        cookies = (("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"))
        provider.script([bytes_reply(b"\x00\xff", "application/octet-stream", 599, cookies)])
        answer = web.get("/")
        assert (answer.status_code, answer.content) == (599, b"\x00\xff")
        assert answer.headers.get_list("set-cookie") == ["a=1", "b=2"]

    @pytest.mark.parametrize("reply", [Reply(204), Reply(200), Reply(200, framing="chunked")])
    def test_an_empty_body_leaves_the_connection_usable(self, provider, web, reply):
        provider.script([reply, json_reply({"next": True})])
        assert web.get("/").content == b""
        assert web.get("/").json() == {"next": True}

    def test_a_head_gets_the_length_and_no_body(self, provider, web):
        provider.script([text_reply("abc"), text_reply("next")])
        assert web.head("/").headers["content-length"] == "3"
        assert web.get("/").text == "next"

    def test_a_client_that_sends_no_http_is_dropped(self, provider, web):
        host, port = provider.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as raw:
            raw.sendall(b"this is no-http\n")
            assert raw.recv(10) == b""
        assert web.post("/v1/messages", json={"messages": []}).status_code == 200
        assert provider.count == 1


class TestClose:
    def test_a_closed_provider_refuses_connections(self):
        with Provider() as provider:
            pass
        with pytest.raises(httpx.ConnectError):
            httpx.get(provider.url)

    def test_closing_ends_kept_connections_and_waiting_replies(self):
        provider = Provider()
        provider.script([text_reply("kept"), replace(text_reply("never"), hold=threading.Event())])
        with httpx.Client(base_url=provider.url, timeout=20) as client, ThreadPoolExecutor(1) as pool:
            assert client.get("/").text == "kept"
            waiting = pool.submit(client.get, "/")
            provider.wait_for(2)
            provider.close()
            provider.close()
            with pytest.raises(httpx.TransportError):
                waiting.result(timeout=20)

    def test_waiting_for_requests_that_never_come_says_how_many_came(self, provider):
        with pytest.raises(TimeoutError, match="0 of 1"):
            provider.wait_for(1, timeout=0.01)
