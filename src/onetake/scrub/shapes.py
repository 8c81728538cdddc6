"""The versioned default list of secrets: shapes, names, headers. Data only; `docs/reference/scrub.md` prints it.

Whoever changes what an old request scrubs to adds one to `scrub.SCRUBS`, or stored keys move in silence.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Shape:
    """One secret that is known by its look.

    Args:
        kind: The word of its placeholder: `[openai key 1]`.
        literals: Lower case; text that holds none of them (in any case) cannot hold the secret.
        pattern: Finds it; the group `secret`, where there is one, is what is replaced.
        accept: Tells a secret from a word of the documentation that looks like one.
        is_anchored: Whether the pattern begins with one of the literals, but for its left boundary.
    """

    kind: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    accept: Callable[[str], bool]
    is_anchored: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _random(secret: str) -> bool:
    longest = max(re.split("[-_.]", secret), key=len)
    if len(set(longest.lower())) == 1 and longest[0] in "xX0":
        return False
    mixed = len(longest) >= 16 and re.search("[a-z][A-Z]", longest)
    return len(longest) >= 24 or any(char.isdigit() for char in longest) or bool(mixed)


def _digit_or_long(secret: str) -> bool:
    return (len(secret) >= 40 or any(char.isdigit() for char in secret)) and _no_placeholder(secret)


def _jwt(secret: str) -> bool:
    head = secret.split(".", 1)[0]
    try:
        return isinstance(json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))), dict)
    except (ValueError, RecursionError):
        return False


def _basic(secret: str) -> bool:
    try:
        user, colon, password = base64.b64decode(secret, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return False
    return bool(colon and (user or password)) and (user + password).isprintable()


def _no_placeholder(secret: str) -> bool:
    """Refuse what is left in a URL or a form after scrubbing: `%5Bsecret%201%5D`."""
    return not secret.upper().startswith("%5B")


_LEFT = "(?<![A-Za-z0-9])"
_STRICT = "(?<![A-Za-z0-9_-])"
"""For short prefixes: base64url may hold `-sk-` or `_r8_` by chance."""
_RIGHT = "(?![A-Za-z0-9_-])"


def _key(kind: str, *prefixes: str, tail: str, left: str = _LEFT) -> Shape:
    pattern = f"{left}(?:{'|'.join(map(re.escape, prefixes))}){tail}{_RIGHT}"
    return Shape(kind, tuple(prefix.lower() for prefix in prefixes), re.compile(pattern), _random, True)


def _shape(kind: str, literals: str, pattern: str, accept: Callable[[str], bool] = _no_placeholder) -> Shape:
    return Shape(kind, tuple(literals.split()), re.compile(pattern), accept)


SHAPES = (
    _key("anthropic key", "sk-ant-", tail="[A-Za-z0-9_-]{16,250}"),
    _key("openrouter key", "sk-or-", tail="[A-Za-z0-9_-]{24,128}"),
    _key("openai key", "sk-proj-", "sk-svcacct-", "sk-admin-", tail="[A-Za-z0-9_-]{16,250}"),
    _key("openai key", "sk-", tail="[A-Za-z0-9_-]{16,250}", left=_STRICT),
    _key("openai key", "ek_", tail="[A-Za-z0-9]{24,64}", left=_STRICT),
    _key("google key", "AIza", tail="[A-Za-z0-9_-]{35}"),
    _key("google key", "AQ.Ab", tail="[A-Za-z0-9_-]{30,120}"),
    _key("google token", "ya29.", tail="[A-Za-z0-9_.-]{20,2048}"),
    _key("google secret", "GOCSPX-", tail="[A-Za-z0-9_-]{24,40}"),
    _key("groq key", "gsk_", tail="[A-Za-z0-9]{20,80}"),
    _key("xai key", "xai-", tail="[A-Za-z0-9]{20,120}"),
    _key("hugging face token", "hf_", "api_org_", tail="[A-Za-z0-9]{20,60}", left=_STRICT),
    _key("replicate token", "r8_", tail="[A-Za-z0-9]{20,60}", left=_STRICT),
    _key("perplexity key", "pplx-", tail="[A-Za-z0-9]{20,80}"),
    _key("cerebras key", "csk-", tail="[A-Za-z0-9]{20,80}", left=_STRICT),
    _key("nvidia key", "nvapi-", tail="[A-Za-z0-9_-]{20,120}"),
    _key("fireworks key", "fw_", tail="[A-Za-z0-9]{20,60}", left=_STRICT),
    _key("together key", "tgp_v1_", tail="[A-Za-z0-9_-]{20,80}"),
    _key("tavily key", "tvly-", tail="[A-Za-z0-9-]{20,80}"),
    _key("langsmith key", "lsv2_", tail="[a-z]{2}_[A-Za-z0-9_]{20,80}"),
    _key("langfuse key", "pk-lf-", tail="[a-f0-9-]{36}"),
    _key("posthog key", "phc_", "phx_", tail="[A-Za-z0-9]{32,64}"),
    _key("aws key", "AKIA", "ASIA", "ABIA", "ACCA", tail="[A-Z0-9]{16}"),
    _key("aws key", "ABSK", tail="[A-Za-z0-9+/]{80,200}={0,2}"),
    _key("aws key", "bedrock-api-key-", tail="[A-Za-z0-9+/]{40,4096}={0,2}"),
    _key("github token", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", tail="[A-Za-z0-9]{20,255}"),
    _key("github token", "github_pat_", tail="[A-Za-z0-9_]{22,255}"),
    _key("gitlab token", "glpat-", tail="[A-Za-z0-9_.-]{20,300}"),
    _key("slack token", "xoxb-", "xoxp-", "xoxa-", "xoxe-", "xoxr-", "xoxs-", "xapp-", tail="[A-Za-z0-9-]{10,250}"),
    _key("sendgrid key", "SG.", tail="[A-Za-z0-9_-]{16,32}[.][A-Za-z0-9_-]{16,64}", left=_STRICT),
    _key("stripe key", "sk_live_", "rk_live_", "sk_test_", "rk_test_", tail="[A-Za-z0-9]{16,255}"),
    _key("npm token", "npm_", tail="[A-Za-z0-9]{30,64}"),
    _key("pypi token", "pypi-AgE", tail="[A-Za-z0-9_-]{30,300}"),
    _key("organisation id", "org-", tail="[A-Za-z0-9]{20,32}", left=_STRICT),
    _key("project id", "proj_", tail="[A-Za-z0-9]{16,40}", left=_STRICT),
    _key("user id", "user-", tail="[A-Za-z0-9]{24}", left=_STRICT),
    Shape("jwt", ("eyj",), re.compile(_LEFT + r"eyJ[\w-]{8,4096}+(?:\.[\w-]{0,16384}){2,4}", re.ASCII), _jwt, True),
    _shape(
        "bearer token",
        "bearer",
        _LEFT + r"(?i:bearer)[\s:]{1,4}(?P<secret>[A-Za-z0-9._~+/-]{16,8192}={0,2})(?![A-Za-z0-9=])",
        _digit_or_long,
    ),
    _shape("basic credentials", "basic", _LEFT + r"(?i:basic)\s{1,4}(?P<secret>[A-Za-z0-9+/]{8,1024}={0,2})", _basic),
    _shape(
        "signed url",
        "sig= signature= x-amz-credential= x-amz-security-token= x-goog-credential= upload_id= awsaccesskeyid= "
        "googleaccessid=",
        r"(?i:(?<![a-z0-9_])(?:sig|(?:x-amz-|x-goog-)?(?:signature|credential|security-token)|upload_id"
        r"|awsaccesskeyid|googleaccessid)=)(?P<secret>[A-Za-z0-9%._~+/@-]{12,8192}={0,2})",
        _digit_or_long,
    ),
    _shape(
        "secret",
        "key= apikey= token= secret=",
        r"(?i:(?<=[?&;])(?:x-api-key|h?api[_-]?key|(?:access|refresh|id|auth)[_-]?token|client[_-]?secret)=)"
        r"(?P<secret>[A-Za-z0-9%._~+/-]{8,8192}={0,2})",
    ),
)
"""Order decides the kind where two shapes find the same text: the special one stands before the general one."""

PRIVATE_KEY = Shape(
    "private key",
    ("private key",),
    re.compile(r"-----(?P<is>BEGIN|END) (?P<of>(?:[A-Z0-9]+ )*)PRIVATE KEY(?: BLOCK)?-----"),
    lambda secret: bool(re.search("[A-Za-z0-9+/=]{24}", secret)),
)
"""The pattern finds its marks; `pem` goes from one to the other."""

URL_PASSWORD = Shape(
    "password", ("://",), re.compile(r"://[^\s/@:?#\"'<>]{0,128}:(?P<secret>[^\s/@\"'<>\[\]]{8,256})@"), _digit_or_long
)

KINDS = ("secret", "credential", *(shape.kind for shape in (*SHAPES, PRIVATE_KEY, URL_PASSWORD)))
"""`secret` is known by name, path or pattern, `credential` by value: the request's own headers or query held it."""

QUERY_NAMES = _words("upload_id appid hapikey pwd sessionid jsessionid phpsessid")
"""Query parameters that give access, besides `SECRET_NAMES` and those of `key.credentials`: removed from every URL
whole. In JSON some of them mean other things."""

SECRET_NAMES = _words(
    "apikey xapikey xgoogapikey apikeystring accesstoken refreshtoken idtoken authtoken sessiontoken securitytoken "
    "bearertoken authorizationtoken authorization proxyauthorization clientsecret secretkey secretaccesskey "
    "awssecretaccesskey awssessiontoken awsaccesskeyid privatekey password passwd passphrase cookie setcookie "
    "clientassertion assertion subjecttoken actortoken devicecode connectionstring accesskey subscriptionkey secret"
)
OPAQUE_NAMES = _words(
    "signature thoughtsignature encryptedcontent encryptedindex encryptedstdout encryptedfunctionoutput"
)
"""Fields (spelled without `_` and `-`) that a client must send back unchanged: never touched, never a finding."""
CONTENT_NAMES = _words(
    "messages message input inputs contents content system systeminstruction instructions prompt prompts arguments "
    "args choices output outputs answer candidates delta text responseformat format schema jsonschema responseschema "
    "responsejsonschema inputschema outputschema generationconfig functions functiondeclarations toolcalls "
    "toolresults documents chathistory preamble query texts examples completion generation generations thinking "
    "reasoning logprobs results violations $json $lines $literal"
)
"""Fields under which no name makes a secret: a prompt, a schema or an answer may have a property `password`."""
HEADER_FIELDS = _words("headers httpheaders extraheaders requestheaders serverheaders env")
TOOL_ENVELOPE = _words("mcpservers authconfig apiauth authentication")
"""Fields of a tool that are envelope again."""

CREDENTIAL_HEADERS = _words(
    "authorization proxy-authorization x-api-key api-key x-goog-api-key ocp-apim-subscription-key cookie set-cookie "
    "x-amz-security-token x-auth-token x-access-token"
)
ACCOUNT_HEADERS = frozenset(("openai-organization", "openai-project", "x-goog-user-project"))
"""Name an account: never written, but no secret to hunt for in bodies."""
REQUEST_HEADERS = _words(
    "accept content-type content-encoding content-disposition x-goog-upload-command "
    "x-goog-upload-offset x-goog-upload-protocol"
)
"""Kept besides those that count in the key (`key.url.KEY_HEADERS`). Not the length, which would make an edited prompt a
diff of two places, nor versions of clients and SDKs: they change with every release, and provenance has them."""
RESPONSE_HEADERS = _words(
    "content-type content-length content-encoding content-disposition location operation-location retry-after "
    "retry-after-ms x-should-retry x-amzn-errortype x-goog-upload-url x-goog-upload-status"
)
KEPT_PREFIXES = ("x-amzn-bedrock-",)
URL_HEADERS = frozenset(("location", "operation-location", "x-goog-upload-url"))
"""Kept headers that hold a URL; its credentials are removed as they are from a request's."""

STAND_INS = _words(
    "lm-studio not-needed no-key-required sk-no-key-required dummy-key fake-key test-key your-api-key placeholder "
    "anything"
)
"""What people send where no key is needed: not a value to hunt for in bodies."""

SCHEME = re.compile(r"(?i:bearer|basic|token|apikey|key|bot|digest|negotiate)\s+")
"""What may stand before the credential in the value of a header; it is kept."""

_CREDENTIAL_WORDS = _words("auth authorization authentication key apikey token secret password credential")


@lru_cache(4096)
def plain(name: str) -> str:
    """Spell a field's name without case, `_` and `-`: `API_KEY`, `apiKey` and `api-key` are one name."""
    return name.lower().replace("_", "").replace("-", "")


def is_secret_name(name: str) -> bool:
    """Tell whether a field of this name holds a secret."""
    return plain(name) in SECRET_NAMES


def is_credential_header(name: str) -> bool:
    """Tell whether a header holds a credential: by its name, or by a whole word in it (`x-acme-token`)."""
    low = name.lower()
    if low in CREDENTIAL_HEADERS:
        return True
    harmless = low == "idempotency-key" or low.startswith(KEPT_PREFIXES)
    return not harmless and not _CREDENTIAL_WORDS.isdisjoint(low.replace("_", "-").split("-"))
