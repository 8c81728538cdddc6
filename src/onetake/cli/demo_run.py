"""What `onetake demo` does, and measures: asking about every line in a mode, and asking for too little.

What may be claimed of it is decided in `demo`, from these figures.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onetake.cli.demo_lines import LINES, SCHEMA, question
from onetake.cli.demo_models import Served
from onetake.contract import Contract
from onetake.errors import ContractError
from onetake.scopes import use_cassette
from onetake.settings_start import set_start

if TYPE_CHECKING:
    from openai import OpenAI

    from onetake.session import Session

CASSETTE = "cassettes/triage"

_ORIGINS: Mapping[str, Any] = {"origins": {"http://127.0.0.1:*": "local"}}
"""The local model has another port each time; under this rule all of them share entries."""
_TOO_FEW_TOKENS = 4

Progress = Callable[[int, str, bytes], None]
"""Is told the number of a line, from 1, the line, and the body of the answer."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over all lines.

    Args:
        bodies: The body of each answer, as the SDK got it.
        seconds: The wall time of the calls.
        played: How many answers were replayed.
        recorded: How many were recorded.
    """

    bodies: tuple[bytes, ...]
    seconds: float
    played: int
    recorded: int

    @property
    def digest(self) -> str:
        """SHA-256 of all bodies, each with its length before it: 64 hex digits."""
        whole = sha256()
        for body in self.bodies:
            whole.update(len(body).to_bytes(8, "big") + body)
        return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer that the gate refused: its kind, and where it is kept aside (empty if nothing was refused)."""

    kind: str
    place: Path | None


def ask_all(folder: Path, mode: str, model: Served, progress: Progress | None = None) -> Pass:
    """Ask about every line.

    Args:
        folder: The demo's folder.
        mode: The session's mode.
        model: Where to ask; under mode `none` nothing need be there.
        progress: Is told of each answer.

    Raises:
        Refusal: An answer that is refused, or a miss.
    """
    with _client(model) as client, _scope(folder, mode) as cassette:
        bodies = []
        start = time.perf_counter()
        for number, (line, _) in enumerate(LINES, 1):
            body = _ask(client, question(line, model.name))
            bodies.append(body)
            if progress:
                progress(number, line, body)
        seconds = time.perf_counter() - start
        return Pass(tuple(bodies), seconds, len(cassette.played), len(cassette.recorded))


def ask_for_too_little(folder: Path, model: Served) -> Refused:
    """Ask about the first line with too few tokens for any answer that the contract would take."""
    with _client(model) as client, _scope(folder, "new_episodes") as cassette, redirect_stderr(io.StringIO()):
        try:
            _ask(client, question(LINES[0][0], model.name, _TOO_FEW_TOKENS))
        except ContractError as error:
            return Refused(error.kind, _reject_file(folder, cassette.rejects[0].key))
    return Refused("", None)


def entry_files(folder: Path) -> list[Path]:
    """Return the files of the entries, in the order of their names."""
    return sorted((folder / CASSETTE).glob("*.json"))


def _reject_file(folder: Path, key: str) -> Path | None:
    return next((folder / ".onetake" / "rejects" / CASSETTE).glob(f"*{key[:16]}*.json"), None)


def _ask(client: OpenAI, asked: dict[str, Any]) -> bytes:
    return client.chat.completions.with_raw_response.create(**asked).http_response.content


@contextmanager
def _client(model: Served) -> Iterator[OpenAI]:
    import openai

    # No proxy of the environment: the model is on loopback.
    http = openai.DefaultHttpxClient(trust_env=False)
    url = f"{model.url}/v1"
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0, http_client=http) as client:
        yield client


@contextmanager
def _scope(folder: Path, mode: str) -> Iterator[Session]:
    before = set_start(folder)
    try:
        contract = Contract(SCHEMA, name="triage", schema_version=1)
        with use_cassette(CASSETTE, mode=mode, contract=contract, key=_ORIGINS) as cassette:
            yield cassette
    finally:
        set_start(before)
