"""Runs that missed what they had recorded before."""

from __future__ import annotations

import os

import pytest

from onetake.upkeep.adopt.planning import plan


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """No machine goes down while these tests write."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def upgraded(folder, direct, answer):
    """Return a function that records prompts, and then misses all of them with fields added."""

    def run(*prompts, more=None, old=None, **options):
        folder.record(*((direct.chat(text, **(old or {})), answer) for text in prompts), **options)
        options.pop("keep", None)
        folder.miss(*(direct.chat(text, **(old or {}), **(more or {"store": False})) for text in prompts), **options)
        return plan(folder.root)

    return run
