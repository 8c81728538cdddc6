"""Re-keying is stopped at every change of a file: no answer is lost, and the next run comes to the same end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from onetake import placing
from onetake.cassette import Cassette
from onetake.errors import StoreError
from onetake.format import dump_entry, load_entry
from onetake.model import Entry
from onetake.settings import key_rules
from onetake.stores.directory import DirectoryStore
from onetake.upkeep.checking import check
from onetake.upkeep.rekey.found import Choices
from onetake.upkeep.rekey.rekeying import rekey

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
CASSETTE = "cassettes/test_a/test_b"
CHANGES = ("os.rename", "os.link", "os.remove")
CHOICES = Choices(dropped=key_rules({"replace": [{"pattern": "^(alpha|beta)$", "with": "word"}]}))


def answers(root):
    """What each readable entry answers, by what was asked, without the trace, and ordinal."""
    found = {}
    for _, ordinal, entry in Cassette(DirectoryStore(root / CASSETTE)).all():
        assert isinstance(entry, Entry)
        body = json.loads(entry.request.body)
        found.setdefault((entry.key[:8], ordinal), (body["messages"][0]["content"], entry.response.body))
    return found


def texts(root):
    """Every answer that is stored, however often."""
    return {body for _, body in answers(root).values()}


def files_of(root):
    """Every file of the project with a digest of its bytes; without the temporary ones that a killed process left."""
    paths = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.startswith(".onetake-")]
    return {path.relative_to(root).as_posix(): sha256(path.read_bytes()).hexdigest() for path in paths}


def fault(root, number, strike):
    """Strike at the *number*th change of a file below a folder."""
    seen = iter(range(10_000))

    def hook(event, arguments):
        if event in CHANGES and str(arguments[0]).startswith(str(root)):
            strike(next(seen), number)

    sys.addaudithook(hook)


def killed(now, number):
    if now == number:
        os.kill(os.getpid(), signal.SIGKILL)


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


def stopped(root, number, strike):
    def act():
        fault(root, number, strike)
        try:
            rekey(root, CHOICES, writes=True)
        except StoreError:
            return 1
        return 0

    return in_child(act)


def set_back(folder, paths):
    """Give entries times of their own, a second apart."""
    for second, path in enumerate(paths):
        entry = load_entry(path.read_bytes(), lambda name: None)
        folder.edit(path, entry.provenance["recorded_at"], f"2026-03-01T10:00:{second:02}Z")


def repeats(folder):
    """One key with two equal answers."""
    request = folder.direct.chat("Hello", trace=1)
    folder.record((request, "one"), (request, "one"), contract=None)
    folder.settings(top='[key]\nignore = ["$.trace"]\n')


def merged(folder):
    """Two keys with other answers, which become one in the order of their times."""
    paths = folder.record(*[(folder.direct.chat("Hello", trace=n), f"answer {n}") for n in (1, 2)], contract=None)
    set_back(folder, reversed(paths))
    folder.settings(top='[key]\nignore = ["$.trace"]\n')


def chained(folder):
    """The new key of one is the stored key of the next, which moves on."""
    folder.record(*[(folder.direct.chat(word), f"to {word}") for word in ("alpha", "beta")], contract=None)
    rules = [("beta", "gamma"), ("alpha", "beta")]
    said = ", ".join(f'{{ pattern = "^{old}$", with = "{new}" }}' for old, new in rules)
    folder.settings(top=f"[key]\nreplace = [{said}]\n")


def split(folder):
    """One key whose answers come to two, as a rule takes less away than the one of before."""
    folder.settings(top='[key]\nreplace = [{ pattern = "^(alpha|beta)$", with = "word" }]\n')
    folder.record(*[(folder.direct.chat(word), f"to {word}") for word in ("alpha", "beta", "beta")], contract=None)
    folder.settings(top='[key]\nignore = ["$.trace"]\n')


def secretive(folder):
    """Answers that hold what a rule of today calls a secret, one of them in a sidecar; one comes to a new key, too."""
    said = "data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": "badge-123456"}}]}) + "\n\n"
    stop = "data: " + json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + "\n\n"
    body = f"{said}{stop}data: [DONE]\n\n".encode()
    streamed = type(folder.direct.said(""))(200, (("content-type", "text/event-stream"),), body)
    folder.record(
        (folder.direct.chat("Stream", stream=True), streamed),
        (folder.direct.chat("I am badge-654321", trace=4), "Hello, badge-654321."),
        contract=None,
    )
    folder.settings(top='[scrub]\npatterns = ["badge-[0-9]{6}"]\n[key]\nignore = ["$.trace"]\n')


@needs_fork
@pytest.mark.parametrize(
    ("make", "strike"),
    [
        (repeats, killed),
        (merged, killed),
        pytest.param(merged, failed_from_then_on, marks=pytest.mark.whole),
        (chained, killed),
        pytest.param(split, killed, marks=pytest.mark.whole),
        pytest.param(secretive, killed, marks=pytest.mark.whole),
        (secretive, failed_from_then_on),
    ],
)
def test_br_147_whatever_stops_it_no_answer_is_lost_and_the_next_run_ends_the_same(folder, tmp_path, make, strike):
    make(folder)
    template = tmp_path / "template"
    shutil.copytree(folder.root, template, ignore=shutil.ignore_patterns("template"))
    before = texts(template)
    whole = shutil.copytree(template, tmp_path / "whole")
    assert rekey(whole, CHOICES, writes=True).moves
    wanted = files_of(whole)
    assert wanted != files_of(template)
    assert check(whole).findings == ()
    half = 0
    for number in range(100):
        one = shutil.copytree(template, tmp_path / f"run{number}")
        code = stopped(one, number, strike)
        if make is not secretive:
            assert before == texts(one), number
        assert len(answers(one)) >= len(answers(template)), number
        half += files_of(one) not in (wanted, files_of(template))
        rekey(one, CHOICES, writes=True)
        assert files_of(one) == wanted, number
        if code == 0:
            break
    assert code == 0
    assert half  # it was stopped half-way, too


def test_entries_that_would_change_places_stay(folder):
    rules = '[key]\nreplace = [{{ pattern = "^{}$", with = "A" }}, {{ pattern = "^{}$", with = "B" }}]\n'
    folder.settings(top=rules.format("one", "two"))
    paths = folder.record((folder.direct.chat("one"), "to one"), (folder.direct.chat("two"), "to two"), contract=None)
    before = files_of(folder.root)
    dropped = key_rules(
        {"replace": [{"pattern": "^one$", "with": "A"}, {"pattern": "^two$", "with": "B"}]},
    )
    folder.settings(top=rules.format("two", "one"))
    after_settings = files_of(folder.root)
    found = rekey(folder.root, Choices(dropped=dropped), writes=True)
    assert found.moves == []
    assert sorted(path for one in found.collisions for path in one.met.paths) == sorted(paths)
    assert all("change places" in one.why for one in found.collisions)
    assert files_of(folder.root) == after_settings != before


@needs_fork
def test_what_a_recording_process_changes_meanwhile_is_left(folder):
    """Between the look and the write another process replaces one entry and takes the new place of another."""
    folder.record(
        (folder.direct.chat("one", trace=1), "one"), (folder.direct.chat("two", trace=1), "two"), contract=None
    )
    folder.settings(top='[key]\nignore = ["$.trace"]\n')
    planned = {json.loads(entry.request.body)["messages"][0]["content"]: move for move, entry in _planned(folder)}
    seen = []

    def meddle(event, arguments):
        if event == "open" and not seen and str(arguments[0]).endswith(".tmp") and "onetake-" in str(arguments[0]):
            seen.append(arguments)
            for name, move in planned.items():
                target = move.path if name == "one" else move.new_path
                Path(target).write_text("{}")

    assert in_child(lambda: _meddled(folder, meddle)) == 0
    assert [planned["one"].path.read_bytes(), planned["two"].new_path.read_bytes()] == [b"{}", b"{}"]
    assert planned["two"].path.is_file()


@needs_fork
def test_an_answer_that_is_recorded_while_its_entry_is_scrubbed_in_place_stays(folder):
    (path,) = folder.record((folder.direct.chat("I am badge-123456"), "Hello."), contract=None)
    entry = folder.load(path)
    newer = dump_entry(replace(entry, provenance={**entry.provenance, "recorded_at": "2027-01-01T00:00:00Z"}))[0]
    folder.settings(top='[scrub]\npatterns = ["CUST-[0-9]+"]\n')
    folder.rewrite(path, note="for CUST-1")
    wrote = []

    def record(event, arguments):
        if event == "open" and not wrote and str(arguments[0]).endswith(".tmp") and "onetake-" in str(arguments[0]):
            wrote.append(path.write_bytes(newer))

    def act():
        sys.addaudithook(record)
        found = rekey(folder.root, writes=True)
        said = [(one.path, one.why, one.mend) for one in found.left]
        return int((found.moves, said) != ([], [(path, "another process changed it meanwhile", "run it again")]))

    assert in_child(act) == 0
    assert path.read_bytes() == newer


def test_beside_a_test_that_records_nothing_is_touched(folder):
    folder.record(*[(folder.direct.chat(word, trace=1), f"to {word}") for word in ("Hello", "Bye")], contract=None)
    folder.settings(top='[key]\nignore = ["$.trace"]\n')
    before = files_of(folder.root)
    place = placing.hold(folder.root, folder.root / CASSETTE, "")
    try:
        found = rekey(folder.root, writes=True)
        assert found.moves == []
        assert [(one.path, one.why.partition(",")[0]) for one in found.left] == [
            (folder.root, "a test that records is at work there")
        ]
        assert len(rekey(folder.root).moves) == 2, "a look is no harm"
    finally:
        place.let_go()
    assert {name: now for name, now in files_of(folder.root).items() if name in before} == before
    assert len(rekey(folder.root, writes=True).moves) == 2


def _planned(folder):
    for move in rekey(folder.root).moves:
        yield move, load_entry(move.path.read_bytes(), lambda name: None)


def _meddled(folder, meddle):
    sys.addaudithook(meddle)
    found = rekey(folder.root, writes=True)
    said = {one.path: one.why for one in found.left}
    return int(len(said) != 2 or not all("another process" in why for why in said.values()))


@needs_fork
def test_two_that_run_at_once_do_it_once(folder):
    for number in range(6):
        folder.record((folder.direct.chat(f"ask {number}", trace=1), f"to {number}"), contract=None)
    folder.settings(top='[key]\nignore = ["$.trace"]\n')
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            code = 99
            try:
                rekey(folder.root, writes=True)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    assert len(answers(folder.root)) == 6
    assert rekey(folder.root).moves == []
    assert folder.check() == []


def test_br_142_what_no_rule_of_today_lets_in_is_re_keyed_and_never_dropped(folder):
    """A host that is ignored today is recorded no more; what is stored of it stays, and goes with the others."""
    folder.record(*[(folder.direct.chat(word, trace=1), f"to {word}") for word in ("Hello", "Bye")], contract=None)
    before = texts(folder.root)
    folder.settings(top='ignore = ["api.openai.com"]\n[key]\nignore = ["$.other"]\n')
    assert rekey(folder.root, writes=True).moves == []
    folder.settings(top='ignore = ["api.openai.com"]\n[scrub]\npaths = ["$.trace"]\n')
    assert len(rekey(folder.root, writes=True).moves) == 2
    assert texts(folder.root) == before


@needs_fork
def test_br_147_what_cannot_be_written_is_told_and_the_old_entries_stay_until_it_can(folder):
    repeats(folder)
    before, said = files_of(folder.root), texts(folder.root)
    assert stopped(folder.root, 0, failed_from_then_on) == 1  # a StoreError
    assert files_of(folder.root) == before
    assert len(rekey(folder.root, writes=True).moves) == 2
    assert texts(folder.root) == said
    assert folder.check() == []
