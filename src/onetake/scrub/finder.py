"""Finds secrets in one text: by shape, by value, by pattern; also percent-, JSON- and base64-escaped."""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from onetake.scrub.shapes import KINDS, PRIVATE_KEY, SHAPES, URL_PASSWORD, Shape

PLACEHOLDER = re.compile(r"\[(" + "|".join(sorted(set(KINDS))) + r") ([1-9][0-9]{0,5})\]")

_SHORTEST = 16
"""Characters without a break that every shape but the private key has; shorter words are not looked at."""
_SHORTEST_BASE64 = 24
_DEEPEST = 3
"""How many escapings within each other are undone."""
_CONTEXT = 12
"""Characters before a long word that may belong to its shape: `Bearer`."""

_WORD_CHARS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/.=%~")
_WORD = bytes(ord("x") if code in _WORD_CHARS else ord(" ") for code in range(256))
_LONG = b"x" * _SHORTEST
_BASE64 = re.compile("[A-Za-z0-9+/_-]{8,}={0,2}")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ASCII_WITHIN = re.compile(
    "(?:[{}][{}][{}][A-Za-z0-9+/]){{5}}".format(
        *("".join(letter for value, letter in enumerate(_LETTERS) if not value & bit) for bit in (32, 8, 2))
    )
)
"""Base64 of 15 bytes under 128: each byte's upper bit is one bit of one letter."""
_STANDARD = str.maketrans("-_", "+/")
_ANY_LITERAL = "|".join(re.escape(literal) for literal in sorted({x for shape in SHAPES for x in shape.literals}))
# After a boundary, or after an escape: in `\nsk-…` the letter n comes before the secret.
_LITERAL = re.compile(f"[^a-z0-9](?:[bfnrt]|u[0-9a-f]{{4}})?(?:{_ANY_LITERAL})")
_HIDDEN = re.compile(r"\\(?:/|u00[2-7])")
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


@dataclass(frozen=True, slots=True)
class View:
    """A text with one kind of escape undone; `origin[i]` is where its character *i* starts; one more for the end."""

    text: str
    origin: Sequence[int]

    def back(self, hit: Hit) -> Hit:
        """Return a hit in this view as one in the text that it was made of."""
        return Hit(self.origin[hit.start], self.origin[hit.end], hit.kind, hit.secret)


def json_view(text: str) -> View:
    """Undo the escapes of JSON strings, also of those inside strings."""
    return _view(text, _JSON_ESCAPE, _json_char)


class Finder:
    """Find secrets; immutable.

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

    def suspects(self, text: str) -> bool:
        """Tell quickly whether *text*, as it is on the wire, may hold a secret; False is certain."""
        if self._patterns or _HIDDEN.search(text) or ("://" in text and URL_PASSWORD.pattern.search(text)):
            return True
        if any(part in text for part in self._parts) or any(core in text for core in self._encoded):
            return True
        # A stream says the same words with every event: each is looked at once.
        return any(map(_suspicious_word, {text[max(0, start - _CONTEXT) : end] for start, end in _long_words(text)}))

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
        for run, decoded in _decoded_runs(text):
            for hit in self._find(decoded, depth + 1):
                whole = hit.start == 0 and hit.end == len(decoded)
                yield Hit(run.start(), run.end(), hit.kind, hit.secret if whole else run.group())

    def _values(self, text: str) -> Iterator[Hit]:
        for form, value in self._known.items():
            for start in _places(text, form):
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
    taken = [found.span() for found in PLACEHOLDER.finditer(text)] if hits else []
    return [hit for hit in hits if not any(hit.start < end and start < hit.end for start, end in taken)]


def _long_words(text: str) -> Iterator[tuple[int, int]]:
    # Two passes of the C library find the few long words of a text; regular expressions took fifty times as long.
    mapped = text.encode("ascii", "replace").translate(_WORD)
    start = mapped.find(_LONG)
    while start >= 0:
        end = mapped.find(b" ", start)
        end = len(mapped) if end < 0 else end
        yield start, end
        start = mapped.find(_LONG, end)


def _suspicious_word(word: str) -> bool:
    low = f" {word.lower()}"
    if _LITERAL.search(low) or "-----" in low or ("%" in low and _PERCENT.search(low)):
        return True
    return next(_decoded_runs(word), None) is not None


def _decoded_runs(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield every run of base64 that holds ASCII, decoded, once for each of the four places where that may begin."""
    for run in _BASE64.finditer(text):
        if run.end() - run.start() >= _SHORTEST_BASE64:
            letters = run.group().rstrip("=").translate(_STANDARD)
            for skip in sorted({found.start() % 4 for found in _ASCII_WITHIN.finditer(letters)}):
                yield run, _decode(letters[skip:])


def _decode(letters: str) -> str:
    letters = letters[:-1] if len(letters) % 4 == 1 else letters
    return binascii.a2b_base64(letters + "=" * (-len(letters) % 4)).decode("latin-1")


def _shapes(text: str) -> Iterator[Hit]:
    for start, end in _long_words(text):
        first = max(0, start - _CONTEXT)
        low = f" {text[first:end].lower()}"
        if _LITERAL.search(low):
            for shape in SHAPES:
                if any(literal in low for literal in shape.literals):
                    yield from _matches(shape, text, first, end)
    if "PRIVATE KEY" in text:
        yield from _matches(PRIVATE_KEY, text, 0, len(text))
    if "://" in text:
        yield from _matches(URL_PASSWORD, text, 0, len(text))


def _matches(shape: Shape, text: str, first: int, end: int) -> Iterator[Hit]:
    named = "secret" if "secret" in shape.pattern.groupindex else 0
    for found in shape.pattern.finditer(text, first, end):
        if shape.accept(found[named]):
            yield Hit(found.start(named), found.end(named), shape.kind, found[named])


def _places(text: str, part: str) -> Iterator[int]:
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + len(part))


def _views(text: str) -> Iterator[View]:
    if "%" in text and _PERCENT.search(text):
        yield _view(text, _PERCENT, lambda found: bytes.fromhex(found[0].replace("%", "")).decode("latin-1"))
    if "\\" in text and _JSON_ESCAPE.search(text):
        yield json_view(text)


def _json_char(found: re.Match[str]) -> str:
    pair, code, letter = found.groups()
    if pair:
        return chr(0x10000 + ((int(pair[1:5], 16) - 0xD800) << 10) + int(pair[7:], 16) - 0xDC00)
    return chr(int(code, 16)) if code else _JSON_CHARS[letter]


def _view(text: str, escape: re.Pattern[str], undo: Callable[[re.Match[str]], str]) -> View:
    parts: list[str] = []
    origin: list[int] = []
    last = 0
    for found in escape.finditer(text):
        chars = undo(found)
        parts += (text[last : found.start()], chars)
        origin += range(last, found.start())
        last = found.end()
        origin += range(found.start(), last, (last - found.start()) // len(chars))
    origin += range(last, len(text) + 1)
    return View("".join([*parts, text[last:]]), origin)


def _spellings(value: str) -> tuple[str, ...]:
    return value, quote(value, safe=""), json.dumps(value)[1:-1]


def _base64_cores(value: str) -> Iterator[str]:
    """Yield what base64 of any text that holds *value* must hold, one for each of the three alignments."""
    data = value.encode("utf-8", "surrogatepass")
    for skip in range(3):
        letters = b64encode(bytes(skip) + data).decode()
        core = letters[(skip * 8 + 5) // 6 : (skip + len(data)) * 8 // 6]
        yield core
        yield core.replace("+", "-").replace("/", "_")
