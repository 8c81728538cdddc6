"""What those need who test with onetake, or test an extension of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onetake.testing.adapters import AdapterConformance, Answer
    from onetake.testing.dialects import DialectCase, DialectConformance
    from onetake.testing.provider import Provider
    from onetake.testing.stores import StoreConformance

__all__ = ["AdapterConformance", "Answer", "DialectCase", "DialectConformance", "Provider", "StoreConformance"]

_HOMES = {
    "AdapterConformance": "onetake.testing.adapters",
    "Answer": "onetake.testing.adapters",
    "DialectCase": "onetake.testing.dialects",
    "DialectConformance": "onetake.testing.dialects",
    "Provider": "onetake.testing.provider",
    "StoreConformance": "onetake.testing.stores",
}


def __getattr__(name: str) -> Any:
    """Import on first use: a suite needs pytest, which other parts do without."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
