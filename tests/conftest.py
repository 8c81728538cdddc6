"""What tests of several folders share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onetake.testing.local_model import available
from onetake.testing.local_model import local_model as serve_model
from onetake.testing.provider import Provider


@pytest.fixture
def provider():
    """A scripted provider of this test's own."""
    with Provider() as running:
        yield running


@pytest.fixture(scope="session")
def local_model():
    """The real small model, started once for all tests that ask for it."""
    reason = available()
    if reason:
        pytest.skip(f"no local model: {reason}")
    with serve_model() as running:
        yield running


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of other people's cassettes and logs; read in place, never written."""
    beside = Path(__file__).parents[1] / ".." / "shared" / "corpora"
    folder = Path(os.environ.get("ONETAKE_CORPORA") or beside).resolve()
    if not folder.is_dir():
        pytest.skip("the corpora are not here (ONETAKE_CORPORA names their folder)")
    return folder
