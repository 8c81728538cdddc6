"""A whole run: what killed runs left, the replies that are missing, and then the output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from onetake.batch.attempts import Settled, Spent
from onetake.batch.claims import making
from onetake.batch.costs import Costs, costs_of
from onetake.batch.growing import Growing
from onetake.batch.interrupting import run_in_a_loop
from onetake.batch.ledger import Ledger
from onetake.batch.opening import STDIN, Opened, Source
from onetake.batch.places import check_output
from onetake.batch.records import Form, Record, Tally
from onetake.batch.remembering import Told, remember
from onetake.batch.resolving import Needed, Resolver, Row
from onetake.batch.roots import Needs, note
from onetake.batch.rows import Made, Partial, Published, publish
from onetake.batch.runner import Filler
from onetake.batch.sending import Sender, Sends
from onetake.batch.showing import Shows
from onetake.batch.stopping import Outcome
from onetake.cassette import Cassette
from onetake.errors import InteractionNotFound, OnetakeError
from onetake.exits import Exit
from onetake.misses import asked_line
from onetake.model import Entry
from onetake.store_users import asked_keys, using

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended.

    Args:
        published: The output; None where the run stopped before it could be whole.
        outcome: What was asked; None where nothing was missing.
        settled: What became of the calls that killed runs had in flight.
        exit_code: 0; 7 where more rows failed than may; else that of the *outcome*.
    """

    published: Published | None
    outcome: Outcome | None
    settled: Settled
    exit_code: int


class _Whole(Resolver):
    """Resolves as another one does, and takes no record for given up: its reply must be there."""

    def __init__(self, inner: Resolver) -> None:
        self._inner = inner
        self.last: Record | None = None
        """The record that was resolved last."""

    def ahead(self, records: Iterable[Record]) -> Iterator[Record]:
        """Return the same records, as the other one does."""
        return self._inner.ahead(records)

    def resolve(self, record: Record, *, is_sure: bool = True) -> Row | Needed:
        """Return what the other one returns, and remember which record that was."""
        self.last = record
        return self._inner.resolve(record, is_sure=is_sure)

    def gave_up(self, needed: Needed) -> Row:
        """Say that a reply is missing; one that is damaged is told as the other one tells it."""
        self._inner.gave_up(needed)
        raise _MissingError(needed)


class _MissingError(Exception):
    """The reply that a record needs is not there; `args[0]` is what it needs."""


def run(
    batch: Opened,
    out: Path,
    *,
    keep_input: bool = False,
    shows: Callable[[], Shows | None] | None = None,
    sends: Sends | None = None,
    on_settled: Callable[[Settled], None] | None = None,
    retire: Callable[[], None] | None = None,
) -> Ended:
    """Ask for what is missing, and publish the output. To resume is to run again.

    Args:
        batch: A job on an input.
        out: Where the rows go; its manifest goes beside it.
        keep_input: Whether rows hold their records.
        shows: Makes what shows the progress; called where there is something to ask.
        sends: Sends requests; the job's own endpoint where left out.
        on_settled: Told what became of the calls of killed runs before anything is sent: this run may be killed, too.
        retire: Takes replies out of the store, to be asked again; called when nothing is in the way of asking.

    Raises:
        UsageError: The output is no place for one, or another run makes it; the store is being pruned or repaired; the
            credential or the price is missing.
        StoreError: Something cannot be read or written; what was published before still stands.
    """
    check_output(out)
    costs, whole = costs_of(batch.job), _Whole(batch.resolver)
    with _alone(batch, out, keep_input=keep_input) as partial, closing(batch.ledger()) as ledger:
        told = _told(batch, out, keep_input=keep_input)
        remember(batch, told)
        settled = ledger.settle(lambda key: _spent(batch, key, costs))
        if on_settled is not None:
            on_settled(settled)
        if retire is not None:
            sends = sends or _sender(batch)
            retire()
        try:
            return _ended(batch, _published(batch, partial, whole, told), None, settled)
        except _MissingError:
            note(told, batch.job.digest())  # before anything is sent
            outcome = _fill(batch, partial, whole.last, ledger, costs, shows, sends)
        if outcome.why:
            return Ended(None, outcome, settled, outcome.exit_code)
        return _ended(batch, _published(batch, partial, batch.resolver, told), outcome, settled)


def replay(batch: Opened, out: Path, *, keep_input: bool = False) -> Ended:
    """Publish the output from what is stored. Asks nobody.

    Raises:
        InteractionNotFound: A reply is missing; nothing was published.
        UsageError: As for `run`.
        StoreError: As for `run`.
    """
    check_output(out)
    with _alone(batch, out, keep_input=keep_input) as partial:
        told = _told(batch, out, keep_input=keep_input)
        remember(batch, told)
        try:
            published = _published(batch, partial, _Whole(batch.resolver), told)
        except _MissingError as error:
            raise missing(batch, error.args[0]) from None
    return _ended(batch, published, None, Settled(0, 0))


@contextmanager
def _alone(batch: Opened, out: Path, *, keep_input: bool) -> Iterator[Partial]:
    """Have no other run make the output, and nobody prune the store, while its rows are written."""
    batch.check_spared(out)
    with using(batch.job.run.store), making(out), Partial(out, keep_input=keep_input) as partial:
        yield partial


def missing(batch: Opened, needed: Needed) -> InteractionNotFound:
    """Make the refusal of a record whose reply is missing where nobody may be asked."""
    why = needed.reply.why.partition("\n")[0]
    return InteractionNotFound(
        f"line {needed.line}: no reply that counts is stored" + (f", as {why}" if why else ""),
        asked_line(needed.reply.asked),
        batch.store.place,
        "",
        "run it without --offline, or see what is missing: onetake batch plan",
    )


def _fill(
    batch: Opened,
    partial: Partial,
    first: Record | None,
    ledger: Ledger,
    costs: Costs,
    shows: Callable[[], Shows | None] | None,
    sends: Sends | None,
) -> Outcome:
    """Ask for what is missing from the first record on that has no row in *partial* yet."""
    job, in_vain = batch.job, set[str]()
    digest, total = _measured(batch.source) if batch.source else ("", 0)
    # Before the run begins: a credential that is missing is no run.
    asks = sends or _sender(batch)
    ledger.begin_run(
        job.digest(),
        digest,
        job_file=str(job.path or ""),
        input_file=_input(batch),
        output_file=str(partial.out.absolute()),
        store=str(job.run.store),
    )
    growing = Growing(batch.records(first=first), batch.resolver, partial, in_vain)
    with _noted(ledger):
        filler = Filler(
            job=job,
            records=batch.resolver.ahead(batch.records(first=first)),
            replies=batch.replies,
            resolver=batch.resolver,
            ledger=ledger,
            claims=asked_keys(job.run.store),
            sends=asks,
            costs=costs,
            total=total,
            stored=(partial.rows, dict(partial.failures)),
            in_vain=in_vain,
        )
        outcome = run_in_a_loop(_beside(filler.fill(shows() if shows else None), growing))
    ledger.end_run(outcome.why, outcome.exit_code)
    return outcome


def _sender(batch: Opened) -> Sender:
    return Sender(batch.job.ask, timeout=batch.job.run.timeout, environ=os.environ)


async def _beside(work: Coroutine[Any, Any, Outcome], growing: Growing) -> Outcome:
    """Have the rows grow while a run fills the store."""
    grows = asyncio.create_task(growing.follow())
    try:
        return await work
    finally:
        grows.cancel()


@contextmanager
def _noted(ledger: Ledger) -> Iterator[None]:
    """Write down how a run ends that is ended by an error."""
    try:
        yield
    except BaseException as error:
        code = error.exit_code if isinstance(error, OnetakeError) else Exit.INTERRUPTED
        ledger.end_run(f"error: {type(error).__name__}", code)
        raise


def _published(batch: Opened, partial: Partial, resolver: Resolver, told: Told) -> Published:
    source, job, tally = batch.source, batch.job, Tally()
    made = Made(
        input=None if source is None or source.name == STDIN else source.path,
        form=source.form if source else Form.JSONL,
        tally=tally,
        job=job.path,
        job_digest=job.digest(),
        store=job.run.store,
        repairs=job.run.repairs,
        limit=source.limit if source else None,
    )
    published = publish(batch.records(tally), resolver, partial, made, Needs(job.run.store, partial.out))
    note(told, made.job_digest, published.manifest.keys)
    return published


def _ended(batch: Opened, published: Published, outcome: Outcome | None, settled: Settled) -> Ended:
    failed, most = sum(published.failures.values()), batch.job.run.max_failures
    allowed = most * published.rows if isinstance(most, float) else most
    return Ended(published, outcome, settled, Exit.ROWS_FAILED if failed > allowed else Exit.OK)


def _told(batch: Opened, out: Path, *, keep_input: bool) -> Told:
    source, job = batch.source, batch.job
    return Told(
        job=str(job.path or ""),
        input=_input(batch),
        form=str(source.form if source else Form.JSONL),
        limit=source.limit if source else None,
        output=str(out.absolute()),
        keep_input=keep_input,
        repairs=job.run.repairs,
        store=str(job.run.store),
    )


def _input(batch: Opened) -> str:
    source = batch.source
    if source is None:
        return ""
    return source.name if source.name == STDIN else str(source.path.absolute())


def _measured(source: Source) -> tuple[str, int]:
    """Return an input's digest, and how many records it has; of a CSV with rows of several lines, a few too many."""
    digest, lines, last = sha256(), 0, b"\n"
    with source.path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            lines += piece.count(b"\n")
            last = piece
    lines += not last.endswith(b"\n")
    lines -= source.form is Form.CSV
    return digest.hexdigest(), max(0, lines if source.limit is None else min(lines, source.limit))


def _spent(batch: Opened, key: str, costs: Costs) -> Spent | None:
    entry = Cassette(batch.store).load(key, 0)
    return costs.of(entry) if isinstance(entry, Entry) else None
