"""What the commands of a batch say in the same words: money, time, classes of failures, what a killed run left."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from onetake.cli import output
from onetake.printable import counted

if TYPE_CHECKING:
    from onetake.batch.reporting import Class
    from onetake.stores import Store


def dollars(cost: float) -> str:
    """Write US dollars: to the cent, smaller sums to as many places as they need."""
    if 0 < cost < 5e-7:
        return "under $0.000001"
    return f"${cost:,.2f}" if cost >= 1 or cost == 0 else f"${cost:.6f}".rstrip("0")


def price(low: float | None, high: float | None, why_unknown: str) -> str:
    """Write what calls may cost; an unknown price is said plainly.

    Args:
        low: US dollars at least; None where no price is known.
        high: At most; None also where nothing says how long an answer may be.
        why_unknown: Why no price is known.
    """
    if low is None:
        return f"unknown: {why_unknown}"
    if high is None:
        return f"{dollars(low)} or more: params.max_tokens would say how much more"
    return dollars(low) if low == high else f"{dollars(low)} to {dollars(high)}"


def may_have_been_billed(count: int) -> str:
    """Say how many calls a killed run had in flight; empty for none."""
    return f"up to {counted(count, 'call')} may have been billed without a stored reply" if count else ""


def offer_to_pack(path: Path, store: Store) -> None:
    """Say of a folder of very many replies how it becomes one file.

    Args:
        path: Where the store is.
        store: It.
    """
    from onetake.quoting import quoted_path
    from onetake.stores import FILE
    from onetake.upkeep.packing import too_many

    if count := too_many(path, store):
        words = [quoted_path(output.json_path(one)) for one in (path, path.with_name(f"{path.name}{FILE}"))]
        output.say(f"{words[0]}: {output.entries(count)}, each a file and an fsync of its own; one file serves better:")
        output.say(f"  onetake store pack {' '.join(words)}")


def classes(found: Iterable[Class], target: str) -> None:
    """Print a table of the classes of failures, and the commands that ask again."""
    from onetake.batch.failures import ASKED_AGAIN
    from onetake.quoting import quoted_path

    rows = list(found)
    if not rows:
        return
    columns = ("class", "rows", "first", "says", "likely fix")
    output.table(columns, [(one.failure, f"{one.count:,}", f"line {one.line}", one.message, one.fix) for one in rows])
    for one in rows:
        if one.failure in ASKED_AGAIN:
            output.say(f"ask again: onetake batch retry {quoted_path(target)} --class {one.failure}")
