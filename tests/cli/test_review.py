"""`onetake review`: what it lists, what it prints for a comment, and a walk through it by keyboard in a terminal."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from onetake.aside import AsideStore
from onetake.cassette import Cassette
from onetake.cli import main, review_markdown
from onetake.contract import Contract
from onetake.format import dump_entry, load_entry
from onetake.model import KeySpec, Response, Violation
from onetake.stores.directory import DirectoryStore

posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals there")
SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
EDITOR = """
import sys
from pathlib import Path
path = Path(sys.argv[1])
path.write_bytes(path.read_bytes().replace(b'"label": 1', b'"label": "mended"').replace(b'was said', b'was edited'))
"""
PROMPT = "? help > "


@pytest.fixture
def git(project):
    """Return a function that runs git in the project, as somebody with a name, and returns what it prints."""
    who = {f"GIT_{whose}_{what}": "ann@example.com" for whose in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | who

    def run(*words):
        own = ("-c", "commit.gpgsign=false", "-c", "core.autocrlf=false", "-c", "init.defaultBranch=main")
        done = subprocess.run(["git", *own, *words], cwd=project, env=clean, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    run("init", "-q")
    return run


@pytest.fixture
def said(project, make_entry):
    """Return a function that makes an entry under the contract `items`: *said* is the label, or the whole text."""
    (project / "items.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (project / "onetake.toml").write_text('[contracts.items]\nschema = "items.json"\n', encoding="utf-8")
    ref = Contract(SCHEMA, name="items").ref(project)

    def make(asked, said, **fields):
        text = json.dumps({"label": said}) if type(said) is str else json.dumps(said)
        return make_entry(asked, text, **{"contract": ref, **fields})

    return make


@pytest.fixture
def put(project):
    """Return a function that writes an entry over the one in its place; returns its file."""

    def write(entry, folder="cassettes/a"):
        store = DirectoryStore(project / folder)
        Cassette(store).put(entry)
        return project / folder / Path(store.locate(entry.key, entry.ordinal)).name

    return write


@pytest.fixture
def wait(project):
    """Return a function that puts an entry aside, `pending` or `rejects`; returns its file."""

    def write(kind, entry, folder="cassettes/a"):
        store = AsideStore(project, kind, project / folder)
        assert Cassette(store).add(entry)
        return project / store.locate(entry.key, entry.ordinal)

    return write


@pytest.fixture
def mixed(make_mixed):
    """Fifty changes, ten of each kind; returns the files by kind."""
    return make_mixed(10)


@pytest.fixture
def few(make_mixed):
    """Ten changes, two of each kind; returns the files by kind."""
    return make_mixed(2)


@pytest.fixture
def make_mixed(git, said, put, wait):
    """Return a function that makes so many changes of each kind; returns the files by kind."""

    def make(many):
        return _mixed(many, git, said, put, wait)

    return make


def _mixed(many, git, said, put, wait):
    for number in range(many):
        put(said(f"again {number}", f"{number} was said at first"))
        put(said(f"gone {number}", f"{number} is gone"))
    git("add", "-A")
    git("commit", "-qm", "Record")
    found = {kind: [] for kind in ("new", "re-recorded", "gone", "pending", "reject")}
    for number in range(many):
        found["re-recorded"].append(put(said(f"again {number}", f"{number} was said now")))
        found["gone"].append(put(said(f"gone {number}", f"{number} is gone")))
        found["new"].append(put(said(f"new {number}", f"{number} was said anew")))
        found["pending"].append(wait("pending", said(f"pending {number}", f"{number} was said in vain")))
        refused = {"verdict": "reject:violation", "violations": (Violation("$.label", "a string", "1"),)}
        found["reject"].append(wait("rejects", said(f"reject {number}", {"label": 1}, **refused)))
    for path in found["gone"]:
        path.unlink()
    return found


@pytest.fixture
def terminal(project):
    """Return a function that starts a command in a pseudo-terminal."""
    begun = []

    def start(*words, columns=100, **environment):
        begun.append(Terminal(project, words, columns, environment))
        return begun[-1]

    yield start
    for one in begun:
        one.end()


class Terminal:
    """A command that runs in a pseudo-terminal, and a person at its keyboard."""

    def __init__(self, folder, words, columns, environment):
        import pty

        away = ("CI", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "VISUAL")
        env = {name: value for name, value in os.environ.items() if name not in away}
        env = {name: value for name, value in env.items() if not name.startswith(("PYTEST", "ONETAKE_"))}
        editor = folder / "editor.py"
        editor.write_text(EDITOR, encoding="utf-8")
        env |= {"TERM": "xterm-256color", "EDITOR": f"{sys.executable} -I -S {editor}", **environment}
        # A child of this process has all modules already: a new interpreter would cost more than what is tested.
        self._child, self._ours = pty.fork()
        if not self._child:
            _be_the_command(folder, words, env, columns)
        self._code = None
        self.written = ""
        self._read_to = 0

    def until(self, text):
        """Read until a text is there that was not read before; returns what came up to it."""
        while text not in self.written[self._read_to :]:
            assert self._more(), f"it ended before {text!r}: {self.written[self._read_to :]}"
        at = self.written.index(text, self._read_to) + len(text)
        came, self._read_to = self.written[self._read_to : at], at
        return came

    def press(self, key):
        """Press a key at the next prompt; returns what was shown before it."""
        import termios

        shown = self.until(PROMPT)
        # What is typed before keys are read counts for nothing; a person is never so fast.
        while termios.tcgetattr(self._ours)[3] & termios.ICANON:
            select.select([self._ours], [], [], 0.002)
        os.write(self._ours, key.encode())
        return shown

    def rest(self):
        """Return what is still printed, and the exit code."""
        while self._more():
            pass
        return self.written[self._read_to :], self._ended()

    def end(self):
        if self._code is None:
            os.kill(self._child, signal.SIGKILL)
            self._ended()
        os.close(self._ours)

    def _ended(self):
        self._code = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])
        return self._code

    def _more(self):
        ready, _, _ = select.select([self._ours], [], [], 60)
        assert ready, "nothing more came"
        try:
            piece = os.read(self._ours, 65536)
        except OSError:  # how Linux says that the other side has closed
            return False
        self.written += piece.decode().replace("\r\n", "\n")
        return bool(piece)


def _be_the_command(folder, words, environment, columns):
    """Run the command, in a child process whose terminal this is, and end."""
    import fcntl
    import struct
    import termios

    code = 1
    try:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.stdin, sys.stdout, sys.stderr = map(os.fdopen, (0, 1, 2), "rww")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["onetake", *map(str, words)]
        code = main()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def document(run, *words):
    """Return what there is to review, as the command tells it: by path, and all of it."""
    code, out, err = run("review", *words, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    return {one["path"]: one for one in told["changes"]}, told


def load(path):
    return load_entry(path.read_bytes(), DirectoryStore(path.parent).get_side)


def trash(project):
    """Return what lies in the trash: each file's bytes."""
    return [path.read_bytes() for path in (project / ".onetake" / "trash").rglob("*.json")]


def committed(git, project, path):
    return (git("show", f"HEAD:{path.relative_to(project).as_posix()}") + "\n").encode()


@posix
def test_fifty_mixed_changes_by_keyboard(project, mixed, terminal, run, git):
    before = {path: path.read_bytes() for paths in mixed.values() for path in paths if path.exists()}
    told, _ = document(run)
    assert len(told) == 50
    # In the order in which they are asked about; of each kind two are decided on in each of five ways.
    order = {(project / name).absolute(): one["kind"] for name, one in told.items()}
    decided, counts = {}, dict.fromkeys(mixed, 0)
    shell = terminal("review")
    for number, (path, kind) in enumerate(order.items(), 1):
        key = "adres"[counts[kind] % 5]
        counts[kind] += 1
        decided[path] = kind, key
        shown = shell.press(key)
        assert f"[{number}/50] {kind}: {path.relative_to(project).as_posix()}" in re.sub(r"\x1b\[[0-9;]*m", "", shown)
        if key == "e" and kind == "gone":
            assert "not done: there is no response to edit" in shell.press("s")
        elif key == "e" and kind != "reject":
            assert "edited, and passed by the gate as good" in shell.press("a")
    rest, code = shell.rest()
    assert code == 0
    assert "50 changes: 16 accepted, 10 discarded, 8 edited, 10 to be recorded again, 12 skipped" in rest
    assert "to record again: pytest --record-mode=all tests/test_a.py::test_b" in rest
    assert "to record again: pytest --record-mode=new_episodes tests/test_a.py::test_b" in rest
    left, _ = document(run)
    now = {(project / name).absolute(): one for name, one in left.items()}
    for path, (kind, key) in decided.items():
        check_decision(project, git, path, kind, key, before.get(path), now)
    # What was accepted is not asked about again; what was skipped is.
    open_ones = [path for path, one in now.items() if not one["accepted"]]
    assert sorted(open_ones) == sorted(
        path for path, (kind, key) in decided.items() if key in "rs" or (kind == "gone" and key == "e")
    )


def check_decision(project, git, path, kind, key, was, now):
    """See that a decision about one change did what it says, and no more."""
    entered = project / "cassettes" / "a" / path.name
    match kind, key:
        case "new", "d":
            assert not path.exists()
            assert was in trash(project)
        case "re-recorded", "d":
            assert path.read_bytes() == committed(git, project, path)
            assert was in trash(project)
        case "gone", "d":
            assert path.read_bytes() == committed(git, project, path)
        case "gone", "a":
            assert not path.exists()
            assert now[path]["accepted"]
        case (("pending" | "reject"), "d"):
            assert not path.exists()
            assert not entered.exists()
            assert was in trash(project)
        case "pending", "a":
            assert not path.exists()
            assert entered.read_bytes() == was
        case "reject", "a":
            assert not path.exists()
            assert load(entered).verdict == "kept:violation"
            assert load(entered).response == load_entry(was, lambda name: None).response
            assert load(entered).provenance["accepted"]["at"]
            assert was in trash(project)
        case "reject", "e":
            assert not path.exists()
            assert (load(entered).verdict, load(entered).violations) == ("good", ())
            assert json.loads(load(entered).answer.choices[0].text) == {"label": "mended"}
            assert was in trash(project)
        case (("new" | "re-recorded" | "pending"), "e"):
            edited = load(entered)
            assert "was edited" in edited.answer.choices[0].text
            assert b"was edited" in edited.response.body
            assert edited.provenance["edited"]["at"]
            assert was in trash(project)
            assert path.exists() is (kind != "pending")
        case (("new" | "re-recorded"), "a"):
            assert path.read_bytes() == was
            assert now[path]["accepted"]
        case _:
            assert (path.read_bytes() if path.exists() else None) == was


@posix
def test_ctrl_c_in_the_middle_leaves_what_was_decided_decided(project, few, terminal, run):
    first, second, third = list(document(run)[0])[:3]
    shell = terminal("review")
    shell.press("a")
    shell.press("d")
    shell.press("\x03")
    rest, code = shell.rest()
    assert code == 130
    assert "10 changes: 1 accepted, 1 discarded" in rest
    assert rest.rstrip().endswith("interrupted: what was decided stays decided")
    left, _ = document(run)
    assert left[first]["accepted"]
    assert second not in left
    assert not left[third]["accepted"]


@posix
def test_other_keys_decide_nothing(project, few, terminal, run):
    before = document(run)
    shell = terminal("review", columns=40)
    shell.press("x")
    shell.press("\x1b[A")  # an arrow
    shell.press("aa")  # two keys at once
    assert "a  accept: it is right as it is" in shell.press("?") + shell.press("v")
    assert "key       " in shell.press("q")
    rest, code = shell.rest()
    assert code == 0
    assert "10 changes: nothing decided" in rest
    assert document(run) == before


@posix
def test_an_edit_that_the_gate_refuses_is_kept_and_can_be_gone_on_with(project, git, said, put, terminal, wait):
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    path = put(said("one", "was said"))
    bad = project / "bad.py"
    bad.write_text("import sys, pathlib\np = pathlib.Path(sys.argv[1])\np.write_text('broken')\n", encoding="utf-8")
    before = path.read_bytes()
    shell = terminal("review", EDITOR=f"{sys.executable} {bad}")
    shell.press("e")
    shown = shell.press("q")
    assert "not done: this is not what was opened" in shown
    shell.rest()
    assert path.read_bytes() == before
    (draft,) = (project / ".onetake" / "review" / "drafts").iterdir()
    assert draft.read_text() == "broken"
    draft.write_text(dump_form('{"label": 1}'), encoding="utf-8")
    again = terminal("review", EDITOR="true")
    again.press("e")
    assert "not done: the gate says reject:violation; $.label: expected" in again.press("q")
    assert path.read_bytes() == before


def dump_form(text):
    """Return the form in which a response with that text is edited."""
    message = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    return json.dumps({"$json": message, "style": "spaced"})


@posix
def test_ctrl_c_in_the_editor_is_the_editors(project, git, make_entry, put, terminal):
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    put(make_entry("one", "was said", contract=None))
    vi = project / "vi.sh"
    vi.write_text(
        f'#!/bin/sh\ntrap "" INT\nkill -INT 0\nexec {sys.executable} -I -S editor.py "$1"\n', encoding="utf-8"
    )
    vi.chmod(0o755)
    shell = terminal("review", EDITOR=str(vi))
    shell.press("e")
    assert "edited, and passed by the gate as good" in shell.press("q")
    assert shell.rest()[1] == 0
    assert not list((project / ".onetake" / "review" / "drafts").iterdir())


def test_without_a_terminal_the_ways_are_told(run, project):
    code, out, err = run("review")
    assert (code, out) == (2, "")
    assert err == (
        "onetake: a review asks for single keys, for which it needs a terminal; without one: --list, --json or"
        " --markdown\n"
    )


def test_a_comment_goes_with_no_other_form(run, project):
    assert run("review", "--markdown", "--json")[0] == 2
    assert run("review", "--markdown", "--list")[0] == 2


def test_the_list_names_each_change_and_what_is_the_matter(run, project, few):
    code, out, err = run("review", "--list")
    assert (code, err) == (0, "")
    for kind, paths in few.items():
        for path in paths:
            (line,) = [line for line in out.splitlines() if path.relative_to(project).as_posix() in line.split()]
            assert line.startswith(f"{kind} ")
    assert "10 changes against HEAD: 2 new, 2 re-recorded, 2 gone, 2 pending, 2 reject" in out


def test_the_document_says_what_differs(run, project, few):
    found, told = document(run)
    one = found[few["re-recorded"][1].relative_to(project).as_posix()]
    assert one["compared_with"] == "HEAD"
    assert one["differences"]["answer"] == [
        {
            "path": "$.choices[0].text$.label",
            "kind": "changed",
            "was": '"1 was said at first"',
            "is": '"1 was said now"',
        }
    ]
    assert one["differences"]["request"] == []
    refused = found[few["reject"][0].relative_to(project).as_posix()]
    assert refused["violations"] == [{"path": "$.label", "expected": "a string", "found": "1"}]
    assert refused["cassette"] == "cassettes/a"
    assert told["counts"] == {**dict.fromkeys(few, 2), "moved": 0}
    new = found[few["new"][0].relative_to(project).as_posix()]
    assert new["compared_with"].endswith(", which is gone")


def test_without_git_it_is_said_and_what_lies_aside_is_shown(run, project, said, put, wait):
    put(said("stored", "x"))
    wait("pending", said("waits", "y"))
    found, told = document(run)
    assert [one["kind"] for one in found.values()] == ["pending"]
    assert told["against"] == {"name": "HEAD", "commit": None, "why_none": "git knows no repository here"}
    assert (
        "git knows no repository here: what is new, recorded again or gone cannot be told" in run("review", "--list")[1]
    )
    code, _, err = run("review", "--list", "--against", "main")
    assert (code, err) == (2, "onetake: --against main: git knows no repository here\n")


def test_another_commit_than_head(run, git, said, put):
    path = put(said("one", "first"))
    git("add", "-A")
    git("commit", "-qm", "One")
    put(said("one", "second"))
    git("commit", "-qam", "Two")
    assert document(run)[0] == {}
    found, _ = document(run, "--against", "HEAD~1")
    (one,) = found.values()
    assert (one["kind"], one["compared_with"], Path(one["path"]).name) == ("re-recorded", "HEAD~1", path.name)
    code, _, err = run("review", "--list", "--against", "nowhere")
    assert (code, err) == (
        2,
        "onetake: --against nowhere: git has no such commit here; a shallow clone has to fetch it first\n",
    )
    assert run("review", "--list", "--against", "--all")[0] == 2


def test_a_store_in_one_file_is_named_and_not_compared(run, git, said, put):
    put(said("one", "first"))
    run("store", "pack", "cassettes/a", "calls.db")
    git("add", "-A")
    git("commit", "-qm", "One")
    found, told = document(run)
    assert found == {}
    (left,) = told["not_reviewed"]
    assert left["path"] == "calls.db"
    assert left["why"].startswith("a store in one file: git keeps it as one file of no text")
    assert "onetake store unpack" in left["why"]


HOSTILE = {
    "fences": "```\n````` @everyone fixes #12 and !7 GH-9\n~~~\n</details><script>alert(1)</script>",
    "escapes": "\x1b[2J\x1b]0;owned\x07red\u202egnp.exe",
    "long": "word " * 100_000,
    "lone": "\ud800 half",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_comment_gives_a_model_no_way_out(run, git, make_entry, put, kind):
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    text = HOSTILE[kind]
    put(make_entry("one", text, contract=None))
    code, out, err = run("review", "--markdown")
    assert (code, err) == (0, "")
    assert len(out.encode()) <= review_markdown.MOST_BYTES
    assert out.startswith("<!-- onetake review -->\n### Entries to review\n")
    outside, inside = parts(out)
    assert "</details><script>" not in outside
    assert "\x1b" not in out
    assert "\u202e" not in out
    for call in re.findall(r"[@#!]\w+|GH-\d", text):
        assert call not in out
    if kind == "fences":
        assert "<script>alert(1)</script>" in inside


def parts(markdown):
    """Return what lies outside of the fences, and what lies in them, as CommonMark reads it."""
    outside, inside, fence = [], [], ""
    for line in markdown.split("\n"):
        mark = re.fullmatch(r" {0,3}(`{3,})([^`]*)", line)
        if not fence and mark:
            fence = mark[1]
        elif fence and mark and len(mark[1]) >= len(fence) and not mark[2].strip():
            fence = ""
        else:
            (inside if fence else outside).append(line)
    assert not fence
    return "\n".join(outside), "\n".join(inside)


def test_a_comment_has_room_for_some_and_counts_the_rest(run, git, make_entry, put):
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    for number in range(16):
        put(make_entry(f"{number} " + "x " * 3000, ("é" * 300 + "\n") * 50, contract=None))
    out = run("review", "--markdown")[1]
    assert len(out.encode()) <= review_markdown.MOST_BYTES
    shown = out.count("<details>")
    assert 5 < shown < 16
    assert f"{16 - shown} more have no room here: `onetake review` shows all." in out
    parts(out)


def test_secrets_are_scrubbed_from_whatever_is_printed(run, git, make_entry, put):
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    secret = "sk-proj-" + "Ab3dEf6hIj" * 5
    entry = make_entry(f"my key is {secret}", f"it is {secret}", contract=None)
    path = put(make_entry("one"))
    path.write_bytes(dump_entry(replace(entry, provenance={"test": secret}))[0])
    path.rename(path.with_name(f"{entry.key[:16]}.json"))
    for form in (["--list"], ["--json"], ["--markdown"]):
        out = run("review", *form)[1]
        assert secret[:20] not in out
        assert entry.key[:16] in out


@posix
def test_a_terminal_gets_no_sequence_that_a_model_said(project, git, make_entry, put, terminal):
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    put(make_entry("one \x1b]0;asked\x07", HOSTILE["escapes"], contract=None))
    shell = terminal("review", columns=30, NO_COLOR="1")
    shown = shell.press("v") + shell.press("q")
    assert "\x1b" not in shown
    assert "owned" not in shown
    assert shell.rest()[1] == 0


BROKEN = {
    "json": b"{",
    "empty": b"",
    "binary": bytes(range(256)),
    "newer": b'{"onetake": 99}',
    "deep": b'{"onetake": 1, "answer": ' + b"[" * 100_000,
    "other": b'{"onetake": 1, "verdict": 1}',
}


@posix
def test_what_cannot_be_read_is_told_and_can_be_discarded(project, git, terminal, run):
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    folder = project / "cassettes" / "a"
    folder.mkdir(parents=True)
    for number, data in enumerate(BROKEN.values()):
        (folder / f"chat-0123456789abcde{number}.json").write_bytes(data)
    told, _ = document(run)
    assert len(told) == len(BROKEN)
    assert all(one["unreadable"] for one in told.values())
    assert run("review", "--markdown")[0] == run("review", "--list")[0] == 0
    shell = terminal("review")
    for _ in BROKEN:
        shell.press("a")
        assert "not done: what cannot be read cannot be accepted" in shell.press("e")
        assert "not done: what cannot be read has none" in shell.press("r")
        assert "not done: what cannot be read does not say which test recorded it" in shell.press("d")
    assert shell.rest()[1] == 0
    assert sorted(trash(project)) == sorted(BROKEN.values())
    assert document(run)[0] == {}


@posix
def test_what_was_accepted_is_asked_about_on_demand(project, git, make_entry, put, terminal):
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    put(make_entry("one", contract=None))
    first = terminal("review")
    first.press("a")
    assert first.rest()[1] == 0
    again = terminal("review")
    rest, code = again.rest()
    assert "1 of them accepted before" in rest
    assert code == 0
    shown = terminal("review", "--all")
    assert "[1/1] new: " in shown.press("q")


@posix
def test_an_editor_that_cannot_be_run_changes_nothing(project, git, make_entry, put, terminal):
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    path = put(make_entry("one", contract=None))
    before = path.read_bytes()
    shell = terminal("review", EDITOR="false")
    shell.press("e")
    assert "not done: " in shell.press("q")
    assert path.read_bytes() == before


def test_a_link_in_an_entrys_place_is_not_followed(run, git, project):
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    path = project / "cassettes" / "a" / "chat-0123456789abcdef.json"
    path.parent.mkdir(parents=True)
    (project / "secret.txt").write_text("token")
    path.symlink_to(project / "secret.txt")
    (one,) = document(run)[0].values()
    assert one["unreadable"] == "cannot be read: is a symbolic link, and none is followed"


def test_names_that_are_no_utf_8_are_told(run, git, project, make_entry, put):
    path = put(make_entry("one", contract=None))
    odd = Path(os.fsdecode(os.fsencode(path.parent.parent) + b"/caf\xe9"))
    try:
        path.parent.rename(odd)
    except OSError:
        pytest.skip("the file system takes no such name")
    git("add", "-A")
    git("commit", "-qm", "One")
    assert document(run)[0] == {}
    (odd / path.name).unlink()
    (one,) = document(run)[0].values()
    assert one["kind"] == "gone"
    assert run("review", "--list")[0] == 0


def test_a_body_that_is_no_text_is_reviewed(run, git, make_entry, put):
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    response = Response(200, (("content-type", "audio/mpeg"),), bytes(range(256)) * 40)
    put(replace(make_entry("one", contract=None), response=response, answer=None, dialect=None))
    (one,) = document(run)[0].values()
    assert one["unreadable"] is None
    assert run("review", "--markdown")[0] == 0


HOSTILE_FIELDS = {
    "provenance": {"provenance": {"test": {"a": [1]}, "vouched": 3, "adopted": [], "imported_from": 1, "commit": 7}},
    "rules": {"key_spec": KeySpec("k1", "s1", {"replace": [{"pattern": "(a+)+$", "with": ""}]})},
    "words": {"verdict": "\x1b[2Jgood", "dialect": "\u202enone/1"},
    "numbers": {"extra": {"big": 10**400}, "metrics": {"latency_ms": "\x1b[5m"}},
}


@pytest.mark.parametrize("kind", HOSTILE_FIELDS)
def test_what_others_wrote_into_an_entry_is_shown_and_stops_nothing(run, git, make_entry, put, kind):
    path = put(make_entry("one", "said at first", contract=None))
    other = put(make_entry("two", "said", contract=None))
    git("add", "-A")
    git("commit", "-qm", "One")
    changed = make_entry("one", "said later", contract=None)
    path.write_bytes(dump_entry(replace(changed, **HOSTILE_FIELDS[kind]))[0])
    put(make_entry("two", "said later, too", contract=None))
    for form in (["--list"], ["--markdown"]):
        code, out, err = run("review", *form)
        assert (code, err) == (0, "")
        assert path.name in out
        assert other.name in out
        assert "\x1b" not in out
        assert "\u202e" not in out
    assert '- "said"\n+ "said later, too"' in run("review", "--markdown")[1]
    assert set(document(run)[0]) == {one.relative_to(Path.cwd()).as_posix() for one in (path, other)}


def test_what_differs_beside_an_answer_that_is_the_same_is_shown(run, git, make_entry, put):
    whole = make_entry("one", "said", contract=None)
    put(whole)
    git("add", "-A")
    git("commit", "-qm", "One")
    body = whole.response.body.replace(b'"stop"', b'"stop", "hidden": 1')
    put(replace(whole, response=replace(whole.response, body=body)))
    shown = run("review", "--markdown")[1]
    assert "**answer**\n\n```text\nthe same\n```" in shown
    assert "**other**\n\n```diff\n  $.response.body.choices[0].hidden\n+ 1\n```" in shown
    assert "says the same, other: 1" in run("review", "--list")[1]


OTHERS = {
    "$.request.url": lambda entry: {"request": replace(entry.request, url="http://127.0.0.1:2/v1/chat/completions")},
    "$.request.headers.x-team": lambda entry: {
        "request": replace(entry.request, headers=(*entry.request.headers, ("x-team", "red")))
    },
    "$.response.headers.x-id": lambda entry: {"response": replace(entry.response, headers=(("x-id", "7"),))},
    "$.scrubbed": lambda entry: {"scrubbed": ("request.body",)},
    "$.extra.later": lambda entry: {"extra": {"later": 1}},
    "$.metrics.latency_ms": lambda entry: {"metrics": {"latency_ms": 3}},
}


def test_nothing_that_differs_hides_behind_an_answer_that_is_the_same(run, git, make_entry, put):
    rules = KeySpec("k1", "s1", {"origins": {"http://127.0.0.1:*": "local"}})
    local = {"contract": None, "key_spec": rules}
    paths = {}
    for name, change in OTHERS.items():
        whole = make_entry(name, "said", **local)
        whole = replace(whole, request=replace(whole.request, url="http://127.0.0.1:1/v1/chat/completions"))
        paths[name] = put(whole), replace(whole, **change(whole))
    git("add", "-A")
    git("commit", "-qm", "One")
    for path, changed in paths.values():
        path.write_bytes(dump_entry(changed)[0])
    found, _ = document(run)
    rows = {line.split()[1]: line for line in run("review", "--list")[1].splitlines() if line.startswith("re-recorded")}
    for name, (path, _) in paths.items():
        place = path.relative_to(Path.cwd()).as_posix()
        listed = [one["path"] for one in found[place]["differences"]["other"]]
        listed += [f"$.{one}" for one in found[place]["unseen"]]
        assert any(one.startswith(name) for one in listed), name
        assert found[place]["differences"]["request"] == found[place]["differences"]["answer"] == []
        assert "says the same, other: " in rows[place]


def test_a_moved_entry_and_a_missing_sidecar_are_told(run, git, project, make_entry, put):
    path = put(make_entry("one", "said", contract=None))
    body = bytes(range(256)) * 40
    audio = make_entry("two", contract=None)
    other = put(replace(audio, response=replace(audio.response, body=body), answer=None, dialect=None), "cassettes/b")
    store = DirectoryStore(other.parent)
    for name, side in dump_entry(replace(audio, response=replace(audio.response, body=body)))[1].items():
        store.add_side(name, side)
    git("add", "-A")
    git("commit", "-qm", "One")
    path.parent.rename(path.parent.with_name("c"))
    (side,) = (other.parent / "_raw").iterdir()
    side.unlink()
    found, told = document(run)
    moved, lacking = found[f"cassettes/c/{path.name}"], found[f"cassettes/b/{other.name}"]
    assert (moved["kind"], moved["moved_from"]) == ("moved", f"cassettes/a/{path.name}")
    assert (lacking["kind"], lacking["lacks"]) == ("re-recorded", [f"_raw/{side.name}"])
    assert told["counts"]["moved"] == 1
    shown = run("review", "--markdown")[1]
    assert f"moved: from cassettes/a/{path.name}" in shown
    assert f"lacks: _raw/{side.name}" in shown
