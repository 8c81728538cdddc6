"""Comments and docstrings that say that bodies are compared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from onetake.doctor.modules import Module

_CLAIM = re.compile(
    r"\b(?:match\w*|compar\w+|distinguish\w*|differentiat\w+|identif\w+|keyed)\b[^.;]{0,70}?\b(?:bod(?:y|ies)|payloads?)\b"
    r"|\b(?:bod(?:y|ies)|payloads?)\b[^.;]{0,40}?\b(?:match\w*|compar\w+|distinguish\w*|told apart)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"\bcompar", re.IGNORECASE)
"""A word of tests about their own results as well: only a word of replay beside it tells what is meant."""
_REPLAYED = re.compile(r"cassette|\bvcr|\breplay|\bmatch", re.IGNORECASE)
_ABOUT_REPLAY = re.compile(
    r"\brequests?\b|cassette|\bvcr|record|replay|interaction|\bmatch(?:es|ed|ing)? (?:on|by)\b", re.IGNORECASE
)
_DENIED = re.compile(
    r"\b(?:not|no|nothing|none|nobody|neither|nor|never|without|ignor\w+|exclud\w+|except|instead|regardless|rather|skip\w*|drop\w*|cannot|todo|fixme"
    r"|should|would|could|unless|disabl\w+|lacks?|only (?:on|by) (?:the )?(?:method|url|uri|path))\b|n't\b"
    r"|\bbut (?:for )?the\b|response(?:'s|s)? bod|\bmatch_on\b.{0,4}[:=]",
    re.IGNORECASE,
)
_CONSEQUENCE = re.compile(
    r"\b(?:so|thus|hence|therefore|because|since|which means|otherwise|in order to)\b"
    r"|\bto (?:avoid|ensure|prevent|keep|make sure)\b",
    re.IGNORECASE,
)
"""Begins what a claim leads to, or why it is made: a no in that denies the claim not."""
_SHORT = re.compile(r"\b(incl|e\.g|i\.e|resp|esp|vs)\.", re.IGNORECASE)
"""Words whose dot ends no sentence."""
_SENTENCE = re.compile(r"[^.;!?]+(?:[.;!?](?!\s|$)[^.;!?]*)*")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that says that bodies are compared."""

    line: int
    text: str


def find_claims(module: Module) -> list[Claim]:
    """Return the claims of a file, in the order of their lines."""
    return sorted({claim for line, text in _texts(module) for claim in _claims(line, text)}, key=lambda one: one.line)


def _claims(line: int, text: str) -> Iterator[Claim]:
    for sentence in _SENTENCE.finditer(_SHORT.sub(r"\1 ", text)):
        said = sentence[0]
        found = _CLAIM.search(said)
        about = _REPLAYED if found is not None and _COMPARED.search(found[0]) else _ABOUT_REPLAY
        if found is not None and about.search(said) and not _DENIED.search(said[: _end_of(said, found.end())]):
            at = sentence.start() + found.start()
            yield Claim(line + text.count("\n", 0, at), " ".join(text[slice(*sentence.span())].split()))


def _end_of(said: str, end: int) -> int:
    """Return where a sentence with a claim that ends at *end* begins to speak of something else."""
    found = _CONSEQUENCE.search(said, end)
    return found.start() if found else len(said)


def _texts(module: Module) -> Iterator[tuple[int, str]]:
    """Yield docstrings, and comments with those on the lines below joined to them."""
    for node in ast.walk(module.tree):
        body = getattr(node, "body", None)
        match body:
            case [ast.Expr(value=ast.Constant(value=str(text)) as first), *_]:
                yield first.lineno, text
    block: list[tuple[int, str]] = []
    join = partial("\n".join)
    for line, text in module.comments:
        if block and line != block[-1][0] + 1:
            yield block[0][0], join(text for _, text in block)
            block = []
        block.append((line, text))
    if block:
        yield block[0][0], join(text for _, text in block)
