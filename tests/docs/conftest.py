"""Pages are walked as a reader walks them: files written, edits made, commands run, what they print compared.

A code block of a walked page is one of these:

- any language, its first line `# NAME` with a dot in it: the file NAME, written as it stands;
- any language, below a line that is nothing but `` `NAME`: ``: the same, for files that can hold no comment;
- `diff`, with `--- NAME` and `+++ NAME`: an edit of that file;
- `console`: each line that begins with `$ ` is a command; the lines below it are what it prints. A line that is `…`
  alone stands for any lines, and where nothing is shown the command must succeed;
- `python` without a name: a part of one program, which is run when the page is done;
- `toml` without a name: settings, read as `onetake.toml`;
- `text` without a name: for the eye alone.

`<!-- not run: REASON -->` above a block leaves it out.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from onetake.settings import load_settings
from onetake.testing.project import Done, Project

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(
    r"^(?:`(?P<file>[^`\n]+)`:\n\n)?(?:<!-- not run: (?P<why>[^\n]+) -->\n+)?```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
_NAMED = re.compile(r"# (\S*\.\w+)\n")
# What is another in every run, or on every machine.
_VARYING = (
    (re.compile(r"\d+\.\d\ds\b( \(\d+:\d\d:\d\d\))?"), "0.00s"),
    (re.compile(r"^=+ (.*?) =+$", re.M), r"== \1 =="),  # as many as leave room for the seconds
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{16,64}(?![0-9A-Za-z])"), "DIGEST"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"(?<![\d.])\d+\.\d+\.\d+(?![\d.])"), "VERSION"),
    (re.compile(r"\b(latency_ms|first_byte_ms) \d+"), r"\1 0"),
    (re.compile(r"\b\d+ B\b"), "0 B"),
    (re.compile(r"\bleft:\d+"), "left:0"),
    (re.compile(r"\blive: .*"), "live: COST"),
)
_KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Block:
    """A code block of a page: its language, its text, why it is not run where a comment says so, the line above it."""

    kind: str
    text: str
    why: str = ""
    file: str = ""

    @property
    def name(self) -> str:
        """The file that it is, or empty."""
        named = _NAMED.match(self.text)
        return self.file or (named[1] if named else "")


def blocks(page: Path, section: str = "") -> list[Block]:
    """Return the code blocks of a page, in order.

    Args:
        page: Its file.
        section: The heading of one section: what stands before the first one comes with it, and no other does.
    """
    text = page.read_text(encoding="utf-8")
    if section:
        opening, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
        text = opening + next(one for one in sections if one.startswith(f"{section}\n"))
    found = _BLOCK.finditer(text)
    return [Block(match["kind"], match["text"], match["why"] or "", match["file"] or "") for match in found]


class Reader:
    """Somebody who does what a page says, in a folder of their own.

    Args:
        folder: Where the page's files go.
        provider: Stands in for OpenAI and Anthropic.
        options: Of every pytest, to which those of a command come.
    """

    def __init__(self, folder: Path, provider, options: str) -> None:
        self.provider = provider
        env = {
            "COLUMNS": "80",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            "PYTEST_ADDOPTS": options,
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENAI_BASE_URL": f"{provider.url}/v1",
            "ANTHROPIC_BASE_URL": provider.url,
            "OPENAI_API_KEY": "none",
            "ANTHROPIC_API_KEY": "none",
        }
        self.project = Project(folder, env=env)
        self._program = ""

    def walk(self, page: Path, section: str = "") -> None:
        """Go through all blocks of a page, or through its opening and one of its sections."""
        for block in blocks(page, section):
            if not block.why:
                self._do(block)
        if self._program:
            self.project.write({"program.py": self._program})
            done = self.project.python("program.py")
            assert done.code == 0, done.out + done.err

    def _do(self, block: Block) -> None:
        if block.kind == "diff":
            self._edit(block.text)
        elif block.kind == "console":
            for command, shown in commands(block.text):
                self._command(command, shown)
        elif block.name:
            self.project.write({block.name: block.text})
        elif block.kind == "python":
            self._program += block.text
        elif block.kind == "toml":
            self.project.write({"part/onetake.toml": block.text})
            load_settings(self.project.folder / "part/any.py")
        elif block.kind != "text":
            raise AssertionError(f"nothing can be done with this {block.kind} block:\n{block.text}")

    def _edit(self, text: str) -> None:
        first, second, *lines = text.splitlines(keepends=True)
        name = first.removeprefix("--- ").strip()
        assert second == f"+++ {name}\n"
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        before = self.project.read(name)
        assert before.count(old) == 1, f"this edit does not fit {name}:\n{text}"
        self.project.write({name: before.replace(old, new)})

    def _command(self, command: str, shown: list[str]) -> None:
        done = self.run(command)
        printed = self._plain(done.out + done.err)
        if not shown:
            assert done.code == 0, f"$ {command}\n{printed}"
            return
        expected = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(self._plain(line)) + r"\n" for line in shown)
        assert re.fullmatch(expected, printed), f"$ {command}\nprinted:\n{printed}\nthe page has:\n" + "\n".join(shown)

    def _plain(self, text: str) -> str:
        """Return lines without what varies, without blanks at their ends, and without empty lines at the end of all."""
        text = text.replace(self.provider.url, "https://api.openai.com")
        for pattern, word in _VARYING:
            text = pattern.sub(word, text)
        lines = "\n".join(line.rstrip() for line in text.splitlines()).rstrip("\n")
        return lines + "\n" if "\n" in text else lines

    def entries(self, under: str = "cassettes") -> list[str]:
        """Return the entries below a folder of the project."""
        files = self.project.files(under)
        return [name for name in files if name.endswith(".json") and not Path(name).parent.name.startswith("_")]

    @property
    def _entry(self) -> str:
        """The newest entry: a page shows a key that is of the provider's own address, and the stand-in has another."""
        return max(self.entries(), key=lambda name: (self.project.folder / name).stat().st_mtime_ns)

    def run(self, command: str) -> Done:
        """Run a command line, of which no shell is needed: variables, then a program and its arguments."""
        words = [self._entry if _KEY.fullmatch(word) else word for word in shlex.split(command, comments=True)]
        env = {}
        while re.match(r"[A-Z_]+=", words[0]):
            name, _, env[name] = words.pop(0).partition("=")
        program, *arguments = words
        if program == "pytest":
            return self.project.pytest(*arguments, env=env)
        if program == "onetake":
            return self.project.python("-m", "onetake", *arguments, env=env)
        if program == "python":
            return self.project.python(*arguments, env=env)
        done = subprocess.run(
            [shutil.which(program) or program, *arguments],
            cwd=self.project.folder,
            env={**os.environ, **self.project.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
        )
        return Done(done.returncode, done.stdout, done.stderr)


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block, each with the lines that it is shown to print."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line.rstrip())
    return found


@pytest.fixture
def reader(tmp_path, provider, quick):
    """A reader with a scripted provider, in a fresh folder."""
    return Reader(tmp_path, provider, quick)


@pytest.fixture(scope="session")
def blocks_of():
    """The code blocks of a page, by its path from the project's root."""
    return lambda name: blocks(ROOT / name)
