"""Interactions: from one live call and what the gate said of it to the entry that is stored, and back."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from onetake import key_specs
from onetake.contract import Contract
from onetake.errors import FormatError
from onetake.gate import Judgement, content_of
from onetake.key import Keyer, stored_days
from onetake.model import Entry, Request, Response, Violation, header
from onetake.provenance import provenance, sdk_of
from onetake.scrub.scanning import Finding, scan
from onetake.steps import Asked, Live, Policy
from onetake.stores.naming import schema_name
from onetake.verdicts import restated


def entry_of(call: Live, response: Response, judgement: Judgement, policy: Policy) -> Entry:
    """Make the entry of a live call: scrubbed, keyed by its scrubbed request, with where it came from.

    Asks the clock and git. The answer is read from the scrubbed response, so that what a reviewer sees is what the
    file holds; from one that is still content-encoded, whose bytes stay as they are, from its scrubbed content.
    """
    asked, dialect = call.asked, judgement.dialect
    scrubbed = asked.scrubbing.response(response)
    spans = asked.scrubbing.spans
    reading = judgement.reading
    is_same = (scrubbed.body, asked.scrubbed.body) == (response.body, asked.request.body)
    if dialect and reading.answer and (content := content_of(response)) and not (is_same and content is response):
        content = scrubbed if content is response else asked.scrubbing.response(content)
        reading = dialect.read(asked.scrubbed, content)
    return Entry(
        verdict=restated(judgement.verdict, scrubbed),
        request=asked.scrubbed,
        response=scrubbed,
        key=asked.key if asked.keyed is asked.scrubbed else policy.keyer.key(asked.scrubbed, asked.days),
        ordinal=call.ordinal,
        key_spec=key_specs.current(policy.keyer.spec(asked.days)),
        contract=judgement.contract,
        unjudged=judgement.unjudged,
        provenance=provenance(
            policy.root,
            test=policy.test,
            client=call.client,
            sdk=_sdk(asked),
            model_asked=dialect.model_asked(asked.scrubbed) if dialect else None,
            model_served=reading.model,
        ),
        dialect=f"{dialect.name}/{dialect.version}" if dialect and reading.answer else None,
        answer=reading.answer,
        violations=_scrubbed_violations(judgement.violations, call),
        metrics=_metrics(call, judgement),
        scrubbed=spans,
    )


def hidden_secrets(call: Live, response: Response) -> list[Finding]:
    """List the secrets in the content of a response that is still content-encoded: there they cannot be scrubbed.

    Args:
        call: The call, its response scrubbed.
        response: What came.
    """
    content = content_of(response)
    if content is None or content is response:
        return []
    scrubbing = call.asked.scrubbing
    if scrubbing.response(content).body == content.body:
        return []
    places = [where for where in scrubbing.spans if where.startswith("response.body")]
    return [Finding("secret in a content-encoding", where, None) for where in places]


def is_proved(entry: Entry, asked: Asked, ordinal: int, keyer: Keyer) -> bool:
    """Tell whether an entry is the one that is asked, by what can be compared at once: bytes, URL and key headers."""
    is_named = (entry.key, entry.ordinal) == (asked.key, ordinal)
    return is_named and not key_specs.fault(entry.key_spec) and is_same(entry.request, asked.keyed, keyer)


def mismatch(entry: Entry, asked: Asked, keyer: Keyer) -> str:
    """Say why the request in an entry is not the one that is asked, whatever its name is; empty where it is.

    Where equal bytes do not prove it, the stored request is keyed anew, under its own rules: but for patterns that
    are not in force today, as such a one may have been made to run for ever. `under_other_rules` judges by today's.
    """
    spec = entry.key_spec
    if why := key_specs.fault(spec):
        return why
    if entry.key != asked.key:
        return "the key in the file is not the one that its name says"
    if is_same(entry.request, asked.keyed, keyer):
        return ""
    try:
        own, days = Keyer.from_spec(spec.rules)
    except FormatError as error:
        return str(error)
    if not keyer.has_patterns_of(own) or own.key(entry.request, days) == asked.key:
        return ""
    if not key_specs.is_own_recipe(spec):
        return f"{key_specs.told(spec)}, and it has another key today: `onetake rekey` gives it that"
    return "its request was changed: it no longer gives the stored key"


def under_other_rules(entry: Entry, asked: Asked, keyer: Keyer) -> bool:
    """Tell whether an entry has the key that is asked only by key rules that are no longer in force.

    Its own rules made two requests count as the same that are two today; the answer is to the other one.
    """
    if is_same(entry.request, asked.keyed, keyer):
        return False
    return keyer.key(entry.request, stored_days(entry.key_spec.rules) or asked.days) != asked.key


def is_same(stored: Request, wanted: Request, keyer: Keyer) -> bool:
    """Tell at once of two requests whether their keys must be the same: by bytes, URL and key headers."""
    same = (stored.method, stored.url, stored.body) == (wanted.method, wanted.url, wanted.body)
    return same and keyer.headers(stored) == keyer.headers(wanted)


def schema_of(entry: Entry, contracts: Sequence[Contract]) -> dict[str, bytes]:
    """Return the sidecar that holds the schema of an entry's contract, so that the entry can be checked without it."""
    ref = entry.contract
    found = next((c for c in contracts if ref and c.name == ref.name and c.digest == ref.schema), None)
    if found is None:
        return {}
    text = json.dumps(found.schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    return {schema_name(found.digest): text.encode("utf-8", "backslashreplace")}


def under(entry: Entry, ordinal: int) -> Entry:
    """Return an entry under another ordinal."""
    return entry if entry.ordinal == ordinal else replace(entry, ordinal=ordinal)


def without_secret(entry: Entry, findings: Sequence[Finding]) -> Entry:
    """Return a reject of an entry that holds a secret which cannot be scrubbed: digests and what was found, no text."""
    found = tuple(
        Violation(f"{side} body", "no secret", f"{len(body)} bytes, SHA-256 {sha256(body).hexdigest()}")
        for side, body in (("request", entry.request.body), ("response", entry.response.body))
        if body
    )
    # A place names keys of the body, and those may be the secret.
    kinds = tuple(
        Violation("" if scan(finding.where.encode("utf-8", "replace")) else finding.where, "no secret", finding.kind)
        for finding in findings
    )
    return replace(
        entry,
        verdict="reject:secret",
        answer=None,
        dialect=None,
        violations=kinds + found,
        request=Request(entry.request.method, "/".join(entry.request.url.split("/")[:3])),
        response=Response(entry.response.status),
        scrubbed=(),
        contract=None,
        provenance={name: value for name, value in entry.provenance.items() if name in ("recorded_at", "recorder")},
    )


def _scrubbed_violations(violations: Sequence[Violation], call: Live) -> tuple[Violation, ...]:
    """Scrub what a violation quotes, a key in its path too: it was found in the answer as it came."""
    text = call.asked.scrubbing.text
    return tuple(replace(one, path=text(one.path), found=text(one.found)) for one in violations)


def _sdk(asked: Asked) -> str | None:
    """Return the SDK's own name for itself; scrubbed before it is cut, or half a secret would be none."""
    return sdk_of(asked.scrubbing.text(header(asked.request.headers, "user-agent") or ""))


def _metrics(call: Live, judgement: Judgement) -> Mapping[str, Any]:
    """Return the call's times in whole milliseconds, and its tokens."""
    first = call.first_byte
    found = {
        "latency_ms": round((time.monotonic() - call.started) * 1000),
        "first_byte_ms": round((first - call.started) * 1000) if first is not None else None,
        "input_tokens": judgement.reading.input_tokens,
        "output_tokens": judgement.reading.output_tokens,
    }
    return {name: value for name, value in found.items() if value is not None}
