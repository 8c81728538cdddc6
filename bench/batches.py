"""Replay of a finished batch beside a plain loop over the same store, and what of its time goes where."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

from bench.timing import ratio, rounds, timed
from onetake import gate, interactions
from onetake.batch.asking import Asking
from onetake.batch.job import Ask
from onetake.batch.keys import Keys
from onetake.batch.records import Form, Record, Tally, read
from onetake.batch.replies import KEEP, Replies, policy_for
from onetake.batch.resolving import Resolver, Row
from onetake.batch.roots import Needs
from onetake.batch.rows import Made, Partial, publish
from onetake.contract import Contract
from onetake.decide import Action
from onetake.format import dump_entry
from onetake.model import Mode, Response
from onetake.steps import Flow, Live, Policy
from onetake.stores.sqlite import SqliteStore

ROWS = 100_000
_RECORD = 500
"""Bytes of a record."""
_ROUNDS = 3
"""A round reads every reply, so a few say enough."""
_SCHEMA = {
    "type": "object",
    "properties": {"label": {"enum": ["bug", "question"]}, "confidence": {"type": "number"}, "why": {"type": "string"}},
    "required": ["label", "confidence", "why"],
}


def measure(folder: Path, *, count: int, entries: int | None = None) -> list[dict[str, Any]]:
    """Measure a batch of *entries* rows, or `ROWS`."""
    batch = FinishedBatch(folder / "batch", entries or ROWS)
    found = rounds(
        {"floor": lambda: [timed(batch.floor)], "replay": lambda: [timed(batch.replay)]}, min(count, _ROUNDS)
    )
    floor, replay = median(found["floor"]), median(found["replay"])
    return [
        {
            "rows": batch.rows,
            "floor_us": round(floor / batch.rows * 1e6, 1),
            "replay_us": round(replay / batch.rows * 1e6, 1),
            "rows_per_s": round(batch.rows / replay),
            "times_floor": round(ratio(found, "replay", "floor"), 2),
            "parts_us": {name: round(seconds / batch.rows * 1e6, 1) for name, seconds in batch.parts().items()},
        }
    ]


class FinishedBatch:
    """A finished batch: an input, and a store that has every reply.

    Args:
        folder: Where it is.
        rows: How many records.
        is_there: Whether it was made before.
    """

    def __init__(self, folder: Path, rows: int, *, is_there: bool = False) -> None:
        self.rows = rows
        self._input, self._store, self._out = folder / "in.jsonl", folder / "calls.db", folder / "rows.jsonl"
        ask = Ask("http://127.0.0.1:9/v1", "m", "Label this line:\n\n{message}", params={"temperature": 0})
        self._asking = Asking(ask, _SCHEMA, "label")
        contract = Contract(_SCHEMA, name="label")
        self._policy = policy_for(Policy(Mode.NEW_EPISODES, folder, contracts=(contract,)))
        if is_there:
            return
        folder.mkdir()
        keys = Keys(self._asking, self._policy.keyer)
        with self._input.open("wb") as file:
            file.writelines(json.dumps(_record(number)).encode() + b"\n" for number in range(rows))
        self._keys = [keys.of(_record(number)) for number in range(rows)]
        self._fill()

    def floor(self) -> None:
        """Read every reply by its key, and write its answer."""
        with closing(SqliteStore(self._store)) as store, self._out.open("wb") as file:
            for number, key in enumerate(self._keys, 1):
                answer = json.loads(store.get(key, 0) or b"")["answer"]["choices"][0]["json"]
                file.write(json.dumps({"line": number, "answer": answer}).encode() + b"\n")

    def replay(self) -> None:
        """Publish the output."""
        tally = Tally()
        made = Made(self._input, Form.JSONL, tally, None, "0" * 64, self._store)
        with closing(SqliteStore(self._store)) as store, self._input.open("rb") as file:
            resolver = Resolver(self._asking, Replies(store, self._policy), repairs=0, parses=True)
            with Partial(self._out) as partial:
                needs = Needs(self._store, self._out)
                found = publish(read(file, Form.JSONL, tally), resolver, partial, made, needs)
        assert (found.rows, found.failures) == (self.rows, {})

    def scan(self) -> Iterator[int]:
        """Look for every record's reply; gives the number of each that was found."""
        with closing(SqliteStore(self._store)) as store, self._input.open("rb") as file:
            resolver = Resolver(self._asking, Replies(store, self._policy), repairs=0, parses=True)
            for record in resolver.ahead(read(file, Form.JSONL)):
                assert isinstance(resolver.resolve(record), Row)
                yield record.line

    def parts(self) -> dict[str, float]:
        """Return the seconds that the parts of a replay take, each alone."""
        keys = Keys(self._asking, self._policy.keyer)
        with closing(SqliteStore(self._store)) as store, self._input.open("rb") as file:
            replies = Replies(store, self._policy)
            some = [self._keys[at : at + replies.at_once] for at in range(0, self.rows, replies.at_once)]
            records = list(read(file, Form.JSONL))
            got = {key: data for part in some for key, data in replies.ahead(part).items()}
            told = [replies.said(key, got[key], parses=True) for key in self._keys]
            return {
                "records": timed(lambda: _drained(read(file, Form.JSONL, Tally()))),
                "keys": _each(lambda record: keys.of(record.data or {}), records),
                "store": _each(replies.ahead, some),
                "validation": _each(lambda key: replies.said(key, got[key], parses=True), self._keys),
                "writing": timed(lambda: self._written(records, told)),
            }

    def _written(self, records: list[Record], told: list[Any]) -> None:
        with Partial(self._out) as partial:
            for record, key, answer in zip(records, self._keys, told, strict=True):
                partial.add(record, Row(record.line, answer, keys=(key,)))
            partial.end()

    def _fill(self) -> None:
        with closing(SqliteStore(self._store)) as store:
            whole = self._entry(Replies(store, self._policy))
            first = self._keys[0].encode(), _record(0)["message"].encode(), _why(0)
            store.add_all((one, 0, _other(whole, first, one, number), "") for number, one in enumerate(self._keys))

    def _entry(self, replies: Replies) -> bytes:
        """Return the entry of the first record, as a run stores it."""
        said = json.dumps({"label": "bug", "confidence": 0.75, "why": _why(0).decode()})
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 210, "completion_tokens": 25, "total_tokens": 235}
        body = json.dumps({"id": "chatcmpl-1", "model": "m", "choices": [choice], "usage": usage}).encode()
        response = Response(200, (("content-type", "application/json"),), body)
        asked = replies.find(self._asking.request(_record(0))).asked
        live = Live(asked, Action.RECORD, 0, Flow(0), "onetake batch", True)
        judged = gate.judge(asked.request, response, asked.contracts, keep=KEEP, root=self._policy.root)
        return dump_entry(interactions.entry_of(live, response, judged, self._policy))[0]


def _record(number: int) -> dict[str, str]:
    words = " ".join(sha256(f"{number} {part}".encode()).hexdigest()[:20] for part in range(_RECORD // 20))
    return {"message": words[: _RECORD - 40], "host": f"h{number % 97:02d}"}


def _why(number: int) -> bytes:
    return b"it says that record %09d broke" % number


def _other(entry: bytes, first: tuple[bytes, ...], key: str, number: int) -> bytes:
    """Return the entry of another record, from the first one's."""
    its = key.encode(), _record(number)["message"].encode(), _why(number)
    for was, now in zip(first, its, strict=True):
        entry = entry.replace(was, now)
    return entry


def _each(call: Callable[[Any], object], values: list[Any]) -> float:
    return timed(lambda: _drained(map(call, values)))


def _drained(values: Iterator[object]) -> None:
    for _ in values:
        pass
