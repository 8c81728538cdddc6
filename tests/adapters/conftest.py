"""Sessions in a folder of the test's own."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from onetake.scopes import set_start, use_cassette


@pytest.fixture
def session(tmp_path):
    """Open a session on a cassette of this test: `session(mode, name="cassette", **options)`."""
    (tmp_path / "onetake.toml").touch()

    @contextmanager
    def opened(mode, name="cassette", **options):
        before = set_start(tmp_path / "program.py")
        try:
            with use_cassette(name, mode=mode, **options) as running:
                yield running
        finally:
            set_start(before)

    return opened
