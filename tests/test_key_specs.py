"""A key spec is of today, older, newer, or of no onetake; of its two versions the worse counts."""

from __future__ import annotations

import pytest

from onetake import key, key_specs, scrub
from onetake.key_specs import Age
from onetake.model import KeySpec


@pytest.fixture(autouse=True)
def versions(monkeypatch):
    """Recipes and lists that this onetake might know one day; k2 is forgotten."""
    monkeypatch.setattr(key, "RECIPES", ("k10", "k9", "k3"))
    monkeypatch.setattr(scrub, "SCRUBS", ("s2", "s1"))


@pytest.mark.parametrize(
    ("recipe", "list_", "age"),
    [
        ("k10", "s2", Age.CURRENT),
        ("k9", "s2", Age.OLDER),
        ("k10", "s1", Age.OLDER),
        ("k2", "s2", Age.OLDER),
        ("k11", "s2", Age.NEWER),
        ("k10", "s3", Age.NEWER),
        ("k9", "s3", Age.NEWER),
        ("banana", "s2", Age.UNKNOWN),
        ("s10", "s2", Age.UNKNOWN),
        ("k010", "s2", Age.UNKNOWN),
        ("k0", "s1", Age.UNKNOWN),
        ("k11", "", Age.UNKNOWN),
        ("k" + "9" * 5000, "s2", Age.UNKNOWN),
        ("k٣", "s2", Age.UNKNOWN),
    ],
)
def test_every_version_has_an_age(recipe, list_, age):
    assert key_specs.format_age(KeySpec(recipe, list_)) is age


def test_what_is_keyed_now_is_of_today():
    spec = key_specs.current({"ids": ["$.id"]})
    assert (spec.recipe, spec.scrub, spec.rules) == ("k10", "s2", {"ids": ["$.id"]})
    assert key_specs.fault(spec) == ""


def test_an_older_one_is_no_fault_and_a_newer_one_says_to_upgrade():
    assert key_specs.fault(KeySpec("k3", "s1")) == ""
    assert key_specs.fault(KeySpec("k99", "s1")).endswith(": upgrade")
    assert key_specs.fault(KeySpec("kiwi", "s1")) == (
        "keyed under recipe 'kiwi', scrubbed under 's1': no onetake ever wrote that"
    )


@pytest.mark.parametrize(("spec", "can"), [(KeySpec("k10", "s1"), True), (KeySpec("k9", "s2"), False)])
def test_a_key_can_be_computed_again_whatever_list_its_request_was_scrubbed_by(spec, can):
    assert key_specs.is_own_recipe(spec) is can
