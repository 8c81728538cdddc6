"""The retry table: what a provider's word means, and what follows from it. Pure and total."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from onetake.batch.provider_waits import asked_wait
from onetake.model import Response
from onetake.picking import document, error_text, mapping
from onetake.printable import one_line


class Kind(StrEnum):
    """What a fault means."""

    AGAIN = "again"
    """The provider or the way to it failed: the same request may succeed."""
    RATE = "rate"
    """Too much was asked: the whole run waits."""
    MONEY = "money"
    """Nothing more is paid for: the run stops."""
    ACCESS = "access"
    """No request of this run can succeed: the credential, the model or the address is wrong."""
    REFUSED = "refused"
    """This one request is wrong: stored, and never asked again."""
    SECRET = "secret"
    """The answer holds a secret that cannot be taken out: it is not stored, and would be the same again."""
    UNSENDABLE = "unsendable"
    """This one request cannot be sent: a header of it is none."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an attempt brought no answer.

    Args:
        kind: What it means.
        label: What failures of one cause share: `503`, `timeout`, `401 invalid_api_key`.
        said: The provider's own words, in one line; may quote the request.
        wait: Seconds that the provider asks to wait, 0 or more.
    """

    kind: Kind
    label: str
    said: str = ""
    wait: float = 0.0

    def __str__(self) -> str:
        return f"{self.label}: {self.said}" if self.said else self.label


class Step(StrEnum):
    """What follows from a fault."""

    RETRY = "retry"
    """Send it again after a pause of its own."""
    HOLD = "hold"
    """Send it again when the whole run goes on."""
    STORE = "store"
    """Keep the reply: it is the record's."""
    GIVE_UP = "give-up"
    """Ask no more for it in this run."""
    STOP = "stop"
    """Send nothing more."""


REFUSED = (400, 404, 413, 422)
"""Statuses by which a provider refuses one request."""
LONGEST_S = 600.0
"""Seconds that are waited at most between the attempts of one request, for whatever reason."""

_FIRST_S, _PAUSE_S = 0.5, 60.0
_LONGEST = 300
_MONEY = frozenset(
    {"insufficient_quota", "insufficient_balance", "insufficient_credits", "insufficient_funds", "billing_error"}
    | {"billing_hard_limit_reached", "billing_not_active", "credit_balance_too_low", "spend_limit_reached"}
)
_MODEL = frozenset({"model_not_found", "invalid_model", "unknown_model", "deploymentnotfound"})
# Only at their start: further on they may quote the record.
_MONEY_SAID = re.compile(
    r"(?:your |this |the )?(?:account'?s? |organization'?s? |api key'?s? )?"
    r"(?:credit balance is too low|insufficient (?:balance|credits?|funds|quota)|credits? (?:are |is )?exhausted"
    r"|(?:monthly |daily )?(?:spend(?:ing)?|usage|budget) limit|you have reached your specified api usage limits)",
    re.IGNORECASE,
)
_MODEL_SAID = re.compile(
    r"(?:the )?model:? ?\S{0,200} (?:was )?(?:not found|does not exist|not exist|is not (?:available|supported))"
    r"|model: \S{1,200}$|(?:unknown|invalid|no such) model\b",
    re.IGNORECASE,
)


def of_status(response: Response) -> Fault | None:
    """Say what an error status means.

    Args:
        response: As it came; its body may be cut.

    Returns:
        None for 200 to 299, which must be judged; a fault for any other number.
    """
    status = response.status
    if 200 <= status < 300:
        return None
    return _fault(status, response, document(response.body))


def of_error(response: Response, said: str) -> Fault:
    """Say what an error object or event under a good status means: by the status that it names, else try again.

    Args:
        response: As it came.
        said: What the error says, as its dialect reads it.
    """
    body = document(response.body)
    error = mapping(body.get("error"))
    code = error.get("code", error.get("status"))
    status = int(code) if isinstance(code, int | str) and re.fullmatch("[45][0-9]{2}", str(code)) else 500
    fault = _fault(status, response, body)
    kind = Kind.AGAIN if fault.kind is Kind.REFUSED else fault.kind
    return Fault(kind, f"{response.status} with an error", fault.said or one_line(said, _LONGEST), fault.wait)


def next_step(fault: Fault, attempts: int, waited: float, max_attempts: int) -> Step:
    """Say what follows from a fault.

    Args:
        fault: Of the last attempt.
        attempts: How often the request was sent, those left out that met a rate limit.
        waited: Seconds that were waited between its attempts; not those in line behind others.
        max_attempts: How often it may be sent.
    """
    steps = {Kind.REFUSED: Step.STORE, Kind.MONEY: Step.STOP, Kind.SECRET: Step.GIVE_UP, Kind.UNSENDABLE: Step.GIVE_UP}
    if (step := steps.get(fault.kind)) is not None:
        return step
    if waited + fault.wait >= LONGEST_S:
        return Step.GIVE_UP
    if fault.kind is Kind.RATE:
        return Step.HOLD
    return Step.RETRY if attempts < max_attempts else Step.GIVE_UP


def backoff(times: int, chance: float) -> float:
    """Return the seconds to wait after the n-th failure in a row.

    Args:
        times: 1 or more.
        chance: 0 to 1, by chance: callers that failed together must not come back together.
    """
    return float(min(_PAUSE_S, _FIRST_S * 2 ** min(times - 1, 20)) * (0.5 + chance / 2))


def _fault(status: int, response: Response, body: Mapping[str, Any]) -> Fault:
    error = body.get("error")
    words = {str(mapping(error).get(name, "")).lower() for name in ("code", "type")}
    if isinstance(error, str):
        words.add(error.lower())
    said = error_text(error) or error_text(dict(body)) if body else response.body[:2000].decode("utf-8", "replace")
    said = one_line((said or "").strip(), _LONGEST)
    known = sorted(words & (_MONEY | _MODEL))
    label = f"{status} {known[0]}" if known else str(status)
    kind = _kind(status, words, said, has_error=bool(error) or body.get("object") == "error")
    return Fault(kind, label, said, asked_wait(response.headers, of_limits=kind is Kind.RATE))


def _kind(status: int, words: set[str], said: str, *, has_error: bool) -> Kind:
    is_money = bool(words & _MONEY) or _MONEY_SAID.match(said) is not None
    if status == 402 or (status in (400, 403, 429) and is_money):
        return Kind.MONEY
    if status == 429:
        return Kind.RATE
    if status in (408, 409, 425) or status >= 500:
        return Kind.AGAIN
    if status in REFUSED and not _concerns_all(status, words, said, has_error=has_error):
        return Kind.REFUSED
    return Kind.ACCESS


def _concerns_all(status: int, words: set[str], said: str, *, has_error: bool) -> bool:
    """Tell whether a status of `REFUSED` says no to every request: the model is unknown, or nobody lives there."""
    if status == 404 and not has_error:
        return True
    return status in (400, 404) and (bool(words & _MODEL) or _MODEL_SAID.match(said) is not None)
