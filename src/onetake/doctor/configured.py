"""The hazards of how a project configures vcrpy, and of how its tests use it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from onetake.doctor.cassettes import Recorded
from onetake.doctor.claims import Claim, find_claims
from onetake.doctor.concurrency import Concurrency, Site
from onetake.doctor.configurations import Configurations, Said, told, words
from onetake.doctor.hazards import Hazard, HazardKind
from onetake.doctor.matchers import Matchers
from onetake.doctor.modules import Module
from onetake.doctor.openings import Index, Opening
from onetake.doctor.options import LIVE, Option
from onetake.doctor.recorder import Environment
from onetake.doctor.sources import Sources
from onetake.doctor.values import UNTOLD, Unset
from onetake.printable import counted
from onetake.vcrwords.matching import DEFAULT

_Place = tuple[Path, int]
_ABOVE = 6
"""Lines above a configuration in which a comment speaks of it."""


class Seen:
    """What is known of a project while its cassettes are read.

    Args:
        sources: Its Python files.
        configurations: What they say to vcrpy.
        matchers: The matchers that they register.
        openings: The tests and calls that open cassettes.
    """

    def __init__(
        self, sources: Sources, configurations: Configurations, matchers: Matchers, openings: Sequence[Opening]
    ) -> None:
        self.sources = sources
        self.openings = openings
        self.cassettes: list[Path] = []
        self.opened: dict[Opening, list[Path]] = {}
        self.crowded: set[Path] = set()
        """Cassettes of which vcrpy takes two requests for one."""
        self.doubtful: set[Path] = set()
        """Those of which it does unless it compares bodies, which nobody can tell."""
        self._index = Index(openings)
        self._matchers = matchers
        self._configurations = configurations
        self._concurrency = Concurrency(sources, configurations.fixtures)
        self._compares: dict[Opening, bool | None] = {}
        self._sites: dict[Opening, Site | None] = {}

    def opening(self, cassette: Path) -> list[Opening]:
        """Return the openings that a cassette is one of."""
        return self._index.opening(cassette)

    def take(self, cassette: Recorded, openings: Sequence[Opening]) -> None:
        """Remember a cassette."""
        self.cassettes.append(cassette.path)
        if cassette.has_crowds if self.may_mix(cassette.path, openings) else cassette.repeats:
            self.crowded.add(cassette.path)
        elif cassette.has_crowds and self.compares_body(openings) is None:
            self.doubtful.add(cassette.path)
        for one in openings:
            self.opened.setdefault(one, []).append(cassette.path)

    def compares(self, opening: Opening) -> bool | None:
        """Tell whether an opening compares bodies, however it may be configured; None where nobody can tell."""
        if opening not in self._compares:
            found = {self._matchers.compares_body(one) for one in words(opening.layers)}
            self._compares[opening] = False if False in found else None if None in found else True
        return self._compares[opening]

    def compares_body(self, openings: Iterable[Opening]) -> bool | None:
        """Tell whether all openings compare bodies; None where that is not known of one, or where there is none."""
        found = [self.compares(one) for one in openings]
        return False if False in found else True if found and None not in found else None

    def may_mix(self, cassette: Path, openings: Sequence[Opening]) -> bool:
        """Tell whether a cassette's requests with different bodies are taken for one when it is replayed.

        Where that cannot be told of those who are known to open it, `unclear` says so, and this is False. For one that
        nothing opens the configuration around it counts.
        """
        if not openings:
            around = self._configurations.around(cassette.parent)
            return any(self._matchers.compares_body(one) is not True for one in words(around))
        compares = self.compares_body(openings)
        return compares is False or (compares is None and all(one.is_vague for one in openings))

    def site(self, opening: Opening) -> Site | None:
        """Return where a test runs calls at the same time, None where it does not."""
        if opening not in self._sites:
            self._sites[opening] = self._concurrency.find_site(opening)
        return self._sites[opening]

    def sites(self, openings: Iterable[Opening]) -> Iterator[tuple[str, Site]]:
        """Yield those of openings that run calls at the same time, and where they do."""
        for one in openings:
            if (site := self.site(one)) is not None:
                yield one.test, site


def hazards(seen: Seen, start: Path, options: Sequence[Option], recorders: Mapping[str, str]) -> Iterator[Hazard]:
    """Yield the hazards of the configuration.

    Args:
        seen: The project, its cassettes read.
        start: Only what concerns this folder counts.
        options: How its tests are started.
        recorders: What is installed.
    """
    counting = [one for one in seen.openings if one.module.path.is_relative_to(start) or one in seen.opened]
    yield from _without_body(seen, counting)
    yield from _false_claims(seen, counting)
    yield from _concurrent(seen, counting)
    yield from _live(seen, counting, options, is_vcr_plugin=_is_pytest_vcr(recorders))


def not_intercepted(seen: Seen, environment: Environment) -> Iterator[Hazard]:
    """Yield the installed SDKs whose calls the installed vcrpy does not see, where the project imports them."""
    for one in environment.unseen():
        carried = ", ".join(one.clients)
        version = environment.recorders.get("vcrpy", "")
        path, line = _import_of(seen.sources, one.module) or (seen.sources.root, 1)
        said = (
            f"{one.sdk} {one.version} sends through {carried}, which the installed vcrpy {version} does not intercept"
        )
        yield Hazard(HazardKind.NOT_INTERCEPTED, path, line, said, tuple(seen.cassettes))


def unclear(seen: Seen) -> list[tuple[Path, int, str]]:
    """Return the places where the text does not tell what is compared, or how cassettes are recorded."""
    found: dict[tuple[Path, int, str], None] = {}
    for (path, line), ones in _places(seen.openings, "match_on", lambda one: seen.compares(one) is None).items():
        doubtful = sum(cassette in seen.doubtful for cassette in _cassettes(seen, ones))
        exposed = f": {counted(doubtful, 'cassette')} with requests that only the body tells apart" if doubtful else ""
        found[(path, line, f"what is compared cannot be told from the text{exposed}")] = None
    for one in seen.openings:
        mode = told(one.layers, "record_mode")
        if mode.by is not None and UNTOLD in mode.values:
            found[(*_place(one, "record_mode", mode.by), "the record mode cannot be told from the text")] = None
        elif mode.by is not None and any(isinstance(value, Unset) and value not in LIVE for value in mode.values):
            found[(*_place(one, "record_mode", mode.by), "the environment may say another record mode")] = None
        if not one.marked and one.is_vague:
            found[(one.module.path, one.line, "the name of the cassette cannot be told from the text")] = None
    return sorted(found)


def _without_body(seen: Seen, openings: Iterable[Opening]) -> Iterator[Hazard]:
    for (path, line), ones in _places(openings, "match_on", lambda one: seen.compares(one) is False).items():
        compared = next(each for each in words(ones[0].layers) if each is not None)
        is_said = told(ones[0].layers, "match_on").by is not None
        said = ", ".join(compared) if is_said else f"nothing is said, so vcrpy compares {', '.join(DEFAULT)}"
        message = f"match_on without the body ({said}): {counted(len(ones), 'test')}"
        yield Hazard(HazardKind.MATCH_WITHOUT_BODY, path, line, message, _cassettes(seen, ones))


def _false_claims(seen: Seen, openings: Sequence[Opening]) -> Iterator[Hazard]:
    modules = {one.path: one for one in seen.sources.mentioning(b"vcr", b"VCR", b"cassette", b"match_on")}
    for module in modules.values():
        for claim in find_claims(module):
            meant = _meant(module, claim, openings)
            if any(seen.compares(one) is False for one in meant):
                message = f"it says that bodies are compared, and they are not: {claim.text}"
                wrong = [one for one in meant if seen.compares(one) is False]
                yield Hazard(HazardKind.FALSE_CLAIM, module.path, claim.line, message, _cassettes(seen, wrong))


def _meant(module: Module, claim: Claim, openings: Sequence[Opening]) -> list[Opening]:
    """Return the openings that a claim speaks of: by the configuration it stands at, the test, or the file."""

    def is_at(said: Said) -> bool:
        return said.path == module.path and said.line - _ABOVE <= claim.line <= said.end

    def is_in(one: Opening) -> bool:
        node = one.function
        return one.home is module and node is not None and node.lineno <= claim.line <= (node.end_lineno or 0)

    for chosen in (
        [one for one in openings if is_in(one)],
        [one for one in openings if any(map(is_at, one.layers))],
        [one for one in openings if one.module is module],
        [one for one in openings if any(said.path == module.path for said in one.layers)],
    ):
        if chosen:
            return chosen
    return []


def _concurrent(seen: Seen, openings: Iterable[Opening]) -> Iterator[Hazard]:
    for one in openings:
        cassettes = [path for path in seen.opened.get(one, ()) if path in seen.crowded]
        site = seen.site(one) if cassettes else None
        if site is not None:
            where = "" if site.path == one.module.path else f" in {site.path.relative_to(seen.sources.root).as_posix()}"
            verb = "may run" if where else "runs"
            message = f"{one.test} {verb} calls at the same time ({site.name}, line {site.line}{where})"
            path, line = (site.path, site.line) if not where else (one.module.path, one.line)
            yield Hazard(HazardKind.CONCURRENT, path, line, message, tuple(cassettes))


def _live(
    seen: Seen, openings: Sequence[Opening], options: Sequence[Option], *, is_vcr_plugin: bool
) -> Iterator[Hazard]:
    live = [one for one in options if one.is_for_all or one.mode in LIVE]
    for option in live:
        said = f"--{option.name}" if option.is_for_all else f"--{option.name}={option.mode}"
        exposed = [
            one for one in openings if one.marked and (option.is_for_all or told(one.layers, "record_mode").by is None)
        ]
        message = f"the tests are started with {said}: {counted(len(exposed), 'test')}"
        if exposed or not openings:
            yield Hazard(HazardKind.GOES_LIVE, option.path, option.line, message, _cassettes(seen, exposed))
    sealed = is_vcr_plugin and any(one.mode == "none" for one in options)
    by_place: dict[tuple[_Place, str], list[Opening]] = {}
    for one in openings:
        mode = told(one.layers, "record_mode")
        default = "once" if not one.marked or is_vcr_plugin else "none"
        for value in {str(value or default) for value in mode.values or (default,) if value is not UNTOLD} & LIVE:
            if not (one.marked and sealed):
                by_place.setdefault((_place(one, "record_mode", mode.by), value), []).append(one)
    for ((path, line), value), ones in by_place.items():
        line = line or min(one.line for one in ones)
        missing = sum(not seen.opened.get(one) for one in ones)
        now = f"; {counted(missing, 'test')} without a cassette now" if missing else ""
        yield Hazard(
            HazardKind.GOES_LIVE,
            path,
            line,
            f'record_mode "{value}": {counted(len(ones), "test")}{now}',
            _cassettes(seen, ones),
        )


def _places(openings: Iterable[Opening], name: str, concerns: Callable[[Opening], bool]) -> dict[_Place, list[Opening]]:
    """Return the openings that something concerns, by the places that say a keyword to them, or should."""
    found: dict[_Place, list[Opening]] = {}
    for one in filter(concerns, openings):
        found.setdefault(_place(one, name, told(one.layers, name).by), []).append(one)
    return {(path, line or min(one.line for one in ones)): ones for (path, line), ones in found.items()}


def _place(opening: Opening, name: str, by: Said | None) -> _Place:
    """Return where a keyword is said; where nobody says it, where it should be: line 0 for a file without a place."""
    if by is None:
        by = next((one for one in opening.layers if one.kind in ("vcr_config", "VCR")), None)
        if by is None:
            return opening.module.path, 0
    return by.path, by.lines.get(name, by.line)


def _cassettes(seen: Seen, openings: Iterable[Opening]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path for one in openings for path in seen.opened.get(one, ())))


def _is_pytest_vcr(recorders: Mapping[str, str]) -> bool:
    return "pytest-vcr" in recorders and "pytest-recording" not in recorders


def _import_of(sources: Sources, name: str) -> _Place | None:
    for module in sources.mentioning(name.encode()):
        for node in ast.walk(module.tree):
            match node:
                case ast.Import() if any(one.name == name or one.name.startswith(f"{name}.") for one in node.names):
                    return module.path, node.lineno
                case ast.ImportFrom(module=str(source), level=0):
                    if f"{source}.".startswith(f"{name}.") or any(f"{source}.{one.name}" == name for one in node.names):
                        return module.path, node.lineno
    return None
