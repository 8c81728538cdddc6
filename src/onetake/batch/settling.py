"""What became of attempts, as the ledger's table has it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from onetake.batch.attempts import Intent, Spent, State

PICO = 12
"""Costs are kept in whole millionths of a millionth of a dollar: a token's price is a whole number of them."""
_AT_ONCE = 500
_MOST = (1 << 63) - 1
"""Of what a column holds."""


def stored(connection: sqlite3.Connection, keys: Iterable[str]) -> set[str]:
    """Return the keys whose stored reply is known to have come to another attempt."""
    wanted = [bytes.fromhex(key) for key in keys]
    found = set()
    for at in range(0, len(wanted), _AT_ONCE):
        some = wanted[at : at + _AT_ONCE]
        places = ", ".join("?" * len(some))
        sql = f"SELECT DISTINCT key FROM attempt WHERE state = {State.STORED:d} AND key IN ({places})"
        found |= {key.hex() for (key,) in connection.execute(sql, some)}
    return found


def settle(connection: sqlite3.Connection, intent: Intent, spent: Spent | None) -> State | None:
    """Settle an intent; returns None where another process was faster."""
    state = State.LOST if spent is None else State.STORED
    sql = "UPDATE attempt SET state = ? WHERE id = ? AND state < 2"
    if not connection.execute(sql, (state, intent.id)).rowcount:
        return None
    if spent is not None and intent.state is State.OPEN:
        values = (*columns(spent), intent.id)
        connection.execute("UPDATE attempt SET class = 'ok', input = ?, output = ?, cost = ? WHERE id = ?", values)
    return state


def columns(spent: Spent) -> tuple[int | None, int | None, int | None]:
    """Return what an attempt took as the table has it; what no column holds is not known."""
    cost = None if spent.cost is None else int(spent.cost.scaleb(PICO).to_integral_value())
    asked, answered, paid = (
        None if one is None or abs(one) > _MOST else one for one in (spent.input, spent.output, cost)
    )
    return asked, answered, paid
