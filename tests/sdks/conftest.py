"""Each way into each SDK: recorded exactly once, and replayed with the provider dead. `scripts/matrix` runs them all.

Where an SDK is not installed its tests are skipped. With ONETAKE_MATRIX=FILE they fail instead, and every way that came
out right is written there as one line of JSON.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import onetake
from onetake.settings_start import set_start

# Before litellm is imported: it would fetch its price list.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ.setdefault("LANGSMITH_TRACING", "false")
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")

SAID = "name a city"
"""What every way asks."""


def pytest_configure(config):
    config.addinivalue_line("markers", "sdk(module, distribution): the SDK that a test of the matrix needs")


def pytest_runtest_setup(item):
    for mark in item.iter_markers("sdk"):
        if not _is_installed(mark.args[0]):
            stop = pytest.fail if os.environ.get("ONETAKE_MATRIX") else pytest.skip
            stop(f"{mark.args[0]} is not installed here; scripts/matrix has an environment that holds it")


def _is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package above it
        return False


@pytest.fixture
def base_of():
    """Name the client that the installed version of an SDK is built on: `base_of("openai")`."""

    def found(module):
        kind = importlib.import_module(module).DefaultHttpxClient
        modules = {base.__module__.partition(".")[0] for base in kind.__mro__}
        return next(name for name in ("httpx2", "httpx") if name in modules)

    return found


@pytest.fixture
def recorded_once(request, provider, tmp_path):
    """Check one way: `recorded_once(way, ask, client=…, dialect=…)`.

    `ask(url)` makes one call to a provider at that address and returns what the program got of it, as plain data. It is
    called in a recording session, and in a sealed one with the provider gone. `client` and `dialect` are the beginnings
    of what the entry must say of itself. With `hosts` the provider is named there, for an API whose paths programs have
    too. Returns what the program got.
    """
    (tmp_path / "onetake.toml").touch()
    mark = next(request.node.iter_markers("sdk"))

    def check(way, ask, *, client, dialect, verdict="good", hosts=False, **options):
        if hosts:
            options["hosts"] = [urlsplit(provider.url).netloc]
        before = set_start(tmp_path / "program.py")
        try:
            with onetake.use_cassette("matrix", mode="once", **options) as session:
                first = ask(provider.url)
            (entry,) = session.recorded
            assert (provider.count, len(session.requests), entry.verdict) == (1, 1, verdict)
            assert entry.provenance["client"].startswith(client + " "), entry.provenance["client"]
            assert (entry.dialect or "").startswith(dialect), entry.dialect
            provider.close()
            with onetake.use_cassette("matrix", mode="none", **options) as session:
                again = ask(provider.url)
        finally:
            set_start(before)
        assert again == first
        assert [(entry.key, entry.ordinal) for entry in session.played] == [(entry.key, entry.ordinal)]
        assert provider.count == 1
        _write(mark.args[-1], way, entry)
        return first

    return check


def _write(distribution, way, entry):
    if not (place := os.environ.get("ONETAKE_MATRIX")):
        return
    row = {
        "sdk": distribution,
        "version": importlib.metadata.version(distribution),
        "way": way,
        "client": entry.provenance["client"],
        "dialect": entry.dialect or "",
    }
    with Path(place).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
