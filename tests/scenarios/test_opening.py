"""What opening a cassette reads."""

from __future__ import annotations

import json
import subprocess
import sys

from onetake.cassette import Cassette
from onetake.key import RECIPES, Keyer
from onetake.model import Entry, KeySpec, Request, Response
from onetake.stores.directory import DirectoryStore

URL = "https://api.example.org/answers/{}"
PROGRAM = """
import json
import sys

read = []
sys.addaudithook(lambda event, args: read.append(str(args[0])) if event == "open" else None)

import httpx
import onetake

def entries():
    found = [path for path in read if "cassette" in path and path.endswith(".json")]
    read.clear()
    return len(found)

with onetake.use_cassette("cassette", mode="none"), httpx.Client() as client:
    at_opening = entries()
    answer = client.get(sys.argv[1]).text
    print(json.dumps([at_opening, answer, entries()]))
"""


def test_br_129_opening_reads_names_and_a_call_one_entry(tmp_path):
    store = DirectoryStore(tmp_path / "cassette")
    keyer = Keyer()
    for number in range(1000):
        request = Request("GET", URL.format(number))
        store.add(keyer.key(request), 0, b"never read", "get")
    asked = Request("GET", URL.format("asked"))
    answer = Response(200, (), b"fine")
    assert Cassette(store).add(Entry("good", asked, answer, keyer.key(asked), 0, KeySpec(RECIPES[0], "s1")))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, asked.url], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [0, "fine", 1]
