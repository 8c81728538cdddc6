"""Cassettes of vcrpy, made by hand: what the importers' tests share."""

from __future__ import annotations

import pytest
import yaml

from onetake.importers.judging import Rules
from onetake.importers.placing import File, target_of
from onetake.importers.reading import read
from onetake.key import Keyer
from onetake.scrub import Scrubber
from onetake.traffic import Traffic


@pytest.fixture
def cassette(project):
    """Return a function that writes interactions into a file of vcrpy's, and returns its path."""

    def write(*interactions, name="cassettes/test_a/test_b.yaml"):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({"interactions": list(interactions), "version": 1}), encoding="utf-8")
        return path

    return write


@pytest.fixture
def read_text(tmp_path):
    """Return a function that reads a text, or bytes, as a file."""

    def read_one(content, name="a.yaml"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read(path)

    return read_one


@pytest.fixture
def read_one(read_text):
    """Return a function that reads the one interaction of a file."""

    def one(item):
        (found,) = read_text(yaml.safe_dump({"interactions": [item], "version": 1})).interactions
        return found

    return one


@pytest.fixture
def rules(tmp_path):
    """What interactions are judged by where the settings say nothing."""
    return Rules(tmp_path, Keyer(), Scrubber(), Traffic())


@pytest.fixture
def as_file():
    """Return a function that says where a file's cassette goes: beside it."""

    def make(path, to=None):
        return File(path, target_of(path, path, to), path)

    return make
