"""Which entries a probe asks again: some of every operation, model and contract, and always the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path

SEED = "onetake"
"""Of a sample for which none is given: constant, so that two probes ask the same entries."""

_Rank = tuple[float, bytes, str]
"""When it was recorded, where that counts; the lot that it drew; its path."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that may be asked again.

    Args:
        path: Of its file.
        key: Its request key, 64 hex digits.
        operation: Of its dialect: `chat`, `messages`; empty where no dialect knows it.
        model: As it was asked for; empty where the request names none.
        contract: The name of the contract that judged it; empty where none did.
        recorded_at: None where the entry does not say.
    """

    path: Path
    key: str
    operation: str = ""
    model: str = ""
    contract: str = ""
    recorded_at: datetime | None = None


_Stratum = tuple[str, str, str]
_Ranked = tuple[_Rank, Candidate]


def choose(candidates: Iterable[Candidate], size: int, *, seed: str = SEED, oldest: bool = False) -> list[Candidate]:
    """Choose a sample that is the same for the same candidates, whatever their order.

    Operation, model and contract make the strata; each gives one in turn, so that a rare one is asked too. Of entries
    with one key one is chosen, in the smallest of their strata: they hold the same request.

    Args:
        candidates: All of them.
        size: How many at most, 0 or more.
        seed: Any text: another gives another sample.
        oldest: Whether the oldest go first, those without a date before all, and not those that the seed draws.

    Returns:
        In the order in which they are to be asked: what a budget cuts off is spread over the strata too.
    """
    strata: dict[_Stratum, dict[str, _Ranked]] = {}
    for one in candidates:
        same_request = strata.setdefault((one.operation, one.model, one.contract), {})
        ranked = _rank(one, seed, oldest=oldest), one
        same_request[one.key] = min(same_request.get(one.key, ranked), ranked, key=lambda pair: pair[0])
    ordered = [sorted(stratum, key=lambda pair: pair[0]) for stratum in _disjoint(strata)]
    ordered.sort(key=lambda stratum: stratum[0][0])
    turns = zip_longest(*ordered)
    return [pair[1] for turn in turns for pair in turn if pair is not None][:size]


def _disjoint(strata: Mapping[_Stratum, Mapping[str, _Ranked]]) -> Iterator[list[_Ranked]]:
    """Yield strata without the keys that a smaller one has; none that is empty then."""
    taken: set[str] = set()
    for name in sorted(strata, key=lambda name: (len(strata[name]), name)):
        if left := [ranked for key, ranked in strata[name].items() if key not in taken]:
            yield left
        taken |= strata[name].keys()


def _rank(one: Candidate, seed: str, *, oldest: bool) -> _Rank:
    lot = sha256(f"{seed}\n{one.key}".encode("utf-8", "surrogatepass")).digest()
    return _age(one.recorded_at) if oldest else 0.0, lot, one.path.as_posix()


def _age(recorded_at: datetime | None) -> float:
    if recorded_at is None:
        return float("-inf")
    return (recorded_at if recorded_at.tzinfo else recorded_at.replace(tzinfo=UTC)).timestamp()
