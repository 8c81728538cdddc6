"""Ways to answer a request: the bare client, onetake, vcrpy and cassetter, each over the same requests and answers."""

from __future__ import annotations

import importlib.util
import random
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

import onetake
from bench.bodies import REQUEST_HEADERS, RESPONSE_HEADERS, URL, answered, asked, sent, write_entries

_TLS = ssl.create_default_context()
"""Made once: it takes longer than opening any cassette, and is nobody's doing."""

Ask = Callable[[int], object]
"""Sends the request of that number and reads its answer."""


class Case:
    """One cassette of each kind with the same requests: how many, how large, of which shape."""

    def __init__(self, folder: Path, entries: int, size: int, shape: str = "long") -> None:
        self.folder = folder / f"{entries}-{size}-{shape}"
        self.entries, self.size, self.shape = entries, size, shape

    def asking(self, client: httpx.Client) -> Ask:
        """Return what sends the case's requests through a client."""
        return lambda number: client.post(URL, json=asked(number, self.size, self.shape)).json()

    def yaml(self, peer: str) -> Path:
        """Return where a peer's cassette is."""
        return self.folder.with_name(f"{self.folder.name}.{peer}.yaml")

    def some(self, count: int, seed: int) -> list[int]:
        """Return numbers of *count* different requests in random order, of all if there are fewer."""
        return random.Random(seed).sample(range(self.entries), min(count, self.entries))


@dataclass(frozen=True, slots=True)
class Way:
    """One way to answer a case's requests: what must be written beforehand, and what is opened then."""

    write: Callable[[Case], object]
    open: Callable[[Case], AbstractContextManager[Ask]]


def ways() -> dict[str, Way]:
    """Return the bare client, onetake, and the peers that this environment has."""
    found = {
        "bare": Way(lambda case: None, _bare),
        "onetake": Way(_write_ours, _onetake),
        "vcrpy": Way(lambda case: _yaml(case, "vcrpy", _vcrpy_interaction), _vcrpy),
        "cassetter": Way(lambda case: _yaml(case, "cassetter", _cassetter_interaction), _cassetter),
    }
    modules = {"vcrpy": "vcr", "cassetter": "cassetter"}
    return {name: way for name, way in found.items() if importlib.util.find_spec(modules.get(name, "httpx"))}


@contextmanager
def _bare(case: Case) -> Iterator[Ask]:
    """Answer through httpx alone: what everything else is measured against."""
    headers = dict(RESPONSE_HEADERS)
    transport = httpx.MockTransport(lambda request: httpx.Response(200, headers=headers, content=answered()))
    with httpx.Client(transport=transport) as client:
        yield case.asking(client)


@contextmanager
def _onetake(case: Case) -> Iterator[Ask]:
    with onetake.use_cassette(case.folder, mode="none"), httpx.Client(verify=_TLS) as client:
        yield case.asking(client)


@contextmanager
def _vcrpy(case: Case) -> Iterator[Ask]:
    import vcr

    matchers = ("method", "scheme", "host", "port", "path", "query", "body")
    with (
        vcr.use_cassette(str(case.yaml("vcrpy")), record_mode="none", match_on=matchers),
        httpx.Client(verify=_TLS) as client,
    ):
        yield case.asking(client)


@contextmanager
def _cassetter(case: Case) -> Iterator[Ask]:
    import cassetter

    matchers: Any = ["method", "uri", "json_body"]
    with (
        cassetter.use_cassette(case.yaml("cassetter"), record_mode="none", match_on=matchers),
        httpx.Client(verify=_TLS) as client,
    ):
        yield case.asking(client)


def _write_ours(case: Case) -> None:
    if not case.folder.exists():
        write_entries(case.folder, case.entries, case.size, case.shape)


def _yaml(case: Case, peer: str, interaction: Callable[[Case, int], dict[str, Any]]) -> None:
    import yaml

    path = case.yaml(peer)
    if not path.exists():
        found = {"version": 1, "interactions": [interaction(case, number) for number in range(case.entries)]}
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        path.write_text(yaml.dump(found, Dumper=dumper, sort_keys=False))


def _vcrpy_interaction(case: Case, number: int) -> dict[str, Any]:
    body = sent(number, case.size, case.shape).decode()
    return {
        "request": {"method": "POST", "uri": URL, "headers": _lists(REQUEST_HEADERS), "body": body},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": _lists(RESPONSE_HEADERS),
            "body": {"string": answered().decode()},
        },
    }


def _cassetter_interaction(case: Case, number: int) -> dict[str, Any]:
    body = {"type": "json", "content": asked(number, case.size, case.shape)}
    answer = {"type": "json", "content": httpx.Response(200, content=answered()).json()}
    return {
        "request": {"method": "POST", "uri": URL, "headers": _lists(REQUEST_HEADERS), "body": body},
        "response": {"status": 200, "headers": _lists(RESPONSE_HEADERS), "body": answer},
        "recorded_at": "2026-11-30T10:15:00+00:00",
    }


def _lists(headers: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    return {name.lower(): [value] for name, value in headers}
