"""A pass over all entries gives the same, byte by byte, in however many processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

LOOSE = {"type": "object", "properties": {"label": {"type": "string"}, "tags": {"type": "array"}}}
SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
TOLD = """
import os, sys
from pathlib import Path
from onetake.upkeep import parts
from onetake.upkeep.checking import check
from onetake.upkeep.statuses import status

forks, fork = [], os.fork
os.fork = lambda: forks.append(1) or fork()
os.sched_getaffinity = lambda _: {0, 1}
root, shared_from, parts.FILES = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
try:
    print(*check(root, shared_from=shared_from).findings, sep="\\n")
    print(status(root, shared_from=shared_from))
except BaseException as error:
    print(repr(error))
print(len(forks), file=sys.stderr)
"""


def told(root: Path, shared_from: int, files: int = 500) -> tuple[bytes, bytes]:
    words = [sys.executable, "-c", TOLD, str(root), str(shared_from), str(files)]
    done = subprocess.run(words, capture_output=True, check=True, cwd=root)
    return done.stdout, done.stderr.strip()


@pytest.fixture
def of_every_kind(folder, answer, direct):
    """A project of five cassettes whose findings bear on each other, or on several files."""
    folder.schema(LOOSE)
    words = ("fine", "torn", "secret", "breaks", "bumped", "old", "named", "again", "left", "missed")
    for name in ("a", "b", "c", "d/e"):
        own = {"folder": f"cassettes/{name}", "test": f"tests/test_{name[0]}.py::test"}
        paths = folder.record(*((f"{name} {word}", answer) for word in words), **own)
        by_word = {word: path for path in paths for word in words if f"{name} {word}" in path.read_text()}
        by_word["torn"].write_bytes(by_word["torn"].read_bytes()[:200])
        folder.edit(by_word["secret"], '"recorder"', f'"note": "{SECRET}",\n    "recorder"')
        folder.edit_answer(by_word["breaks"], '{"label": "bug", "tags": ["a", "b"]}', '{"label": 7, "tags": []}')
        folder.edit(by_word["bumped"], '"schema_version": 1', '"schema_version": 2')
        served = {"model_asked": "gpt-5", "model_served": f"gpt-5-{name[0]}"}
        folder.rewrite(by_word["old"], recorded_at=f"202{ord(name[0]) % 5}-01-01T00:00:00Z", **served)
        by_word["named"].rename(by_word["named"].with_name(f"{'0' * 16}.json"))
        again = by_word["again"]
        again.with_name(f"other-{again.name.split('-')[-1]}").write_bytes(again.read_bytes())
    path, *_ = folder.record(
        ("f", answer), ("f", '{"label": "other", "tags": []}'), ("g", answer), folder="cassettes/f"
    )
    (path.parent / "_raw").mkdir()
    (path.parent / f"_raw/{'1' * 64}.bin").write_bytes(b"unused")
    said = [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate("xyz")]
    for turns, at in ((said[:1], "2026-02-02T00:00:00Z"), (said, "2026-02-01T00:00:00Z")):
        body = json.dumps({"model": "gpt-5", "messages": turns}).encode()
        before = set((folder.root / "cassettes/t").glob("*.json"))
        asked = replace(direct.chat("x"), body=body)
        new = set(folder.record((asked, "Hello there!"), contract=None, folder="cassettes/t")) - before
        folder.rewrite(*new, recorded_at=at)
    return folder


def changed(folder):
    """Declare the contract no more: the schemas that lie beside the entries judge, and are loose."""
    (folder.root / "onetake.toml").write_text('repeats = "same"\nprobe_after = 90\n', encoding="utf-8")


def run(folder):
    for name in ("a", "c"):
        paths = sorted((folder.root / f"cassettes/{name}").glob("*.json"))
        folder.ran(paths[:4], paths[4:], folder=f"cassettes/{name}")


def damaged(folder):
    (folder.root / "cassettes/b/onetake.toml").write_text("keeep = []", encoding="utf-8")


CASES = {"declared": (), "undeclared": (changed,), "with a run": (run,), "wrong settings": (damaged,)}
EXPECTED = {
    "declared": (
        "BROKEN",
        "SECRET",
        "SCHEMA_BUMPED",
        "LOOSE_CONTRACT",
        "DUPLICATE",
        "MISNAMED",
        "UNUSED_SIDECAR",
        "OLD_ANSWER",
    ),
    "undeclared": ("LOOSE_CONTRACT", "PROBE_FIRST", "BREAKS_CONTRACT", "DIFFERING_ANSWERS"),
    "with a run": ("ORPHAN", "knows what was used of cassettes/a, cassettes/b, cassettes/d/e"),
    "wrong settings": ("keeep",),
}


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="one process does it all here")
@pytest.mark.parametrize(
    "name",
    [
        "declared",
        "with a run",
        *(pytest.param(name, marks=pytest.mark.whole) for name in ("undeclared", "wrong settings")),
    ],
)
def test_two_processes_find_what_one_does(of_every_kind, name):
    for change in CASES[name]:
        change(of_every_kind)
    alone, forks = told(of_every_kind.root, 10**9)
    assert forks == b"0"
    shared = alone, b"2" if name == "wrong settings" else b"4"
    assert told(of_every_kind.root, 1) == shared
    assert [told(of_every_kind.root, 1, files) for files in (1, 3)] == [shared, shared]
    assert [word for word in EXPECTED[name] if word.encode() not in alone] == []
