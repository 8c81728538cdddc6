"""Patch every client that the program has imported, and those that it imports later."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from onetake import forking

_BUILT_IN = {
    "aiohttp": "onetake.adapters.aiohttp",
    "dspy._vendor.lm15.transports": "onetake.adapters.lm15",
    "http.client": "onetake.adapters.http_client",
    "httpx": "onetake.adapters.httpx",
    "httpx2": "onetake.adapters.httpx",
    "lm15.transports": "onetake.adapters.lm15",
    "urllib3": "onetake.adapters.urllib3",
    "urllib3_future": "onetake.adapters.urllib3_future",
}
_FUTURE = ("AsyncHTTPConnectionPool", "ResponsePromise")
"""What urllib3-future has and urllib3 has not."""
_DOORS = dict.fromkeys(("os", "subprocess", "multiprocessing.spawn"), "onetake.starting")
"""Where a program starts processes; patched by the same import hook, so that none of it is imported for nothing."""
_RIVALS = dict.fromkeys(
    ("aioresponses.core", "requests_mock.mocker", "responses", "vcr.cassette"), "onetake.rival_starts"
)
"""Where other tools that answer for a client start."""
_lock = forking.Lock()


@cache
def _adapters() -> dict[str, str]:
    """Return the adapter module of each client module: the built-in ones and the entry points `onetake.adapters`."""
    from importlib import metadata

    points = metadata.entry_points(group="onetake.adapters")
    return _DOORS | _RIVALS | _BUILT_IN | {point.name: point.value for point in points}


def install() -> None:
    """Intercept every known client from now on; calls outside a session go out untouched.

    Every session does this anew: a tool that puts a client's methods back as it found them may have taken ours away.

    Raises:
        AdapterError: A client is installed in a version that its adapter does not know.
    """
    names = _adapters()  # before the finder stands: it asks for them at every import, also at those that this makes
    with _lock.held:
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder())
    for name in names:
        if name in sys.modules:
            # Through the import system, which waits for a module that another thread is just importing.
            _patch(importlib.import_module(name))


def rival() -> str:
    """Name a tool that answers beside us for a client that the program has imported: respx, pytest-httpx; or nothing.

    Adapters whose client has such tools say so by a function `rival(module)` of their own.
    """
    for name in _adapters():
        module = sys.modules.get(name)
        find = module and getattr(sys.modules.get(_adapter_of(module)), "rival", None)
        if find and (found := find(module)):
            return f"{found} (on {name})"
    return ""


def _adapter_of(module: ModuleType) -> str:
    """Return the name of a client's adapter. Installed, urllib3-future takes the place of urllib3, and its name."""
    name = module.__name__
    is_future = name == "urllib3" and any(hasattr(module, part) for part in _FUTURE)
    return _adapters()["urllib3_future" if is_future else name]


def _patch(module: ModuleType) -> None:
    adapter = importlib.import_module(_adapter_of(module))
    # Nothing is imported under the lock: a thread that ends its own import of a client waits for it.
    with _lock.held:
        adapter.patch(module)


class _Finder:
    """Lets the import of a known client run as usual and patches it at its end."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find a known client's spec by the other finders and have its loader patch afterwards."""
        if name not in _adapters():
            return None
        spec = next(
            (
                found
                for finder in sys.meta_path
                if finder is not self and hasattr(finder, "find_spec")
                if (found := finder.find_spec(name, path, target)) is not None
            ),
            None,
        )
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


class _Loader:
    """A loader that patches the module after the real loader has run it; all else is the real loader's."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module as the real loader does."""
        created: ModuleType | None = self._real.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then patch it."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._real
        module.__loader__ = self._real
        self._real.exec_module(module)
        _patch(module)
