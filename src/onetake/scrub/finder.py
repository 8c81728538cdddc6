"""Finds secrets in one text: by shape, by value, by pattern; also percent-, JSON- and base64-escaped."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from urllib.parse import quote

from onetake.scrub.anchors import anchors, distinct_words, long_words, may_hold_shape
from onetake.scrub.encoded import base64_texts
from onetake.scrub.pem import private_keys
from onetake.scrub.shapes import KINDS, PRIVATE_KEY, SHAPES, URL_PASSWORD, Shape

PLACEHOLDER = re.compile(r"\[(" + "|".join(sorted(set(KINDS))) + r") ([1-9][0-9]{0,5})\]")

_MOST_WORDS = 4096
_LONGEST_WORD = 256
"""Bytes of a word that is kept in mind."""
_DEEPEST = 3
"""How many escapings within each other are undone."""
_BASE64 = re.compile("[A-Za-z0-9+/_-]{8,}={0,2}")
_HIDDEN = re.compile(r"\\u00[2-7]")
_ESCAPABLE = re.compile("[^A-Za-z0-9._~-]")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_JSON_ESCAPE = re.compile(
    r'\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|u([0-9A-Fa-f]{4})|(["\\/bfnrt]))'
)
_JSON_CHARS = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))


@dataclass(frozen=True, slots=True)
class Hit:
    """A secret in a text, at `[start, end)`; *secret* is what is numbered, unescaped where it is escaped there."""

    start: int
    end: int
    kind: str
    secret: str


class View:
    """A text with one kind of escape undone.

    Args:
        source: The text.
        escape: Finds an escape.
        undo: Returns what it stands for.
    """

    def __init__(self, source: str, escape: re.Pattern[str], undo: Callable[[re.Match[str]], str]) -> None:
        self.text = escape.sub(undo, source)
        self._made_of = source, escape, undo

    @cached_property
    def origin(self) -> Sequence[int]:
        """Where in the source each character starts, with one more for the end. Most views hold nothing to place."""
        source, escape, undo = self._made_of
        origin: list[int] = []
        last = 0
        for found in escape.finditer(source):
            origin += range(last, found.start())
            last = found.end()
            origin += range(found.start(), last, (last - found.start()) // len(undo(found)))
        origin += range(last, len(source) + 1)
        return origin

    def back(self, hit: Hit) -> Hit:
        """Return a hit in this view as one in the text that it was made of."""
        return Hit(self.origin[hit.start], self.origin[hit.end], hit.kind, hit.secret)


def json_view(text: str) -> View:
    """Undo the escapes of JSON strings, also of those inside strings."""
    return View(text, _JSON_ESCAPE, _json_char)


def _percent_view(text: str) -> View:
    return View(text, _PERCENT, lambda found: bytes.fromhex(found[0].replace("%", "")).decode("latin-1"))


class Finder:
    """Find secrets; immutable, but that it keeps words in mind which it need not look at again.

    Args:
        known: Values that are credentials whatever they look like.
        patterns: The user's own, compiled.
    """

    def __init__(self, known: Iterable[str] = (), patterns: tuple[re.Pattern[str], ...] = ()) -> None:
        known = tuple(known)
        self._known = {form: value for value in known for form in _spellings(value)}
        # However often a value is escaped, this part of it stays as it is.
        self._parts = {max(_ESCAPABLE.split(value), key=len) for value in known}
        self._encoded = {core for value in known for core in _base64_cores(value)}
        self._patterns = patterns
        self._harmless: set[bytes] = set()

    def suspects(self, text: str) -> bool:
        """Tell quickly whether *text*, as it is on the wire, may hold a secret; False is certain."""
        if self._patterns:
            return True
        # What is asked of words is asked of each alone; entries say the same ones again: a model, a URL, a commit.
        words = distinct_words(text) - self._harmless
        if self._may_hold(text, words, 0):
            return True
        if len(self._harmless) + len(words) <= _MOST_WORDS:
            self._harmless.update(word for word in words if len(word) <= _LONGEST_WORD)
        return False

    def _may_hold(self, text: str, new: set[bytes], depth: int) -> bool:
        if "PRIVATE KEY" in text or ("://" in text and URL_PASSWORD.pattern.search(text)):
            return True
        if any(part in text for part in self._parts) or any(core in text for core in self._encoded):
            return True
        words = b"\n".join(new).decode("latin-1")
        if words and (may_hold_shape(words) or any(self._base64(words, depth))):
            return True
        if depth > _DEEPEST:
            return False
        is_hidden = "\\/" in text or ("\\u00" in text and _HIDDEN.search(text))
        views = [json_view(text)] if is_hidden else []
        views += [_percent_view(words)] if "%" in words and _PERCENT.search(words) else []
        return any(self._may_hold(view.text, distinct_words(view.text), depth + 1) for view in views)

    def find(self, text: str) -> list[Hit]:
        """Return the secrets in *text*, in order, none overlapping; a placeholder is none."""
        return self._find(text, 0) if self.suspects(text) else []

    def _find(self, text: str, depth: int) -> list[Hit]:
        hits = list(_shapes(text))
        if depth < _DEEPEST:
            for view in _views(text):
                hits += map(view.back, self._find(view.text, depth + 1))
            hits += self._base64(text, depth)
        hits += self._values(text)
        return _outside_placeholders(text, merged(text, hits)) if hits else []

    def _base64(self, text: str, depth: int) -> Iterator[Hit]:
        done = 0
        for run, size, within in base64_texts(text):
            if run.end() <= done:
                continue
            for hit in self._find(within, depth + 1)[:1]:  # one is enough: the whole run goes
                done = run.end()
                whole = hit.start == 0 and hit.end == len(within) == size
                yield Hit(run.start(), run.end(), hit.kind, hit.secret if whole else run.group())

    def _values(self, text: str) -> Iterator[Hit]:
        for form, value in self._known.items():
            for start in _occurrences(text, form):
                yield Hit(start, start + len(form), "credential", value)
        for core in self._encoded:
            if core in text:
                runs = (run for run in _BASE64.finditer(text) if core in run.group())
                yield from (Hit(run.start(), run.end(), "credential", run.group()) for run in runs)
        for pattern in self._patterns:
            found = (match for match in pattern.finditer(text) if match.group())
            yield from (Hit(match.start(), match.end(), "secret", match.group()) for match in found)


def merged(text: str, hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits in order; of two that overlap the first and longest swallows the other."""
    found: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        if found and hit.start < found[-1].end:
            last = found[-1]
            if hit.end > last.end:
                found[-1] = Hit(last.start, hit.end, last.kind, text[last.start : hit.end])
        else:
            found.append(hit)
    return found


def _outside_placeholders(text: str, hits: list[Hit]) -> list[Hit]:
    taken = [found.span() for found in PLACEHOLDER.finditer(text)]
    starts = [start for start, _ in taken]

    def is_outside(hit: Hit) -> bool:
        before = bisect_left(starts, hit.end)  # neither the hits nor the placeholders overlap among themselves
        return not before or taken[before - 1][1] <= hit.start

    return [hit for hit in hits if is_outside(hit)]


def _shapes(text: str) -> Iterator[Hit]:
    raw = text.encode("latin-1", "replace")
    low = raw.lower()
    for start, end in long_words(raw):
        last = -1
        for number, at in anchors(low, start, end):
            shape = SHAPES[number]
            if shape.is_anchored:
                found = shape.pattern.match(text, at, end)
                yield from _accepted(shape, [found] if found else [])
            elif number != last:
                yield from _accepted(shape, shape.pattern.finditer(text, start, end))
            last = number
    yield from (Hit(start, end, PRIVATE_KEY.kind, text[start:end]) for start, end in private_keys(text))
    if "://" in text:
        yield from _accepted(URL_PASSWORD, URL_PASSWORD.pattern.finditer(text))


def _accepted(shape: Shape, matches: Iterable[re.Match[str]]) -> Iterator[Hit]:
    named = "secret" if "secret" in shape.pattern.groupindex else 0
    for found in matches:
        if shape.accept(found[named]):
            yield Hit(found.start(named), found.end(named), shape.kind, found[named])


def _occurrences(text: str, part: str) -> Iterator[int]:
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + len(part))


def _views(text: str) -> Iterator[View]:
    if "%" in text and _PERCENT.search(text):
        yield _percent_view(text)
    if "\\" in text and _JSON_ESCAPE.search(text):
        yield json_view(text)


def _json_char(found: re.Match[str]) -> str:
    pair, code, letter = found.groups()
    if pair:
        return chr(0x10000 + ((int(pair[1:5], 16) - 0xD800) << 10) + int(pair[7:], 16) - 0xDC00)
    return chr(int(code, 16)) if code else _JSON_CHARS[letter]


@lru_cache(64)  # a session sends the same few credentials with every request
def _spellings(value: str) -> tuple[str, ...]:
    return value, quote(value, safe=""), json.dumps(value)[1:-1]


@lru_cache(64)
def _base64_cores(value: str) -> frozenset[str]:
    """Return what base64 of any text that holds *value* must hold, one for each of the three alignments."""
    data = value.encode("utf-8", "surrogatepass")
    found: set[str] = set()
    for skip in range(3):
        letters = b64encode(bytes(skip) + data).decode()
        core = letters[(skip * 8 + 5) // 6 : (skip + len(data)) * 8 // 6]
        found |= {core, core.replace("+", "-").replace("/", "_")}
    return frozenset(found)
