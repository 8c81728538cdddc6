"""A batch that Python code describes: `onetake.Batch`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
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
from onetake.store_users import using

Prompt = str | Callable[[Mapping[str, Any]], Mapping[str, Any]]
Call = Callable[[Mapping[str, Any]], Any]
_OF_THE_BODY = ("model", "system", "params")


class Batch:
    """Ask a model about each record of an input: once, whatever happens.

    Give `prompt` and `base_url`, or `call`. Either function must make the same requests for the same record each time,
    in any process: a reply is found by its request. A run that sees another one stops.

    Args:
        input: The input's path; `-` for standard input.
        prompt: What the user says, `{name}` standing for a field of the record; or a function that is given a record's
            fields and returns the whole body of the request.
        call: A function that is given a record's fields, asks a model through any SDK that blocks, and returns a JSON
            value, a text or a pydantic model, which is the row's answer. It is called again and again, with the stored
            replies, so it should do nothing else.
        base_url: Of the endpoint, as in a job file; with a prompt only, as what follows up to *params*.
        model: The model's name; with a text only, as are *system* and *params*: a function makes the whole body.
        api: `openai`, also where left out, or `anthropic`.
        api_key_env: The variable that holds the credential, which goes to *base_url* only.
        system: What the system says.
        params: Further members of the request's body.
        contract: What an answer must satisfy: a type, a `Contract`, the `Path` of a schema, or a declared name.
        structured: Whether the contract's schema is also sent; with a prompt only.
        form: `jsonl`, `text` or `csv`; left out: by the input's name.
        limit: How many records count; None for all.
        store: Where the replies are kept.
        run: Whatever may stand under `[run]` of a job file: `concurrency`, `rpm`, `max_cost`, `repairs`, `prices`, …

    Raises:
        UsageError: An argument is wrong, or nothing would read it.
    """

    def __init__(
        self,
        input: str | Path,  # noqa: A002 - what it is
        *,
        prompt: Prompt = "",
        call: Call | None = None,
        base_url: str = "",
        model: str = "",
        api: str = "",
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
        said: dict[str, Any] = {"base_url": base_url, "model": model, "api": api, "api_key_env": api_key_env}
        said |= {"system": system, "params": dict(params or {}), "structured": structured}
        given = {name: value for name, value in said.items() if value}
        _check(prompt, call, given, contract)
        self._input, self._limit = str(input), limit
        self._form = None if form is None else _form(form)
        self._build = prompt if callable(prompt) else None
        self._call = call
        self._contract = _contract(contract)
        ask = jobs.Ask(base_url="", model="", prompt="") if call else _ask(prompt, given)
        self._job = _job(ask, self._made(prompt), Path(store), run)

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
        with closing(self._opened(replace(self._job, run=run))) as batch, using(batch.job.run.store):
            records = batch.records(tally)
            return verifying.verify(records, tally, batch.resolver, out, manifest, batch.job.digest())

    def rows(self) -> Iterator[dict[str, Any]]:
        """Return the rows as they would be published now, each as an output has it. Asks nobody."""
        with closing(self._opened()) as batch, using(batch.job.run.store):
            for record, row in rows_of(batch.records(), batch.resolver):
                yield json.loads(encode(record, row))

    def _opened(self, job: jobs.Job | None = None) -> Opened:
        from onetake.batch.calling import CallingResolver

        source = open_source(self._input, self._form, self._limit)
        with ExitStack() as opened:
            batch = Opened(job or self._job, source, build=self._build, contract=self._contract)
            opened.callback(batch.close)
            if self._call is not None:
                batch.resolver = CallingResolver(self._call, batch)
            opened.pop_all()
        return batch

    def _made(self, prompt: Prompt) -> str:
        """Return what is no part of a job file, and rows depend on, as a digest; empty for nothing."""
        function = self._call or (prompt if callable(prompt) else None)
        name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}" if function else ""
        judged = self._contract
        parts = [name, *([judged.name, str(judged.schema_version), judged.digest] if judged else [])]
        return sha256("\n".join(parts).encode()).hexdigest() if any(parts) else ""


def _check(prompt: Prompt, call: Call | None, given: Mapping[str, Any], contract: Any) -> None:
    """See that nothing is said which nobody would read."""
    if (call is None) == (not prompt):
        raise UsageError("Batch takes a prompt, or a call that asks a model itself")
    if call and given:
        raise UsageError(f"Batch.{next(iter(given))}: the call says that itself, to the SDK that it asks with")
    if callable(prompt) and (name := next((name for name in _OF_THE_BODY if name in given), None)):
        raise UsageError(f"Batch.{name}: the prompt is a function, which makes the whole body: say it there")
    if "structured" in given and contract is None:
        raise UsageError("Batch.structured sends the contract's schema, and there is no contract")


def _ask(prompt: Prompt, given: Mapping[str, Any]) -> jobs.Ask:
    if callable(prompt):
        return jobs.ask_of(given, "Batch", ["base_url"])
    return jobs.ask_of({**given, "prompt": prompt}, "Batch")


def _job(ask: jobs.Ask, made: str, store: Path, run: Mapping[str, Any]) -> jobs.Job:
    given = jobs.run_values({**run, "store": str(load_settings(Path.cwd()).root / store)}, "Batch")
    return jobs.Job(None, ask, jobs.Run(**given), made)


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
