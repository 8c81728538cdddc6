"""The known hosts of models: by name, whatever their port or path."""

from __future__ import annotations

import pytest

from onetake.model_hosts import is_model_host


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("api.openai.com", True),
        ("eu.api.openai.com", True),
        ("my-house.openai.azure.com", True),
        ("europe-west1-aiplatform.googleapis.com", True),
        ("bedrock-runtime.eu-west-1.amazonaws.com", True),
        ("openai.com", False),
        ("api.openai.com.evil.example", False),
        ("storage.googleapis.com", False),
        ("127.0.0.1", False),
    ],
)
def test_a_host_is_known_by_its_whole_name(name, known):
    assert is_model_host(name) is known
