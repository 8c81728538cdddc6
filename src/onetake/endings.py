"""Who is told of each session that is no test's own, when it has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

listeners: list[Callable[[Any], None]] = []
"""Who wants to be told, with the session's run; only the last one is.

A run of pytest inside a test of another one has its own sessions.
"""
