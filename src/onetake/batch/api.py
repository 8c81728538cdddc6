"""A batch that Python code describes: `onetake.Batch`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from onetake import modes
from onetake.batch import job as jobs
from onetake.batch import planning, running, showing, verifying
from onetake.batch.costs import Costs
from onetake.batch.manifest import load_manifest
from onetake.batch.opening import Opened, open_source
from onetake.batch.records import Form, Tally
from onetake.batch.rows import encode
from onetake.batch.rows import rows as rows_of
from onetake.contract import Contract, as_contracts
from onetake.errors import UsageError
from onetake.settings import load_settings

Prompt = str | Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Batch:
    """Ask a model about each record of an input: once, whatever happens.

    Give `prompt` and `base_url`, or `call`.

    Args:
        input: The input's path; `-` for standard input.
        prompt: What the user says, `{name}` standing for a field of the record; or a function that is given a record's
            fields and returns the whole body of the request.
        call: A function that is given a record's fields, asks a model through any SDK that blocks, and returns a JSON
            value, a text or a pydantic model, which is the row's answer. It is called again and again, with the stored
            replies, so it should do nothing else.
        base_url: Of the endpoint, as in a job file.
        model: The model's name; not needed where a function makes the body.
        api: `openai` or `anthropic`.
        api_key_env: The variable that holds the credential, which goes to *base_url* only.
        system: What the system says.
        params: Further members of the request's body.
        contract: What an answer must satisfy: a type, a `Contract`, the `Path` of a schema, or a declared name.
        structured: Whether the contract's schema is also sent.
        form: `jsonl`, `text` or `csv`; left out: by the input's name.
        limit: How many records count; None for all.
        store: Where the replies are kept.
        run: Whatever may stand under `[run]` of a job file: `concurrency`, `rpm`, `max_cost`, `repairs`, `prices`, …

    Raises:
        UsageError: An argument is wrong.
    """

    def __init__(
        self,
        input: str | Path,  # noqa: A002 - what it is
        *,
        prompt: Prompt = "",
        call: Callable[[Mapping[str, Any]], Any] | None = None,
        base_url: str = "",
        model: str = "",
        api: str = "openai",
        api_key_env: str = "",
        system: str = "",
        params: Mapping[str, Any] | None = None,
        contract: Any = None,
        structured: bool = False,
        form: str | None = None,
        limit: int | None = None,
        store: str | Path = "calls.db",
        **run: Any,
    ) -> None:
        if (call is None) == (not prompt):
            raise UsageError("Batch takes a prompt, or a call that asks a model itself")
        self._input, self._limit = str(input), limit
        self._form = None if form is None else _form(form)
        self._build = prompt if callable(prompt) else None
        self._call = call
        self._contract = _contract(contract)
        self._job = _job(self._made(prompt), Path(store), run)
        if call is None:
            texts = {"base_url": base_url, "model": model, "prompt": "" if callable(prompt) else prompt}
            said = {name: text for name, text in {**texts, "api_key_env": api_key_env}.items() if text}
            given = {**said, "api": api, "system": system, "params": dict(params or {}), "structured": structured}
            required = ["base_url"] if self._build else [*texts]
            self._job = replace(self._job, ask=jobs.ask_of(given, "Batch", required))

    def plan(self) -> planning.Plan:
        """Say what a run would do and cost. Asks nobody."""
        with closing(self._opened()) as batch:
            return planning.plan(batch, Costs(batch.job.ask, batch.job.run.prices))

    def run(
        self, output: str | Path, *, keep_input: bool = False, offline: bool = False, progress: str = "auto"
    ) -> running.Ended:
        """Ask for what is missing, and publish the output. To resume is to run again.

        Args:
            output: Where the rows go; its manifest goes beside it.
            keep_input: Whether rows hold their records.
            offline: Whether nobody may be asked; `ONETAKE_MODE=none` says so too.
            progress: `auto`, `plain`, `json` or `none`.

        Returns:
            `published` (None where the run stopped before its end), `outcome`, `settled` and `exit_code`.

        Raises:
            InteractionNotFound: Offline, a reply is missing.
            UsageError: The output is no place for one, another run makes it, or the credential is missing.
            StoreError: Something cannot be read or written; what was published before still stands.
        """
        with closing(self._opened()) as batch:
            if offline or modes.sealed_by_environment():
                return running.replay(batch, Path(output), keep_input=keep_input)
            shows = partial(showing.shown, progress, sys.stderr)
            return running.run(batch, Path(output), keep_input=keep_input, shows=shows)

    def verify(self, output: str | Path) -> list[verifying.Difference]:
        """Make the rows of an output again from the store; returns what differs, nothing where nothing does.

        How often bad answers were asked again is taken from the manifest, whatever this batch would do.
        """
        out, tally = Path(output), Tally()
        manifest = load_manifest(out)
        run = replace(self._job.run, repairs=manifest.repairs)
        with closing(self._opened(replace(self._job, run=run))) as batch:
            records = batch.records(tally)
            return verifying.verify(records, tally, batch.resolver, out, manifest, batch.job.digest())

    def rows(self) -> Iterator[dict[str, Any]]:
        """Return the rows as they would be published now, each as an output has it. Asks nobody."""
        with closing(self._opened()) as batch:
            for record, row in rows_of(batch.records(), batch.resolver):
                yield json.loads(encode(record, row))

    def _opened(self, job: jobs.Job | None = None) -> Opened:
        from onetake.batch.calling import CallingResolver

        source = open_source(self._input, self._form, self._limit)
        batch = Opened(job or self._job, source, build=self._build, contract=self._contract)
        if self._call is not None:
            batch.resolver = CallingResolver(self._call, batch)
        return batch

    def _made(self, prompt: Prompt) -> str:
        """Return what is no part of a job file, and rows depend on, as a digest; empty for nothing."""
        function = self._call or (prompt if callable(prompt) else None)
        name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}" if function else ""
        judged = self._contract
        parts = [name, *([judged.name, str(judged.schema_version), judged.digest] if judged else [])]
        return sha256("\n".join(parts).encode()).hexdigest() if any(parts) else ""


def _job(made: str, store: Path, run: Mapping[str, Any]) -> jobs.Job:
    given = jobs.run_values({**run, "store": str(load_settings(Path.cwd()).root / store)}, "Batch")
    return jobs.Job(None, jobs.Ask(base_url="", model="", prompt=""), jobs.Run(**given), made)


def _contract(given: Any) -> Contract | None:
    settings = load_settings(Path.cwd())
    found = as_contracts(given, root=settings.root, declared=settings.contracts, prefix=settings.prefix)
    if len(found) > 1:
        raise UsageError("a batch has one contract")
    return found[0] if found else None


def _form(word: str) -> Form:
    if word not in list(Form):
        raise UsageError(f"form: must be one of {', '.join(Form)}, not {word!r}")
    return Form(word)
