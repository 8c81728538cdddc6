"""Dummies for credentials: an SDK can be started in a session that never goes live, on a machine without any key.

Every known provider's variable that is unset gets a harmless value for as long as such a session is open, unless the
environment names another way in: beside that, a key of ours could win, and change what is asked. What the settings name
under `credentials` goes before.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from onetake import forking

DUMMY = "no-key-required"
"""One of the words that nobody takes for a secret (`scrub.shapes.STAND_INS`)."""

_AWS = (
    *("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_ROLE_ARN"),
    *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_BEARER_TOKEN_BEDROCK"),
    *("~/.aws/config", "~/.aws/credentials"),
)

_GOOGLE = (
    *("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS"),
)

# Source: what the providers' own SDKs for Python read.
PROVIDERS: tuple[tuple[dict[str, str], tuple[str, ...]], ...] = (
    ({"OPENAI_API_KEY": DUMMY}, ("OPENAI_ADMIN_KEY",)),
    ({"AZURE_OPENAI_API_KEY": DUMMY}, ("AZURE_OPENAI_AD_TOKEN",)),
    ({"ANTHROPIC_API_KEY": DUMMY}, ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_FEDERATION_RULE_ID")),
    # Both of them make google-genai warn; litellm's and pydantic-ai's older versions read this one alone.
    ({"GEMINI_API_KEY": DUMMY}, ("GOOGLE_API_KEY", *_GOOGLE)),
    ({"AWS_ACCESS_KEY_ID": DUMMY, "AWS_SECRET_ACCESS_KEY": DUMMY}, _AWS),
    ({"AWS_DEFAULT_REGION": "us-east-1"}, ("AWS_REGION", *_AWS)),
    ({"CO_API_KEY": DUMMY, "COHERE_API_KEY": DUMMY}, ()),
    ({"MISTRAL_API_KEY": DUMMY}, ()),
    ({"GROQ_API_KEY": DUMMY}, ()),
    ({"OPENROUTER_API_KEY": DUMMY}, ()),
    ({"XAI_API_KEY": DUMMY}, ()),
    ({"DEEPSEEK_API_KEY": DUMMY}, ()),
    ({"TOGETHER_API_KEY": DUMMY}, ()),
    ({"FIREWORKS_API_KEY": DUMMY}, ()),
    ({"CEREBRAS_API_KEY": DUMMY}, ()),
)
"""Each provider's variables with their dummies, and what says that its SDK has another way in: variables, files.

The dummies of one provider stand in together, where none of its variables is set: half of a pair is of no use.
"""

_lock = forking.Lock()
_open = {True: 0, False: 0}
"""How many sessions are open, by whether they are sealed."""
_NONE: Mapping[str, str] = {}
_own: list[Mapping[str, str]] = []
"""What the settings of the sealed sessions that are open name."""
_standing: list[tuple[str, str, str | None]] = []
"""The variables that have a dummy now, with it and what they held before: nothing, or an empty text."""


def begin(*, sealed: bool, credentials: Mapping[str, str] = _NONE) -> None:
    """Note that a session opens.

    Args:
        sealed: True where it never goes live. The dummies stand in while sealed sessions are open and no others.
        credentials: Variables, with harmless values, that its settings name.
    """
    with _lock.held:
        _open[sealed] += 1
        if sealed:
            _own.append(credentials)
        _set_or_restore()


def end(*, sealed: bool, credentials: Mapping[str, str] = _NONE) -> None:
    """Note that a session ends: with the last one the variables are as they were.

    Args:
        sealed: As it was said when it opened.
        credentials: As they were said when it opened.
    """
    with _lock.held:
        _open[sealed] -= 1
        if sealed:
            _own.remove(credentials)
        _set_or_restore()


def _set_or_restore() -> None:
    wanted = _open[True] > 0 and not _open[False]
    if wanted:
        for credentials in _own:
            _stand_in(credentials.items())
        _stand_in(_missing())
    while _standing and not wanted:
        _restore(*_standing.pop())


def _stand_in(variables: Iterable[tuple[str, str]]) -> None:
    for name, dummy in variables:
        if not os.environ.get(name):
            _standing.append((name, dummy, os.environ.get(name)))
            os.environ[name] = dummy


def _missing() -> Iterator[tuple[str, str]]:
    """Yield the variables, with their dummies, of every provider that the environment gives no way in."""
    for variables, others in PROVIDERS:
        if not any(_is_there(way) for way in (*variables, *others)):
            yield from variables.items()


def _is_there(way: str) -> bool:
    if way.startswith("~"):
        return os.path.exists(os.path.expanduser(way))  # noqa: PTH110, PTH111 - pathlib raises where there is no home
    # An empty one counts as unset: that is what CI makes of a secret that it may not hand out.
    return bool(os.environ.get(way))


def _restore(name: str, dummy: str, before: str | None) -> None:
    """Give a variable back, unless the program has put something of its own there meanwhile, or taken it away."""
    if os.environ.get(name) != dummy:
        return
    if before is None:
        del os.environ[name]
    else:
        os.environ[name] = before
