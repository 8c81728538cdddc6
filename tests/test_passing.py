"""What goes out untouched, and what is said of it."""

from __future__ import annotations

from onetake.traffic import Traffic

SECRET = "sk-proj-abcDEF0123456789abcDEF0123456789"


def test_br_081_an_ignored_call_that_looks_like_a_model_call_is_said_once_a_place(direct, capsys):
    engine = direct(traffic=Traffic(ignore=["127.0.0.1", "api.example.com"])).engine
    for _ in range(3):
        assert engine.passes("POST", f"http://127.0.0.1:11434/v1/chat/completions?key={SECRET}")
        assert engine.passes("GET", "http://127.0.0.1:8000/health")
    assert engine.passes("POST", f"https://api.example.com/{SECRET}/v1/messages")
    said = capsys.readouterr().err
    assert said.count("looks like a model call (openai-chat)") == 1
    assert said.count("looks like a model call (anthropic-messages)") == 1
    assert "health" not in said
    assert SECRET[8:20] not in said


def test_br_081_a_call_that_a_pattern_means_is_not_warned_of(direct, capsys):
    engine = direct(traffic=Traffic(ignore=["127.0.0.1:11434"])).engine
    assert engine.passes("POST", "http://127.0.0.1:11434/v1/chat/completions")
    assert capsys.readouterr().err == ""
