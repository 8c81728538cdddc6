"""What `onetake init` writes: settings, lines for git, a hook, a workflow; and what it gives to paste."""

from __future__ import annotations

import json
import re
import shlex

from onetake.cli.init_seen import Seen

DRIVER = "onetake"
"""What git calls our way to show an entry in a diff."""

ATTRIBUTES = (
    "**/cassettes/**/*.json text eol=lf",
    "**/_raw/* -text",
    f"**/cassettes/**/*.json diff={DRIVER}",
)
"""The lines of `.gitattributes`; their order counts, since of two that fit a file the later one holds."""

IGNORED = {
    ".onetake/": (".onetake/", ".onetake", "**/.onetake/", "**/.onetake", ".onetake*", "**/.onetake*"),
    ".onetake-*": (".onetake-*", "**/.onetake-*", ".onetake*", "**/.onetake*"),
}
"""The lines of `.gitignore`, each with those that do as well: what is no entry, and what a killed process leaves."""

PLACE = "/path/to/onetake"
"""Stands for where a person has onetake from."""

FORMS = "a path or a git URL that CI can reach"
"""What a person puts in its place."""

_IDS = {
    "openai": '"$.messages[*].tool_calls[*].id", "$.messages[*].tool_call_id"',
    "anthropic": '"$.messages[*].content[*].id", "$.messages[*].content[*].tool_use_id"',
}
"""For each SDK where the ids of tool calls stand, which some frameworks invent anew in every run."""


def settings(seen: Seen, prefix: str) -> str:
    """Return the settings of a new project: all defaults, and the ones that are needed most as comments.

    Args:
        seen: The project.
        prefix: What stands before the name of a table: `tool.onetake.` in a `pyproject.toml`, else nothing.
    """
    ids = _IDS["anthropic" if "anthropic" in seen.packages and "openai" not in seen.packages else "openai"]
    lines = [f"[{prefix.rstrip('.')}]"] if prefix else []
    lines += [
        "# Settings of onetake. What is not set here has its default, and without rules the whole request counts:",
        "# only exactly what was asked is answered again. Take the # away from what you need.",
        '# max_age = { days = 90, then = "warn" }  # or "fail", "rerecord"',
        "",
        f"# [{prefix}key]  # what may differ and still be the same request",
        '# volatile = ["today"]  # the current date in a prompt',
        f"# ids = [{ids}]  # where the client invents them",
        "",
        f'# [{prefix}contracts.answer]  # what an answer must be before it is kept; contract="answer" in a test',
        '# schema = "schemas/answer.json"  # or "package.module:Type"',
    ]
    return "\n".join(lines) + "\n"


def check_command(seen: Seen) -> str:
    """Return the command line that checks this project's entries from the top of its repository."""
    return f"{_from_top(seen)}onetake check {shlex.quote(seen.below) if seen.below else ''}".rstrip()


def driver(seen: Seen) -> str:
    """Return the section of git's configuration by which a diff shows entries as `onetake show` does.

    Where that command is not to be found, or fails, git gets the file as it is: a diff never breaks.
    """
    shows = f'f() {{ {_from_top(seen)}onetake show --textconv "$1" 2>/dev/null || cat "$1"; }}; f'
    quoted = shows.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'[diff "{DRIVER}"]\n\ttextconv = "{quoted}"\n'


def _from_top(seen: Seen) -> str:
    """Return what stands before a command that is run at the top of the repository, with a space behind it."""
    if not seen.below:
        return seen.command
    below = shlex.quote(seen.below)
    runners = {
        "uv": f"uv run --project {below} ",
        "poetry": f"poetry --project {below} run ",
        "pdm": f"pdm run --project {below} ",
    }
    return runners.get(seen.runner, "")


def hook_id(seen: Seen) -> str:
    """Return the id of the hook."""
    return f"onetake-check{_slug(seen)}"


def hook(seen: Seen, indent: str) -> str:
    """Return the item of `repos` in a `.pre-commit-config.yaml`.

    Args:
        seen: The project.
        indent: What stands before the dash of the items.
    """
    lines = [
        "- repo: local",
        "  hooks:",
        f"    - id: {hook_id(seen)}",
        "      name: onetake check",
        f"      entry: {_scalar(check_command(seen))}",
        "      language: system",
        "      pass_filenames: false",
    ]
    return "".join(f"{indent}{line}\n" for line in lines)


def workflow_name(seen: Seen) -> str:
    """Return the name of the workflow's file."""
    return f"onetake{_slug(seen)}.yml"


def workflow(seen: Seen) -> str:
    """Return a GitHub Actions workflow that checks the entries and runs the tests sealed."""
    lines = [
        "# Checks the entries and runs the tests sealed: every answer comes from the cassettes, no call leaves, and no",
        "# key is needed.",
        f"name: onetake{_slug(seen)}",
        "on:",
        "  push:",
        "  pull_request:",
        "permissions:",
        "  contents: read",
        "jobs:",
        "  sealed:",
        "    runs-on: ubuntu-latest",
        *(["    defaults:", "      run:", f"        working-directory: {_scalar(seen.below)}"] if seen.below else []),
        "    env:",
        '      CI: "true"',
        "      ONETAKE_MODE: none",
        "    steps:",
        "      - uses: actions/checkout@v5",
        "      - uses: actions/setup-python@v6",
        "        with:",
        f'          python-version: "{seen.python}"',
        *(f"      {line}" for line in _remark(seen)),
        *(f"      - run: {line}" for line in _steps(seen)),
    ]
    return "\n".join(lines) + "\n"


def gitlab_job(seen: Seen) -> str:
    """Return a job for a `.gitlab-ci.yml`."""
    lines = [
        f"onetake{_slug(seen)}:",
        "  stage: test",
        f"  image: python:{seen.python}",
        "  variables:",
        '    CI: "true"',
        "    ONETAKE_MODE: none",
        "  script:",
        *([f"    - cd {_scalar(shlex.quote(seen.below))}"] if seen.below else []),
        *(f"    {line}" for line in _remark(seen)),
        *(f"    - {line}" for line in _steps(seen)),
    ]
    return "\n".join(lines) + "\n"


def sealed_env() -> str:
    """Return what seals a workflow that runs the tests already."""
    return "env:\n  ONETAKE_MODE: none\n"


def install_command(seen: Seen) -> str:
    """Return the command that makes onetake a dependency of the project's tests; empty for a file to edit."""
    commands = {
        "uv": "uv add --dev",
        "poetry": "poetry add --group dev",
        "pdm": "pdm add --dev --group dev",
    }
    return f"{commands[seen.runner]} {PLACE}" if seen.runner in commands else ""


def _remark(seen: Seen) -> list[str]:
    """Return what a person has to do before CI can install onetake, as a comment."""
    if "onetake" in seen.packages:
        return []
    return [f"# Put onetake into your dev dependencies, or into the next line, as {FORMS}."]


def _steps(seen: Seen) -> list[str]:
    installed = {
        "uv": ["python -m pip install uv", "uv sync --all-extras --all-groups"],
        "poetry": ["python -m pip install poetry", "poetry install --all-extras"],
        "pdm": ["python -m pip install pdm", "pdm install --group :all"],
    }
    # The check comes first: in seconds it names every entry that a test would refuse, one test after the other. What it
    # imports, the tests import too.
    commands = (f"{seen.command}{command}" for command in ("onetake check --import", "pytest"))
    return [*installed.get(seen.runner, _with_pip(seen)), *commands]


def _with_pip(seen: Seen) -> list[str]:
    words = [word for name in seen.requirements for word in ("-r", name)]
    words += [word for name in seen.groups for word in ("--group", name)]
    if seen.is_package:
        words += ["-e", f'".[{",".join(seen.extras)}]"' if seen.extras else "."]
    if not words or "pytest" not in seen.packages:
        words.append("pytest")
    upgraded = ["python -m pip install --upgrade pip"] if seen.groups else []  # --group is young
    return [*upgraded, f"python -m pip install {' '.join(words)}"]


def _slug(seen: Seen) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"-{seen.below.lower()}").rstrip("-") if seen.below else ""


def _scalar(text: str) -> str:
    """Write a text as YAML: as it is where that is safe, else in the quotes of JSON, which YAML takes."""
    return text if re.fullmatch(r"[A-Za-z][\w ./-]*", text, re.ASCII) else json.dumps(text, ensure_ascii=False)
