"""The manifest beside an output: what the rows were made from, so that they can be made, and compared, again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from onetake import settings_values as values
from onetake import strictjson
from onetake.batch.job_values import flag
from onetake.batch.records import Form
from onetake.errors import FormatError, StoreError, UsageError
from onetake.stores import files

VERSION = 1
"""The version of the manifest; moves when a reader of today could not read it."""

SUFFIX = ".manifest.json"
"""What the name of a manifest has behind that of its output."""

_DIGEST = 64


@dataclass(frozen=True, slots=True)
class Digest:
    """Bytes, told by their digest.

    Args:
        sha256: 64 lower-case hex digits.
        bytes: How many.
    """

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an output was made from. Holds no clock and no host: the same inputs give the same manifest.

    Args:
        rows: How many.
        failures: Rows without an answer, by class.
        input_path: From the output's folder, with `/`; `-` for standard input.
        input: Its bytes, as far as records were read.
        form: What the input is made of.
        limit: How many records were to be read at most; None for all.
        job_path: From the output's folder; empty for a job that Python code made.
        job: 64 hex digits: `Job.digest`.
        repairs: What the run went by: its command line may have said another number than the job's file.
        store: Where the replies are, from the output's folder.
        keep_input: Whether rows hold their records.
        keys: 64 hex digits: SHA-256 of the keys of all replies, a line each, in the order of the rows.
        output: The output's bytes.
    """

    rows: int
    failures: Mapping[str, int]
    input_path: str
    input: Digest
    form: Form
    limit: int | None
    job_path: str
    job: str
    repairs: int
    store: str
    keep_input: bool
    keys: str
    output: Digest

    def dump(self) -> bytes:
        """Return the file: UTF-8 JSON, LF; the same manifest always gives the same bytes."""
        tree = {
            "onetake_manifest": VERSION,
            "rows": self.rows,
            "failures": dict(sorted(self.failures.items())),
            "input": {"path": self.input_path, "form": str(self.form), "limit": self.limit, **asdict(self.input)},
            "job": {"path": self.job_path, "sha256": self.job, "repairs": self.repairs},
            "store": self.store,
            "keep_input": self.keep_input,
            "keys": self.keys,
            "output": asdict(self.output),
        }
        return (json.dumps(tree, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def manifest_path(out: Path) -> Path:
    """Return where the manifest of an output is."""
    return out.with_name(out.name + SUFFIX)


def load_manifest(out: Path) -> Manifest:
    """Read the manifest of an output.

    Raises:
        UsageError: There is none.
        FormatError: It is damaged, or of a newer version.
        StoreError: It cannot be read.
    """
    path = manifest_path(out)
    try:
        data = files.read(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error
    if data is None:
        raise UsageError(f"{out}: has no manifest ({path.name}): `onetake batch run` writes one beside its output")
    try:
        return _manifest(strictjson.loads(data))
    except (strictjson.NotStrictError, UsageError) as error:
        raise FormatError(f"{path}: {error}; run the batch again: no reply is asked twice") from None


def from_folder(path: Path, folder: Path) -> str:
    """Return a path as a manifest has it: from the folder that the output is in, with `/`, where there is such a way.

    Args:
        path: Of a file.
        folder: The output's.
    """
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return path.absolute().as_posix()


def _manifest(found: Any) -> Manifest:
    version = found.get("onetake_manifest") if isinstance(found, dict) else None
    if type(version) is not int or version < 1:
        raise UsageError("is no manifest of a batch")
    if version > VERSION:
        raise UsageError(f"a newer onetake wrote it (manifest {version}); upgrade onetake")
    said = values.table(found, "manifest", _READERS, required=list(_READERS))
    source, job = said["input"], said["job"]
    return Manifest(
        rows=said["rows"],
        failures=said["failures"],
        input_path=source["path"],
        input=Digest(source["sha256"], source["bytes"]),
        form=source["form"],
        limit=source["limit"],
        job_path=job["path"],
        job=job["sha256"],
        repairs=job["repairs"],
        store=said["store"],
        keep_input=said["keep_input"],
        keys=said["keys"],
        output=Digest(said["output"]["sha256"], said["output"]["bytes"]),
    )


def _digest(value: object, where: str) -> str:
    said = values.text(value, where)
    if len(said) != _DIGEST or set(said) - set("0123456789abcdef"):
        raise UsageError(f"{where}: must be 64 lower-case hex digits")
    return said


def _limit(value: object, where: str) -> int | None:
    return None if value is None else int(values.whole(1)(value, where))


def _counts(value: object, where: str) -> dict[str, int]:
    found = values.mapping(value, where, "{}")
    return {name: int(values.whole(1)(number, f"{where}.{name}")) for name, number in found.items()}


def _object(**readers: values.Reader) -> values.Reader:
    return lambda value, where: values.table(value, where, readers, required=list(readers))


_READERS: dict[str, values.Reader] = {
    "onetake_manifest": values.whole(1),
    "rows": values.whole(0),
    "failures": _counts,
    "input": _object(
        path=values.text,
        form=values.one_of({str(form): form for form in Form}),
        limit=_limit,
        sha256=_digest,
        bytes=values.whole(0),
    ),
    "job": _object(path=values.any_text, sha256=_digest, repairs=values.whole(0)),
    "store": values.text,
    "keep_input": flag,
    "keys": _digest,
    "output": _object(sha256=_digest, bytes=values.whole(0)),
}
