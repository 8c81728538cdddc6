"""Where an entry comes from: when, from which commit, with which client and model."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from onetake import git

_TOKEN = r"(?:\[[^\]]*\]|[^\s()\[])+"  # what the scrubber puts in the place of a secret may hold spaces
_PRODUCT = re.compile(rf"({_TOKEN})(?: (v?\d(?:{_TOKEN})?))?")
_GENERATED = re.compile(r"speakeasy-sdk/\S+ (\S+) \S+ \S+ (\S+)")


def provenance(
    root: Path, *, test: str, client: str, sdk: str | None, model_asked: str | None, model_served: str | None
) -> Mapping[str, Any]:
    """Return an entry's provenance, empties left out.

    Args:
        root: A folder of the project; its git commit is named.
        test: The test's id, empty outside tests.
        client: HTTP client and version.
        sdk: What the SDK calls itself.
        model_asked: The model that the request names.
        model_served: The model that the response names.
    """
    commit, dirty = _commit(root)
    found = {
        "recorded_at": now(),
        "commit": commit,
        "dirty": dirty or None,
        "test": test,
        "recorder": f"onetake {version()}",
        "client": client,
        "sdk": sdk,
        "model_asked": model_asked,
        "model_served": model_served,
        "python": platform.python_version(),
    }
    return {name: value for name, value in found.items() if value}


def now() -> str:
    """Return this moment as entries and notes have it: RFC 3339, UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def sdk_of(agent: str) -> str | None:
    """Return the SDK's name and version that a user agent begins with; None where it is the HTTP client's own.

    Args:
        agent: The header's text, its secrets scrubbed.

    Returns:
        `Boto3/1.44.8`, `OpenAI/Python 3.57.0`. What follows is of the machine and of the moment, and in no fixed order.

    Source: RFC 9110 section 10.1.5, products in decreasing order of significance. SDKs that Stainless generates put the
    language where the version belongs, and the version behind it; Speakeasy's name the generator, and the package last.
    """
    if agent.lower().startswith(("python-", "python/")):
        return None
    generated = _GENERATED.fullmatch(agent)
    if generated:
        return f"{generated[2]} {generated[1]}"
    found = _PRODUCT.match(agent)
    if found is None:
        return None
    is_whole = found[2] is None or re.search(r"/v?\d", found[1])
    return found[1] if is_whole else found[0]


@lru_cache(1)
def version() -> str:
    """Return the version of onetake that is installed."""
    from importlib import metadata

    try:
        return metadata.version("onetake")
    except metadata.PackageNotFoundError:
        return "0"


@lru_cache(64)
def _commit(root: Path) -> tuple[str, bool]:
    """Ask git, once a process, for the commit and whether tracked files differ; ("", False) where there is none."""
    commit = git.line(root, "rev-parse", "HEAD")
    if not commit:
        return "", False
    return commit, git.is_dirty(root)
