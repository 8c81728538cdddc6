"""The story that `onetake demo` tells, step by step; every claim is checked against what this run did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onetake.cli import demo_run as run
from onetake.cli import output
from onetake.cli.demo_lines import LINES
from onetake.cli.demo_models import Served, choose, is_closed


class Report:
    """What the demo tells: text at once, or figures at the end; and whether every claim held.

    Args:
        as_json: True tells nothing before the end.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.figures: dict[str, Any] = {}
        self.checked = 0
        self.failed: list[str] = []
        self._quiet = as_json

    def title(self, text: str) -> None:
        """Begin a step."""
        if not self._quiet:
            output.say()
            output.title(text)

    def say(self, text: str) -> None:
        """Tell what claims nothing."""
        if not self._quiet:
            output.say(text)

    def claim(self, holds: bool, text: str) -> None:
        """Say what was seen to be so, or that it was not."""
        self.checked += 1
        if not holds:
            self.failed.append(text)
        self.say(f"  {'ok    ' if holds else 'FAILED'}  {text}")


def tell(folder: Path, report: Report, *, real: bool) -> None:
    """Record, refuse, replay and share in a folder of its own.

    Args:
        folder: Empty but for its settings.
        report: Is told everything.
        real: False asks the scripted provider even where the real model is installed.

    Raises:
        Refusal: The model's answer is refused where it should not be, or a replay misses.
    """
    serve, why_scripted = choose(real=real)
    with serve() as model:
        if why_scripted:
            report.say(f"model: a scripted provider at {model.url} ({why_scripted})")
        else:
            report.say(f"model: {model.name}, a real one, served by this process at {model.url}")
        report.figures |= {"model": model.name, "real_model": not why_scripted}
        first = _record(folder, model, report)
        _refuse(folder, model, report)
    _replay(folder, model, first, report, scripted=bool(why_scripted))
    with serve() as other:
        _share(folder, model, other, first, report)
    _show_entry(folder, report)


def _record(folder: Path, model: Served, report: Report) -> run.Pass:
    report.title(f"1. Record: {len(LINES)} log lines through the openai SDK, under a strict contract")

    def progress(number: int, line: str, body: bytes) -> None:
        said = json.loads(json.loads(body)["choices"][0]["message"]["content"])
        report.say(f"  {number:>2}/{len(LINES)}  {said['level']:<7}  {said['host']:<12}  {line}")

    done = run.ask_all(folder, "once", model, progress)
    files = len(run.entry_files(folder))
    report.figures |= {"recorded": done.recorded, "live_seconds": round(done.seconds, 4), "digest": done.digest}
    report.claim(done.recorded == files == len(LINES), f"{files} answers recorded, in {done.seconds:.2f} s")
    report.claim(model.was_asked(), "the model says that it was asked")
    report.say("          (the contract judges an answer's shape: whether the level is true, it does not know)")
    return done


def _refuse(folder: Path, model: Served, report: Report) -> None:
    report.title("2. Refuse: one line again, with only 4 tokens for the answer")
    refused = run.ask_for_too_little(folder, model)
    place = refused.place.relative_to(folder).as_posix() if refused.place else None
    report.figures |= {"rejected": int(bool(refused.kind)), "reject_kind": refused.kind, "reject_path": place}
    report.claim(refused.kind == "length", f"refused, kind {refused.kind or 'none'}: the caller got a ContractError")
    report.claim(place is not None, f"kept aside, never replayed:\n          {place}")
    report.claim(len(run.entry_files(folder)) == len(LINES), "the cassette is as it was")


def _replay(folder: Path, model: Served, first: run.Pass, report: Report, *, scripted: bool) -> None:
    report.title("3. Replay: mode none, and the model is stopped")
    report.claim(is_closed(model.url), f"nothing listens at {model.url} any more")
    again = run.ask_all(folder, "none", model)
    same, ratio = again.bodies == first.bodies, first.seconds / again.seconds
    report.figures |= {
        "replayed": again.played,
        "same_bytes": same,
        "replay_seconds": round(again.seconds, 4),
        "ratio": round(ratio, 2),
    }
    report.claim(again.played == len(LINES) and not again.recorded, f"{again.played} answers replayed, 0 recorded")
    report.claim(same, "the same bytes, each answer as the SDK got it; SHA-256 over all of them:")
    report.say(f"            recorded  {first.digest}\n            replayed  {again.digest}")
    report.say(f"          {first.seconds:.2f} s live, {again.seconds:.3f} s replayed: {_times(ratio)}")
    if scripted:
        report.say("          (a scripted provider answers at once: against a real model the ratio is another)")


def _share(folder: Path, first_model: Served, other: Served, first: run.Pass, report: Report) -> None:
    report.title("4. Share: the model again on another port, mode new_episodes, which records what is missing")
    before = {path: path.read_bytes() for path in run.entry_files(folder)}
    again = run.ask_all(folder, "new_episodes", other)
    after = {path: path.read_bytes() for path in run.entry_files(folder)}
    report.figures |= {"other_port_replayed": again.played, "other_port_recorded": again.recorded}
    report.claim(other.url != first_model.url, f"it is at {other.url} now, and was at {first_model.url}")
    report.claim(again.played == len(LINES) and again.bodies == first.bodies, f"{again.played} answers replayed")
    report.claim(again.recorded == 0 and after == before, "0 recorded: the entries are the same files as before")
    report.claim(not other.was_asked(), "the model says that it was not asked")


def _show_entry(folder: Path, report: Report) -> None:
    path = run.entry_files(folder)[0]
    shown = path.relative_to(folder).as_posix()
    report.figures["entry_path"] = shown
    report.title(f"5. One entry, as you review it: {shown}")
    report.say(path.read_text("utf-8").rstrip())


def conclude(kept: Path | None, report: Report) -> None:
    """Say whether every claim held, and what is left on disk."""
    failed = len(report.failed)
    report.title(f"{failed} of {report.checked} checks FAILED" if failed else f"All {report.checked} checks held")
    for text in report.failed:
        report.say(f"  FAILED  {text}")
    place = f"everything is in {output.shown_path(kept)}" if kept else "the folder is removed; --keep DIR keeps it"
    report.say(f"  {place}")


def _times(ratio: float) -> str:
    return f"{ratio:.0f} times as fast" if ratio >= 10 else f"{ratio:.1f} times as fast"
