"""Which parts of a query are credentials: they never count in a key, and no entry has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

# fmt: off
CREDENTIAL_QUERY = frozenset(
    (
        "access-token", "access_token", "api-key", "api_key", "api_token", "apikey", "apitoken", "auth",
        "auth_token", "authorization", "client_secret", "id_token", "jwt", "oauth_signature",
        "oauth_token", "password", "refresh_token", "secret", "sig", "signature", "subscription-key",
        "subscription_key", "token", "x-api-key", "x-goog-api-key",
        "awsaccesskeyid", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires",
        "x-amz-security-token", "x-amz-signature", "x-amz-signedheaders",
        "googleaccessid", "x-goog-algorithm", "x-goog-credential", "x-goog-date", "x-goog-expires",
        "x-goog-signature", "x-goog-signedheaders",
        "key-pair-id", "ossaccesskeyid", "security-token",
    )
)
# fmt: on
"""Names (lower case) of query parts that are credentials or belong to a signed URL, whatever they say."""

# fmt: off
_SAS = frozenset(
    (
        "saoid", "scid", "sdd", "se", "ses", "si", "sip", "ske", "skoid", "sks", "skt", "sktid", "skv", "sp", "spr",
        "sr", "srt", "ss", "st", "suoid", "sv",
    )
)
# fmt: on
SIGNED_QUERY: Mapping[str, frozenset[str]] = {
    "sig": _SAS,
    "signature": frozenset(("expires", "policy")),
}
"""Names that belong to a signed URL only beside the signature of that name (Azure; CloudFront, S3 and GCS of old)."""

KEY = "key"
"""The name that is Google's word for an API key, and everybody's word for what is looked up by it."""

_GOOGLE = re.compile(
    r"//(?:[^/?#]*[.@])?googleapis[.]com[.]?(?::\d*)?(?:/|$)"  # its own hosts, and what stands before them:
    r"|/v1(?:alpha|beta)/|/(?:models|tunedModels|endpoints)/[^/]+:[A-Za-z]+$",  # the paths of Gemini and Vertex
    re.IGNORECASE,
)
_KNOWN = re.compile("AIza|AQ[.]Ab")
"""How Google's keys begin."""
_SURE = "your|dummy|fake|redacted|filtered|removed|scrubbed|masked|hidden|censored|placeholder|example|secret"
_STAND_IN = re.compile(
    rf"(?=.*(?:{_SURE}))(?:{_SURE}|my|api|key|token|[\W_\d])+|[*xX]{{3,}}|[\[<{{(].*[\]>}})]",
    re.IGNORECASE,
)
"""What stands for a key that is not told."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SHORTEST = 16
"""Characters of a key's longest word, at least."""
_LONGEST = 100
"""Characters of what stands for one, at most."""


def credential_names(place: str, query: Iterable[Sequence[str]]) -> frozenset[str]:
    """Return the names (lower case) in a query that are credentials or parts of a signature.

    Args:
        place: The URL before its query: where `key` is a credential whatever it says.
        query: (name, value) pairs, decoded; a part without a value may be (name,).
    """
    values: dict[str, list[str]] = {}
    for name, *said in query:
        values.setdefault(name.lower(), []).extend(said)
    signed = [parts for mark, parts in SIGNED_QUERY.items() if mark in values]
    found = values.keys() & CREDENTIAL_QUERY.union(*signed)
    if KEY in values and (_GOOGLE.search(place) or any(map(looks_like_one, values[KEY]))):
        found |= {KEY}
    return frozenset(found)


def looks_like_one(value: str) -> bool:
    """Tell whether a text looks like an API key, or like what stands in its place; `alice` and `users/1` do not."""
    if _KNOWN.match(value) or (len(value) <= _LONGEST and _STAND_IN.fullmatch(value)):
        return True
    if not value.isascii() or _UUID.fullmatch(value) or not re.fullmatch(r"[\w.-]+", value):
        return False
    longest = max(re.split("[-_.]", value), key=len)
    return len(longest) >= _SHORTEST and any(map(str.isdigit, longest)) and any(map(str.isalpha, longest))
