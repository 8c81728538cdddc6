"""What it takes to import many cassettes of vcrpy: `onetake import vcr`, as a user starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.bodies import URL, asked

CASSETTES = 5_000
SIZE = 50_000
"""Bytes of a cassette."""

_CALLS = 4
"""Interactions of a cassette."""
_QUESTION, _ANSWER = 8_500, 3_500
"""Bytes of each, about: a cassette has what is said of them, too."""
_WATCH = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
took, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, took, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""Runs a command, and prints its seconds, those of all its processors, and the KB of its largest process.

A process of its own: Linux counts the memory of whoever starts a process as that one's own, too.
"""


def measure(folder: Path, *, entries: int | None = None) -> list[dict[str, Any]]:
    """Import a tenth of *entries* cassettes, then all of them, then all of them again; once each."""
    number = CASSETTES if entries is None else entries
    project = folder / f"import-{number}"
    _write(project, number)
    found = [_measured(project, "a tenth of them", number // 10, "cassettes-0", "tenth")]
    found.append(_measured(project, "all", number, ".", "all"))
    return [*found, _measured(project, "all again", number, ".", "all")]


def _measured(project: Path, what: str, number: int, source: str, to: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "onetake", "import", "vcr", source, "--to", f"../{project.name}-{to}", "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ONETAKE_")}
    done = subprocess.run(
        [sys.executable, "-c", _WATCH, *command], cwd=project, env=environment, stdout=subprocess.PIPE, check=True
    )
    code, seconds, cpu, peak = json.loads(done.stdout)
    assert code == 0
    return {
        "what": what,
        "cassettes": number,
        "mb": round(number * SIZE / 1e6),
        "seconds": round(seconds, 1),
        "cpu_s": round(cpu, 1),
        "peak_mb": round(peak / 1024),
    }


def _write(project: Path, number: int) -> None:
    """Write cassettes as vcrpy does, in ten folders."""
    for at in range(number):
        path = project / f"cassettes-{at % 10}" / f"test_{at // 10 % 50}" / f"test_{at}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_cassette(at), encoding="utf-8")


def _cassette(at: int) -> str:
    """Return a cassette, in the form that vcrpy's YAML has: a body to a line, within single quotes."""
    calls = "".join(_call(at * _CALLS + each) for each in range(_CALLS))
    return f"interactions:\n{calls}version: 1\n"


def _call(number: int) -> str:
    """Return a chat call: of four, three with one long question, one a talk of many small messages."""
    sent = json.dumps(asked(number, _QUESTION, "many" if number % 4 == 3 else "long"))
    words = f"It is {number}, as far as anybody can tell. "
    said = {"role": "assistant", "content": words * (_ANSWER // len(words))}
    choices = [{"index": 0, "message": said, "finish_reason": "stop"}]
    answer = json.dumps({"id": f"chatcmpl-{number}", "model": "gpt-4.1-mini", "choices": choices})
    return f"""- request:
    body: {_quoted(sent)}
    headers:
      accept:
      - application/json
      content-type:
      - application/json
    method: POST
    uri: {URL}
  response:
    body:
      string: {_quoted(answer)}
    headers:
      content-type:
      - application/json
    status:
      code: 200
      message: OK
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
