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
from onetake.model import Mode
from onetake.printable import block

if TYPE_CHECKING:
    from onetake.options import Options
    from onetake.session_run import SessionRun
    from onetake.steps import Policy

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


def options_of(program: Program, cassette: str | Path | None, **asked: Any) -> Options:
    """Return what a program's session is asked for.

    Args:
        program: The program.
        cassette: The cassette, if it is given; else `ONETAKE_CASSETTE` counts, then `cassettes/<the program's name>`.
        asked: The rest of `Options`.
    """
    from onetake.options import FromOutside
    from onetake.stores.naming import folder_name

    name = cassette or os.environ.get(VARIABLE) or f"cassettes/{folder_name(program.name)}"
    return FromOutside(name=name, is_program=True, **asked)


def session_of(program: Program, cassette: str | Path | None, **asked: Any) -> SessionRun:
    """Make a program's session; it is not open yet.

    Args:
        program: The program.
        cassette: As for `options_of`.
        asked: As for `options_of`.

    Raises:
        UsageError: An option or the settings are wrong.
    """
    from onetake.session_run import SessionRun
    from onetake.settings import load_settings

    return SessionRun(options_of(program, cassette, **asked), load_settings(program.start), Mode.NEW_EPISODES)


def check_shared(here: Policy, **asked: Any) -> None:
    """Refuse what a program asks for where a session is open that does not go by it: it would be dropped.

    The mode is not looked at: whoever opens a session says it for all. Nor are contracts where nothing is recorded: a
    child process may have been given none that it could judge.

    Args:
        here: What the open session goes by.
        asked: What is asked for, of `Options`; None and () ask for nothing.

    Raises:
        UsageError: It goes by something else, or a value is wrong.
    """
    given = {name: value for name, value in asked.items() if name != "mode" and value is not None and value != ()}
    if not given or reads_nothing(here.mode):
        return
    from onetake.options import Options, policy_of
    from onetake.settings import load_settings

    ours, theirs = _effects(policy_of(Options(".", **given), load_settings(here.root), here.mode)), _effects(here)
    unlooked = () if records(here.mode) else ("contract", "schema_version")
    lost = [name for name in given if name not in unlooked and not _is_in(ours[name], theirs[name])]
    if lost:
        raise UsageError(
            f"install: a session is open here already, and it does not go by this program's {', '.join(lost)}: say that"
            " in the settings, where both read it, or to what opened the session (the test's marker, onetake run)"
        )


def _effects(policy: Policy) -> dict[str, Any]:
    """Return what a session goes by, under the names of the options that say it."""
    contracts = frozenset((one.name, one.schema_version, one.digest) for one in policy.contracts)
    return {
        "contract": contracts,
        "schema_version": contracts,
        "repeats": policy.repeats,
        "keep": frozenset(policy.keep),
        "on_reject": policy.on_reject,
        "key": policy.keyer.spec(),
        "max_age": policy.max_age,
        **policy.traffic.said,
    }


def _is_in(ours: Any, theirs: Any) -> bool:
    return bool(ours <= theirs if isinstance(ours, frozenset) else ours == theirs)


def check_children_judge(run: SessionRun) -> None:
    """Refuse a contract by which the processes of a program could judge no new answer.

    Raises:
        UsageError: The session records, and a contract is more than a schema.
    """
    types = [contract.name for contract in run.contracts if contract.is_type]
    if types and records(run.session.mode):
        raise UsageError(
            f"contract {types[0]!r} is a type, which cannot judge in the processes of a program: declare it with a"
            " schema file, or give it to a use_cassette in the program"
        )


@dataclass(frozen=True, slots=True)
class Ending:
    """What a program's session came to.

    Args:
        cassette: What messages call its cassette.
        mode: Its mode.
        counts: How many calls were `recorded` and `replayed`, how many answers were `rejected` or `unstored`, and how
            many calls were `refused`, or `failed` at the provider, in the end.
        refusals: Those that nobody expected or handled, each text once, with how often it was said.
        shown: The texts of those that were said in full when they happened, where the end is said too.
        notes: What was said that is no refusal.
        joined: Whether any Python process was part of it.
        code: What the program must end with because of them; 0 where its own code stands.
    """

    cassette: str
    mode: Mode
    counts: dict[str, int]
    refusals: dict[str, int]
    shown: frozenset[str]
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
        whole = told or "nothing was recorded, replayed or refused"
        said = [f"{self.cassette} ({self.mode.value}): {whole}", *self._refusals()]
        return block("".join(f"onetake: {one}\n" for one in said))

    def _refusals(self) -> Iterator[str]:
        lines = 0
        for number, (text, times) in enumerate(self.refusals.items()):
            said = text.partition("\n")[0] if text in self.shown else text
            lines += 1 + said.count("\n")
            if number and lines > _SCREEN:
                yield f"and {len(self.refusals) - number} more that differ; each was said when it happened"
                return
            yield f"{f'{times} times: ' if times > 1 else ''}{said}"


_UNJOINED = (
    "no Python process joined the session, so nothing was {}: the command is no Python, or it starts one with -S, or"
    " with an environment of its own"
)
_WORDS = {
    "recorded": ("recorded", "recorded"),
    "replayed": ("replayed", "replayed"),
    "rejected": ("answer refused", "answers refused"),
    "unstored": ("answer not stored", "answers not stored"),
    "refused": ("call refused", "calls refused"),
    "failed": ("call failed, nothing kept of it", "calls failed, nothing kept of them"),
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
    return _ending(run, left, joined=is_program or run.account.was_joined)


def so_far(run: SessionRun) -> Ending:
    """Say what a program's session has come to, in the program's own process, while it goes on."""
    return _ending(run, list(run.ledger.open), joined=True)


def _ending(run: SessionRun, left: Sequence[OnetakeError], *, joined: bool) -> Ending:
    tally, refused = run.account.tally, run.session.refusals
    counted = {name: len(getattr(tally, name)) for name in ("recorded", "replayed", "rejected", "failed")}
    unstored = len(tally.unstored) + sum(isinstance(one, NotStored) for one in refused)
    calls = sum(not isinstance(one, NotStored | ContractError) for one in refused)
    texts = [str(one) for one in left]
    return Ending(
        cassette=run.place,
        mode=run.session.mode,
        counts={**counted, "unstored": unstored, "refused": calls},
        refusals={text: texts.count(text) for text in texts},
        shown=frozenset(str(one) for one in left if isinstance(one, Refusal) and run.ledger.is_shown(one)),
        notes=tuple(tally.notes),
        joined=joined,
        code=max((one.exit_code for one in left if run.fails or not isinstance(one, Refusal)), default=0),
    )
