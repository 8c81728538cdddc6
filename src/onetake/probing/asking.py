"""Ask a stored request again: whether it may be, with which credential, within which budget and pace."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from onetake import dialects, gate, picking, prices
from onetake.model import Entry, Request, Response, header
from onetake.printable import one_line
from onetake.probing.askable import why_not, with_model
from onetake.probing.credentials import Allowed, Barred, Credentials
from onetake.probing.findings import Outcome, Unknown
from onetake.probing.sending import Answered, NoAnswerError, Sends, send
from onetake.provenance import now
from onetake.scrub import shown

TIMEOUT_S = 120.0
"""Seconds that one answer may take."""
_WIDTH = 200
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "max_tokens_to_sample", "num_predict")
_NESTED_LIMITS = (("generationConfig", "maxOutputTokens"), ("inferenceConfig", "maxTokens"), ("options", "num_predict"))
_ANSWER = 1024
"""Tokens of an answer, at least, for which money is set aside where its request says no limit."""


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms requests are asked again.

    Args:
        model: The model that is asked in the place of the stored one; empty for the same.
        rpm: Requests a minute at most; None for no limit.
        max_cost: US dollars that all of them may cost; None for no limit.
        timeout: Seconds that one answer may take.
    """

    model: str = ""
    rpm: float | None = None
    max_cost: float | None = None
    timeout: float = TIMEOUT_S


@dataclass(slots=True)
class Asker:
    """Asks stored requests again, one after the other.

    Args:
        terms: On what terms.
        sends: Sends a request.
        clock: Seconds, as `time.monotonic` gives them.
        rest: Waits for seconds.
    """

    terms: Terms = field(default_factory=Terms)
    sends: Sends = send
    clock: Callable[[], float] = time.monotonic
    rest: Callable[[float], object] = time.sleep
    cost: float | None = None
    """US dollars that the answers cost so far, as far as prices are known; None where none was."""
    _last: float | None = None
    _reserved: float = 0.0
    """What is spent, and what answers of unknown price may have cost."""

    def request(self, entry: Entry, credentials: Credentials) -> Request | Unknown:
        """Return what is sent for an entry: its request as it is, but for another model where one is asked.

        Args:
            entry: It.
            credentials: Those that count for it; here they only say whether it may be asked.

        Returns:
            `Unknown` where it cannot be asked, or may not: `unaskable`; where only the credential is missing: `failed`.
        """
        if why := why_not(entry):
            return Unknown(Outcome.UNASKABLE, why)
        request = with_model(entry.request, self.terms.model) if self.terms.model else entry.request
        if request is None:
            return Unknown(Outcome.UNASKABLE, "its request does not name its model where another can be put")
        barred = credentials.of(request.url, _dialect(request))
        if isinstance(barred, Barred):
            return Unknown(Outcome.FAILED if barred.missing else Outcome.UNASKABLE, one_line(barred.why, _WIDTH))
        return request

    def ask(self, entry: Entry, request: Request, credentials: Credentials) -> Answered | Unknown:
        """Ask once more.

        Args:
            entry: Whose request it was.
            request: What `request` returned for it.
            credentials: Those that count for it.

        Returns:
            What came; `Unknown` where nothing came whole, or an error status (`failed`), or where the budget does not
            suffice (`unasked`).
        """
        may = credentials.of(request.url, _dialect(request))
        if not isinstance(may, Allowed):
            return Unknown(Outcome.UNASKABLE, one_line(may.why, _WIDTH))
        most = self._most(entry, request)
        limit = self.terms.max_cost
        if limit is not None and (most is None or self._reserved + most > limit):
            return Unknown(Outcome.UNASKED, _over(limit, most))
        self._pace()
        try:
            answered = self.sends(request, may.headers, self.terms.timeout)
        except NoAnswerError as error:
            self._reserved += most or 0.0  # nobody knows whether it is billed
            return _failed(str(error), credentials)
        if not 200 <= answered.response.status < 300:
            return _failed(_refused(answered.response), credentials)
        self._settle(entry, request, answered.response, most)
        return answered

    def _pace(self) -> None:
        """Wait until the next request may go out."""
        if self.terms.rpm and self._last is not None:
            wait = self._last + 60 / self.terms.rpm - self.clock()
            if wait > 0:
                self.rest(wait)
        self._last = self.clock()

    def _most(self, entry: Entry, request: Request) -> float | None:
        """Return what an answer may cost at most, as far as that can be told; None where its price is not known."""
        if self.terms.max_cost is None:
            return None
        asked = picking.count(entry.metrics.get("input_tokens"))
        answered = picking.count(entry.metrics.get("output_tokens")) or 0
        counts = {
            "input_tokens": len(request.body) // 2 + 1 if asked is None else asked,
            "output_tokens": _limit(request) or max(_ANSWER, 4 * answered),
        }
        return prices.cost_of(_priced(entry, request, Response(200), counts, ""))

    def _settle(self, entry: Entry, request: Request, response: Response, most: float | None) -> None:
        content = gate.content_of(response)
        dialect = dialects.find(request.method, request.url)
        if content is None or dialect is None:
            return
        reading = dialect.read(request, content)
        counted = {"input_tokens": reading.input_tokens, "output_tokens": reading.output_tokens}
        counts = {name: number for name, number in counted.items() if number is not None}
        cost = prices.cost_of(_priced(entry, request, content, counts, reading.model or ""))
        self._reserved += (most or 0.0) if cost is None else cost
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost


def _failed(why: str, credentials: Credentials) -> Unknown:
    return Unknown(Outcome.FAILED, one_line(shown(credentials.hidden(why)), _WIDTH))


def _refused(response: Response) -> str:
    """Return what a response without an answer says: its status, and the provider's words."""
    body = picking.document(response.body)
    said = (picking.error_text(body.get("error")) or picking.error_text(body)) if body else None
    where = f" to {place}" if (place := header(response.headers, "location")) else ""
    return f"status {response.status}{where}" + (f": {said}" if said else "")


def _over(limit: float, most: float | None) -> str:
    if most is None:
        return "its price is not known, so that it may cost more than the budget"
    return f"it may cost ${most:.4f}, and of the budget of ${limit:g} less than that is left"


def _limit(request: Request) -> int | None:
    """Return how many tokens a request lets its answer have, None where it does not say."""
    body = picking.document(request.body)
    said = [body.get(name) for name in _LIMITS]
    said += [picking.mapping(body.get(outer)).get(inner) for outer, inner in _NESTED_LIMITS]
    return next((number for one in said if (number := picking.count(one)) and number > 0), None)


def _priced(entry: Entry, request: Request, response: Response, counts: dict[str, int], served: str) -> Entry:
    """Return an answer of today as what has prices takes it."""
    dialect = dialects.find(request.method, request.url)
    asked = dialect.model_asked(request) if dialect else None
    said = {"model_asked": asked or "", "model_served": served, "recorded_at": now()}
    return replace(entry, request=request, response=response, provenance=said, metrics=counts)


def _dialect(request: Request) -> str:
    dialect = dialects.find(request.method, request.url)
    return dialect.name if dialect else ""
