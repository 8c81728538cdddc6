"""The hazards of what lies in one cassette."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onetake.doctor.cassettes import Group, Recorded, Repeat
from onetake.doctor.concurrency import Site
from onetake.doctor.hazards import Hazard, HazardKind
from onetake.printable import counted


def hazards(cassette: Recorded, *, may_mix: bool, sites: Iterable[tuple[str, Site]]) -> Iterator[Hazard]:
    """Yield the hazards of a cassette.

    Args:
        cassette: As it was recorded.
        may_mix: True where requests of which only the bodies differ are taken for one when it is replayed.
        sites: Tests that open it and run calls at the same time, and where; they are asked for only where that matters.
    """
    groups = cassette.groups if may_mix else ()
    different = [group for group in groups if len(group.shapes) > 1]
    equal = [group for group in groups if len(group.shapes) < 2]
    said = "opened by {}, which can run calls at the same time ({})"
    crowd = [said.format(test, site.name) for test, site in (sites if groups or cassette.repeats else ())]
    yield from _at(cassette, HazardKind.DIFFERENT_SHAPES, [(one.position, _different(one)) for one in different], crowd)
    yield from _at(cassette, HazardKind.EQUAL_SHAPES, [(one.position, _equal(one)) for one in equal], crowd)
    yield from _at(cassette, HazardKind.REPEATED, [(one.position, _repeated(one)) for one in cassette.repeats], crowd)
    if cassette.bodyless:
        said = f"{len(cassette.bodyless)} of {counted(cassette.interactions, 'request')} recorded without a body"
        yield Hazard(HazardKind.NO_BODY, cassette.path, cassette.line(cassette.bodyless[0]), said, (cassette.path,))
    if cassette.secrets:
        said = ", ".join(f"{number} × {kind}" for kind, (number, _) in sorted(cassette.secrets.items()))
        first = min(position for _, position in cassette.secrets.values())
        yield Hazard(HazardKind.SECRET, cassette.path, cassette.line(first), said, (cassette.path,))
    if cassette.objects:
        said = f"Python objects are named in {len(cassette.objects)} of {counted(cassette.interactions, 'interaction')}"
        yield Hazard(HazardKind.PYTHON_OBJECTS, cassette.path, cassette.line_of_object(), said, (cassette.path,))


def _at(cassette: Recorded, kind: HazardKind, found: list[tuple[int, str]], crowd: Iterable[str]) -> Iterator[Hazard]:
    if found:
        lines = [said for _, said in found]
        first = min(position for position, _ in found)
        yield Hazard(kind, cassette.path, cassette.line(first), "\n".join([*lines, *crowd]), (cassette.path,))


def _different(group: Group) -> str:
    shapes = " | ".join(group.shapes)
    return f"{group.asked}: {group.bodies} different bodies, answers of {len(group.shapes)} shapes: {shapes}"


def _equal(group: Group) -> str:
    shape = f": {group.shapes[0]}" if group.shapes else ""
    return f"{group.asked}: {group.bodies} different bodies, answers of one shape{shape}"


def _repeated(repeat: Repeat) -> str:
    statuses = f", status {', then '.join(map(str, repeat.statuses))}" if repeat.statuses else ""
    return f"{repeat.asked}: the same request {repeat.times} times, {repeat.answers} different answers{statuses}"
