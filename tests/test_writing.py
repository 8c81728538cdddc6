"""What the name of an entry's file says for eyes; that no secret is written is in `test_cassette.py`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onetake.key import Keyer
from onetake.model import Entry, KeySpec, Request, Response
from onetake.settings import KeyRules, Replace
from onetake.writing import decoration


def make(keyer=None, url="https://api.openai.com/v1/chat/completions"):
    keyer = keyer or Keyer()
    body = b'{"model": "gpt-5"}'
    request = Request("POST", url, (("content-type", "application/json"),), body)
    response = Response(200, (("content-type", "application/json"),), b'{"choices": []}')
    spec = KeySpec("k1", "s1", keyer.spec())
    return Entry("good", request, response, keyer.key(request), 0, spec)


def test_the_decoration_is_made_of_what_the_key_counts():
    assert decoration(make()) == "chat-gpt-5"
    assert decoration(make(keyer=Keyer(KeyRules(ignore=("$.model",))))) == "chat"
    assert decoration(make(url="https://api.example/rank")) == "post"


def test_the_decoration_names_a_model_of_the_path_or_of_a_form():
    named = "https://x.openai.azure.com/openai/deployments/my%20house/chat/completions"
    unnamed = replace(make(url=named).request, body=b"{}")
    assert decoration(replace(make(url=named), request=unnamed)) == "chat-my-house"
    part = b'--b\r\nContent-Disposition: form-data; name="%b"\r\n\r\nwhisper-1\r\n--b--\r\n'
    head, url = (("content-type", "multipart/form-data; boundary=b"),), "https://api.openai.com/v1/audio/translations"
    form = replace(make(url=url), request=Request("POST", url, head, part % b"model"))
    assert decoration(form) == "transcription-whisper-1"
    assert decoration(replace(form, request=Request("POST", url, head, part % b"language"))) == "transcription"
    rules = KeySpec("k1", "s1", Keyer(KeyRules(replace=(Replace("whisper-[0-9]", "MODEL"),))).spec())
    assert decoration(replace(form, key_spec=rules)) == "transcription"


@pytest.mark.parametrize("path", ["v1beta/models/gemini-9:generateContent", "v1/models/gemini-9:streamGenerateContent"])
def test_the_decoration_names_a_model_with_a_verb_behind_it(path):
    entry = make(url="https://generativelanguage.googleapis.com/" + path)
    assert decoration(replace(entry, request=replace(entry.request, body=b"{}"))) == "generate-gemini-9"


def test_the_decoration_names_a_function():
    entry = make()
    called = replace(entry.request, method="CALL", url="function:app.ask.name", headers=(), body=b"{}")
    assert decoration(replace(entry, request=called)).endswith("app.ask.name")


def test_a_model_that_the_path_only_happens_to_contain_is_not_named():
    url = "https://api.openai.com/v1/audio/translations"
    part = b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\ntrans\r\n--b--\r\n'
    head = (("content-type", "multipart/form-data; boundary=b"),)
    rules = KeySpec("k1", "s1", Keyer(KeyRules(replace=(Replace("trans", "MODEL"),))).spec())
    assert decoration(replace(make(url=url), request=Request("POST", url, head, part))) == "transcription-trans"
    assert (
        decoration(replace(make(url=url), request=Request("POST", url, head, part), key_spec=rules)) == "transcription"
    )
