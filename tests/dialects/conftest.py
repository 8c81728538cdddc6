"""Every chat and messages call of the public cassettes, as our own requests and responses."""

import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from onetake.model import Request, Response

_HERE = Path(__file__).resolve()
CORPORA = Path(os.environ.get("ONETAKE_CORPORA") or _HERE.parents[3] / "shared" / "corpora") / "vcrpy"


@dataclass(frozen=True)
class Recorded:
    """One interaction of a public cassette."""

    file: str
    request: Request
    response: Response


@pytest.fixture(scope="session")
def corpus() -> list[Recorded]:
    if not CORPORA.is_dir():
        pytest.skip("the corpora of public cassettes are not here (ONETAKE_CORPORA)")
    return [found for path in sorted(CORPORA.rglob("*.yaml")) for found in _interactions(path)]


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):
    """Safe, and forgiving of the Python tags that some cassettes hold: the text under the tag counts."""


def _untagged(loader, _suffix, node):
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)[0]
    return str(loader.construct_mapping(node, deep=True).get("args"))


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", _untagged)


def _interactions(path: Path) -> Iterator[Recorded]:
    loaded = yaml.load(path.read_bytes(), _Loader)
    for each in loaded.get("interactions", []) if isinstance(loaded, dict) else []:
        asked, answered = each["request"], each["response"]
        request = Request(asked["method"].upper(), asked["uri"], body=_body(asked))
        headers = tuple(
            (str(name), value if isinstance(value, str) else value[0])
            for name, value in (answered.get("headers") or {}).items()
            if str(name).lower() not in ("content-encoding", "content-length")
        )
        status = answered["status"]["code"] if "status" in answered else answered["status_code"]
        yield Recorded(path.relative_to(CORPORA).as_posix(), request, Response(status, headers, _body(answered)))


def _body(message: dict) -> bytes:
    if "parsed_body" in message:
        return json.dumps(message["parsed_body"]).encode()
    body = message.get("body", message.get("content"))
    body = body.get("string", body) if isinstance(body, dict) else body
    if isinstance(body, dict):
        return json.dumps(body).encode()
    data = body.encode() if isinstance(body, str) else bytes(body or b"")
    return zlib.decompress(data, zlib.MAX_WBITS | 16) if data[:2] == b"\x1f\x8b" else data
