"""The golden vectors of recipe k1: request to key, pinned for ever. A vector is never changed; new ones are added."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from onetake.key import RECIPES, Keyer
from onetake.model import Request

FILE = Path(__file__).parent / "golden" / "key_k1.json"
GOLDEN = json.loads(FILE.read_bytes())
VECTORS = GOLDEN["vectors"]
KEYS = [vector["key"] for vector in VECTORS]
SRC = Path(__file__).parents[2] / "src"

PROGRAM = """
import base64, json, sys
from onetake.key import Keyer
from onetake.model import Request
with open(sys.argv[1], "rb") as file:
    vectors = json.load(file)["vectors"]
for vector in vectors:
    keyer, days = Keyer.from_spec(vector.get("rules", {}))
    body = base64.b64decode(vector["base64"]) if "base64" in vector else vector["body"].encode()
    headers = tuple((name, value) for name, value in vector["headers"])
    print(keyer.key(Request(vector["method"], vector["url"], headers, body), days))
"""


def pythons() -> list[str]:
    """Find the other Pythons that onetake supports, by name in PATH and among pyenv's."""
    names = ("python3.11", "python3.12", "python3.13", "python3.14")
    found = [path for name in names if (path := shutil.which(name))]
    for name in names:
        found += [str(path) for path in sorted(Path.home().glob(f".pyenv/versions/*/bin/{name}"))]
    return list(dict.fromkeys(found))


def keys_in(python: str, **env: str) -> list[str] | None:
    """Compute all keys in a process of its own; None where that Python does not start."""
    if subprocess.run([python, "-c", ""], capture_output=True).returncode:
        return None
    command = [python, "-c", PROGRAM, str(FILE)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(SRC), **env}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def request_of(vector: dict) -> Request:
    body = base64.b64decode(vector["base64"]) if "base64" in vector else vector["body"].encode()
    return Request(vector["method"], vector["url"], tuple((name, value) for name, value in vector["headers"]), body)


def test_the_file_is_of_this_recipe():
    assert GOLDEN["recipe"] == RECIPES[0] == "k1"


@pytest.mark.parametrize("vector", VECTORS, ids=[f"{vector['group']}: {vector['name']}" for vector in VECTORS])
def test_a_golden_request_has_its_key(vector):
    keyer, days = Keyer.from_spec(vector.get("rules", {}))
    assert keyer.key(request_of(vector), days) == vector["key"]


def test_one_group_is_one_key_and_one_key_is_one_group():
    pairs = {(vector["group"], vector["key"]) for vector in VECTORS}
    assert len(pairs) == len({group for group, _ in pairs}) == len({key for _, key in pairs})


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_br_016_keys_do_not_depend_on_the_hash_seed(seed):
    assert keys_in(sys.executable, PYTHONHASHSEED=seed) == KEYS


def test_keys_do_not_depend_on_python_s_limit_for_integer_digits():
    assert keys_in(sys.executable, PYTHONINTMAXSTRDIGITS="640") == KEYS


@pytest.mark.parametrize("python", pythons())
def test_keys_do_not_depend_on_the_version_of_python(python):
    keys = keys_in(python)
    if keys is None:
        pytest.skip(f"{python} does not start")
    assert keys == KEYS
