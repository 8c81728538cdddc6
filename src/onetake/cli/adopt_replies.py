"""`onetake adopt --from`: what a batch's earlier job got, for the job of today, after an edit of words alone."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from onetake.cli import output
from onetake.cli.batch_options import again, load, put_together
from onetake.cli.entries import as_path
from onetake.errors import UsageError
from onetake.printable import counted, one_line
from onetake.quoting import quoted, quoted_path

if TYPE_CHECKING:
    from onetake.batch.adopting import Adopted
    from onetake.batch.opening import Opened
    from onetake.batch.remembering import Asked

_DIGITS = re.compile(r"[0-9a-f]{8,64}")


def adopt_replies(target: str | None, old: str, input_: str | None, reason: str, *, yes: bool, as_json: bool) -> None:
    """Take replies over, or say which would be.

    Args:
        target: An output, or the job file; None for the last run of this folder.
        old: The earlier job: an output of it, its file, or digits of its digest.
        input_: The input, where it is not where it was, or the job never ran.
        reason: Why it may be.
        yes: True does it.
        as_json: Whether a program reads it.

    Raises:
        UsageError: No such run or job is known, or more than the words of the prompt differ.
    """
    from onetake.batch.adopting import adopt, as_plain, refusal
    from onetake.upkeep.noted import reason_of

    with closing(_opened(target, input_)) as batch:
        before = _earlier(batch, old)
        if why := refusal(batch, before):
            raise UsageError(f"--from {old}: nothing is taken over: {why}")
        found = adopt(batch, before, reason_of(reason, batch.policy.scrubber), writes=yes)
        store = batch.store.place
    if as_json:
        output.print_json({**as_plain(found), "from": before.digest, "store": store, "done": yes})
    else:
        _tell(found, store, _command(target, old, input_), done=yes)


def _opened(target: str | None, input_: str | None) -> Opened:
    from onetake.batch.remembering import last_run

    if target and input_ and as_path(target).suffix.lower() == ".toml" and not last_run(as_path(target).absolute()):
        return put_together(load(target, {}), input_)
    return again(target, input_)[0]


def _earlier(batch: Opened, old: str) -> Asked:
    """Return what an earlier job asked."""
    from onetake.batch.manifest import SUFFIX, load_manifest
    from onetake.batch.opening import asking_of, contract_of
    from onetake.batch.remembering import Asked

    path = as_path(old)
    if path.suffix.lower() == ".toml":
        job = load(old, {})
        asking = asking_of(job.ask, contract_of(job.ask))
        return Asked(job.ask, asking.schema, asking.name, job.run.repairs, job.digest())
    if path.is_file():
        digest = load_manifest(Path(old.removesuffix(SUFFIX))).job
        return _known(batch, digest, f"{old}: what its job asked is not known any more: name the file of that job")
    if _DIGITS.fullmatch(old):
        return _known(batch, old, f"--from {old}: no job that ran on {batch.store.place} has these digits")
    raise UsageError(f"--from {old}: there is no such file, and it is no job's digits (8 or more hex digits)")


def _known(batch: Opened, digits: str, unknown: str) -> Asked:
    from onetake.batch.remembering import asked_on

    found = [one for one in asked_on(batch) if one.digest.startswith(digits)]
    if len(found) != 1:
        raise UsageError(unknown if not found else f"{digits} fits {len(found)} jobs: say more digits")
    return found[0]


def _command(target: str | None, old: str, input_: str | None) -> str:
    place, source = ([quoted_path(one)] if one else [] for one in (target, input_))
    return " ".join(["onetake adopt", *place, "--from", quoted(old), *(["--input", *source] if source else [])])


def _tell(found: Adopted, store: str, command: str, *, done: bool) -> None:
    output.fields(
        [
            ("edit", found.difference),
            ("caution", "the stored answers are to the old words" if found.entries else ""),
            ("records", f"{found.records:,}"),
            ("adopted" if done else "to adopt", output.entries(found.entries)),
            ("shared", f"{found.shared:,}, by asking what another record asks" if found.shared else ""),
            ("stored", f"{counted(found.stored, 'record')} with a reply already" if found.stored else ""),
        ]
    )
    if found.left:
        rows = [(f"{one.count:,}", f"line {one.example}", one_line(why, 300)) for why, one in found.left.items()]
        output.say()
        output.table(("left", "first", "why"), rows)
    if not found.entries:
        output.say("\nnothing to adopt")
    elif done:
        output.say(f"\nwritten to {store}; `onetake batch run` makes the rows of them, and asks what is left")
    else:
        output.say(f"\nnothing was written: `{command} --yes` does it")
