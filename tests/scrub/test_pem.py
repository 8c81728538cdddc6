"""Private keys, from mark to mark."""

import pytest

from onetake.scrub.pem import private_keys

BEGIN, END = "-----BEGIN PRIVATE" + " KEY-----", "-----END PRIVATE" + " KEY-----"
BODY = "\n" + "MIIEpAIBAAKCAQEA" * 4 + "\n"


def found(text):
    return [text[start:end] for start, end in private_keys(text)]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (f"a {BEGIN}{BODY}{END} b {BEGIN}{BODY}{END}", [f"{BEGIN}{BODY}{END}"] * 2),
        (f"{BEGIN}{BEGIN}{BODY}{END}{END}", [f"{BEGIN}{BEGIN}{BODY}{END}"]),
        (f"{BEGIN}{BODY}", [f"{BEGIN}{BODY}"]),
        (f"{BEGIN}{BODY}<", []),
        (f"{BEGIN}\n{END}", []),
        (f"{END}{BODY}{BEGIN}", []),
        (f"{BEGIN}{'A' * 16385}{END}", []),
        (f"{BEGIN}{BODY}-----END RSA PRIVATE KEY-----<", []),
        (f"{BEGIN}<{END} {BEGIN}{BODY}{END}", [f"{BEGIN}{BODY}{END}"]),
    ],
)
def test_from_mark_to_mark(text, keys):
    assert found(text) == keys
