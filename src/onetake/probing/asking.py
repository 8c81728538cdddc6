"""Ask a stored request again: whether it may be, with which credential, within which budget and pace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from onetake import dialects, gate, picking, prices
from onetake.errors import UsageError
from onetake.model import Entry, Headers, Request, Response, header
from onetake.printable import one_line
from onetake.probing.askable import with_model
from onetake.probing.credentials import Barred, Credentials
from onetake.probing.findings import Outcome, Unknown
from onetake.probing.sending import Answered, NoAnswerError, Sends, send
from onetake.provenance import now
from onetake.scrub import shown

TIMEOUT_S = 120.0
"""Seconds that one answer may take."""
_WIDTH = 200
_LIMITS = frozenset(
    {"max_tokens", "max_completion_tokens", "max_output_tokens", "max_tokens_to_sample", "max_new_tokens"}
    | {"num_predict", "maxOutputTokens", "maxTokens", "maxTokenCount", "max_gen_len"}
)
_TIMES = frozenset({"n", "best_of", "candidateCount", "candidate_count", "num_generations"})
"""Names by which a request asks for several answers at once."""
_INSIDE = ("generationConfig", "generation_config", "inferenceConfig", "textGenerationConfig", "options")
"""Parts of a body in which some APIs have such names."""
_SAYS_NOTHING = frozenset({"embeddings", "rerank", "moderation"})
"""Operations whose answers have no tokens of their own."""
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms requests are asked again.

    Args:
        model: The model that is asked in the place of the stored one; empty for the same.
        rpm: Requests a minute at most; None for no limit.
        max_cost: US dollars that all of them may cost; None for no limit.
        timeout: Seconds that one answer may take.

    Raises:
        UsageError: A number is none, or out of all reason.
    """

    model: str = ""
    rpm: float | None = None
    max_cost: float | None = None
    timeout: float = TIMEOUT_S

    def __post_init__(self) -> None:
        _check_number("rpm", self.rpm, 0.001, 1e9)
        _check_number("max_cost", self.max_cost, 1e-6, 1e9)
        _check_number("timeout", self.timeout, 0.001, _DAY)


@dataclass(frozen=True, slots=True)
class Ready:
    """A request that may be sent.

    Args:
        request: It.
        credential: The headers that go out with it besides its own.
        credentials: Those that count for it: no text that is printed holds one.
    """

    request: Request
    credential: Headers = field(repr=False)
    credentials: Credentials


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

    def ready(self, entry: Entry, credentials: Credentials) -> Ready | Unknown:
        """Return what is sent for an entry: its request as it is, but for another model where one is asked.

        Args:
            entry: One of which `askable.why_not` says nothing.
            credentials: Those that count for it.

        Returns:
            `Unknown` where it cannot be asked, or may not: `unaskable`; where only the credential is missing: `failed`.
        """
        request = with_model(entry.request, self.terms.model) if self.terms.model else entry.request
        if request is None:
            return Unknown(Outcome.UNASKABLE, "its request does not name its model where another can be put")
        dialect = dialects.find(request.method, request.url)
        may = credentials.of(request.url, dialect.name if dialect else "")
        if isinstance(may, Barred):
            return Unknown(Outcome.FAILED if may.missing else Outcome.UNASKABLE, one_line(may.why, _WIDTH))
        return Ready(request, may.headers, credentials)

    def ask(self, entry: Entry, ready: Ready) -> Answered | Unknown:
        """Ask once more.

        Args:
            entry: Whose request it was.
            ready: What `ready` returned for it.

        Returns:
            What came; `Unknown` where nothing came whole, or an error status (`failed`), or where the budget does not
            suffice (`unasked`).
        """
        request, most = ready.request, 0.0
        if (limit := self.terms.max_cost) is not None:
            may_cost = self._most(entry, request)
            if isinstance(may_cost, str) or self._reserved + may_cost > limit:
                return Unknown(Outcome.UNASKED, _over(limit, may_cost))
            most = may_cost
        self._pace()
        try:
            answered = self.sends(request, ready.credential, self.terms.timeout)
        except NoAnswerError as error:
            self._reserved += most  # nobody knows whether it is billed
            return _failed(str(error), ready.credentials)
        if not 200 <= answered.response.status < 300:
            return _failed(_refused(answered.response), ready.credentials)
        self._settle(entry, request, answered.response, most)
        return answered

    def _pace(self) -> None:
        """Wait until the next request may go out."""
        if self.terms.rpm and self._last is not None:
            wait = self._last + 60 / self.terms.rpm - self.clock()
            if wait > 0:
                self.rest(wait)
        self._last = self.clock()

    def _most(self, entry: Entry, request: Request) -> float | str:
        """Return what an answer may cost at most; why that is not known, where it is not."""
        asked = picking.count(entry.metrics.get("input_tokens")) or 0
        if not asked or self.terms.model:
            asked = max(asked, len(request.body))  # no token is shorter than a byte
        said = _priced(entry, request, Response(200), {"input_tokens": asked}, "")
        if prices.cost_of(said) is None:
            return "its price is not known"
        dialect = dialects.find(request.method, request.url)
        limit = 0 if dialect and dialect.operation in _SAYS_NOTHING else _limit(request) or prices.window_of(said)
        if limit is None:
            return "its request sets its answer no limit, and that of its model is not known"
        counts = {"input_tokens": asked, "output_tokens": limit * _times(request)}
        most = prices.cost_of(replace(said, metrics=counts))
        return "its price is not known" if most is None else most

    def _settle(self, entry: Entry, request: Request, response: Response, most: float) -> None:
        """Count what an answer cost; where nobody can tell, the most that it may have cost."""
        cost = _cost(entry, request, response)
        self._reserved += most if cost is None else cost
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost


def _cost(entry: Entry, request: Request, response: Response) -> float | None:
    content = gate.content_of(response)
    dialect = dialects.find(request.method, request.url)
    if content is None or dialect is None:
        return None
    reading = dialect.read(request, content)
    counted = {"input_tokens": reading.input_tokens, "output_tokens": reading.output_tokens}
    counts = {name: number for name, number in counted.items() if number is not None}
    return prices.cost_of(_priced(entry, request, content, counts, reading.model or ""))


def _failed(why: str, credentials: Credentials) -> Unknown:
    return Unknown(Outcome.FAILED, one_line(shown(credentials.hidden(why)), _WIDTH))


def _refused(response: Response) -> str:
    """Return what a response without an answer says: its status, and the provider's words."""
    body = picking.document(response.body)
    said = (picking.error_text(body.get("error")) or picking.error_text(body)) if body else None
    where = f" to {place}" if (place := header(response.headers, "location")) else ""
    return f"status {response.status}{where}" + (f": {said}" if said else "")


def _over(limit: float, most: float | str) -> str:
    if isinstance(most, str):
        return f"{most}, so that it may cost more than the budget"
    return f"it may cost ${most:.4f}, and of the budget of ${limit:g} less than that is left"


def _limit(request: Request) -> int | None:
    """Return how many tokens a request lets one answer have, None where it does not say."""
    return max(_counts(request, _LIMITS), default=None)


def _times(request: Request) -> int:
    """Return how many answers a request asks for at once: for one prompt, and for each of several."""
    prompt = picking.document(request.body).get("prompt")
    prompts = [one for one in prompt if not isinstance(one, int)] if isinstance(prompt, list) else []
    return max(_counts(request, _TIMES), default=1) * max(1, len(prompts))


def _counts(request: Request, names: frozenset[str]) -> Iterator[int]:
    body = picking.document(request.body)
    for part in (body, *(picking.mapping(body.get(name)) for name in _INSIDE)):
        yield from (number for name in names & part.keys() if (number := picking.count(part[name])) and number > 0)


def _check_number(name: str, value: Any, least: float, most: float) -> None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (is_number and least <= value <= most):
        raise UsageError(f"probe: {name} is a number from {least:g} to {most:g}, not {one_line(str(value), 40)}")


def _priced(entry: Entry, request: Request, response: Response, counts: dict[str, int], served: str) -> Entry:
    """Return an answer of today as what has prices takes it."""
    dialect = dialects.find(request.method, request.url)
    asked = dialect.model_asked(request) if dialect else None
    said = {"model_asked": asked or "", "model_served": served, "recorded_at": now()}
    return replace(entry, request=request, response=response, provenance=said, metrics=counts)
