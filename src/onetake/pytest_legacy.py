"""`match = "legacy"` under pytest: which tests still get answers to other requests, and a number that may only fall."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from onetake import legacy_book, modes
from onetake.errors import OnetakeError
from onetake.printable import counted, sides
from onetake.pytest_reports import OUTCOME
from onetake.pytest_whole import selection
from onetake.settings import Settings, load_settings
from onetake.settings_files import nearest_file

_SHOWN = 3
"""Requests of one test that are shown; the report file has all."""
_GROWN = 5
_MARKS = ("cassette", "vcr")
"""What a test is marked with that has a session."""
_watch = pytest.StashKey["LegacyWatch"]()


@dataclass(slots=True)
class _Seen:
    """What a run saw of one test: of all sessions that have its name."""

    outcomes: set[str] = field(default_factory=set)
    """`passed`, `failed`, `skipped`."""
    by_url: bool = False
    """Whether any session went by vcrpy's rule."""
    answered: int = 0
    """Answers that came from an entry, or became one: only these tell how many differ."""
    differing: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether it ran to its end, so that nothing more differs."""
        return self.outcomes == {"passed"}

    @property
    def number(self) -> int:
        """How many answers went to other requests."""
        return sum(bool(one["counts"]) for one in self.differing)

    @property
    def is_clean(self) -> bool:
        """Whether strict matching gives it the same answers."""
        return all(one["kinds"] == ["only bytes"] for one in self.differing)


def watch(
    config: pytest.Config, outcomes: Mapping[str, Mapping[str, Any]], crashed: Callable[[], int] = lambda: 0
) -> None:
    """Begin to watch; a worker of pytest-xdist tells by its reports, and knows no more.

    Args:
        config: Of the run.
        outcomes: What became of each session so far; see `RunningTest.outcome`.
        crashed: Tells how many workers ended before they had told all.
    """
    if not hasattr(config, "workerinput"):
        config.stash[_watch] = LegacyWatch(config, outcomes, crashed)
        config.pluginmanager.register(config.stash[_watch], "onetake-legacy")


def lines(config: pytest.Config) -> Iterator[str]:
    """Yield what a run's summary says of legacy matching, once it has ended."""
    if (watching := config.stash.get(_watch, None)) is not None:
        yield from watching.lines()


def failing(config: pytest.Config) -> list[str]:
    """Return why legacy matching fails a run, one line each."""
    watching = config.stash.get(_watch, None)
    return watching.failing if watching is not None else []


class LegacyWatch:
    """Counts, at a run's end, the answers that went to other requests, and keeps their number from growing.

    Args:
        config: Of the run.
        outcomes: What became of each session.
        crashed: Tells how many workers ended before they had told all.
    """

    def __init__(
        self, config: pytest.Config, outcomes: Mapping[str, Mapping[str, Any]], crashed: Callable[[], int]
    ) -> None:
        self._config = config
        self._outcomes = outcomes
        self._crashed = crashed
        self._seen: dict[Path, dict[str, _Seen]] = {}
        self._tests: set[str] = set()
        """Those that ran, of all workers, and those that this process left out."""
        self._unbegun: set[str] = set()
        """Marked tests that failed before their session was open, of which no outcome tells."""
        self.failing: list[str] = []
        """Why the run fails, one line each."""
        self._said: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test, and a marked one that failed before its session was open: in a fixture of its suite, say."""
        if report.when != "setup":
            return
        self._tests.add(report.nodeid)
        self._unbegun.discard(report.nodeid)
        if report.failed and OUTCOME not in vars(report) and any(word in report.keywords for word in _MARKS):
            self._unbegun.add(report.nodeid)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note tests that are there, and left out."""
        self._tests |= {item.nodeid for item in items}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge the number, write down what fell, and fail the run where it grew."""
        for outcome in self._outcomes.values():
            self._see(outcome)
        for root, tests in self._seen.items():
            if any(one.by_url for one in tests.values()) or (root / legacy_book.NAME).exists():
                self._conclude(root, tests, is_whole=self._is_whole(session))
        if self.failing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def lines(self) -> Iterator[str]:
        """Yield what the summary says: what differed, test by test, and what became of the number."""
        for tests in self._seen.values():
            seen = {name: one for name, one in tests.items() if one.by_url}
            if seen:
                yield _total(seen)
                yield from (_told(name, one) for name, one in seen.items() if one.number)
        yield from self._said

    def _see(self, outcome: Mapping[str, Any]) -> None:
        root = Path(outcome["usage"]["root"])
        one = self._seen.setdefault(root, defaultdict(_Seen))[outcome["test"]]
        one.outcomes.add(outcome["outcome"])
        one.by_url = one.by_url or bool(outcome["legacy"])
        one.answered += outcome["answered"]
        one.differing += outcome["legacy"].get("differing", ())

    def _is_whole(self, session: pytest.Session) -> bool:
        """Tell whether all tests ran, passed or not: only then what is not seen is not there."""
        ended = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        stopped = session.shouldstop or session.shouldfail or self._crashed()
        return bool(ended and not stopped and not selection(self._config))

    def _conclude(self, root: Path, tests: Mapping[str, _Seen], *, is_whole: bool) -> None:
        try:
            settings = load_settings(root)
            known = legacy_book.read(root)
        except OnetakeError as error:
            self.failing.append(str(error))
            return
        if settings.match != "legacy":
            return
        gone = self._gone(settings, known.keys() - tests.keys(), is_whole=is_whole)
        now = {name: number for name, number in _numbers(known, tests).items() if name not in gone}
        total, limit, unknown = sum(now.values()), settings.legacy_differing, self._never_passed(root, known, tests)
        grown = [name for name, number in now.items() if number > known.get(name, 0 if limit is not None else number)]
        is_too_many = bool(grown) if limit is None else total > limit
        if is_too_many:
            self.failing.append(_too_many(total, limit, grown))
            now = _not_grown(now, known)
        answered = any(one.answered for one in tests.values())
        falls = is_whole and answered and not is_too_many and (limit is None or total < limit)
        if modes.in_ci():
            if falls and limit is not None and not unknown:
                self._said.append(f"legacy_differing can fall from {limit} to {total}: a run outside CI writes it")
            return
        if falls and unknown:
            self._said.append(_unwritten(len(unknown), total))
        # A part of all tests is no reason to forget one whose source only looks as if it were gone.
        now |= {} if is_whole else {name: known[name] for name in gone}
        now = {name: number for name, number in now.items() if name not in unknown}
        self._write(root, settings, known, now, total if falls and not unknown else None)

    def _gone(self, settings: Settings, names: Iterable[str], *, is_whole: bool) -> set[str]:
        from onetake.pytest_present import Present
        from onetake.scrub import Scrubber  # only here: it is slow to load

        return Present(self._config, self._tests).gone(names, Scrubber(settings.scrub).begin().text, is_whole=is_whole)

    def _never_passed(self, root: Path, known: Mapping[str, int], tests: Mapping[str, _Seen]) -> set[str]:
        """Return the failing tests of a settings folder of which no run knows yet how many answers differ."""
        failed = {name for name, one in tests.items() if one.by_url and "failed" in one.outcomes}
        failed |= {name for name in self._unbegun if self._root_of(name) == root}
        return failed - known.keys()

    def _root_of(self, test: str) -> Path | None:
        with suppress(OnetakeError):
            if found := nearest_file(self._config.rootpath / test.partition("::")[0]):
                return found.path.parent
        return None

    def _write(
        self, root: Path, settings: Settings, known: dict[str, int], now: dict[str, int], total: int | None
    ) -> None:
        """Write down what is known of the tests by now and, of a whole run, the number that fell."""
        try:
            if now != known:
                legacy_book.write(root, now)
        except OSError as error:
            self._said.append(f"{legacy_book.NAME} cannot be written: {error.strerror or error}")
        if strict := [name for name, number in now.items() if not number and known.get(name) != 0]:
            tests = f"{counted(len(strict), 'test')} had no differing request"
            self._said.append(f"{tests}: from now on matched strictly ({legacy_book.NAME}; commit it)")
        if total is None:
            return
        from onetake.restating import restate  # only here: hardly any run writes it

        limit = settings.legacy_differing
        if restate(root, "legacy_differing", total, "match") is None:
            self._said.append(f"write legacy_differing = {total} beside match: it may only fall")
        else:
            was = f", it was {limit}" if limit is not None else ""
            end = '; every test that was seen is strict: match = "legacy" may go' if not any(now.values()) else ""
            self._said.append(f"legacy_differing is {total} now{was}{end}")


def _numbers(known: Mapping[str, int], tests: Mapping[str, _Seen]) -> dict[str, int]:
    """Return how many differ of each test by now; one that failed may have stopped before it asked for all."""
    now = dict(known)
    for name, one in tests.items():
        if not one.answered:
            continue  # all that it asked was let pass, or live: that tells nothing
        if not one.by_url:
            if one.passed and known.get(name):
                now[name] = 0  # it was recorded anew
        elif not one.passed:
            if one.number or name in known:
                now[name] = max(one.number, known.get(name, 0))
        elif one.number or one.is_clean:
            now[name] = one.number
        else:
            now.pop(name, None)
    return now


def _not_grown(now: Mapping[str, int], known: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers that may be written where there are too many: none that is new, and none that grew."""
    return {name: min(number, known.get(name, number)) for name, number in now.items() if name in known or not number}


def _too_many(total: int, limit: int | None, grown: Sequence[str]) -> str:
    names = ", ".join(grown[:_GROWN]) + (f" and {len(grown) - _GROWN} more" if len(grown) > _GROWN else "")
    allowed = f"legacy_differing allows {limit}" if limit is not None else f"{legacy_book.NAME} allows fewer"
    go = f"{counted(total, 'answer')} {'goes' if total == 1 else 'go'}"
    mend = "ask these anew, or put the requests back; a run of all tests takes off what tests had that are gone"
    what = f"{go} to requests that differ from the recorded ones, and {allowed}: their number may only fall"
    return f"{what}{f'; more in {names}' if names else ''}\n  to mend it: {mend}"


def _unwritten(unknown: int, total: int) -> str:
    what = f"{counted(unknown, 'test')} failed and never passed yet, so nobody knows what differs there"
    return f"{what}: legacy_differing is not written; by what is known it is {total}"


def _total(seen: Mapping[str, _Seen]) -> str:
    number = sum(one.number for one in seen.values())
    kinds = Counter(kind for one in seen.values() for each in one.differing if each["counts"] for kind in each["kinds"])
    how = f" ({', '.join(f'{kind} {times}' for kind, times in kinds.most_common())})" if kinds else ""
    tests = sum(bool(one.number) for one in seen.values())
    spelled = sum(one["kinds"] == ["only bytes"] for each in seen.values() for one in each.differing)
    rules = sum(one["kinds"] == ["key rules"] for each in seen.values() for one in each.differing)
    among = f"{tests} of {counted(len(seen), 'test')}"
    said = [f"legacy: {counted(number, 'answer')} went to requests that differ{how}, in {among}"]
    said += [f"{spelled} more only in bytes, which is the same request"] if spelled else []
    said += [f"{rules} more by the key rules alone, which `onetake rekey` mends"] if rules else []
    return "; ".join(said)


def _told(name: str, one: _Seen) -> str:
    counting = [each for each in one.differing if each["counts"]]
    shown = [f"{name}: {counted(len(counting), 'request')} differ{'s' * (len(counting) == 1)}"]
    for each in counting[:_SHOWN]:
        own = f"; its own answer is stored: {each['own']}" if each["own"] else ""
        shown.append(f"  {', '.join(each['kinds'])}: {each['asked']}{own}")
        shown += [
            f"    {sides(found['path'], found['asked'], found['stored'])}"
            for found in each["differences"][: len(each["kinds"])]
        ]
    if len(counting) > _SHOWN:
        shown.append(f"  and {len(counting) - _SHOWN} more")
    return "\n".join(shown)
