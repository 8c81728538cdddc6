"""What a session hands on to the processes that are started while it is open: its seed, as a text."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from onetake import active, forking, modes, starting
from onetake.contract import Contract
from onetake.decide import reads_nothing, records
from onetake.engine import Engine
from onetake.errors import UsageError
from onetake.model import Mode
from onetake.options import Options
from onetake.settings import key_rules, parse_max_age
from onetake.steps import Policy

_LONGEST = 30_000
"""Characters of a seed; Windows takes 32,767 for one variable, Linux 131,072 bytes."""

_lock = forking.Lock()
_seeds: WeakKeyDictionary[Engine, str] = WeakKeyDictionary()
_travelling: dict[tuple[str, str], bool] = {}


def seed_of(
    options: Options, policy: Policy, folder: Path, place: tuple[Path, str], refusals: str, *, owned: bool
) -> str:
    """Return what a child needs to open the same session, as JSON.

    Args:
        options: What the session was asked for; what the settings say, the child reads for itself.
        policy: What it goes by.
        folder: Its cassette's.
        place: Where children write what they do and refuse, and which place their entries wait in.
        refusals: `fail` or `report`.
        owned: True where the cassette is one test's alone.

    Returns:
        Empty for a session that reads and writes nothing, unless that holds for the whole program. A contract travels
        as its schema; one that is more than that (a type with validators, a callable `on`) cannot judge in a child, so
        that the child records nothing.

    Raises:
        UsageError: An option is too long for an environment.
    """
    forced = modes.forced()
    if reads_nothing(policy.mode) and forced is None:
        return ""
    seed = {
        **_options(options, policy),
        "root": str(policy.root),
        "name": str(folder),
        "mode": policy.mode.value,
        "forced": forced.value if forced else "",
        "switch": modes.switch(),
        "pytest": modes.pytest_command(),
        "refusals": refusals,
        "test": policy.test,
        "node": policy.node,
        "owned": owned,
        "told": str(place[0]),
        "part": place[1],
        "process": os.getpid(),
    }
    if unjudged := [one.name for one in policy.contracts if one.is_type or not _travels(one)]:
        seed |= _sealed(policy, f"cannot judge the contract {unjudged[0]}")
    whole = json.dumps({**seed, "contracts": [_contract(one) for one in policy.contracts if _travels(one)]})
    if len(whole) <= _LONGEST:
        return whole
    # What the contracts would say is left to the session's own process.
    return _fitting({**seed, **_sealed(policy, "cannot judge the contracts, too long to hand on"), "contracts": []})


def begin(engine: Engine, seed: str) -> None:
    """Have a session handed on once its scope is open, at the doors by which a program starts processes.

    Args:
        engine: The session's; its scope is not open yet, so that no child is started between the two.
        seed: What `seed_of` returned.
    """
    starting.hand_on(seed_here)
    with _lock.held:
        _seeds[engine] = seed


def show() -> None:
    """Put what is open into the environment, for what is started past the doors; with nothing open, nothing.

    To be called when a scope was opened or left.
    """
    with _lock.held:
        _show()


def seed_here() -> str:
    """Return the seed of the session that this context belongs to; empty for none."""
    return _seed(active.bound() or active.innermost())


def _show() -> None:
    seed = _seed(active.innermost())
    if seed:
        os.environ[starting.VARIABLE] = seed
    else:
        os.environ.pop(starting.VARIABLE, None)
    before = os.environ.get("PYTHONPATH")
    path = starting.python_path(before or "", hooked=bool(seed))
    if path:
        os.environ["PYTHONPATH"] = path
    elif before and path != before:
        del os.environ["PYTHONPATH"]


def _seed(scope: active.Scope | None) -> str:
    return _seeds.get(scope.engine, "") if scope is not None else ""


def _options(options: Options, policy: Policy) -> dict[str, Any]:
    return {
        "repeats": policy.repeats.value,
        "match": policy.match,
        "on_reject": policy.on_reject,
        "keep": list(policy.keep),
        "hosts": list(options.hosts),
        "ignore": list(options.ignore),
        "spared": list(options.spared),
        "key": _key(options),
        "max_age": _max_age(options),
        "mode_by": policy.mode_by,
        "is_program": policy.is_program,
    }


def _sealed(policy: Policy, why: str) -> dict[str, str]:
    """Return what makes a child record nothing, and say why where its session does record."""
    return {"mode": Mode.NONE.value, "unrecorded": why if records(policy.mode) else ""}


def _fitting(seed: dict[str, Any]) -> str:
    """Return a seed as JSON, if an environment holds it: beside a longer one no process could be started at all."""
    text = json.dumps(seed)
    if len(text) > _LONGEST:
        longest = max(seed, key=lambda name: len(json.dumps(seed[name])))
        mend = "give the test a shorter id" if longest in ("test", "node") else "say it in the settings instead"
        raise UsageError(
            f"{longest}: too long for the environment by which child processes join this session"
            f" ({len(text)} characters, {_LONGEST} fit): {mend}"
        )
    return text


def _key(options: Options) -> dict[str, Any]:
    rules = asdict(key_rules(options.key))
    rules["replace"] = [{"pattern": rule["pattern"], "with": rule["to"]} for rule in rules["replace"]]
    return rules


def _max_age(options: Options) -> dict[str, Any] | None:
    limit = parse_max_age(options.max_age)
    return asdict(limit) if limit is not None else None


def _contract(contract: Contract) -> dict[str, Any]:
    return {
        "schema": contract.schema,
        "name": contract.name,
        "schema_version": contract.schema_version,
        "watch": [str(path) for path in contract.watch],
        "on": contract.on,
    }


def _travels(contract: Contract) -> bool:
    """Tell whether a contract's schema, read again, is the same one: a type's may hold formats of its own."""
    if callable(contract.on):
        return False
    known = contract.digest, contract.name
    if known not in _travelling:
        try:
            _travelling[known] = Contract(contract.schema, name=contract.name).digest == contract.digest
        except UsageError:
            _travelling[known] = False
    return _travelling[known]
