"""`onetake demo`: the whole flow with a real small model, every claim checked while it is made."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from onetake import modes
from onetake.cli import output
from onetake.errors import UsageError
from onetake.exits import Exit

_SETTINGS = "onetake.toml"


@click.command()
@click.option("--keep", metavar="DIR", help="Work in DIR, new or empty, and leave everything there.")
@click.option("--no-model", is_flag=True, help="Ask a scripted provider, even where the real model is installed.")
@output.json_option()
@click.pass_context
def demo(context: click.Context, keep: str | None, no_model: bool, as_json: bool) -> None:
    """Record, refuse and replay with a real small model, every claim checked.

    It asks the model on this machine about 12 log lines, stops it, and replays the answers. Exit code 1 where anything
    that it says was not so in this run.
    """
    _check_openai()
    if modes.sealed_by_environment():
        raise UsageError("ONETAKE_MODE=none forbids live calls, and the demo records: unset it")
    from onetake.cli.demo_story import Report, conclude, tell  # loads the engine, which no other command needs

    report = Report(as_json=as_json)
    with _workplace(keep) as folder:
        tell(folder, report, real=not no_model)
    conclude(folder if keep else None, report)
    if as_json:
        kept = output.json_path(folder) if keep else None
        output.print_json({**report.figures, "kept": kept, "failed": report.failed, "verified": not report.failed})
    context.exit(Exit.FINDINGS if report.failed else Exit.OK)


def _check_openai() -> None:
    """Import the SDK now, so that no measurement has its import in it."""
    try:
        import openai  # noqa: F401
    except ImportError:
        raise UsageError("onetake demo asks through the openai SDK: pip install openai") from None


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
