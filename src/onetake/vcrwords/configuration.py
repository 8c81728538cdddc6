"""What a suite's vcrpy configuration means here: each key honoured, not needed, or refused with its equal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from onetake.errors import UsageError
from onetake.preparing import Preparing
from onetake.vcrwords import filters, functions, matching, shapes

HONOURED = frozenset(
    {
        "additional_matchers",
        "allow_playback_repeats",
        "allowed_hosts",
        "before_record",
        "before_record_request",
        "before_record_response",
        "cassette_library_dir",
        "filter_headers",
        "filter_nested_post_data_parameters",
        "filter_post_data_parameters",
        "filter_query_parameters",
        "filter_sensitive_data",
        "ignore_hosts",
        "ignore_localhost",
        "match_on",
        "path_transformer",
        "record_mode",
    }
)
"""Keys that do here what they do there."""
NOT_NEEDED = {
    "decode_compressed_response": "answers are stored decoded",
    "drop_unused_requests": "`onetake prune` takes out what no test asks for",
    "func_path_generator": "a test's cassette has a name",
    "inject_cassette": "a test's cassette is a fixture",
    "persister": "entries are files of onetake's own",
    "record_on_exception": "a test that fails keeps nothing",
    "serializer": "entries have a format of their own, and `onetake import vcr` reads the files",
}
"""Keys that have nothing to do here, and why."""
REFUSED = {
    "after_load_interaction": "replay gives the stored bytes: change them as they are kept, by before_record_response",
    "before_save_interaction": "change requests by before_record_request and answers by before_record_response;"
    " secrets by `patterns` in the settings' `scrub`",
    "custom_patches": "patch by pytest's `monkeypatch`, or decorate the call with `onetake.recorded`",
    "skip_patchers": "let the traffic of such a client pass by `ignore`",
}
"""Keys that have no equal of their own, and what there is instead."""
_MATCHED = "whole requests are compared; `ignore`, `ids`, `replace` and `origins` in `key` leave out what changes"
_URL = frozenset({"scheme", "host", "port", "path", "query"})
_COMPARED: Mapping[str, frozenset[str]] = {"uri": _URL, "url": _URL, "raw_body": frozenset({"body"})}
"""What a matcher compares besides what it is called by."""


class Registry:
    """Stands for vcrpy's `VCR` where a suite registers what is its own: pass it to `pytest_recording_configure`.

    Every key of the configuration may be set as its attribute; what a test's own configuration says goes before it.
    """

    match_on: Iterable[str] = matching.DEFAULT
    record_mode: Any = None
    serializer: Any = "yaml"
    before_record_request: Any = None
    before_record_response: Any = None
    cassette_library_dir: Any = None
    filter_headers: Iterable[Any] = ()
    filter_query_parameters: Iterable[Any] = ()
    filter_post_data_parameters: Iterable[Any] = ()
    ignore_hosts: Iterable[Any] = ()
    ignore_localhost = False
    path_transformer: Any = None

    def __init__(self) -> None:
        self.matchers: dict[str, matching.Matcher] = {}
        self.serializers: dict[str, Any] = {}

    def register_matcher(self, name: str, matcher: matching.Matcher) -> None:
        """Have `match_on` know a matcher by a name."""
        self.matchers[name] = matcher

    def register_serializer(self, name: str, serializer: Any) -> None:
        """Take a serializer, which nothing here needs."""
        self.serializers[name] = serializer

    def register_persister(self, persister: Any) -> None:
        """Take a persister, which nothing here needs."""
        self.persister = persister

    @property
    def said(self) -> dict[str, Any]:
        """The keys that were set."""
        return {name: value for name, value in vars(self).items() if name not in ("matchers", "serializers")}


def unknown_in(said: Iterable[str]) -> list[str]:
    """Say of the keys that vcrpy has not, that it has them not."""
    unknown = set(said) - HONOURED - set(NOT_NEEDED) - set(REFUSED) - {"path", "name"}
    return [f"{key}: vcrpy has no such key" for key in sorted(unknown)]


def refuse_unequalled(said: Mapping[str, Any]) -> None:
    """Refuse keys that have no equal here.

    Raises:
        UsageError: There is one; it says what there is instead.
    """
    for key, instead in REFUSED.items():
        if said.get(key):
            raise UsageError(f"vcrpy's {key} has no equal here: {instead}")


class Configuration:
    """One test's configuration, merged.

    Args:
        said: Key to value.
        matchers: The project's own, by name.

    Raises:
        UsageError: A key has no equal here, or its value is none that vcrpy takes; it says what there is instead.
    """

    def __init__(self, said: Mapping[str, Any], matchers: Mapping[str, matching.Matcher]) -> None:
        self.said = dict(said)
        self.own = dict(matchers)
        """The project's own matchers, by name."""
        refuse_unequalled(said)
        shapes.check(said)
        if unknown := [name for name in self.match_on if not matching.is_known(name, matchers)]:
            raise UsageError(f"match_on: no matcher {unknown[0]!r} is registered")
        self.preparing = self._preparing()
        """What its functions and filters do."""

    @property
    def match_on(self) -> tuple[str, ...]:
        """The names of the matchers."""
        names = self.said.get("match_on") or matching.DEFAULT
        return (*names, *self.said.get("additional_matchers", ()))

    def notes(self, *, legacy: bool) -> list[str]:
        """Return what of it does not act, each with its equal.

        Args:
            legacy: True where imported entries go by vcrpy's rule.
        """
        notes = unknown_in(self.said)
        own, left = set(self.own) & set(self.match_on), self._left_out
        if not legacy and (own or left):
            less = f" leaves out {', '.join(left)}" if left and not own else ""
            notes.append(f"match_on ({', '.join(self.match_on)}){less}: {_MATCHED}")
        return notes

    @property
    def _left_out(self) -> list[str]:
        """What is compared there where nobody says anything, and not by these matchers."""
        compared = set(self.match_on).union(*(_COMPARED.get(name, ()) for name in self.match_on))
        return [name for name in matching.DEFAULT if name not in compared]

    def _preparing(self) -> Preparing:
        steps = list(request_steps(self.said))
        answers = shapes.functions_of(self.said.get("before_record_response"))
        is_default = set(self.match_on) == set(matching.DEFAULT) and not set(self.own) & set(self.match_on)
        allowed = self.said.get("allowed_hosts")
        return Preparing(
            request=functions.prepares(steps) if steps else None,
            response=functions.prepares_answers(answers) if answers else None,
            matches=None if is_default else functions.matches(matching.compare_all(self.match_on, self.own)),
            passes=functions.passes(steps),
            connects=_allows(allowed) if allowed else None,
        )


def request_steps(said: Mapping[str, Any]) -> Iterator[functions.Step]:
    """Yield what a configuration does to a request, in vcrpy's order.

    Raises:
        UsageError: A value in `filter_sensitive_data` is a function.
    """
    if names := said.get("filter_headers"):
        yield "filter_headers", filters.headers(names)
    if names := said.get("filter_query_parameters"):
        yield "filter_query_parameters", filters.query(names)
    if names := said.get("filter_post_data_parameters"):
        nested = bool(said.get("filter_nested_post_data_parameters"))
        yield "filter_post_data_parameters", filters.post_data(names, nested=nested)
    if hosts := said.get("ignore_hosts"):
        yield "ignore_hosts", filters.hosts(hosts, local=False)
    if said.get("ignore_localhost"):
        yield "ignore_localhost", filters.hosts((), local=True)
    key = "before_record_request" if said.get("before_record_request") else "before_record"
    yield from ((key, function) for function in shapes.functions_of(said.get(key)))
    yield from sensitive_steps(said.get("filter_sensitive_data"))


def sensitive_steps(said: Any) -> Iterator[functions.Step]:
    """Yield what `filter_sensitive_data` does to a request, if anything.

    Raises:
        UsageError: A value in it is a function.
    """
    if not said:
        return
    try:
        yield "filter_sensitive_data", filters.sensitive(said)
    except TypeError:
        instead = "give the value, or name it by `patterns` in the settings' `scrub`"
        raise UsageError(f"filter_sensitive_data by a function has no equal here: {instead}") from None


def _allows(said: Any) -> Callable[[str], bool]:
    """Return what tells whether a host is one of those that patterns name from its beginning."""
    patterns = said.split(",") if isinstance(said, str) else list(said)
    pattern = re.compile("|".join(f"(?:{one})" for one in patterns))
    return lambda host: pattern.match(host) is not None
