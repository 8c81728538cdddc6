"""Make untrusted text safe to print, and short: what a model, a server or a file said is never trusted on output."""

from __future__ import annotations

import re

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

# A control string (OSC, DCS, …) is taken out with its payload only where it ends on its line: an open one would
# take the visible text after it along. No class below can match a control character, so that the scan stays linear.
_UNSAFE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]*[0-~]"
    "|[\x00-\x08\x0e-\x1f\x7f-\x9f]"
)
_UNSEEN = "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f"
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
_UNSPEAKABLE = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff{_UNSEEN}]")
_KEY = re.compile("[0-9a-f]{64}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def block(text: str) -> str:
    """Make text of several lines safe to print.

    Args:
        text: Any text, lone surrogates included.

    Returns:
        The text without ANSI and OSC sequences and control characters; bidirectional controls and invisible marks are
        escapes, as a name may hold one and is another name without; every line end is LF, a tab four spaces, a lone
        surrogate U+FFFD. `block(block(x)) = block(x)`.

    Source: ECMA-48 for the sequences (7-bit and 8-bit forms); Unicode UAX 9 for the bidirectional controls.
    """
    text = _UNSAFE.sub("", _LINE_ENDS.sub("\n", text))
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", _INVISIBLE.sub(_escape, text))
    return text.replace("\t", "    ")


def one_line(text: str, width: int = 200) -> str:
    """Make text safe to print on one line.

    Args:
        text: Any text.
        width: Longest result, in characters, 1 or more.

    Returns:
        What `block` gives, each line end as `⏎`, shortened in the middle with `…`; then without the secrets that the
        built-in list knows, since half of one is known to nobody.
    """
    if len(text) > 40 * width:  # what is cut away need not be cleaned
        text = text[: 20 * width] + "…" + text[-20 * width :]
    text = block(text)
    if len(text) > width:
        from onetake.scrub import shown  # slow to load, and most texts are short

        text = shown(text)
    text = text.replace("\n", "⏎")
    if len(text) <= width:
        return text
    head = width // 2
    return text[:head] + "…" + text[len(text) - (width - 1 - head) :]


def short_key(key: str) -> str:
    """Return the first digits of a key, as file names have them; what a file says is one may be a secret.

    Args:
        key: 64 hex digits, or any text in their place.
    """
    if _KEY.fullmatch(key):
        return key[:16]
    from onetake.scrub import shown  # slow to load, and nearly every key is one

    return block(shown(key))[:16]


def spelled(text: str) -> str:
    """Spell what cannot be printed as escapes: a name is one line, forges no line of a report, and can be told by it.

    Args:
        text: A path or a name: it may hold any character; `block` changes nothing of what is returned.
    """
    return _UNSPEAKABLE.sub(_escape, text)


def is_speakable(text: str) -> bool:
    """Tell whether a name can be printed as it is: `spelled` changes nothing of it."""
    return _UNSPEAKABLE.search(text) is None


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def excerpt(a: str, b: str, around: int = 30) -> tuple[str, str]:
    """Show where two texts differ.

    Args:
        a: One text.
        b: The other.
        around: Characters of context before and after the differing span; a span over four times as long is cut.

    Returns:
        The span of each with its context, on one line; `…` where text was left out. Texts that look alike on paper
        (invisible characters, composed and decomposed letters) are spelled in escapes.
    """
    start = shared_prefix(a, b)
    end = shared_suffix(a[start:], b[start:])
    first, second = (_span(text, start, len(text) - end, around) for text in (a, b))
    shown = one_line(first, 7 * around), one_line(second, 7 * around)
    if a != b and _look_alike(*shown):
        return one_line(_escaped(first), 7 * around), one_line(_escaped(second), 7 * around)
    return shown


def shared_prefix(a: str, b: str) -> int:
    """Return how many characters two texts share at their start."""
    low, high = 0, min(len(a), len(b))
    while low < high:  # halving compares slices in C: a loop over characters takes 100 times as long
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def shared_suffix(a: str, b: str) -> int:
    """Return how many characters two texts share at their end."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[len(a) - middle : len(a) - low] == b[len(b) - middle : len(b) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _span(text: str, start: int, end: int, around: int) -> str:
    if end - start > 4 * around:
        shown, after = text[start : start + 4 * around], "…"
    else:
        shown, after = text[start : end + around], "…" if end + around < len(text) else ""
    before = max(0, start - around)
    return ("…" if before else "") + text[before:start] + shown + after


def _look_alike(a: str, b: str) -> bool:
    if a.isascii() and b.isascii():
        return a == b
    from unicodedata import normalize

    return normalize("NFC", a) == normalize("NFC", b)


def _escaped(text: str) -> str:
    return text.replace("…", "...").encode("unicode_escape").decode("ascii")


def sides(path: str, asked: str, stored: str) -> str:
    """Say in one line how a place of what was asked differs from what is stored.

    Args:
        path: The place.
        asked: What was asked there, printable; empty where it is not there.
        stored: What is stored there; empty where it is not there. One of the two is.
    """
    found = [f"{word} {said}" for word, said in (("asked", asked), ("stored", stored)) if said]
    if len(found) == 1:
        found = [f"only {'asked' if asked else 'stored'}: {asked or stored}"]
    return f"{one_line(path, 160)}: {', '.join(found)}"


def counted(number: int, word: str) -> str:
    """Write a number of things: `1 call`, `2 calls`.

    Args:
        number: How many.
        word: What one is called; its plural ends in `s`.
    """
    return f"{number:,} {word}{'s' if number != 1 else ''}"
