"""Where credentials go when stored requests are asked again: to a provider's own origin, or to one of the settings.

An entry is a file, which anybody may have changed. So of all that it says only the origin of its URL counts, as it is
connected to; and an origin that nobody vouches for is not asked at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from onetake.dummies import DUMMY
from onetake.key import url as urls
from onetake.loopback import is_here
from onetake.model import Headers

BEARER, KEY, GOOGLE, AZURE = "authorization", "x-api-key", "x-goog-api-key", "api-key"
"""The headers that carry a credential; the first of them behind `Bearer `."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way in at one provider.

    Args:
        variable: Where its credential is.
        header: In which header it goes.
    """

    variable: str
    header: str = BEARER


# Source: what the providers' own SDKs for Python read, and send.
BUILT_IN: Mapping[str, tuple[Way, ...]] = {
    "https://api.openai.com": (Way("OPENAI_API_KEY"),),
    "https://api.anthropic.com": (Way("ANTHROPIC_API_KEY", KEY), Way("ANTHROPIC_AUTH_TOKEN")),
    "https://generativelanguage.googleapis.com": (Way("GEMINI_API_KEY", GOOGLE), Way("GOOGLE_API_KEY", GOOGLE)),
    "https://api.mistral.ai": (Way("MISTRAL_API_KEY"),),
    "https://api.cohere.com": (Way("CO_API_KEY"), Way("COHERE_API_KEY")),
    "https://api.cohere.ai": (Way("CO_API_KEY"), Way("COHERE_API_KEY")),
    "https://api.x.ai": (Way("XAI_API_KEY"),),
    "https://api.deepseek.com": (Way("DEEPSEEK_API_KEY"),),
    "https://api.groq.com": (Way("GROQ_API_KEY"),),
    "https://api.cerebras.ai": (Way("CEREBRAS_API_KEY"),),
    "https://api.perplexity.ai": (Way("PERPLEXITY_API_KEY"),),
    "https://openrouter.ai": (Way("OPENROUTER_API_KEY"),),
    "https://api.together.xyz": (Way("TOGETHER_API_KEY"),),
    "https://api.together.ai": (Way("TOGETHER_API_KEY"),),
    "https://api.fireworks.ai": (Way("FIREWORKS_API_KEY"),),
    "https://ollama.com": (Way("OLLAMA_API_KEY"),),
}
"""The origins that are a provider's own, each with its ways in, the first that is there counting.

None of them is a customer's: what lies under `*.openai.azure.com`, say, is for the settings to name.
"""

_BEDROCK = re.compile(r"https://bedrock-runtime(?:-fips)?\.[a-z0-9-]{1,40}\.amazonaws\.com")
_BEDROCK_WAYS = (Way("AWS_BEARER_TOKEN_BEDROCK"),)
_HEADERS = {"anthropic-messages": KEY, "gemini": GOOGLE, "gemini-embeddings": GOOGLE, "gemini-images": GOOGLE}
"""Dialect to the header that its SDK sends the credential in, where that is not `authorization`."""
_AZURE = re.compile(r"https://[^/]+\.(?:openai|services\.ai|cognitiveservices)\.azure\.com")
_USER = re.compile(r"[^/?#]*//[^/?#]*[@\\\s]")
_SHORTEST = 6
"""Characters of a value that is looked for in texts: a shorter one is a part of ordinary words."""
_SENDABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Allowed:
    """A request may be sent, with these headers besides its own; none where the origin wants no credential."""

    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Barred:
    """A request may not be sent.

    Args:
        why: Why, in one line that names the origin or the variable.
        missing: True where only the variable is not set: another environment could ask.
    """

    why: str
    missing: bool = False


class Credentials:
    """The credentials of one environment.

    Args:
        origins: By `[tool.onetake.credentials]`: origin to the variable that holds its credential; an empty name where
            it wants none. It goes before what is built in.
        environ: The environment.
        prefix: What stands before the name of a table in the settings, for messages.
    """

    def __init__(self, origins: Mapping[str, str], environ: Mapping[str, str], prefix: str = "tool.onetake.") -> None:
        self._origins = {urls.split(origin).origin: variable for origin, variable in origins.items()}
        self._environ = environ
        self._prefix = prefix

    def of(self, url: str, dialect: str) -> Allowed | Barred:
        """Say whether a request may be sent, and with which credential.

        Args:
            url: Where to; its origin alone decides.
            dialect: The name of the API that is spoken there: it says in which header a credential goes that the
                settings name, never which one that is.
        """
        target = urls.split(url)
        origin = target.origin
        if target.scheme not in ("http", "https") or not target.host:
            return Barred("it goes to no http address")
        if _USER.match(url):
            return Barred("its address holds a user, which no recorded one does")
        here = is_here(target.host.strip("[]"))
        if target.scheme == "http" and not here:
            return Barred(f"{origin} is not encrypted, and not on this machine: nothing is sent there")
        ways = self._ways(origin, dialect)
        if ways is not None:
            return self._first(ways, origin)
        if here:
            return Allowed()
        return Barred(f"{origin} is no provider's own origin, and [{self._prefix}credentials] does not name it")

    def hidden(self, text: str) -> str:
        """Return a text without the values of the credentials that may be sent anywhere."""
        known = [way.variable for ways in (*BUILT_IN.values(), _BEDROCK_WAYS) for way in ways]
        for value in map(self._value, dict.fromkeys([*self._origins.values(), *known])):
            text = text.replace(value, "…") if len(value) >= _SHORTEST else text
        return text

    def _ways(self, origin: str, dialect: str) -> tuple[Way, ...] | None:
        """Return the ways in at an origin; None where nobody vouches for it, nothing where it wants no credential."""
        if origin in self._origins:
            variable = self._origins[origin]
            header = AZURE if _AZURE.fullmatch(origin) else _HEADERS.get(dialect, BEARER)
            return (Way(variable, header),) if variable else ()
        if _BEDROCK.fullmatch(origin):
            return _BEDROCK_WAYS
        return BUILT_IN.get(origin)

    def _first(self, ways: tuple[Way, ...], origin: str) -> Allowed | Barred:
        if not ways:
            return Allowed()
        for way in ways:
            if (value := self._value(way.variable)) and _SENDABLE.fullmatch(value):
                return Allowed(((way.header, f"Bearer {value}" if way.header == BEARER else value),))
        names = " or ".join(way.variable for way in ways)
        if any(self._value(way.variable) for way in ways):
            return Barred(f"{names} holds what cannot be a credential: a space, or a sign that is not ASCII", True)
        return Barred(f"{names} is not set, and {origin} wants a credential", True)

    def _value(self, variable: str) -> str:
        value = self._environ.get(variable, "").strip()
        return "" if value == DUMMY else value
