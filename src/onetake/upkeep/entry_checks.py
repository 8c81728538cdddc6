"""What is wrong with one entry, whatever its contract says: its key, its name, its verdict, its answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from onetake import dialects, gate, key_specs, verdicts
from onetake.cassette_files import is_one_file
from onetake.dialects import Dialect
from onetake.errors import FormatError, NewerFormatError, StoreError
from onetake.format.sidecar import without_remedy
from onetake.gate import Judgement
from onetake.key import Keyer
from onetake.key_specs import Age
from onetake.model import Answer, Cut, Entry, Mode
from onetake.printable import one_line
from onetake.scrub import Scrubber
from onetake.stores.naming import entry_name, label
from onetake.upkeep import mends
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held, Holding
from onetake.usage import has_batches
from onetake.writing import decoration

_Keying = tuple[Keyer, tuple[date, ...] | None]
_label = lru_cache(maxsize=64)(label)  # a project asks a few models


class Keyers:
    """The keyers of entries; those under the same rules share one."""

    def __init__(self) -> None:
        self._made: dict[str, _Keying] = {}

    def of(self, rules: Mapping[str, Any]) -> _Keying:
        """Return the keyer of an entry's rules, and the days to give to it.

        Raises:
            FormatError: The rules are damaged or unknown.
        """
        name = json.dumps(rules) if rules else ""
        if name not in self._made:
            self._made[name] = Keyer.from_spec(rules)
        return self._made[name]


def unreadable(held: Held) -> Finding:
    """Say that a file cannot be read as an entry, and why."""
    why, mend = unread(held)
    return finding(Code.BROKEN, held.path, why, mend, held.broken_line)


def unread(held: Held) -> tuple[str, str]:
    """Say why a file cannot be read as an entry, and what mends it."""
    mend = mends.fsck(held.path.parent, "--repair") if is_one_file(held.path.parent) else mends.RESTORE
    return f"unreadable entry: {without_remedy(held.why)}", mends.UPGRADE if held.is_newer else mend


def key_fault(entry: Entry, keyers: Keyers) -> tuple[str, str] | None:
    """Say why the stored request does not give the stored key, under the entry's own recipe, and what mends it.

    Args:
        entry: It. Of one that was keyed under an older recipe the key cannot be computed again: no fault is known.
        keyers: The keyers of entries.

    Returns:
        None where it gives the stored key.
    """
    spec = entry.key_spec
    if why := key_specs.fault(spec):
        return why, mends.UPGRADE if key_specs.format_age(spec) is Age.NEWER else mends.RESTORE
    try:
        keyer, days = keyers.of(spec.rules)
    except FormatError as error:
        return str(error), mends.UPGRADE if isinstance(error, NewerFormatError) else mends.RESTORE
    if not key_specs.is_own_recipe(spec):
        return None
    gives = keyer.key(entry.request, days)
    return (
        None if gives == entry.key else (f"its request does not give the stored key; it gives {gives}", mends.RESTORE)
    )


def check_key(held: Held, entry: Entry, keyers: Keyers) -> Iterator[Finding]:
    """Verify the key: without it a replay refuses the entry.

    Args:
        held: The file.
        entry: What is in it.
        keyers: Those of all entries so far.
    """
    if fault := key_fault(entry, keyers):
        yield finding(Code.BROKEN, held.path, *fault, held.line_of("key"))


def check_name(held: Held, entry: Entry, holding: Holding) -> Iterator[Finding]:
    """Compare a file's name with the entry in it, whose key has been verified.

    Args:
        held: The file.
        entry: What is in it.
        holding: Its cassette.
    """
    if held.path.name == _usual_name(entry):
        return
    try:
        right = entry_name(entry.key, entry.ordinal, decoration(entry))
    except StoreError as error:
        yield finding(Code.BROKEN, held.path, str(error), mends.RESTORE, held.line_of("ordinal"))
        return
    if held.path.name == right:
        return
    if held.slot != (entry.key[:16], entry.ordinal):
        why = f"its name is not that of the entry in it (key {entry.key}, ordinal {entry.ordinal}): no replay finds it"
        yield finding(Code.MISNAMED, held.path, why, _renaming(held.path, right, holding.names))
    elif not is_one_file(held.path.parent):  # there nobody sees it
        why = "its name has another decoration than an entry of this request has"
        yield finding(Code.DECORATION, held.path, why, _renaming(held.path, right, holding.names))


def _renaming(path: Path, right: str, taken: frozenset[str]) -> str:
    if is_one_file(path.parent):
        return mends.fsck(path.parent, "--repair")
    is_free = right not in taken
    return f"rename it to {right}" if is_free else f"{right} is there too: keep one of them, and delete the other"


def check_verdict(held: Held, entry: Entry) -> Iterator[Finding]:
    """Say whether the verdict is one that the gate gives to an entry, and that a bad answer was kept on purpose.

    Args:
        held: The file.
        entry: What is in it.
    """
    if entry.verdict == "good":
        return
    kind, shown = entry.verdict.partition(":")[0], repr(one_line(entry.verdict, 40))
    if not verdicts.is_given(entry):
        why = f"the gate gives no verdict {shown} to such a response"
        yield finding(Code.BROKEN, held.path, why, mends.RESTORE, held.line_of("verdict"))
    elif kind == "reject":
        why = f"its verdict is {shown}: a refused answer, which is never replayed, lies among the entries"
        yield finding(Code.BROKEN, held.path, why, mends.record_missing(entry, held.path), held.line_of("verdict"))
    elif kind == "kept":
        by_batch = not entry.provenance.get("test") and has_batches(held.path.parent)
        told = "a batch keeps, so that it is paid for once" if by_batch else "was kept on purpose"
        why = f"its verdict is {shown}: a bad answer that {told}, and replays where that kind is kept"
        mend = f"nothing, where such an answer is meant; else {mends.record_again(entry, Mode.ALL, held.path)}"
        yield finding(Code.KEPT, held.path, why, mend, held.line_of("verdict"))


def check_adopted(held: Held, entry: Entry, scrubber: Scrubber) -> Iterator[Finding]:
    """Say that an entry's answer was given to another request, and why it was taken for this one, without secrets.

    Args:
        held: The file.
        entry: What is in it; what it says of the adoption may be damaged.
        scrubber: The project's.
    """
    adopted = entry.provenance.get("adopted")
    if adopted is not None:
        said = adopted if isinstance(adopted, dict) else {}
        scrub = scrubber.begin().text
        old, at, reason = (one_line(scrub(str(said.get(name, "unknown"))), 300) for name in ("from", "at", "reason"))
        why = f"its answer was adopted at {at}, from the entry with the key {old[:16]}: {reason}"
        mend = "look at it, or record it again to have an answer of its own"
        yield finding(Code.ADOPTED, held.path, why, mend, held.line_of("provenance"))


def check_answer(held: Held, entry: Entry, judged: Judgement | None = None) -> Iterator[Finding]:
    """Compare the stored answer with what the entry's dialect reads in the stored response.

    Args:
        held: The file.
        entry: What is in it.
        judged: What the gate says of the same response, where it was asked: a body is read once.
    """
    if entry.dialect is None:
        if why := _undialected(entry, judged):
            yield finding(Code.BROKEN, held.path, why, mends.RESTORE, held.line_of("answer"))
        return
    dialect = dialect_of(entry.dialect)
    if dialect is None:
        why = f"its dialect {one_line(str(entry.dialect), 60)!r} is not known here: its answer cannot be verified"
        mend = "upgrade onetake, or install the package that has this dialect"
        yield finding(Code.UNCHECKED, held.path, why, mend, held.line_of("dialect"))
        return
    content = gate.content_of(entry.response)
    if content is None:
        why = "its response has a content-encoding that cannot be undone here: its answer cannot be verified"
        yield finding(
            Code.UNCHECKED, held.path, why, "install onetake[brotli] or onetake[zstd]", held.line_of("answer")
        )
        return
    read = judged.reading.answer if judged and judged.dialect is dialect else None
    if not _is_answer(dialect.read(entry.request, content).answer if read is None else read, entry.answer):
        why = f"its answer is not what {entry.dialect} reads in its response: one of the two was changed"
        yield finding(Code.BROKEN, held.path, why, mends.RESTORE, held.line_of("answer"))


def _undialected(entry: Entry, judged: Judgement | None) -> str:
    """Say what is wrong with an entry that names no dialect: it has an answer, or ought to; empty where nothing is."""
    if entry.answer is not None:
        return "it has an answer and names no dialect that read it: one of the two was changed"
    dialect = dialects.find(entry.request.method, entry.request.url)
    # One that was recorded before its API was known here, or its package installed, says so little of itself.
    was_known = entry.contract is not None or entry.provenance.get("model_asked") is not None
    is_whole = 200 <= entry.response.status < 300 and entry.response.cut is not Cut.LEFT
    if dialect is None or not (was_known and is_whole):
        return ""
    if judged and judged.dialect is dialect:
        read = judged.reading.answer
    else:
        content = gate.content_of(entry.response)
        read = dialect.read(entry.request, content).answer if content else None
    said = f"{dialect.name}/{dialect.version}"
    return f"its answer is gone: {said} reads one in its response" if read is not None else ""


def _is_answer(read: Answer | None, stored: Answer | None) -> bool:
    if read != stored:
        return False
    choices = stored.choices if stored else ()
    return not any(choice.tool_calls for choice in choices) or repr(read) == repr(stored)  # == takes 1 for True


def _usual_name(entry: Entry) -> str:
    """Return the name of nearly every entry, at less than the cost of the true one; empty where there is none."""
    request = entry.request
    dialect = dialects.find(request.method, request.url)
    if dialect is None or entry.key_spec.rules:
        return ""
    try:
        return entry_name(entry.key, entry.ordinal, _label(dialect.operation, dialect.model_asked(request) or ""))
    except StoreError:
        return ""


def dialect_of(said: str) -> Dialect | None:
    """Return the dialect of a name and version: `openai-chat/1`."""
    return next((one for one in dialects.known() if f"{one.name}/{one.version}" == said), None)
