"""`onetake demo`: the whole flow with a real small model, every claim checked while it is made."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from onetake import modes
from onetake.cli import demo_run as run
from onetake.cli import output
from onetake.cli.demo_lines import LINES
from onetake.cli.demo_models import Served, choose, is_closed
from onetake.cli.exits import Exit
from onetake.errors import UsageError
from onetake.model import Mode

_SETTINGS = "onetake.toml"


class _Report:
    """What the demo tells: text at once, or figures at the end; and whether every claim held."""

    def __init__(self, *, as_json: bool) -> None:
        self.figures: dict[str, Any] = {}
        self.checked = 0
        self.failed: list[str] = []
        self._quiet = as_json

    def title(self, text: str) -> None:
        if not self._quiet:
            output.say()
            output.title(text)

    def say(self, text: str) -> None:
        if not self._quiet:
            output.say(text)

    def claim(self, holds: bool, text: str) -> None:
        """Say what was seen to be so, or that it was not."""
        self.checked += 1
        if not holds:
            self.failed.append(text)
        self.say(f"  {'ok    ' if holds else 'FAILED'}  {text}")


@click.command()
@click.option("--keep", metavar="DIR", help="Work in DIR, new or empty, and leave everything there.")
@click.option("--no-model", is_flag=True, help="Ask a scripted provider, even where the real model is installed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def demo(context: click.Context, keep: str | None, no_model: bool, as_json: bool) -> None:
    """Record, refuse and replay with a real small model, every claim checked.

    It asks the model on this machine about 12 log lines, stops it, and replays the answers. Exit code 1 where anything
    that it says was not so in this run.
    """
    run.check_openai()
    if modes.resolve(Mode.NEW_EPISODES, None, Mode.NONE) is Mode.NONE:
        raise UsageError("ONETAKE_MODE=none forbids live calls, and the demo records: unset it")
    report = _Report(as_json=as_json)
    with _workplace(keep) as folder:
        _show_all(folder, report, real=not no_model)
        _conclude(folder if keep else None, report)
    if as_json:
        kept = output.shown_path(folder) if keep else None
        output.print_json({**report.figures, "kept": kept, "failed": report.failed, "verified": not report.failed})
    context.exit(Exit.FINDINGS if report.failed else Exit.OK)


def _show_all(folder: Path, report: _Report, *, real: bool) -> None:
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


def _record(folder: Path, model: Served, report: _Report) -> run.Pass:
    report.title(f"1. Record: {len(LINES)} log lines through the openai SDK, under a strict contract")

    def progress(number: int, line: str, body: bytes) -> None:
        said = json.loads(json.loads(body)["choices"][0]["message"]["content"])
        report.say(f"  {number:>2}/{len(LINES)}  {said['level']:<7}  {said['host']:<12}  {line}")

    done = run.ask_all(folder, "once", model, progress)
    files = len(run.entry_files(folder))
    report.figures |= {"recorded": done.recorded, "live_seconds": round(done.seconds, 4), "digest": done.digest}
    report.claim(done.recorded == files == len(LINES), f"{files} answers recorded, in {done.seconds:.2f} s")
    report.claim(model.was_asked(), "the model says that it was asked")
    return done


def _refuse(folder: Path, model: Served, report: _Report) -> None:
    report.title("2. Refuse: one line again, with only 4 tokens for the answer")
    refused = run.ask_for_too_little(folder, model)
    place = refused.place.relative_to(folder).as_posix() if refused.place else None
    report.figures |= {"rejected": int(bool(refused.kind)), "reject_kind": refused.kind, "reject_path": place}
    report.claim(refused.kind == "length", f"refused, kind {refused.kind or 'none'}: the caller got a ContractError")
    report.claim(place is not None, f"kept aside, never replayed:\n          {place}")
    report.claim(len(run.entry_files(folder)) == len(LINES), "the cassette is as it was")


def _replay(folder: Path, model: Served, first: run.Pass, report: _Report, *, scripted: bool) -> None:
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


def _share(folder: Path, first_model: Served, other: Served, first: run.Pass, report: _Report) -> None:
    report.title("4. Share: the model again on another port, mode new_episodes, which records what is missing")
    before = {path: path.read_bytes() for path in run.entry_files(folder)}
    again = run.ask_all(folder, "new_episodes", other)
    after = {path: path.read_bytes() for path in run.entry_files(folder)}
    report.figures |= {"other_port_replayed": again.played, "other_port_recorded": again.recorded}
    report.claim(other.url != first_model.url, f"it is at {other.url} now, and was at {first_model.url}")
    report.claim(again.played == len(LINES) and again.bodies == first.bodies, f"{again.played} answers replayed")
    report.claim(again.recorded == 0 and after == before, "0 recorded: the entries are the same files as before")
    report.claim(not other.was_asked(), "the model says that it was not asked")


def _show_entry(folder: Path, report: _Report) -> None:
    path = run.entry_files(folder)[0]
    shown = path.relative_to(folder).as_posix()
    report.figures["entry_path"] = shown
    report.title(f"5. One entry, as you review it: {shown}")
    report.say(path.read_text("utf-8").rstrip())


def _conclude(kept: Path | None, report: _Report) -> None:
    failed = len(report.failed)
    report.title(f"{failed} of {report.checked} checks FAILED" if failed else f"All {report.checked} checks held")
    for text in report.failed:
        report.say(f"  FAILED  {text}")
    place = f"everything is in {output.shown_path(kept)}" if kept else "the folder is removed; --keep DIR keeps it"
    report.say(f"  {place}")


def _times(ratio: float) -> str:
    return f"{ratio:.0f} times as fast" if ratio >= 10 else f"{ratio:.1f} times as fast"


@contextmanager
def _workplace(keep: str | None) -> Iterator[Path]:
    """Give a folder with settings of its own, so that those of a project above it do not change the demo."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="onetake-demo-") as temporary:
            yield _settled(Path(temporary).resolve())
        return
    folder = Path(keep).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise UsageError(f"--keep {keep}: {error.strerror or error}") from None
    if taken:
        raise UsageError(f"--keep {keep}: the folder is not empty; name a new one")
    yield _settled(folder)


def _settled(folder: Path) -> Path:
    (folder / _SETTINGS).write_bytes(b"# Settings of the demo: none, so that those of folders above do not count.\n")
    return folder
