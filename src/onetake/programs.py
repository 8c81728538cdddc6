"""A program's session: what the program is called, how its session opens, and what is said of it at the end.

Light until a session is made: a Python whose environment names a cassette asks here whether it is switched by that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from onetake.decide import never_goes_live, reads_nothing, records
from onetake.errors import ContractError, NotStored, OnetakeError, Refusal, UsageError
from onetake.model import Mode, Repeats
from onetake.printable import block

if TYPE_CHECKING:
    from onetake.options import Options
    from onetake.session_run import SessionRun
    from onetake.settings import Settings

VARIABLE = "ONETAKE_CASSETTE"
"""The environment variable that names a program's cassette."""

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?(?:\.exe)?", re.IGNORECASE)
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
"""Options of Python that take the next word."""
_SCREEN = 40
"""Lines of refusals that are shown at the end; the first is shown whole, however long."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program, by its command line.

    Args:
        name: What its cassette is called where nobody gives another name.
        file: Its main file, from which settings are looked for; None where that is not known.
    """

    name: str
    file: Path | None = None

    @property
    def start(self) -> Path:
        """Where the search for its settings starts."""
        return self.file.absolute() if self.file is not None else Path.cwd()


def program_of(command: Sequence[str]) -> Program:
    """Return which program a command line runs.

    Args:
        command: `python app.py …`, `python -m package`, `app.py …` or any other; at least one word.

    Returns:
        The file's or module's name and, for a Python file, the file.
    """
    name = _name(command[0])
    if not _PYTHON.fullmatch(_base(command[0])):
        return Program(name, Path(command[0]) if command[0].endswith(".py") else None)
    words = iter(command[1:])
    for word in words:
        if word in _WITH_VALUE:
            next(words, None)
        elif word.startswith("-m"):
            return Program(word[2:] or next(words, name))
        elif word == "-" or word.startswith("-c"):
            break
        elif not word.startswith("-"):
            return Program(_name(word), Path(word))
    return Program(name)


def _base(word: str) -> str:
    return re.split(r"[/\\]", word)[-1]


def _name(word: str) -> str:
    return PurePath(_base(word)).stem


def options_of(
    program: Program, settings: Settings, cassette: str | Path | None, repeats: Repeats | str | None, **others: Any
) -> Options:
    """Return what a program's session is asked for.

    Args:
        program: The program.
        settings: Its settings.
        cassette: The cassette, if it is given; else `ONETAKE_CASSETTE` counts, then `cassettes/<the program's name>`.
        repeats: If it is given; else the settings count, then `same`.
        others: More of `Options`.
    """
    from onetake.options import Options
    from onetake.stores.naming import folder_name

    name = cassette or os.environ.get(VARIABLE) or f"cassettes/{folder_name(program.name)}"
    return Options(name=name, repeats=repeats or settings.repeats or Repeats.SAME, **others)


def session_of(
    program: Program, cassette: str | Path | None, repeats: Repeats | str | None, **others: Any
) -> SessionRun:
    """Make a program's session; it is not open yet.

    Args:
        program: The program.
        cassette: As for `options_of`.
        repeats: As for `options_of`.
        others: More of `Options`.

    Raises:
        UsageError: An option or the settings are wrong.
    """
    from onetake.session_run import SessionRun
    from onetake.settings import load_settings

    settings = load_settings(program.start)
    return SessionRun(options_of(program, settings, cassette, repeats, **others), settings, Mode.NEW_EPISODES)


def check_children_judge(run: SessionRun) -> None:
    """Refuse a contract by which the processes of a program could judge no new answer.

    Raises:
        UsageError: The session records, and a contract is more than a schema.
    """
    types = [contract.name for contract in run.contracts if contract.is_type]
    if types and records(run.session.mode):
        raise UsageError(
            f"contract {types[0]!r} is a type, which cannot judge in the processes of a program: declare it with a"
            " schema file, or name it in the program (use_cassette, install)"
        )


@dataclass(frozen=True, slots=True)
class Ending:
    """What a program's session came to.

    Args:
        cassette: What messages call its cassette.
        mode: Its mode.
        counts: How many calls were `recorded` and `replayed`, how many answers were `rejected` or `unstored`, and how
            many calls were `refused`.
        refusals: Those that nobody expected or handled, each text once, with how often it was said.
        notes: What was said that is no refusal.
        joined: Whether any Python process was part of it.
        code: What the program must end with because of them; 0 where its own code stands.
    """

    cassette: str
    mode: Mode
    counts: dict[str, int]
    refusals: dict[str, int]
    notes: tuple[str, ...]
    joined: bool
    code: int

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON document."""
        refusals = [{"text": text, "times": times} for text, times in self.refusals.items()]
        told = {"cassette": self.cassette, "mode": self.mode.value, "joined": self.joined, **self.counts}
        return {**told, "refusals": refusals, "notes": list(self.notes)}

    @property
    def was_unsealed(self) -> bool:
        """Whether a session that never goes live had no process in it, so that the program was as free as ever."""
        return never_goes_live(self.mode) and not self.joined

    def text(self) -> str:
        """Return what a person is told: lines, safe for a terminal."""
        if reads_nothing(self.mode):
            told = "every call was live, nothing was read or written"
        elif not self.joined:
            told = _UNJOINED.format("sealed" if never_goes_live(self.mode) else "recorded or replayed")
        else:
            told = ", ".join(_counted(self.counts[name], *words) for name, words in _WORDS.items() if self.counts[name])
        said = [f"{self.cassette} ({self.mode.value}): {told or 'no model call was made'}", *self._refusals()]
        return block("".join(f"onetake: {one}\n" for one in said))

    def _refusals(self) -> Iterator[str]:
        lines = 0
        for number, (text, times) in enumerate(self.refusals.items()):
            lines += 1 + text.count("\n")
            if number and lines > _SCREEN:
                yield f"and {len(self.refusals) - number} more that differ; each was said when it happened"
                return
            yield f"{f'{times} times: ' if times > 1 else ''}{text}"


_UNJOINED = (
    "no Python process joined the session, so nothing was {}: the command is no Python, or it starts one with -I, -E or"
    " -S, or with an environment of its own"
)
_WORDS = {
    "recorded": ("recorded", "recorded"),
    "replayed": ("replayed", "replayed"),
    "rejected": ("answer refused", "answers refused"),
    "unstored": ("answer not stored", "answers not stored"),
    "refused": ("call refused", "calls refused"),
}


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def end(run: SessionRun, error: BaseException | None, *, is_program: bool) -> Ending:
    """Close a program's session, and say what it came to.

    Args:
        run: The session.
        error: What ended the program, if it did not end well.
        is_program: True in the program's own process, False in one that only started it.
    """
    run.close()
    left: list[OnetakeError] = list(run.ledger.open)  # before one is raised, and caught by its name
    try:
        run.settle(error)
    except Refusal:
        pass  # it is the first of those
    except OnetakeError as fault:
        left.append(fault)
    tally, refused = run.tally, run.session.refusals
    counted = {"recorded": len(tally.recorded), "replayed": len(tally.replayed), "rejected": len(tally.rejected)}
    unstored = sum(isinstance(one, NotStored) for one in refused)
    calls = sum(not isinstance(one, NotStored | ContractError) for one in refused)
    texts = [str(one) for one in left]
    return Ending(
        cassette=run.place,
        mode=run.session.mode,
        counts={**counted, "unstored": unstored, "refused": calls},
        refusals={text: texts.count(text) for text in texts},
        notes=tuple(tally.notes),
        joined=is_program or run.was_joined,
        code=max((one.exit_code for one in left if run.fails or not isinstance(one, Refusal)), default=0),
    )
