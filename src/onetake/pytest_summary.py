"""What a run says at its end: one line of counts, what the live calls took, and what nothing else tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from onetake import modes, prices, pytest_legacy, pytest_usage, pytest_vcr_notes
from onetake.model import Mode
from onetake.printable import counted
from onetake.pytest_fixtures import FIXTURES
from onetake.pytest_items import told
from onetake.pytest_reports import OUTCOME, SECTION
from onetake.pytest_scopes import SCOPES

STRAY = "onetake_stray"
"""The attribute of a report that says which hosts of models its unmarked test reached."""

_OTHERS = {"fixture": FIXTURES, "use_cassette": SCOPES}
"""What opens sessions besides tests, and the attribute of a report that holds their outcomes."""
_LATE = "onetake_late"
"""What a worker's output holds of calls that came after their test had been reported."""
_SCREEN = 30
"""Lines of details; -v shows all."""
_MOST_STRAYS = 8
_SUMMED = ("recorded", "replayed", "replaced", "moved to the trash")
_MENDING = {
    Mode.NEW_EPISODES: "asks only that; after an edited prompt the old entries stay beside the new ones, unused",
    Mode.ALL: "asks all requests of these tests anew; old entries of a test's own cassette go to the trash",
}
"""What mends a run in which several tests miss something, and how these differ."""
_WIDER = "open a cassette around that call with onetake.use_cassette"
_results = pytest.StashKey["Results"]()


@dataclass(slots=True, eq=False)  # pluggy hashes plugins
class Results:
    """What is known of a run, merged over its workers; a plugin, in every process of the run."""

    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What became of each session, by its number; see `RunningTest.outcome`."""
    strays: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Which unmarked tests reached a model, by their number; see `Strays`."""
    late: list[dict[str, str]] = field(default_factory=list)
    """Refusals of calls that came after their test had been reported: its id, and the refusal's class and text."""
    crashed: int = 0
    """Workers that ended before they had told all."""
    failing: list[str] = field(default_factory=list)
    """Why the run fails although no test of it did, one line each."""
    _sections: dict[str, list[str]] = field(default_factory=dict)
    _runs: dict[tuple[str, str], str] = field(default_factory=dict)
    _earlier_live: list[dict[str, Any]] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in what a report tells, of this process or of a worker."""
        said = vars(report)
        if OUTCOME in said:
            self._drop_earlier_try((report.nodeid, said[OUTCOME]["worker"]), said[OUTCOME]["run"])
            self.outcomes[said[OUTCOME]["run"]] = said[OUTCOME]
        for kind, name in _OTHERS.items():
            for outcome in said.get(name, ()):
                self.outcomes[outcome["run"]] = {**outcome, "kind": kind}
        if STRAY in said:
            self.strays[said[STRAY]["run"]] = said[STRAY]
        if report.passed or report.skipped:  # a failure's sections stand below it, and those of a try say nothing
            found = [text for title, text in report.sections if title == SECTION]
            name = said[OUTCOME]["test"] if OUTCOME in said else report.nodeid
            self._sections.setdefault(name if OUTCOME in said else report.nodeid, []).extend(found)

    def _drop_earlier_try(self, test: tuple[str, str], run: str) -> None:
        """Count a test that was tried again for what became of it in the end; only its live calls were paid for.

        Args:
            test: Its id and the worker that ran it: `--dist=each` has every worker run every test.
            run: The number of its session.
        """
        before, self._runs[test] = self._runs.get(test, run), run
        if before != run:
            self._earlier_live.append(self.outcomes.pop(before)["live"])

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """Take in what a worker knows at its end; one that crashed knows nothing."""
        self.late += (getattr(node, "workeroutput", None) or {}).get(_LATE, ())
        self.crashed += error is not None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run in which a call came after its test had been reported: no test is left that could fail."""
        for test in session.config.stash.get(told, ()):
            self.late += [{"test": test.name, "class": one.class_name, "text": str(one)} for one in test.late]
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_LATE] = self.late
        if self.late:
            self.failing.append("a call after the end of its test: this fails the run")
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Print the summary."""
        verbosity = config.get_verbosity()
        details = _on_a_screen(list(self._details(config)), everything=verbosity > 0)
        counts = self.counts(config)
        failing = [*self.failing, *pytest_legacy.failing(config), *pytest_usage.usage_report(config).failing]
        if not self.outcomes and not details and not failing:
            return
        told = bool(details or failing)
        happened = told or any(number for word, number in counts.items() if word not in ("replayed", "tests"))
        if verbosity < 0 and not happened:
            return
        texts = list(filter(None, (_in_words(counts) or self._idle(), self._live())))
        if not told:
            if texts:
                terminalreporter.write_line(f"onetake: {'; '.join(texts)}")
            return
        terminalreporter.section(SECTION)
        for text in texts:
            terminalreporter.line(text)
        for block in details:
            terminalreporter.line(block, yellow=True)
        for text in failing:
            terminalreporter.line(text, red=True)

    def counts(self, config: pytest.Config) -> dict[str, int]:
        """Return how many sessions there were, and what became of their calls and entries."""
        outcomes = self.outcomes.values()
        unused = pytest_usage.usage_report(config).as_json()["unused"]
        refused = sum(len(_refused(outcome)) for outcome in outcomes) + len(self.late)
        return {
            "tests": sum("kind" not in outcome for outcome in outcomes),
            **{word: sum(outcome[word] for outcome in outcomes) for word in _SUMMED},
            "rejected": sum(len(outcome["rejected"]) for outcome in outcomes),
            "refused": refused + sum(stray["refused"] for stray in self.strays.values()),
            "kept aside": sum(outcome["kept aside"] for outcome in outcomes),
            "unused": sum(len(one["entries"]) for one in unused),
        }

    @property
    def spent(self) -> dict[str, Any]:
        """What all live calls took; see `prices.spent`."""
        return prices.together([*self._earlier_live, *(outcome["live"] for outcome in self.outcomes.values())])

    def _idle(self) -> str:
        """Say that tests asked for nothing; of one that failed or was skipped, that means nothing."""
        idle = sum("kind" not in outcome and outcome["outcome"] == "passed" for outcome in self.outcomes.values())
        return f"{counted(idle, 'test')} with a cassette asked for nothing" if idle else ""

    def _live(self) -> str:
        return prices.in_words(self.spent)

    def _details(self, config: pytest.Config) -> Iterator[str]:
        """Yield what a person should know and no failing test tells, each thing once, what matters most first."""
        yield from pytest_vcr_notes.first(config)
        yield from (f"{one['test']}: after its end: {one['text']}" for one in self.late)
        if self.crashed:
            yield f"{counted(self.crashed, 'worker')} crashed: what their last tests did is not counted here"
        yield from self._refused_everywhere(config)
        for outcome in self.outcomes.values():
            yield from (f"{outcome['test']}: {remark}" for remark in outcome["remarks"])
        yield from self._asked_anew()
        yield from pytest_legacy.lines(config)
        for name, texts in self._sections.items():
            yield from (f"{name}: {text}" for text in texts)
        yield from self._strays()
        yield from pytest_usage.usage_report(config).lines()
        yield from pytest_vcr_notes.lines(config)

    def _refused_everywhere(self, config: pytest.Config) -> Iterator[str]:
        """Say once how all the tests that miss something are mended by recording; one test alone says it itself."""
        failed = [outcome for outcome in self.outcomes.values() if outcome["outcome"] == "failed"]
        missing = {outcome["run"]: sum(one["recordable"] for one in _refused(outcome)) for outcome in failed}
        found = [outcome for outcome in failed if missing[outcome["run"]]]
        if len({outcome["test"] for outcome in found}) < 2:
            return
        number, refused = sum(missing.values()), self.counts(config)["refused"]
        of_them = "requests refused" if number == refused else f"of the {refused} refused requests miss an answer"
        first = "unset ONETAKE_MODE, then " if modes.sealed_by_environment() else ""
        pytest_again = (
            f"{first}{modes.pytest_command()} {'--lf ' if config.pluginmanager.has_plugin('cacheprovider') else ''}"
        )
        fixed = {outcome["mode_by"] for outcome in found} & {*modes.VCR_PLACES}
        yield "\n".join(
            [
                f"{number} {of_them} in {_who(found)}, which say why; to record what is missing or stale:",
                *(f"  take record_mode out of {place} first: it goes before --record-mode" for place in sorted(fixed)),
                *(f"  {pytest_again}--record-mode={mode} ({effect})" for mode, effect in _MENDING.items()),
            ]
        )

    def _asked_anew(self) -> Iterator[str]:
        """Say what tests asked anew although they have entries: once for all whose requests differ in one place."""
        alike: dict[tuple[str, bool, str], list[dict[str, Any]]] = {}
        for outcome in self.outcomes.values():
            if anew := outcome["anew"]:
                alike.setdefault((anew["places"], anew["in_all"], anew["mend"]), []).append(outcome)
        if not alike:
            return
        from onetake.changing import Anew  # with the engine: only after sessions

        for where, found in alike.items():
            new, played = (sum(outcome["anew"][word] for outcome in found) for word in ("new", "played"))
            name = found[0]["test"] if len({outcome["test"] for outcome in found}) == 1 else _who(found)
            yield f"{name}: {Anew(new, played, *where)}"

    def _strays(self) -> Iterator[str]:
        """Name the tests that reached a model and were let through; one that was refused says so itself."""
        reached = [stray for stray in self.strays.values() if not stray["refused"]]
        unmarked = [_stray(stray) for stray in reached if not stray["marked"]]
        if len(unmarked) == 1:
            yield f"1 unmarked test reached a model host: {unmarked[0]}: mark it with @pytest.mark.cassette"
        elif unmarked:
            head = f"{len(unmarked)} unmarked tests reached a model host; mark them with @pytest.mark.cassette:"
            more = len(unmarked) - _MOST_STRAYS
            rest = [f"and {more} more"] if more > 0 else []
            yield "\n  ".join([head, *unmarked[:_MOST_STRAYS], *rest])
        for stray in reached:
            if stray["marked"]:
                yield f"{_stray(stray)}: reached a model host outside its session: {_WIDER}"


def results_of(config: pytest.Config) -> Results:
    """Return what is known of a run; the plugin that collects it is registered when this is first asked for."""
    if _results not in config.stash:
        config.stash[_results] = Results()
        config.pluginmanager.register(config.stash[_results], "onetake-summary")
    return config.stash[_results]


def _refused(outcome: dict[str, Any]) -> list[dict[str, Any]]:
    return [refusal for refusal in outcome["refusals"] if not refusal["expected"]]


def _in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number and word != "tests")


def _who(outcomes: Sequence[dict[str, Any]]) -> str:
    """Say how many tests, and fixtures of a wider scope, sessions belong to."""
    fixtures = {outcome["test"] for outcome in outcomes if outcome.get("kind") == "fixture"}
    tests = {outcome["test"] for outcome in outcomes} - fixtures
    return " and ".join(counted(len(of), word) for of, word in ((tests, "test"), (fixtures, "fixture")) if of)


def _stray(stray: dict[str, Any]) -> str:
    hosts = ", ".join(f"{host}, {counted(calls, 'call')}" for host, calls in sorted(stray["hosts"].items()))
    return f"{stray['test']} ({hosts})"


def _on_a_screen(blocks: Sequence[str], *, everything: bool) -> list[str]:
    """Return blocks of lines without what was said before, as many as fit a screen, and how many do not."""
    unique = list(dict.fromkeys(blocks))
    shown: list[str] = []
    lines = 0
    for block in unique:
        lines += block.count("\n") + 1
        if shown and lines > _SCREEN and not everything:
            left = len(unique) - len(shown)
            return [*shown, f"and {left} more; -v shows all, and --onetake-report=FILE keeps them"]
        shown.append(block)
    return shown
