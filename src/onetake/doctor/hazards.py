"""What `onetake doctor` finds: plain data, why each bites, and what mends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class HazardKind(StrEnum):
    """What kind of hazard it is; the worst comes first."""

    DIFFERENT_SHAPES = "different-shapes"
    CONCURRENT = "concurrent"
    FALSE_CLAIM = "false-claim"
    MATCH_WITHOUT_BODY = "match-without-body"
    EQUAL_SHAPES = "equal-shapes"
    REPEATED = "repeated"
    NO_BODY = "no-body"
    GOES_LIVE = "goes-live"
    NOT_INTERCEPTED = "not-intercepted"
    SECRET = "secret"
    PYTHON_OBJECTS = "python-objects"
    UNUSED = "unused"


_ORDER = (
    "vcrpy takes these requests for one and gives their answers out in recorded order. As soon as calls run at the same"
    " time, or one is added or moved, a call gets "
)
WHY: Mapping[HazardKind, str] = {
    HazardKind.DIFFERENT_SHAPES: f"{_ORDER}an answer of a shape that its parser does not know: the test fails, in"
    " another way each time",
    HazardKind.EQUAL_SHAPES: f"{_ORDER}the answer of another one: it parses, and the test stays green",
    HazardKind.CONCURRENT: "which call comes first changes from run to run, and whoever comes first gets the first"
    " answer that was recorded",
    HazardKind.FALSE_CLAIM: "who reads it relies on a check that nobody makes: a changed prompt replays the old answer",
    HazardKind.MATCH_WITHOUT_BODY: "all calls of a model go to one URL, so a changed prompt, model or schema replays"
    " the old answer, and the test stays green",
    HazardKind.REPEATED: "not even the body tells these requests apart: their order alone decides which answer a call"
    " gets",
    HazardKind.NO_BODY: "what was asked is not in the file, so nothing can tell these calls apart or notice a changed"
    " prompt",
    HazardKind.GOES_LIVE: "a request that no cassette answers reaches the provider: it is billed, needs a key, and"
    " its answer may be written into the cassette that the next run trusts",
    HazardKind.NOT_INTERCEPTED: "its calls pass the recorder by: they go live in a test that seems to replay",
    HazardKind.SECRET: "whoever can read the repository can use it",
    HazardKind.PYTHON_OBJECTS: "to load the file is to run what it names: a loader that is not a safe one builds any"
    " object",
    HazardKind.UNUSED: "no test opens it: it is reviewed and searched for secrets for nothing, and hides what is not"
    " covered",
}
"""Why each kind bites."""

_IMPORT = "onetake import vcr {path}: the entries are keyed by the whole request, and nothing is recorded again"
_MATCH = "add `body` to match_on, and record the cassettes again whose requests no longer match"
_PHASE = "let the calls of the second kind begin when all of the first have ended, each kind in a cassette of its own"
MENDS: Mapping[HazardKind, tuple[str, ...]] = {
    HazardKind.DIFFERENT_SHAPES: (_IMPORT, _MATCH, _PHASE),
    HazardKind.EQUAL_SHAPES: (_IMPORT, _MATCH, _PHASE),
    HazardKind.CONCURRENT: (_IMPORT, _MATCH, _PHASE),
    HazardKind.FALSE_CLAIM: (_IMPORT, _MATCH, "or say what is true: bodies are not compared"),
    HazardKind.MATCH_WITHOUT_BODY: (_IMPORT, _MATCH),
    HazardKind.REPEATED: (
        "onetake import vcr {path}: the answers become the 1st, 2nd, … of one request; where such calls run at the same"
        " time, let them differ (a seed, an id)",
        "delete the answers of older recordings, and record again",
    ),
    HazardKind.NO_BODY: (
        "record again with a vcrpy that keeps bodies, or under onetake",
        "onetake import vcr --keep-bodyless {path}: matched on method and URL, said so at every replay",
    ),
    HazardKind.GOES_LIVE: (
        'set record_mode to "none", and to another one only where somebody records',
        "onetake import vcr {path}: a test run is sealed, and records only where --record-mode says so",
    ),
    HazardKind.NOT_INTERCEPTED: (
        "a vcrpy that knows the library (pip install --upgrade vcrpy), where there is one",
        "onetake import vcr {path}: what onetake does not record it refuses",
    ),
    HazardKind.SECRET: (
        "revoke it where it was issued, for version control may hold it; then onetake import vcr {path}, which scrubs",
    ),
    HazardKind.PYTHON_OBJECTS: ("onetake import vcr {path}: it is read as data, and no object is built",),
    HazardKind.UNUSED: ("delete it, or name it where it is meant to be used",),
}
"""What mends each kind, the best first; `{path}` is the file or the folder of the cassettes."""


@dataclass(frozen=True, slots=True)
class Hazard:
    """One thing that endangers a suite.

    Args:
        kind: Of which kind.
        path: The file to look at.
        line: The line in it, from 1.
        message: What was found; further lines give details.
        cassettes: The cassettes that it concerns.
    """

    kind: HazardKind
    path: Path
    line: int
    message: str
    cassettes: tuple[Path, ...] = ()

    @property
    def why(self) -> str:
        """Why it bites."""
        return WHY[self.kind]

    def mends(self, told: str) -> list[str]:
        """Return what mends it, the best first.

        Args:
            told: How the cassettes' file or folder is written.
        """
        return [mend.replace("{path}", told) for mend in MENDS[self.kind]]
