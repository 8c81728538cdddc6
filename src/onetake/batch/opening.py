"""A batch that can be worked on: a job, an input and a store, put together."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from onetake import modes
from onetake.aside import place_of
from onetake.batch.asking import Asking
from onetake.batch.claims import folder_of
from onetake.batch.job import Ask, Job
from onetake.batch.ledger import Ledger
from onetake.batch.places import check_spared
from onetake.batch.records import Form, Record, Tally, form_of, read
from onetake.batch.replies import Replies, policy_for
from onetake.batch.resolving import Resolver
from onetake.contract import Contract
from onetake.errors import UsageError
from onetake.model import Mode
from onetake.options import Options, policy_of
from onetake.settings import load_settings
from onetake.settings_files import nearest_file
from onetake.stores import FILE, DiskStore, open_store

STDIN = "-"
_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Source:
    """The input of a batch; it is read as often as it takes.

    Args:
        name: Its path as it was given; `-` for standard input.
        path: The file to read: of standard input a copy.
        form: What it is made of.
        limit: How many of its records count, the first ones; None for all.
    """

    name: str
    path: Path
    form: Form
    limit: int | None = None

    def records(self, tally: Tally | None = None, first: Record | None = None) -> Iterator[Record]:
        """Read the records.

        Args:
            tally: Is told what was read.
            first: The record to begin with, of an earlier reading; the first one where left out.

        Raises:
            UsageError: It cannot be read, or a CSV has no header.
        """
        try:
            with self.path.open("rb") as file:
                limit = self.limit if self.limit is None or first is None else self.limit - first.line + 1
                yield from islice(read(file, self.form, tally, first), limit)
        except OSError as error:
            raise UsageError(f"{self.name}: cannot be read: {error.strerror or error}") from None

    def close(self) -> None:
        """Remove the copy of standard input."""
        if self.name == STDIN:
            with suppress(OSError):
                self.path.unlink()


def open_source(name: str, form: Form | None = None, limit: int | None = None) -> Source:
    """Return an input; standard input is read to its end here.

    Args:
        name: A path; `-` for standard input.
        form: What it is made of; as its name says where left out.
        limit: As in `Source`.

    Raises:
        UsageError: There is no such file.
    """
    if name != STDIN:
        path = Path(name)
        if not path.is_file():
            raise UsageError(f"{name}: {'is a folder' if path.is_dir() else 'there is no such file'}")
        return Source(name, path, form or form_of(path), limit)
    descriptor, copy = tempfile.mkstemp(prefix="onetake-", suffix=".input")
    source = Source(name, Path(copy), form or Form.JSONL, limit)
    try:
        with os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
    except BaseException:
        source.close()
        raise
    return source


class Opened:
    """A job on an input with its store, ready to be resolved; the input is closed with it, or when it cannot be made.

    Args:
        job: What is asked, and how.
        source: The input; None where none is needed.
        build: Makes the body of a record's request, in the place of the job's prompt.
        contract: What an answer must satisfy, in the place of the job's schema.

    Raises:
        UsageError: The prompt, the schema or the settings are wrong.
    """

    def __init__(
        self,
        job: Job,
        source: Source | None = None,
        *,
        build: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
        contract: Contract | None = None,
    ) -> None:
        self.job = job
        self.source = source
        with ExitStack() as closing:  # what a wrong job leaves open is closed, and a copy of standard input goes
            if source is not None:
                closing.callback(source.close)
            self.settings = load_settings(job.path or Path.cwd())
            self.contract = contract or contract_of(job.ask)
            self.store = _opened(job.run.store, self.settings.root)
            closing.callback(self.store.close)
            options = Options(name=job.run.store, contract=self.contract)
            self.policy = policy_for(policy_of(options, self.settings, Mode.NEW_EPISODES))
            self.replies = Replies(self.store, self.policy)
            self.asking = asking_of(job.ask, self.contract, build)
            self.resolver: Resolver = self.resolver_for(self.asking, job.run.repairs)
            self._closing = closing.pop_all()

    @property
    def is_sealed(self) -> bool:
        """True where the environment lets no call out, whatever the command line says."""
        return modes.sealed_by_environment()

    @property
    def folder(self) -> Path:
        """Where the batches on the store keep their books."""
        return folder_of(self.job.run.store.resolve())

    def records(self, tally: Tally | None = None, first: Record | None = None) -> Iterator[Record]:
        """Read the records of the input, as `Source.records` does."""
        return iter(()) if self.source is None else self.source.records(tally, first)

    def resolver_for(self, asking: Asking, repairs: int) -> Resolver:
        """Return what resolves the records as another job would, on the same store and under the same contract."""
        return Resolver(asking, self.replies, repairs=repairs, parses=self.contract is not None)

    def check_spared(self, out: Path) -> None:
        """See that an output takes the place of nothing that the batch needs.

        Raises:
            UsageError: It is the input, the job, its schema, the settings or the store, or would write over one of them
                on its way.
        """
        job, found = self.job, nearest_file(self.job.path or Path.cwd())
        made_from = {
            "input": self.source.path if self.source else None,
            "job": job.path,
            "schema": job.ask.schema,
            "settings": found.path if found else None,
            "store": job.run.store,
        }
        check_spared(out, made_from)

    def ledger(self) -> Ledger:
        """Open the ledger of intents of the store; its file is made by the first run."""
        return ledger_of(self.job.run.store)

    def close(self) -> None:
        """Let go of the store, and of a copy of the input."""
        self._closing.close()


def _opened(store: Path, root: Path) -> DiskStore:
    if store.is_file() and store.suffix.lower() != FILE:
        raise UsageError(f"{store}: is a file, and no store: the name of one that is a file ends in {FILE}")
    return open_store(store, place_of(store, root))


def ledger_of(store: Path) -> Ledger:
    """Open the ledger of intents of a store; its file is made by the first run."""
    real = store.resolve()
    return Ledger(folder_of(real) / f"{real.name}.intents.db")


def contract_of(ask: Ask) -> Contract | None:
    """Return what an answer to a job must satisfy; None for any text.

    Raises:
        UsageError: The schema is wrong.
    """
    return None if ask.schema is None else Contract(ask.schema, schema_version=ask.schema_version)


def asking_of(
    ask: Ask, contract: Contract | None, build: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
) -> Asking:
    """Return what makes the requests of a job.

    Args:
        ask: What is asked.
        contract: Its schema is the one that is sent, where the job says so.
        build: Makes the body, in the place of the prompt.
    """
    name = _NAME.sub("_", contract.name)[:64] if contract else "answer"
    return Asking(ask, _schema_of(ask, contract), name, build)


def _schema_of(ask: Ask, contract: Contract | None) -> Mapping[str, Any] | None:
    """Return the schema to send: a file's as it is written, which its author made fit the provider's rules."""
    if contract is None or not ask.structured:
        return None
    if ask.schema is None:
        return contract.schema
    found: Mapping[str, Any] = json.loads(ask.schema.read_bytes())
    return found
