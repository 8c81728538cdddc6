"""How an entry stands to today's contract: a decision over plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from onetake.model import ContractRef


class Standing(StrEnum):
    """What today's contract says of an entry, the worst that holds."""

    BUMPED = "schema-bumped"
    """It was recorded under another `schema_version`."""
    BREAKS = "breaks-contract"
    """Its answer does not satisfy the contract, or what the provider promised for it."""
    PREDATES = "predates-parser"
    """The files that the contract watches have other digests than then, or were not watched, or are gone; history may
    acquit it."""
    GOOD = "good"


@dataclass(frozen=True, slots=True)
class Today:
    """What is known today of the contract that judged an entry.

    Args:
        version: Its `schema_version`; None where it is declared nowhere.
        watch: The digest of the files that it watches; None where it watches none, empty where one of them is gone.
        refused: What the gate says against the answer (`violation`, `length`, …); empty where it says nothing.
    """

    version: int | None = None
    watch: str | None = None
    refused: str = ""


def standing(stored: ContractRef | None, today: Today, vouched: str | None = None) -> Standing:
    """Say how an entry stands to today's contract. Total: every combination has an answer.

    Args:
        stored: What the entry remembers of the contract that judged it; None where none did.
        today: The same contract now. Where none judged the entry, only `refused` counts.
        vouched: The digest that the watched files had when a person said that the entry was reviewed under them; None
            where nobody did.
    """
    if stored and today.version is not None and today.version != stored.schema_version:
        return Standing.BUMPED
    if today.refused:
        return Standing.BREAKS
    if stored and today.watch is not None and today.watch not in (stored.watch, vouched):
        return Standing.PREDATES
    return Standing.GOOD


def vouched_under(provenance: Mapping[str, Any]) -> str | None:
    """Return the digest of the watched files that an entry was reviewed under; None where nobody vouched for it."""
    vouched = provenance.get("vouched")
    watch = vouched.get("watch") if isinstance(vouched, dict) else None
    return watch if isinstance(watch, str) and watch else None
