"""How many loose entries there may be is written down once, and raised by nobody but a person."""

from __future__ import annotations

import pytest

from onetake.importers.importing import import_file
from onetake.importers.loose_limit import Limit, set_limits
from onetake.importers.placing import Choices


@pytest.fixture
def loose(project, cassette, interaction, as_file):
    """A project with two loose entries, one that is none, and one that cannot be read."""
    path = cassette(*(interaction(said=said, request={"body": None}) for said in "ab"), interaction('"loose"'))
    import_file(as_file(path), Choices(keep_bodyless=True))
    (path.parent / "test_b/x-0123456789abcdef.json").write_bytes(b'{"loose": true')
    return project


def test_a_number_that_nobody_set_is_written(loose):
    assert set_limits([loose]) == [Limit(2, loose / "onetake.toml", True)]
    assert (loose / "onetake.toml").read_text() == "legacy_loose = 2\n"
    assert set_limits([loose]) == []


@pytest.mark.parametrize(("said", "found"), [(3, []), (1, [(2, False)])])
def test_one_that_is_set_stays(loose, said, found):
    (loose / "onetake.toml").write_text(f"legacy_loose = {said}\n")
    assert [(one.number, one.is_written) for one in set_limits([loose])] == found
    assert (loose / "onetake.toml").read_text() == f"legacy_loose = {said}\n"


def test_without_settings_it_is_only_told(loose):
    (loose / "onetake.toml").unlink()
    assert set_limits([loose]) == [Limit(2, None, False)]
