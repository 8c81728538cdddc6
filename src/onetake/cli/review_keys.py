"""A review in a terminal: each change is shown, and one key decides about it."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from onetake.cli import output
from onetake.cli.review_shown import facts, heading, sections, tried
from onetake.cli.show import print_entry
from onetake.exits import Exit
from onetake.model import Mode
from onetake.printable import counted
from onetake.review.change import Change, Changes, Kind
from onetake.review.decided import Decided, no
from onetake.review.deciding import accept, discard, sweep_up
from onetake.review.editing import Draft, draft_of, edited, sweep_drafts
from onetake.review.reading import Read, Reader
from onetake.upkeep import mends
from onetake.upkeep.askers import asker

_MOST_LINES = 30
"""Lines of one part that are shown; `v` shows all."""
_KEYS = "a accept, d discard, r record again, e edit, s skip, v view, q quit, ? help"
_HELP = """\
a  accept: it is right as it is. What waits for its test goes into the cassette; a reject is kept, as `keep` would
   have kept it. Otherwise nothing is written into the entry: it is not asked about again until it changes.
d  discard: what is new, waits or was refused goes to the trash; of what was recorded again, moved or is gone, the
   bytes that git has come back, and those of now go to the trash.
r  record again: nothing is changed; the command that asks the provider again is told at the end.
e  edit the response in your editor ($VISUAL, $EDITOR): the answer is derived from it, and the gate judges it.
s  skip: nothing is changed; the next review asks again.
v  view all of the entry.
q  quit; what was decided stays decided. So it does on Ctrl-C."""


def ask(found: Changes, reader: Reader, summary: Sequence[str], *, show_all: bool) -> Exit:
    """Ask about each change, and do what is said.

    Args:
        found: What there is to review.
        reader: Reads it.
        summary: What to say of it first.
        show_all: True asks about what was accepted before, too.

    Returns:
        The exit code: `INTERRUPTED` where Ctrl-C ended it.
    """
    for line in summary:
        output.say(line)
    open_ones = [one for one in found.found if show_all or not one.is_accepted]
    asking = _Asking(found, reader, len(open_ones))
    try:
        for number, change in enumerate(open_ones, 1):
            if not asking.about(change, number):
                break
    except (KeyboardInterrupt, EOFError):
        output.say()
        asking.end()
        output.say("interrupted: what was decided stays decided")
        return Exit.INTERRUPTED
    asking.end()
    return Exit.OK


class _Asking:
    """One review: what was decided so far."""

    def __init__(self, found: Changes, reader: Reader, total: int) -> None:
        self._found = found
        self._reader = reader
        self._total = total
        self._done: Counter[str] = Counter()
        self._again: dict[Mode, list[Read]] = {}
        self._changed: list[Read] = []
        self._over: list[Change] = []

    def about(self, change: Change, number: int) -> bool:
        """Ask about one change until something is decided; False where the review is to end."""
        read = self._show(change, number)
        while True:
            match _key(f"[{number}/{self._total}] {_KEYS} > "):
                case "a" if self._decided("accepted", accept(read, self._found.base)):
                    self._over.append(change)
                    return True
                case "d" if self._decided("discarded", discard(read, self._found.base)):
                    self._changed.append(read)
                    self._over.append(change)
                    return True
                case "r" if self._record_again(read):
                    return True
                case "e" if self._edit(read):
                    self._changed.append(read)
                    if change.kind is Kind.REJECT:
                        return True
                    read = self._show(change, number)
                case "s":
                    return self._decided("skipped", Decided(True, "skipped"))
                case "v":
                    _view(read)
                case "q":
                    return False
                case "?":
                    output.say(_HELP)

    def end(self) -> None:
        """Sweep up, and say what was decided, and how to record again what is to be."""
        sweep_up(self._changed)
        sweep_drafts(self._found, self._over)
        kinds = ("accepted", "discarded", "edited", "to be recorded again", "skipped")
        said = ", ".join(f"{self._done[kind]} {kind}" for kind in kinds if self._done[kind])
        output.say(f"{counted(self._total, 'change')}: {said or 'nothing decided'}")
        for mode, reads in self._again.items():
            tests = [(asker(read.change.path, _test(read)), read.change.path.parent) for read in reads]
            output.say(f"to record again: {mends.record_all(tests, mode)}")

    def _show(self, change: Change, number: int) -> Read:
        read = self._reader.read(change)
        output.say()
        output.title(f"[{number}/{self._total}] {heading(read.change)}")
        output.fields(facts(read))
        for section in sections(read):
            output.title(section.name)
            for line in section.lines[:_MOST_LINES]:
                output.say(f"  {line}")
            if len(section.lines) > _MOST_LINES:
                output.say(f"  … and {len(section.lines) - _MOST_LINES} more lines: v shows all")
        return read

    def _decided(self, kind: str, decided: Decided) -> bool:
        output.say(decided.said if decided.is_done else f"not done: {decided.said}")
        self._done[kind] += decided.is_done
        return decided.is_done

    def _record_again(self, read: Read) -> bool:
        """Note what is to be asked again: of what is stored all that its test asks, else only what is missing."""
        if read.entry is None:
            return self._decided("", no("what cannot be read does not say which test recorded it"))
        mode = Mode.NEW_EPISODES if read.change.kind in (Kind.GONE, Kind.REJECT) else Mode.ALL
        self._again.setdefault(mode, []).append(read)
        return self._decided(
            "to be recorded again", Decided(True, mends.record_again(read.entry, mode, read.change.path))
        )

    def _edit(self, read: Read) -> bool:
        try:
            draft = draft_of(read)
            if not isinstance(draft, Draft):
                return self._decided("edited", draft)
            with _interrupts_for_the_editor():
                click.edit(filename=str(draft.path))
        except (click.ClickException, OSError) as error:
            return self._decided("edited", no(str(error)))
        return self._decided("edited", edited(read, draft))


@contextmanager
def _interrupts_for_the_editor() -> Iterator[None]:
    """Let Ctrl-C be the editor's alone while it runs: it reaches every process of the terminal.

    It is handled, and not ignored: an editor would be started with what is ignored here.
    """
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _test(read: Read) -> object:
    return read.entry.provenance.get("test") if read.entry else None


def _view(read: Read) -> None:
    if (entry := read.entry) is not None:
        tried(lambda: print_entry(read.change.path, entry), lambda why: output.say(f"cannot be shown: {why}"))


def _key(prompt: str) -> str:
    """Ask for one key. What was typed before the prompt was there counts for nothing."""
    click.echo(prompt, nl=False)
    key = click.getchar()
    click.echo(key if key.isprintable() and len(key) == 1 else "")
    return key
