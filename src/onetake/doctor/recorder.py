"""The installed recorder, and the SDKs whose HTTP library it does not see: their calls go live in a replay."""

from __future__ import annotations

import ast
import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

SDKS = {
    "anthropic": "anthropic",
    "boto3": "boto3",
    "cohere": "cohere",
    "dspy": "dspy",
    "google-genai": "google.genai",
    "google-cloud-aiplatform": "vertexai",
    "groq": "groq",
    "huggingface-hub": "huggingface_hub",
    "langsmith": "langsmith",
    "litellm": "litellm",
    "mistralai": "mistralai",
    "ollama": "ollama",
    "openai": "openai",
    "replicate": "replicate",
    "together": "together",
    "voyageai": "voyageai",
    "writer-sdk": "writerai",
    "xai-sdk": "xai_sdk",
}
"""SDKs of models by the names of their distributions, and the module of each."""
_CLIENTS = {
    "aiohttp": "aiohttp",
    "botocore": "botocore",
    "curl-cffi": "curl_cffi",
    "grpcio": "grpc",
    "httplib2": "httplib2",
    "httpx": "httpx",
    "httpx2": "httpx2",
    "lm15": "lm15",
    "niquests": "niquests",
    "pycurl": "pycurl",
    "requests": "requests",
    "tornado": "tornado",
    "urllib3": "urllib3",
    "urllib3-future": "urllib3_future",
}
"""Libraries that carry requests, by the names of their distributions, and the module of each."""
_BELOW = {"httpcore": ("httpx",), "httpcore2": ("httpx2",), "urllib3": ("requests", "urllib3"), "http": ("httplib2",)}
"""A module that a recorder replaces, and the clients above it."""
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_PLUGINS = ("pytest-recording", "pytest-vcr")


@dataclass(frozen=True, slots=True)
class Unseen:
    """An SDK, and the libraries it sends through that the recorder does not intercept."""

    sdk: str
    version: str
    module: str
    clients: tuple[str, ...]


class Environment:
    """The packages that a project's tests run with, read from their files.

    Args:
        root: The project's folder: an environment that lies in it counts before the one that this program runs in.
    """

    def __init__(self, root: Path) -> None:
        self._folders = list(_packages(root)) or [entry for entry in sys.path if entry]
        self._found: dict[str, metadata.Distribution] = {}
        for one in metadata.distributions(path=self._folders):
            name = str(one.metadata["Name"] or "")
            self._found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), one)

    def version(self, name: str) -> str | None:
        """Return the version of a distribution, None where it is not installed."""
        found = self._found.get(name)
        return found.version if found else None

    @property
    def recorders(self) -> dict[str, str]:
        """The versions of vcrpy and of the plugins for it that are installed."""
        versions = {name: self.version(name) for name in ("vcrpy", *_PLUGINS)}
        return {name: version for name, version in versions.items() if version is not None}

    @property
    def intercepted(self) -> frozenset[str]:
        """The modules of the clients that the installed vcrpy replaces, by what its own source imports."""
        for folder in self._folders:
            path = Path(folder, "vcr", "patch.py")
            if path.is_file():
                seen = set(_imports(path))
                return frozenset(seen.union(*(above for below, above in _BELOW.items() if below in seen)))
        return frozenset()

    def unseen(self) -> Iterator[Unseen]:
        """Yield the installed SDKs that send through what vcrpy does not intercept; none where there is no vcrpy."""
        intercepted = self.intercepted
        for name, module in SDKS.items() if intercepted else ():
            found = self._found.get(name)
            if found is None:
                continue
            clients = dict.fromkeys(_clients(found))
            if found.locate_file(f"{module}/_vendor/lm15").is_dir():  # type: ignore[attr-defined]
                clients["lm15"] = None
            missed = tuple(client for client in clients if _CLIENTS[client] not in intercepted)
            if missed:
                yield Unseen(name, found.version, module, missed)


def _packages(root: Path) -> Iterator[str]:
    """Yield the folder of installed packages of an environment in a project, or of the one that is active."""
    places = [root / name for name in (".venv", "venv", "env")]
    if os.environ.get("VIRTUAL_ENV"):
        places.append(Path(os.environ["VIRTUAL_ENV"]))
    for place in places:
        if (place / "pyvenv.cfg").is_file():
            yield from map(str, sorted(place.glob("lib/python3*/site-packages")))
            if (place / "Lib" / "site-packages").is_dir():
                yield str(place / "Lib" / "site-packages")
            return


def _clients(found: metadata.Distribution) -> Iterator[str]:
    """Yield the clients that a distribution needs, without those of its extras."""
    for line in found.requires or ():
        needed, _, condition = line.partition(";")
        name = _NAME.match(needed.strip())
        if name and "extra" not in condition:
            plain = re.sub(r"[-_.]+", "-", name[0]).lower()
            if plain in _CLIENTS:
                yield plain


def _imports(path: Path) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]
