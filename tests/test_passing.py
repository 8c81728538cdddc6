"""What goes out untouched, and what is said of it."""

from __future__ import annotations

import sys
import types

from onetake import dialects
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


def test_a_call_that_the_suites_own_configuration_lets_pass_is_said_with_the_key_that_does(direct, capsys):
    traffic = Traffic(ignore=["b.example.com"]).letting(lambda method, url: "ignore_hosts" * ("a.ex" in url), None)
    engine = direct(traffic=traffic).engine
    assert engine.passes("POST", "https://a.example.com/v1/chat/completions")
    assert engine.passes("POST", "https://b.example.com/v1/chat/completions")
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("and is not recorded: narrow the suite's ignore_hosts, which lets it pass")
    assert second.endswith("and is not recorded: narrow the pattern that lets it pass")


def test_beside_blockbuster_dialects_are_there_before_the_first_call(direct, monkeypatch):
    monkeypatch.setitem(sys.modules, "blockbuster", types.ModuleType("blockbuster"))
    dialects.known.cache_clear()
    direct()
    assert dialects.known.cache_info().currsize == 1
