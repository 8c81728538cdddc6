"""A probe: a sample of the stored requests is asked again, and what comes is compared. No cassette is written to."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from onetake import active, modes, prices
from onetake.decide import never_goes_live
from onetake.errors import StoreError, UsageError
from onetake.probing.asking import TIMEOUT_S, Asker, Terms
from onetake.probing.report import InterruptedProbe, Report, Selection, Thresholds
from onetake.probing.sampling import SEED
from onetake.probing.underway import Probing
from onetake.provenance import provenance, version
from onetake.settings import load_settings

SAMPLE = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a probe is asked for.

    Args:
        selection: Which entries.
        thresholds: What makes it fail.
        importing: Whether the types are imported that the settings declare contracts by: the project's code runs.
    """

    selection: Selection = field(default_factory=lambda: Selection(SAMPLE))
    thresholds: Thresholds = field(default_factory=Thresholds)
    importing: bool = False


def probe(
    path: str | Path | None = None,
    *,
    sample: int = SAMPLE,
    select: Sequence[str] = (),
    strict: bool = False,
    model: str = "",
    repeat: int = 1,
    oldest: bool = False,
    seed: str = SEED,
    max_cost: float | None = None,
    rpm: float | None = None,
    timeout: float = TIMEOUT_S,
    importing: bool = False,
) -> Report:
    """Ask some stored requests again, and say where today's answers have another structure. Writes to no cassette.

    Args:
        path: The folder of the entries; None for the settings' folder.
        sample: How many at most, 1 or more, of every operation, model and contract in turn.
        select: Which entries count: `model:…`, `operation:…`, `contract:…`, paths, the first digits of keys.
        strict: Whether a warning is drift, too.
        model: The model to ask in the place of the stored one.
        repeat: 2 asks each twice, for the noise of labels.
        oldest: Whether the oldest are asked, and not those that the seed draws.
        seed: Another one draws another sample.
        max_cost: US dollars that it may cost, at list prices.
        rpm: Requests a minute at most.
        timeout: Seconds that one answer may take.
        importing: Whether types that the settings declare contracts by are imported.

    Returns:
        The report: `document()` is `probe.json`, `exit_code` 0, 3 for drift, 4 where nothing can be said.

    Raises:
        UsageError: An argument or a setting is wrong, or what runs here is sealed; nothing was asked.
        StoreError: The folder cannot be listed, or the note of the probe not be written; nothing was asked.
        InterruptedProbe: Ctrl-C ended it; its `report` says what came until then.
    """
    if sample < 1 or repeat not in (1, 2):
        raise UsageError("probe: sample is 1 or more, repeat 1 or 2")
    if isinstance(select, str):
        raise UsageError(f"probe: select is a list of words, as in [{select!r}]")
    selection = Selection(sample, seed, oldest, tuple(select), model, repeat)
    asker = Asker(Terms(model, rpm, max_cost, timeout))
    wanted = Wanted(selection, Thresholds.of(strict=strict), importing)
    return run(load_settings(Path.cwd()).root if path is None else Path(path), wanted, asker=asker)


def run(start: Path, wanted: Wanted, *, asker: Asker, environ: Mapping[str, str] = os.environ) -> Report:
    """Run a probe over the entries below a folder, and remember that it was.

    Args:
        start: The folder.
        wanted: What it is asked for.
        asker: What asks, and on what terms.
        environ: Where credentials are.

    Raises:
        UsageError: What runs here is sealed, no entry is selected, a budget cannot be kept, or the settings are wrong;
            nothing was asked.
        StoreError: The folder cannot be listed, or the note of the probe not be written; nothing was asked.
        InterruptedProbe: Ctrl-C ended it.
    """
    see_that_it_can_ask(asker.terms)
    started = datetime.now(UTC)
    probing = Probing(start, asker, environ, importing=wanted.importing, repeat=wanted.selection.repeat)
    waiting, others = probing.choose(wanted.selection)
    probing.see(waiting)
    cases = (*probing.ask(waiting), *others)
    meant = versions(probing.projects.of(start.absolute()).settings.root)
    report = Report(cases, wanted.selection, wanted.thresholds, started, meant, asker.cost)
    try:
        probing.remember(report)
    except StoreError as error:
        report = replace(report, unnoted=str(error))
    if probing.is_interrupted:
        raise InterruptedProbe(report)
    return report


def see_that_it_can_ask(terms: Terms) -> None:
    """See that what runs here may ask somebody, on these terms.

    Raises:
        UsageError: It is sealed, or a budget cannot be kept.
    """
    if terms.max_cost is not None and not prices.is_installed():
        raise UsageError("a budget cannot be kept: genai-prices is not installed: pip install 'onetake[prices]'")
    modes.refuse_sealed()
    scope = active.innermost()
    if scope is not None and never_goes_live(scope.engine.policy.mode):
        raise UsageError(f"a session is open that lets nothing be asked: {scope.engine.cassette.place}")


def versions(root: Path) -> dict[str, Any]:
    """Return what the words of a report mean, and the project's commit."""
    here = provenance(root, test="", client="", sdk=None, model_asked=None, model_served=None)
    commit = {name: here[name] for name in ("commit", "dirty") if name in here}
    return {"onetake": version(), "python": platform.python_version(), **commit}
