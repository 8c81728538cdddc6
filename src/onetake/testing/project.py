"""A scenario: these files, this command, then these files and this output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_TAKEN_OUT = re.compile(r"CI|PYTEST_.*|ONETAKE_.*")


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended.

    Args:
        code: Its exit code; negative where a signal ended it.
        out: Its standard output.
        err: Its standard error.
    """

    code: int
    out: str
    err: str


class Project:
    """A folder with files, in which commands run as they would on a person's machine.

    Commands run in a process of their own; of the environment all is kept but what would tell them that they run under
    a test or in CI: `CI`, `PYTEST_*` and `ONETAKE_*`.

    Args:
        folder: An empty one, or none yet.
        files: As for `write`.
        env: Variables that every command gets.
    """

    def __init__(
        self, folder: Path, files: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.env = dict(env or {})
        self.write(files or {})

    def write(self, files: Mapping[str, str]) -> None:
        """Write files: path from the folder, with slashes, to content; folders are made as needed."""
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode())

    def files(self, under: str = "") -> list[str]:
        """List the files below a folder, or below the whole project, by path with slashes; compiled ones are left out.

        Args:
            under: A folder of the project; it need not exist.
        """
        return sorted(
            path.relative_to(self.folder).as_posix()
            for path in (self.folder / under).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        )

    def read(self, name: str) -> str:
        """Return a file's text."""
        return (self.folder / name).read_bytes().decode()

    def python(self, *arguments: str, env: Mapping[str, str] | None = None, timeout: float = 60) -> Done:
        """Run this Python with arguments, in the folder.

        Args:
            arguments: Such as `"app.py"` or `"-m", "app"`.
            env: Variables for this run alone; they go before the project's.
            timeout: Seconds; after them the command is killed.

        Raises:
            subprocess.TimeoutExpired: It took longer.
        """
        kept = {name: value for name, value in os.environ.items() if not _TAKEN_OUT.fullmatch(name)}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**kept, **self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def pytest(self, *arguments: str, env: Mapping[str, str] | None = None, timeout: float = 60) -> Done:
        """Run pytest with arguments, in the folder, without its store of earlier runs; otherwise as `python` does."""
        return self.python("-m", "pytest", "-p", "no:cacheprovider", *arguments, env=env, timeout=timeout)
