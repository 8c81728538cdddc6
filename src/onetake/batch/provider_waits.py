"""How long a provider asks to wait: `retry-after` in its three forms, and the headers that tell of its limits.

Times of day are counted from the response's own `date`: this machine's clock may be wrong, or be set in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from onetake.model import Headers, header

_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?")
_PIECE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|us|µs|ns|s|m|h|d)")
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_OF = ("requests", "tokens", "input-tokens", "output-tokens")


def asked_wait(headers: Headers, *, of_limits: bool = False) -> float:
    """Return the seconds that a response asks to wait, 0 where it does not.

    Args:
        headers: The response's.
        of_limits: Whether limits that are used up count too: those of a 429 do.

    Source: RFC 9110, 10.2.3 (seconds, a date); `retry-after-ms`, OpenAI's and Azure's; the headers of `resets`.
    """
    waits = [_retry_after(headers), _milliseconds(headers)]
    if of_limits:
        waits += [reset for _, left, reset in _limits(headers) if left <= 0]
    return max(waits)


def hint(headers: Headers, tokens: float) -> float:
    """Return the seconds to wait before another request would find room, 0 where there is room.

    Args:
        headers: Those of a good response.
        tokens: What the other request takes.
    """
    waits = [0.0]
    for of, left, reset in _limits(headers):
        wanted = 1.0 if of == "requests" else tokens
        if left >= wanted:
            continue
        full = _amount(_named(headers, of, "limit"))
        # The reset is when all of it is there again; what is wanted comes sooner.
        waits.append(reset * min(1.0, (wanted - left) / (full - left)) if full and full > left else reset)
    return max(waits)


def _limits(headers: Headers) -> Iterator[tuple[str, float, float]]:
    """Yield (of what, what is left, seconds until all of it is there again).

    Source: OpenAI, rate limits in headers (`x-ratelimit-remaining-requests`, `6m0s`); Anthropic, rate limits
    (`anthropic-ratelimit-requests-remaining`, an RFC 3339 time).
    """
    for of in _OF:
        left = _amount(_named(headers, of, "remaining"))
        if left is not None and (reset := _span(_named(headers, of, "reset"), headers)) is not None:
            yield of, left, reset


def _named(headers: Headers, of: str, what: str) -> str:
    found = header(headers, f"x-ratelimit-{what}-{of}") or header(headers, f"anthropic-ratelimit-{of}-{what}")
    return (found or "").strip()


def _amount(said: str) -> float | None:
    return float(said) if _NUMBER.fullmatch(said) else None


def _retry_after(headers: Headers) -> float:
    said = (header(headers, "retry-after") or "").strip()
    return _span(said, headers) or 0.0


def _milliseconds(headers: Headers) -> float:
    return (_amount((header(headers, "retry-after-ms") or "").strip()) or 0.0) / 1000


def _span(said: str, headers: Headers) -> float | None:
    """Return seconds from now of `12`, `6m0s`, `1.5s`, an RFC 3339 time or an HTTP date; None for anything else."""
    if _NUMBER.fullmatch(said):
        return float(said)
    pieces = _PIECE.findall(said)
    if pieces and "".join(number + unit for number, unit in pieces) == said:
        return sum(float(number) * _UNITS[unit] for number, unit in pieces)
    until, now = _moment(said), _moment((header(headers, "date") or "").strip())
    return max(0.0, (until - now).total_seconds()) if until and now else None


def _moment(said: str) -> datetime | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            found = read(said)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
    return None
