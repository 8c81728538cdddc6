"""What a run says at its end: one line of counts, what the live calls took, and what nothing else tells."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from onetake import prices, pytest_usage, pytest_vcr, session_run
from onetake.pytest_fixtures import FIXTURES
from onetake.pytest_items import shown_id, told
from onetake.pytest_reports import OUTCOME, SECTION, outcome_of
from onetake.session_run import SessionRun

STRAY = "onetake_stray"
"""The attribute of a report that says which hosts of models its unmarked test reached."""

_SCOPES = "onetake_scopes"
"""The attribute of a report that holds the outcomes of the sessions that `use_cassette` opened."""
_OTHERS = {"fixture": FIXTURES, "use_cassette": _SCOPES}
"""What opens sessions besides tests, and the attribute of a report that holds their outcomes."""
_LATE = "onetake_late"
"""What a worker's output holds of calls that came after their test had been reported."""
_SCREEN = 30
"""Lines of details; -v shows all."""
_MOST_STRAYS = 8
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
    _sections: dict[str, list[str]] = field(default_factory=dict)
    _heard: list[SessionRun] = field(default_factory=list)
    _runs: dict[str, str] = field(default_factory=dict)
    _earlier_live: list[dict[str, Any]] = field(default_factory=list)

    def heard(self, run: SessionRun) -> None:
        """Take in a session that `use_cassette` opened, at its end."""
        self._heard.append(run)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Have a test's report tell of the sessions that `use_cassette` opened in it."""
        report = yield
        if self._heard:
            name = shown_id(item)
            vars(report)[_SCOPES] = [outcome_of(run, name, report.outcome, passed=True) for run in self._heard]
            self._heard.clear()
        return report

    def pytest_unconfigure(self) -> None:
        """Hear no more of sessions."""
        session_run.listeners.remove(self.heard)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in what a report tells, of this process or of a worker."""
        said = vars(report)
        if OUTCOME in said:
            self._drop_earlier_try(report.nodeid, said[OUTCOME]["run"])
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

    def _drop_earlier_try(self, nodeid: str, run: str) -> None:
        """Count a test that was tried again for what became of it in the end; only its live calls were paid for."""
        before, self._runs[nodeid] = self._runs.get(nodeid, run), run
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
            self.late += [
                {"test": test.name, "class": type(one).__name__.removesuffix("AsException"), "text": str(one)}
                for one in test.late
            ]
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_LATE] = self.late
        if self.late and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Print the summary."""
        verbosity = config.get_verbosity()
        details = _on_a_screen(list(self._details(config)), everything=verbosity > 0)
        counts = self.counts(config)
        if not self.outcomes and not details:
            return
        happened = details or any(number for word, number in counts.items() if word not in ("replayed", "tests"))
        if verbosity < 0 and not happened:
            return
        line = _in_words(counts)
        if not details:
            terminalreporter.write_line("; ".join(filter(None, (f"onetake: {line}", self._live()))))
            return
        terminalreporter.section(SECTION)
        for text in filter(None, (line if self.outcomes else "", self._live())):
            terminalreporter.line(text)
        for block in details:
            terminalreporter.line(block, yellow=True)

    def counts(self, config: pytest.Config) -> dict[str, int]:
        """Return how many sessions there were, and what became of their calls and entries."""
        outcomes = self.outcomes.values()
        unused = pytest_usage.usage_report(config).as_json()["unused"]
        refused = sum(len(_refused(outcome)) for outcome in outcomes) + len(self.late)
        return {
            "tests": sum("kind" not in outcome for outcome in outcomes),
            **{word: sum(outcome[word] for outcome in outcomes) for word in ("recorded", "replayed", "replaced")},
            "rejected": sum(len(outcome["rejected"]) for outcome in outcomes),
            "refused": refused + sum(stray["refused"] for stray in self.strays.values()),
            "kept aside": sum(outcome["kept aside"] for outcome in outcomes),
            "unused": sum(len(one["entries"]) for one in unused),
        }

    @property
    def spent(self) -> dict[str, Any]:
        """What all live calls took; see `prices.spent`."""
        return prices.together([*self._earlier_live, *(outcome["live"] for outcome in self.outcomes.values())])

    def _live(self) -> str:
        return prices.in_words(self.spent)

    def _details(self, config: pytest.Config) -> Iterator[str]:
        """Yield what a person should know and no failing test tells, each thing once, what matters most first."""
        yield from (f"{one['test']}: after its end: {one['text']}" for one in self.late)
        if self.crashed:
            yield f"{_many(self.crashed, 'worker')} crashed: what their last tests did is not counted here"
        yield from self._refused_everywhere(config)
        for outcome in self.outcomes.values():
            yield from (f"{outcome['test']}: {remark}" for remark in outcome["remarks"])
            if outcome["anew"]:
                yield f"{outcome['test']}: {outcome['anew']}"
        for name, texts in self._sections.items():
            yield from (f"{name}: {text}" for text in texts)
        yield from self._strays()
        yield from pytest_usage.usage_report(config).lines()
        yield from pytest_vcr.lines(config)

    def _refused_everywhere(self, config: pytest.Config) -> Iterator[str]:
        """Say in one line how all the tests that miss something are mended; one test alone says it itself."""
        missing = {
            outcome["test"]: [one["text"] for one in _refused(outcome) if "--record-mode=" in one["text"]]
            for outcome in self.outcomes.values()
            if outcome["outcome"] == "failed"
        }
        texts = [text for found in missing.values() for text in found]
        tests = sum(map(bool, missing.values()))
        if tests < 2:
            return
        last_failed = "--lf " if config.pluginmanager.has_plugin("cacheprovider") else ""
        first = "unset ONETAKE_MODE, then " if any("unset ONETAKE_MODE" in text for text in texts) else ""
        yield (
            f"{_many(len(texts), 'request')} refused in {tests} tests, which say why;"
            f" to record what is missing: {first}pytest {last_failed}--record-mode=new_episodes"
        )

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
        session_run.listeners.append(config.stash[_results].heard)
    return config.stash[_results]


def _refused(outcome: dict[str, Any]) -> list[dict[str, Any]]:
    return [refusal for refusal in outcome["refusals"] if not refusal["expected"]]


def _in_words(counts: dict[str, int]) -> str:
    said = ", ".join(f"{number} {word}" for word, number in counts.items() if number and word != "tests")
    return said or f"{_many(counts['tests'], 'test')} with a cassette asked for nothing"


def _stray(stray: dict[str, Any]) -> str:
    hosts = ", ".join(f"{host}, {_many(calls, 'call')}" for host, calls in sorted(stray["hosts"].items()))
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


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number != 1 else ''}"
