"""Which calls to this machine are calls to a model server, though the program's own servers listen there too."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from urllib.parse import SplitResult, urlsplit

from onetake import dialects

_HERE = re.compile(r"localhost|127(?:\.(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})){3}|::1")
_OLLAMA = frozenset({"ollama", "ollama-embeddings"})
_OLLAMA_PORT = 11434
_OLLAMA_HOST_PORT = re.compile(r"(?:\w+://)?[^/]*:(\d{1,5})/?.*")
# Where servers of models have the API of OpenAI: at their root, or under the names that they share.
_ROOT = re.compile(
    r"(?:/openai|/engines(?:/[^/]+)?)?/(?:v\d+|openai|deployments/[^/]+)(?:/chat)?"
    r"/(?:completions|embeddings|moderations|classifications|responses(?:/[^/]+)?)/?"
)


def is_here(host: str) -> bool:
    """Tell whether a host can only be this machine: what its name servers say of other names, nobody knows.

    Args:
        host: In lower case, an address of IPv6 without brackets.
    """
    return _HERE.fullmatch(host) is not None


def dialect_of(method: str, url: str) -> dialects.Dialect | None:
    """Return the dialect of a request to loopback, None where it is as likely the program's own traffic.

    Most paths of model APIs are nobody else's. Those of Ollama count at its port, 11434 or that of OLLAMA_HOST; those
    of OpenAI that end in a common word, at a server's root (`/v1/responses`, not `/survey/v1/responses`); Cohere's and
    Mistral's own, files and batches not at all: no model server has them on loopback, and programs do.
    """
    dialect = dialects.find(method, url)
    if dialect is None:
        return None
    is_models = _COMMON.get(dialect.name)
    return dialect if is_models is None or is_models(urlsplit(url)) else None


def may_be_ollama(method: str, url: str) -> bool:
    """Tell whether a request to loopback may be one to Ollama, at whatever port."""
    dialect = dialects.find(method, url)
    return dialect is not None and dialect.name in _OLLAMA


def _is_ollamas(url: SplitResult) -> bool:
    found = _OLLAMA_HOST_PORT.fullmatch(os.environ.get("OLLAMA_HOST", ""))
    return url.port in (_OLLAMA_PORT, int(found[1]) if found else None)


def _is_at_root(url: SplitResult) -> bool:
    return _ROOT.fullmatch(url.path) is not None


def _never(url: SplitResult) -> bool:
    return False


_COMMON: dict[str, Callable[[SplitResult], bool]] = {
    **dict.fromkeys(_OLLAMA, _is_ollamas),
    **dict.fromkeys(("openai-completions", "openai-embeddings", "openai-moderations", "openai-responses"), _is_at_root),
    **dict.fromkeys(("cohere-chat", "cohere-v1", "cohere-embeddings", "cohere-rerank"), _never),
    **dict.fromkeys(("mistral-conversations", "mistral-ocr", "openai-batches", "openai-files"), _never),
}
"""Dialects whose paths are common, and what makes one of them a model's."""
