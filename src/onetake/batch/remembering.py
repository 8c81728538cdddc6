"""What the runs of a folder were told, so that later commands need not be told again, and a changed prompt is seen.

Beside outputs, jobs and stores, `.onetake/batch/` holds a file for each output that was made, and for each job
that was run. They only save words: no row depends on them, and where they are gone the command line must say more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from onetake.aside import hide
from onetake.batch.claims import folder_of
from onetake.batch.job import Ask
from onetake.batch.opening import Opened
from onetake.batch.records import Form
from onetake.stores import files

_JOBS = 8
"""Earlier jobs that a plan compares itself with: the last ones."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a run was told.

    Args:
        job: The job's file, absolute; empty for one that Python code made.
        input: The input, absolute; `-` for standard input.
        form: What it is made of.
        limit: How many of its records counted; None for all.
        output: The output, absolute.
        keep_input: Whether rows hold their records.
        repairs: How often a model was asked again; the command line may have said another number than the job.
        store: Where the replies are, absolute; likewise.
    """

    job: str
    input: str
    form: str
    limit: int | None
    output: str
    keep_input: bool
    repairs: int
    store: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What an earlier job asked.

    Args:
        ask: It; its schema's file is left out, as that may have changed since.
        schema: The schema that was sent with each request; None for none.
        name: What it was called there.
        repairs: How often it asked again.
        digest: Of the job, as `Job.digest` has it; empty where that is not known.
    """

    ask: Ask
    schema: Mapping[str, Any] | None
    name: str
    repairs: int
    digest: str = ""


def remember(batch: Opened, told: Told) -> None:
    """Note what a run is told: where its output, its job and its store are, and in the current folder.

    Where nothing can be written nothing is noted: no run ends for that.
    """
    places = [Path(told.output), Path(told.job or told.output), Path.cwd() / "any"]
    temp = _output_file(Path(), Path(told.output)).with_suffix(".tmp").name
    for folder in dict.fromkeys([*map(folder_of, places), batch.folder]):
        with suppress(OSError):
            _write(_output_file(folder, Path(told.output)), asdict(told), temp)
    if batch.job.path is not None:
        with suppress(OSError):
            _write(batch.folder / "jobs" / f"{batch.job.digest()}.json", _plain(batch), temp)


def recall(output: Path) -> Told | None:
    """Return what the last run was told that made an output; None where that is not known.

    Args:
        output: Absolute.
    """
    return _told(_output_file(folder_of(output), output))


def last_run(job: Path | None = None) -> Told | None:
    """Return what the last run was told; None where there is none.

    Args:
        job: Of this job, absolute; None for any run from the current folder, or with its output or job there.
    """
    found = map(_told, _newest(folder_of(job or Path.cwd() / "any") / "outputs"))
    return next((told for told in found if told and job in (None, Path(told.job))), None)


def earlier(batch: Opened) -> list[Asked]:
    """Return what other jobs asked that ran on the same store, the last one first."""
    return list(islice((one for one in asked_on(batch) if one.digest != batch.job.digest()), _JOBS))


def asked_on(batch: Opened) -> Iterator[Asked]:
    """Yield what jobs asked that ran on the same store, the last one first."""
    for path in _newest(batch.folder / "jobs"):
        plain = _read(path)
        with suppress(TypeError, KeyError):
            if plain["store"] == str(batch.job.run.store):
                yield Asked(Ask(**plain["ask"]), plain["schema"], plain["name"], plain["repairs"], path.stem)


def words_of(store: Path, job: str) -> tuple[str, str]:
    """Return the model and the prompt of a job that ran on a store; empty where they are not known.

    Args:
        store: A file or a folder.
        job: Its digest.
    """
    ask = _read(folder_of(store.resolve()) / "jobs" / f"{job}.json").get("ask")
    known = ask if isinstance(ask, dict) else {}
    return str(known.get("model") or ""), str(known.get("prompt") or "")


def form_of(told: Told) -> Form:
    """Return what an input of an earlier run is made of."""
    return Form(told.form)


def _plain(batch: Opened) -> dict[str, Any]:
    job, asking = batch.job, batch.asking
    ask = {name: getattr(job.ask, name) for name in Ask.__slots__ if name not in ("schema", "api_key_env")}
    sent = {"schema": asking.schema if job.ask.structured else None, "name": asking.name}
    return {"ask": ask, **sent, "repairs": job.run.repairs, "store": str(job.run.store)}


def name_of(output: Path) -> str:
    """Return what files are called that tell of an output: 32 hex digits.

    Args:
        output: Absolute.
    """
    return sha256(str(output).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _output_file(folder: Path, output: Path) -> Path:
    return folder / "outputs" / f"{name_of(output)}.json"


def _told(path: Path) -> Told | None:
    with suppress(TypeError):
        return Told(**_read(path))
    return None


def _newest(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)


def _read(path: Path) -> dict[str, Any]:
    """Return what a file says; nothing where it is not there or damaged: it can only save words."""
    try:
        found = json.loads(path.read_text("utf-8", "surrogatepass"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(path: Path, content: Mapping[str, Any], temp_name: str) -> None:
    """Write a file, by way of one with an output's name: one run makes that, and the next takes what a kill left."""
    hide(path.parent.parent.parent.parent)
    files.make_folder(path.parent)
    temp = path.with_name(temp_name)
    try:
        temp.write_text(json.dumps(content, default=str), "utf-8", "surrogatepass")
        temp.replace(path)
    finally:
        files.remove(temp)
