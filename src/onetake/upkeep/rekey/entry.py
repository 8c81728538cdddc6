"""One entry under today's rules: scrubbed and keyed anew, from what is stored of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from onetake import gate, key_specs
from onetake.key_specs import Age
from onetake.model import Answer, Entry, KeySpec, Request, Response
from onetake.scrub import Scrubbing
from onetake.upkeep import secrets
from onetake.upkeep.entry_checks import dialect_of
from onetake.upkeep.ruling import Ruled
from onetake.upkeep.stored_rules import days_of
from onetake.verdicts import restated


class CannotRekeyError(Exception):
    """An entry stays as it is; `args` are why, and what mends it."""


def rekeyed(entry: Entry, ruled: Ruled, days: tuple[Any, ...] | None) -> Entry:
    """Return an entry as today's rules have it: the same object where nothing has to change.

    An entry of today's recipe whose key is right stays as it is, whatever the rules that it was keyed by: those that
    touch nothing move nothing.

    Args:
        entry: Its key has been verified under its own rules.
        ruled: What holds for it today.
        days: The days that counted as today when it was keyed; None where its own rules do not ask for them.

    Raises:
        CannotRekeyError: It cannot be scrubbed, or its key not be known.
    """
    stays = _keeps_headers(entry, ruled) and secrets.is_clear(entry, ruled.scrubber)
    new = entry if stays else _scrubbed(entry, ruled.scrubber.begin())
    key, spec = _keyed(new.request, ruled, days or days_of(entry))
    if new is not entry or key != entry.key or key_specs.format_age(entry.key_spec) is Age.OLDER:
        new = replace(new, key=key, key_spec=spec)
    if not stays and _holds_secret(new, ruled.scrubber.begin()):
        raise CannotRekeyError("it holds a secret that cannot be scrubbed", secrets.MEND)
    return new


def _holds_secret(entry: Entry, scrubbing: Scrubbing) -> bool:
    """Tell whether a secret is left that no scrub takes out; in an answer, where the response does not say it."""
    said = repr(entry.answer)
    return secrets.fixed(entry, scrubbing) or scrubbing.text(said) != said


def _keeps_headers(entry: Entry, ruled: Ruled) -> bool:
    """Tell whether today's rules keep all headers that an entry has."""
    lists = (ruled.scrubber.request_headers, entry.request), (ruled.scrubber.response_headers, entry.response)
    return all(kept.keeps(name) for kept, side in lists for name, _ in side.headers)


def _scrubbed(entry: Entry, scrubbing: Scrubbing) -> Entry:
    """Return an entry without today's secrets, its key as it was; the same object where there is none."""
    request = scrubbing.request(entry.request)
    response = scrubbing.response(entry.response)
    content = _content(response, scrubbing)
    rest = secrets.without(entry, scrubbing)
    is_same = request is entry.request and response is entry.response
    if is_same and rest is entry:
        return entry
    return replace(
        rest,
        verdict=restated(entry.verdict, response),
        request=request,
        response=response,
        answer=entry.answer if is_same else _answer(entry, request, content),
        scrubbed=tuple(dict.fromkeys((*rest.scrubbed, *scrubbing.spans))),
    )


def _keyed(request: Request, ruled: Ruled, days: tuple[Any, ...]) -> tuple[str, KeySpec]:
    keyer = ruled.keyer
    if keyer.today() is None:
        return keyer.key(request), key_specs.current(keyer.spec())
    if not days:
        why = '`volatile = ["today"]` holds now, and the entry does not say on which day it was recorded'
        raise CannotRekeyError(why, "record it again")
    return keyer.key(request, days), key_specs.current(keyer.spec(days))


def _content(response: Response, scrubbing: Scrubbing) -> Response | None:
    """Return what a scrubbed response reads as; what its client left in a content-encoding cannot be scrubbed there."""
    content = gate.content_of(response)
    if content is None or content is response:
        return content
    scrubbed = scrubbing.response(content)
    if scrubbed.body != content.body:
        why = "its response holds a secret within a content-encoding, where it cannot be scrubbed"
        raise CannotRekeyError(why, "delete the file, and record what is then missing")
    return scrubbed


def _answer(entry: Entry, request: Request, content: Response | None) -> Answer | None:
    if entry.answer is None:
        return None
    dialect = dialect_of(entry.dialect or "")
    if dialect is None or content is None:
        what = "dialect" if dialect is None else "content-encoding"
        why = f"its answer would have to be derived again, and its {what} is not known here"
        raise CannotRekeyError(why, f"upgrade onetake, or install the package that has this {what}")
    return dialect.read(request, content).answer
