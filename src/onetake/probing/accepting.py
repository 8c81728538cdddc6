"""Record stored entries again on purpose, each from a fresh answer to its own request: `onetake probe --accept`.

The answer goes the way of every recorded one: through the gate, scrubbed, by the one writer of entries. What the gate
refuses is kept aside among the rejects, and the stored entry stays; so it does where what came is no answer. An entry
that is replaced is in the trash.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from onetake import gate, key_specs
from onetake.aside import AsideStore, place_of
from onetake.cassette import Cassette
from onetake.contract import Contract
from onetake.decide import Action
from onetake.errors import ContractError, FormatError, OnetakeError, StoreError
from onetake.gate import Judgement, Kind
from onetake.keeping import Keeper
from onetake.key import Keyer
from onetake.ledger import Ledger
from onetake.model import Entry, Headers, Mode
from onetake.printable import one_line
from onetake.probing.asking import Asker
from onetake.probing.findings import Compared, Unknown
from onetake.probing.gathering import Found, find
from onetake.probing.running import see_that_it_can_ask
from onetake.probing.sending import CLIENT, Answered
from onetake.probing.underway import Probing
from onetake.steps import Asked, Flow, Live, Policy
from onetake.stores import open_store
from onetake.turns import Turns
from onetake.writing import copy as copy_entry

_WIDTH = 400


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of one entry.

    Args:
        path: Its file.
        key: Its key.
        ordinal: Its ordinal.
        came: How the answer that is stored now differs from the one that was; why there is none, where nothing came.
        why: Why the old answer stays, in one line; empty where the new one is stored.
    """

    path: Path
    key: str
    ordinal: int
    came: Compared | Unknown
    why: str = ""


def accept(
    paths: Sequence[Path], asker: Asker, *, importing: bool = False, environ: Mapping[str, str] = os.environ
) -> Iterator[Accepted]:
    """Ask for entries again, and store what comes in their places, where the gate lets it.

    Args:
        paths: The files of entries.
        asker: What asks; another model than the stored one cannot be asked: that is another request.
        importing: True imports the types that the settings declare contracts by: the project's own code runs.
        environ: Where credentials are.

    Returns:
        One for each file, in their order, each as soon as it is written.

    Raises:
        UsageError: What runs here is sealed, a budget cannot be kept, a file is no entry, or the settings are wrong;
            nothing was asked.
    """
    see_that_it_can_ask(asker.terms)
    probing = Probing(Path.cwd(), asker, environ, importing=importing)
    found = [find(path, probing.projects) for path in dict.fromkeys(paths)]
    for one in found:
        probing.see_contract(one.project, one.contract)
    return (_accepted(one, probing, asker) for one in found)


def _accepted(found: Found, probing: Probing, asker: Asker) -> Accepted:
    try:
        came, why = _came(found, probing, asker)
    except OnetakeError as error:
        came, why = Compared(), str(error)
    why = one_line(probing.scrub(found.project, why), _WIDTH)
    return Accepted(found.held.path, found.entry.key, found.entry.ordinal, came, why)


def _came(found: Found, probing: Probing, asker: Asker) -> tuple[Compared | Unknown, str]:
    """Ask for an entry, and store what comes; returns how it differs, and why the old answer stays, if it does."""
    ready = probing.ready(found)
    if isinstance(ready, Unknown):
        return ready, ready.why
    call = _call(found, _named(probing.contracts(found), found.entry), ready.credential)
    if why := _why_not(found, call):
        return Compared(), why
    came = asker.ask(found.entry, ready)
    if isinstance(came, Unknown):
        return came, came.why
    compared = probing.beside(found, ready.request, [came])
    return compared, _kept(found, call, came, compared)


def _why_not(found: Found, call: Live) -> str:
    """Say why no new answer can be stored in the place of an entry; empty where one can."""
    entry = found.entry
    if not os.access(found.folder, os.W_OK):
        return "its cassette cannot be written"
    if not key_specs.is_own_recipe(entry.key_spec):
        return "it has another key today: `onetake rekey` gives it that"
    if entry.contract and not call.asked.contracts:
        return f"nothing judges its answer: contract {one_line(entry.contract.name, 80)!r} cannot be read"
    if call.asked.scrubbed != entry.request:
        return "today's scrub rules find a secret in its request: `onetake rekey` first"
    return ""


def _named(contracts: Sequence[Contract], entry: Entry) -> tuple[Contract, ...]:
    """Return contracts under the name and version of the entry's own: what lies beside entries has neither."""
    ref = entry.contract
    if ref is None or any(contract.name == ref.name for contract in contracts):
        return tuple(contracts)
    named = [copy.copy(contract) for contract in contracts]
    for contract in named:
        contract.name, contract.schema_version = ref.name, ref.schema_version
    return tuple(named)


def _call(found: Found, contracts: tuple[Contract, ...], credential: Headers) -> Live:
    """Return the live call whose answer takes the place of an entry's; the credential that it carries is scrubbed."""
    entry = found.entry
    _, days = Keyer.from_spec(entry.key_spec.rules)
    scrubber = found.project.scrubber(tuple(entry.key_spec.rules.get("headers", ())))
    sent = replace(entry.request, headers=(*entry.request.headers, *credential))
    asked = Asked(sent, contracts, entry.key, days, sent, scrubber)
    asked.keyed = asked.scrubbed
    return Live(asked, Action.REPLACE, entry.ordinal, Flow(who=None), CLIENT, shared=False)


def _kept(found: Found, call: Live, came: Answered, compared: Compared | Unknown) -> str:
    """Store an answer through the gate; returns why not, empty where it is stored."""
    entry, settings = found.entry, found.project.settings
    keep = (entry.verdict.partition(":")[2],) if entry.verdict.startswith("kept:") else ()
    if came.first_byte_ms is not None:
        call.first_byte = call.started + came.first_byte_ms / 1000
    keyer, _ = Keyer.from_spec(entry.key_spec.rules)
    policy = Policy(
        mode=Mode.ALL,
        root=settings.root,
        contracts=call.asked.contracts,
        keep=keep,
        keyer=keyer,
        scrubber=call.asked.scrubber,
        test=str(entry.provenance.get("test") or ""),
        prefix=settings.prefix,
    )
    judgement = gate.judge(entry.request, came.response, call.asked.contracts, keep=keep, root=settings.root)
    if judgement.kind is Kind.PASS:
        return f"the provider says {judgement.reason.removeprefix('status:') or 'error'}: nothing is stored"
    if judgement.kind is not Kind.REJECT and isinstance(compared, Unknown):
        return compared.why
    return _written(found, call, came, judgement, policy)


def _written(found: Found, call: Live, came: Answered, judgement: Judgement, policy: Policy) -> str:
    with closing(open_store(found.folder, place_of(found.folder.absolute(), policy.root.absolute()))) as store:
        rejects = Cassette(AsideStore(policy.root, "rejects", found.folder))
        keeper = Keeper(policy, Cassette(store), rejects, Ledger(), Turns().of, lambda: None)
        if store.get(found.entry.key, found.entry.ordinal) != found.held.data:
            return "it was changed while it was asked"
        try:
            if judgement.kind is not Kind.REJECT:
                copy_entry(store, AsideStore(policy.root, "trash", found.folder), found.entry)
            keeper.keep(call, came.response, judgement, raising=True)
        except ContractError as refusal:
            return one_line(str(refusal), _WIDTH)
        except (StoreError, FormatError, OSError) as error:
            return one_line(call.asked.scrubbing.text(f"it cannot be written: {error}"), _WIDTH)
    return ""
