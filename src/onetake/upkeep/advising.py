"""What to do about an entry: the decision table of `onetake status`, over plain facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Advice(StrEnum):
    """What `status` advises for an entry; the codes of the check have the same names."""

    REPLAY = "replay"
    ORPHAN = "orphan"
    SCHEMA_BUMPED = "schema-bumped"
    BREAKS_CONTRACT = "breaks-contract"
    PREDATES_PARSER = "predates-parser"
    PROBE_FIRST = "probe-first"
    BROKEN = "broken"
    SECRET = "secret"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an entry.

    Args:
        secret: A secret lies in its file.
        broken: A replay refuses or does not find it, whatever its contract says.
        orphan: No test asks for it any more.
        bumped: It was recorded under another `schema_version`.
        breaks: Its answer breaks today's contract.
        predates: The files that its contract watches have changed since.
        doubtful: The model may answer otherwise by now: the entry is old, or another model is served under that name.
    """

    secret: bool = False
    broken: bool = False
    orphan: bool = False
    bumped: bool = False
    breaks: bool = False
    predates: bool = False
    doubtful: bool = False


def advise(facts: Facts) -> Advice:
    """Return the one advice for an entry. Total: every combination of facts has one, the most urgent that holds."""
    if facts.secret:
        return Advice.SECRET
    if facts.broken:
        return Advice.BROKEN
    if facts.orphan:
        return Advice.ORPHAN
    if facts.bumped:
        return Advice.SCHEMA_BUMPED
    if facts.breaks:
        return Advice.BREAKS_CONTRACT
    if facts.predates:
        return Advice.PREDATES_PARSER
    return Advice.PROBE_FIRST if facts.doubtful else Advice.REPLAY


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the decision table.

    Args:
        when: What holds of an entry.
        then: What to do.
    """

    when: str
    then: str


TABLE: Mapping[Advice, Row] = {
    Advice.SECRET: Row(
        "a secret lies in its file", "revoke it where it was issued; then delete the file and record again"
    ),
    Advice.BROKEN: Row(
        "a replay refuses or does not find it",
        "what its line says: restore it from version control, name or key it anew, or record it again",
    ),
    Advice.ORPHAN: Row(
        "no test asks for it: the prompt, a parameter or a field changed, or the test is gone",
        "record what is asked now, or `onetake adopt`; then `onetake prune`",
    ),
    Advice.SCHEMA_BUMPED: Row("recorded under another schema_version", "record it again: --record-mode=new_episodes"),
    Advice.BREAKS_CONTRACT: Row("its answer breaks today's contract", "record it again: --record-mode=new_episodes"),
    Advice.PREDATES_PARSER: Row(
        "files that its contract watches have changed since", "look at it, then `onetake vouch`; or record it again"
    ),
    Advice.PROBE_FIRST: Row(
        "older than probe_after, or another model is served under its name by now",
        "`onetake probe` asks the model again; where that finds drift, record it again",
    ),
    Advice.REPLAY: Row("none of these", "nothing: it replays"),
}
"""The decision table: of the lines that hold for an entry the first is its advice."""

OCCASIONS: Mapping[str, Row] = {
    "in CI": Row(
        "every push: replays alone, mode none", "`onetake check`, then the tests; fails on the entries with errors"
    ),
    "pre-release": Row("before a release", "`onetake probe --sample 5` asks the model some of them again"),
}
"""What is done with all entries together, whatever the advice for each."""
