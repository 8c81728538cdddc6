"""A job file: `[ask]`, what a model is asked, and `[run]`, how; every name checked."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onetake import settings_values as values
from onetake.batch import job_values as read
from onetake.errors import UsageError

APIS = ("openai", "anthropic")
_REQUIRED = ("base_url", "model", "prompt")


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked: all of it is in the request that it makes, or in what judges the answer.

    Args:
        base_url: Of the endpoint, as its SDK takes it: `http://127.0.0.1:8000/v1`, `https://api.anthropic.com`.
        model: The model's name.
        prompt: What the user says; `{name}` stands for a field of the record.
        api: `openai` (any endpoint with `/chat/completions`) or `anthropic` (`/v1/messages`).
        api_key_env: The variable that holds the credential, which goes to *base_url* only; empty sends none.
        system: What the system says; fields as in *prompt*; empty for nothing.
        schema: The file of the JSON Schema that an answer must satisfy, absolute; None for any text.
        schema_version: Of that schema.
        structured: Whether the schema is also sent, as `response_format`.
        params: Further members of the request's body.
    """

    base_url: str
    model: str
    prompt: str
    api: str = "openai"
    api_key_env: str = ""
    system: str = ""
    schema: Path | None = None
    schema_version: int = 1
    structured: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """How it is asked; only *repairs* may change a row.

    Args:
        least: Calls in flight to begin with.
        most: Calls in flight at most.
        rpm: Requests a minute at most; None for no limit.
        tpm: Tokens a minute at most; None for no limit.
        max_cost: US dollars that may be spent by one run; None for no limit.
        repairs: How often a model is asked again with what was wrong with its answer.
        store: Where the replies are kept, absolute: a file (`.db`) or a folder.
        timeout: Seconds that one attempt may take.
        deadline: Seconds that a run may take; None for no limit.
        max_attempts: How often one request is sent at most.
        prices: US dollars a million tokens, `input` and `output`; None takes those of the price package.
        label_paths: Which parts of an answer `drift` compares; empty for all of it.
        max_failures: Rows that may fail before the exit code says so: a number, or a share of the rows from 0 to 1.
    """

    store: Path
    least: int = 4
    most: int = 32
    rpm: float | None = None
    tpm: float | None = None
    max_cost: float | None = None
    repairs: int = 0
    timeout: float = 120.0
    deadline: float | None = None
    max_attempts: int = 6
    prices: Mapping[str, float] | None = None
    label_paths: tuple[str, ...] = ()
    max_failures: int | float = 0


@dataclass(frozen=True, slots=True)
class Job:
    """A job.

    Args:
        path: Its file, absolute; None for one that Python code made.
        ask: What is asked.
        run: How.
        made: Of a job that Python code made: a digest of what rows depend on besides; else empty.
    """

    path: Path | None
    ask: Ask
    run: Run
    made: str = ""

    def digest(self) -> str:
        """Return what rows depend on besides the input and the store, as 64 hex digits (SHA-256).

        Raises:
            UsageError: The schema's file cannot be read.
        """
        ask = self.ask
        said = {name: getattr(ask, name) for name in Ask.__slots__ if name not in ("api_key_env", "schema")}
        schema = None if ask.schema is None else hashlib.sha256(_bytes(ask.schema)).hexdigest()
        whole = {**said, "params": dict(ask.params), "schema": schema, "repairs": self.run.repairs}
        whole |= {"made": self.made} if self.made else {}
        return hashlib.sha256(json.dumps(whole, sort_keys=True, default=str).encode()).hexdigest()


def load_job(path: Path) -> Job:
    """Read a job file.

    Args:
        path: TOML; relative paths in it count from its folder.

    Raises:
        UsageError: It cannot be read or is no TOML, a name in it is unknown or missing, or a value is wrong.
    """
    path = path.absolute()
    try:
        found = tomllib.loads(_bytes(path).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # besides what is no TOML: a number of too many digits
        raise UsageError(f"{path.name}: no TOML: {error}") from None
    said = values.table(found, f"{path.name}:", {"ask": _ask, "run": _run}, required=["ask"])
    ask, run = said["ask"], said.get("run", {})
    root = path.parent
    if "schema" in ask:
        ask["schema"] = root / ask["schema"]
        _bytes(ask["schema"])
    elif ask.get("structured"):
        raise UsageError(f"{path.name}: ask.structured sends the schema, and there is none")
    run["store"] = root / run.get("store", "calls.db")
    return Job(path, Ask(**ask), Run(**run))


def ask_of(given: Mapping[str, Any], where: str, required: Sequence[str] = _REQUIRED) -> Ask:
    """Read what may stand under `[ask]`, wherever it was said.

    Args:
        given: By name.
        where: What messages call the place.
        required: What must be said.

    Raises:
        UsageError: A name is unknown, one is missing, or a value is wrong.
    """
    return Ask(**{"model": "", "prompt": "", **_ask(dict(given), where, required)})


def _ask(value: object, where: str, required: Sequence[str] = _REQUIRED) -> dict[str, Any]:
    readers: dict[str, values.Reader] = {
        "base_url": read.url,
        "model": values.text,
        "prompt": values.text,
        "api": values.one_of({api: api for api in APIS}),
        "api_key_env": values.text,
        "system": values.any_text,
        "schema": read.path,
        "schema_version": read.whole(1),
        "structured": read.flag,
        "params": read.params,
    }
    found = values.table(value, where, readers, required=required)
    for name in ("model", "messages", "system", "stream", "response_format"):
        if name in found.get("params", {}):
            raise UsageError(f"{where}.params.{name}: the job makes this member itself")
    return found


def run_values(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Read what may stand under `[run]`, wherever it was said.

    Args:
        given: By name, as TOML or a command line gives it.
        where: What messages call the place.

    Returns:
        Fields of `Run`.

    Raises:
        UsageError: A name is unknown, or a value is wrong.
    """
    found = _run(dict(given), where)
    return found | ({"store": Path(found["store"])} if "store" in found else {})


def _run(value: object, where: str) -> dict[str, Any]:
    readers: dict[str, values.Reader] = {
        "concurrency": read.concurrency,
        "rpm": read.positive,
        "tpm": read.positive,
        "max_cost": read.positive,
        "repairs": read.whole(0),
        "store": read.path,
        "timeout": read.positive,
        "deadline": read.positive,
        "max_attempts": read.whole(1),
        "prices": read.prices,
        "label_paths": values.texts,
        "max_failures": read.max_failures,
    }
    found = values.table(value, where, readers)
    if "concurrency" in found:
        found["least"], found["most"] = found.pop("concurrency")
    return found


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path.as_posix()}: cannot be read: {error.strerror or error}") from None
