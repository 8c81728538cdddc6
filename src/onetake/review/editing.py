"""An answer, edited: a person changes the response, the answer is derived from it, and the gate judges it again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from onetake import dialects, gate
from onetake.aside import hide
from onetake.errors import FormatError
from onetake.format.bodies import fold_body, stream_ext, unfold_body
from onetake.format.layout import print_tree
from onetake.gate import Kind
from onetake.model import Entry, Headers, Response, header
from onetake.review import marks
from onetake.review.change import Change, Changes
from onetake.review.change import Kind as What
from onetake.review.cleaning import scrubbing_for
from onetake.review.decided import CHANGED, Decided, busy, no, told
from onetake.review.deciding import accepted_at, add, beside, noted, put_reject_away
from onetake.review.judging import UNJUDGED, Judged, good, judged, refusal, sides_of
from onetake.review.reading import Read
from onetake.stores import files, open_store
from onetake.upkeep.amending import exchange
from onetake.upkeep.prune.trash import keep_copy
from onetake.writing import is_binary, looked_over

_AGAIN = "your text is kept, and to edit again goes on with it"


@dataclass(frozen=True, slots=True)
class Draft:
    """The body of a response while a person edits it.

    Args:
        path: The file that is edited; it stays until what it holds was written, or nothing was changed in it.
        before: What it held at first.
        is_form: Whether it is the body's form in an entry, as JSON; else it is the body itself.
        sides: What the form keeps beside itself, by name.
    """

    path: Path
    before: bytes
    is_form: bool
    sides: dict[str, bytes] = field(default_factory=dict)


def draft_of(read: Read) -> Draft | Decided:
    """Return the file to be edited, or why there is none; of an edit that was refused it holds what was written.

    Raises:
        OSError: It cannot be written.
    """
    if read.change.kind is What.GONE or read.stored is None:
        return no("there is no response to edit" if read.change.kind is What.GONE else "what cannot be read has none")
    response = read.stored.response
    if gate.content_of(response) is not response:
        return no("its body lies there as the provider encoded it: record it again")
    if not response.body or is_binary(response.body):
        return no("its body is no text: record it again")
    draft = _draft(read.change, response)
    if files.read(draft.path) is None:
        hide(read.change.root)
        files.make_folder(draft.path.parent)
        files.write(files.create(draft.path), draft.before)
    return draft


def _draft(change: Change, response: Response) -> Draft:
    content_type = header(response.headers, "content-type") or ""
    sides: dict[str, bytes] = {}
    is_stream = stream_ext(response.body, content_type) is not None
    form: dict[str, Any] = {} if is_stream else fold_body(response.body, content_type, sides)
    is_form = "$json" in form
    text = print_tree(form).encode() if is_form else response.body
    name = f"{_stem(change)}.{'json' if is_form else 'txt'}"
    return Draft(marks.drafts(change.root) / name, text, is_form, sides)


@told
def edited(read: Read, draft: Draft) -> Decided:
    """Put what a person has written in the place of the response, if the gate lets it pass."""
    text = files.read(draft.path)
    if text is None or text == draft.before:
        files.remove(draft.path)
        return no("nothing was edited")
    entry = read.stored
    try:
        body = _body(draft, text)
    except (ValueError, FormatError, RecursionError) as error:
        return no(f"this is not what was opened, an answer as JSON ({error}); {_AGAIN}")
    if entry is None or body == entry.response.body:
        files.remove(draft.path)
        return no("nothing was edited")
    new = _with_body(entry, body, read)
    by_today = judged(new, read.change.path.parent, read.project)
    if not by_today.is_known:
        return no(f"{UNJUDGED}; {_AGAIN}")
    passed = _passed(new, by_today)
    if passed is None or (read.change.kind is What.REJECT and passed.verdict != "good"):
        said = scrubbing_for(entry, read.project).text(refusal(by_today))
        return no(f"{said}; {_AGAIN}")
    done = _write(read, noted(passed, "edited", read.project), sides_of(passed, by_today))
    if done.is_done:
        files.remove(draft.path)
    return done


def _body(draft: Draft, text: bytes) -> bytes:
    if draft.is_form:
        return unfold_body(json.loads(text), draft.sides.get)
    # Editors end a text with a line end: one that the body did not have is not the person's.
    if text.endswith(b"\n") and not draft.before.endswith(b"\n"):
        return text.removesuffix(b"\n").removesuffix(b"\r")
    return text


def sweep_drafts(all_of_it: Changes, over: Iterable[Change]) -> None:
    """Remove what was written and refused for changes that are decided on, or that there are no longer.

    Args:
        all_of_it: A review; one of a part of a project does not know which changes there are beside its own.
        over: Those of its changes that were accepted or discarded.

    Raises:
        OSError: One cannot be removed.
    """
    decided = {_stem(one) for one in over}
    still = {_stem(one) for one in all_of_it.found}
    for root in {all_of_it.start, *(one.root for one in all_of_it.found)}:
        folder = marks.drafts(root)
        for path in list(folder.iterdir()) if folder.is_dir() else ():
            if path.stem in decided or (root == all_of_it.start and path.stem not in still):
                files.remove(path)


def _stem(change: Change) -> str:
    return f"{change.slot[0]}-{change.digest[:16]}"


def _with_body(entry: Entry, body: bytes, read: Read) -> Entry:
    """Return an entry with another body in its response, scrubbed, and what its dialect reads in it."""
    headers = _restated(entry.response.headers, len(body) - len(entry.response.body))
    scrubbing = scrubbing_for(entry, read.project)
    scrubbing.request(entry.request)
    response = scrubbing.response(replace(entry.response, headers=headers, body=body))
    dialect = dialects.find(entry.request.method, entry.request.url)
    answer = dialect.read(entry.request, response).answer if dialect else None
    spans = tuple(dict.fromkeys((*entry.scrubbed, *scrubbing.spans)))
    name = f"{dialect.name}/{dialect.version}" if dialect and answer else None
    return replace(entry, response=response, answer=answer, dialect=name, scrubbed=spans)


def _restated(headers: Headers, longer: int) -> Headers:
    """Let content-length say what it said, of a body that is *longer* by so many bytes."""
    return tuple(
        (name, str(max(0, int(value) + longer)))
        if name.lower() == "content-length" and value.strip().isdecimal()
        else (name, value)
        for name, value in headers
    )


def _passed(new: Entry, by_today: Judged) -> Entry | None:
    """Return an edited entry as the gate lets it pass: good, or bad in the way that it was kept for; else None."""
    said = by_today.judgement
    if said.kind is Kind.GOOD:
        return good(new, by_today)
    if said.kind is Kind.LEFT and new.verdict.startswith("left:"):
        return replace(new, verdict=said.verdict)
    return replace(new, violations=said.violations) if new.verdict == f"kept:{said.reason}" else None


def _write(read: Read, entry: Entry, sides: dict[str, bytes]) -> Decided:
    if wait := busy(read):
        return wait
    if read.change.kind is What.REJECT:
        return _write_reject(read, entry, sides)
    change = read.change
    data, own = looked_over(entry)
    if not keep_copy(change.root, change.path, read.data, removing=False):
        return no(CHANGED)
    with closing(open_store(change.path.parent)) as store:
        if not exchange(store, entry, read.data, data, {**sides, **own}):
            return no(CHANGED)
    return Decided(True, f"edited, and passed by the gate as {entry.verdict}; what it was is in the trash")


def _write_reject(read: Read, entry: Entry, sides: dict[str, bytes]) -> Decided:
    """Put an answer that passes by now into the cassette, and what was refused into the trash."""
    folder = read.change.folder
    if folder is None:
        return no("its cassette lies outside of the settings' folder, which its place does not name")
    with closing(open_store(folder)) as store:
        placed = add(store, entry, sides)
        where = accepted_at(store, placed, read.change.root)
    put_reject_away(read)
    return Decided(True, f"edited, and passed by the gate: it is in the cassette now{beside(placed)}: {where}")
