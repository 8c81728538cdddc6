"""Several entries go into a cassette together, whatever stops them half-way: an error, a kill, another process."""

from __future__ import annotations

import os
import shutil
import signal
import sys

import pytest

from onetake.aside import AsideStore, journal
from onetake.cassette import Cassette
from onetake.errors import StoreError
from onetake.key import Keyer
from onetake.model import Entry, KeySpec, Request, Response
from onetake.stores.directory import DirectoryStore

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
SPEC = KeySpec("k1", "s1", Keyer().spec())
HEAD = (("content-type", "application/json"),)


def make(text="q", said="old", ordinal=0, test="t"):
    """Return an entry; its answer is long enough for a sidecar where it is a stream."""
    request = Request("POST", "https://api.openai.com/v1/chat/completions", HEAD, b'{"text": "%s"}' % text.encode())
    response = Response(
        200, (("content-type", "text/event-stream"),), b'data: "%s"\n\ndata: [DONE]\n\n' % said.encode()
    )
    return Entry("good", request, response, Keyer().key(request), ordinal, SPEC, provenance={"test": test})


class Place:
    """A project's folder with one cassette, and a test's pending store beside it."""

    def __init__(self, root, part=""):
        self.root, self.part = root, part
        self.folder = root / "c"

    def opened(self, resume=False):
        """Open the cassette as a session does: what was stopped half-way is finished first."""
        notes = journal(self.root, self.folder, self.part)
        self.finished = notes.finish(DirectoryStore(self.folder, "c"))
        pending = AsideStore(self.root, "pending", self.folder, self.part)
        return Cassette(DirectoryStore(self.folder, "c"), pending, resume=resume, journal=notes)

    @property
    def said(self):
        """What each entry of the cassette answers, by what was asked and ordinal."""
        cassette = Cassette(DirectoryStore(self.folder, "c"))
        return {
            (entry.request.body.decode()[10:-2], ordinal): entry.response.body.decode().split('"')[1]
            for _, ordinal, entry in cassette.all()
        }

    @property
    def bytes(self):
        """Every entry as it is on disk."""
        return {path.name: path.read_bytes() for path in self.folder.glob("*.json")}

    @property
    def waiting(self):
        """The entries that wait, and the notes of what is half done."""
        found = [(self.root / ".onetake" / kind).rglob("*.json") for kind in ("pending", "promoting")]
        return [path for paths in found for path in paths if path.parent.name != "_schemas"]


@pytest.fixture
def place(tmp_path):
    """A cassette of two old entries."""
    made = Place(tmp_path / "project")
    store = Cassette(DirectoryStore(made.folder, "c"))
    store.add(make("a")), store.add(make("b"))
    return made


def rerecord(place, cassette):
    """Have wait what a re-recording brings: an entry in the place of an old one, and two that are new.

    Meanwhile another test stores one under the ordinal that one of these was to have.
    """
    cassette.put(make("a", "new"))
    cassette.add(make("b", "new", 1))
    cassette.add(make("c", "new"))
    Cassette(DirectoryStore(place.folder, "c")).add(make("c", "others", test="another"))


OLD = {("a", 0): "old", ("b", 0): "old", ("c", 0): "others"}
NEW = {("a", 0): "new", ("b", 0): "old", ("b", 1): "new", ("c", 0): "others", ("c", 1): "new"}


def test_all_go_in_and_nothing_is_left_aside(place):
    cassette = place.opened()
    rerecord(place, cassette)
    assert place.said == OLD
    assert len(cassette.promote()) == 3
    assert (place.said, place.waiting) == (NEW, [])


CHANGES = ("os.rename", "os.link", "os.remove")


def fault(root, number, strike):
    """In a process of its own: strike at the *number*th change of a file below a folder."""
    seen = iter(range(10_000))

    def hook(event, arguments):
        if event in CHANGES and str(arguments[0]).startswith(str(root)):
            strike(next(seen), number)

    sys.addaudithook(hook)


def killed(now, number):
    if now == number:
        os.kill(os.getpid(), signal.SIGKILL)


def failed_once(now, number):
    if now == number:
        raise OSError(28, "No space left on device")


def failed_from_then_on(now, number):
    if now >= number:
        raise OSError(5, "Input/output error")


def in_child(act):
    """Run *act* in a forked child; returns its exit code, negative where a signal ended it."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = act()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def promote_under(place, number, strike):
    def act():
        cassette = place.opened()
        rerecord(place, cassette)
        fault(place.root, number, strike)
        try:
            cassette.promote()
        except StoreError:
            return 1
        return 0

    return in_child(act)


def copy(place, root):
    """Return a place like another one."""
    shutil.copytree(place.root, root)
    return Place(root, place.part)


@needs_fork
@pytest.mark.parametrize("strike", [killed, failed_once, failed_from_then_on])
def test_whatever_stops_it_the_next_session_finds_all_the_old_or_all_the_new(place, tmp_path, strike):
    outcomes = []
    for number in range(100):
        one = copy(place, tmp_path / f"run{number}")
        before = one.bytes
        code = promote_under(one, number, strike)
        half = one.said
        if half == OLD:
            assert before.items() <= one.bytes.items(), number
        one.opened()
        assert one.said in (OLD, NEW), (number, one.said)
        if strike is failed_once and code == 1:
            assert half == one.said, number
        outcomes.append((half in (OLD, NEW), one.said == NEW))
        assert len(one.waiting) == (3 if one.said == OLD else 0), number
        if code == 0:
            break
    assert code == 0
    assert {new for _, new in outcomes} == {True, False}
    if strike is killed:
        assert not all(whole for whole, _ in outcomes)  # it was stopped half-way, too


@needs_fork
def test_who_comes_while_a_promotion_is_at_work_waits_for_its_end(place):
    """Another process sees all the old, or waits and sees all the new."""
    cassette = place.opened()
    rerecord(place, cassette)
    reader, writer = os.pipe()

    def stop_half_way(now, number):
        if now == number:
            os.write(writer, b"half-way")
            os.read(gate_reader, 4)

    gate_reader, gate_writer = os.pipe()

    def promotes():
        fault(place.root, 4, stop_half_way)
        return len(cassette.promote())

    promoter = os.fork()
    if promoter == 0:
        code = 99
        try:
            code = promotes()
        finally:
            os._exit(code)
    assert os.read(reader, 8) == b"half-way"
    assert len([path for path in place.waiting if "promoting" in path.parts]) == 1

    def opens():
        os.write(gate_writer, b"on")
        return int(place.opened() is not None and (place.said, place.finished) == (NEW, 0))

    assert in_child(opens) == 1
    assert os.waitstatus_to_exitcode(os.waitpid(promoter, 0)[1]) == 3
    assert (place.said, place.waiting) == (NEW, [])


def stopped(place):
    """Leave a promotion half-way, as a killed process does."""
    cassette = place.opened()
    rerecord(place, cassette)
    assert in_child(lambda: _killed_at(place, cassette, 4)) == -signal.SIGKILL
    (noted,) = (path for path in place.waiting if "promoting" in path.parts)
    return noted


def _killed_at(place, cassette, number):
    fault(place.root, number, killed)
    return len(cassette.promote())


@needs_fork
@pytest.mark.parametrize("damage", ["note", "entry"])
def test_what_cannot_be_finished_is_said_with_the_way_out(place, damage):
    noted = stopped(place)
    broken = noted if damage == "note" else next(path for path in place.waiting if "pending" in path.parts)
    broken.write_bytes(b"{")
    with pytest.raises(StoreError, match=f"c: an earlier run was stopped while .* or remove {noted} and record anew"):
        place.opened()
    noted.unlink()
    place.opened()


@needs_fork
def test_the_tests_of_one_cassette_finish_each_others_promotions(tmp_path):
    one, other = Place(tmp_path / "project", "test_a"), Place(tmp_path / "project", "test_b")
    Cassette(DirectoryStore(one.folder, "c")).add(make("a"))
    Cassette(DirectoryStore(one.folder, "c")).add(make("b"))
    stopped(one)
    other.opened()
    assert (other.finished > 0, one.said) == (True, NEW)


def test_another_cassettes_promotion_is_left_to_that_one(place, tmp_path):
    (tmp_path / "project/.onetake/promoting").mkdir(parents=True)
    (tmp_path / "project/.onetake/promoting/0123456789abcdef-1.json").write_bytes(b"{")
    place.opened()
    assert place.finished == 0
