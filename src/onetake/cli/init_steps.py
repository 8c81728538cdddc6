"""Plan what `onetake init` does: for each file what is added, why it is left as it is, or what a person should do."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from onetake import git
from onetake.cli import init_texts as texts
from onetake.cli.init_files import BY_HAND, THERE, Change, added, is_utf8
from onetake.cli.init_seen import Seen
from onetake.cli.init_yaml import items_indent
from onetake.errors import UsageError
from onetake.settings_files import parse_toml, read

_OTHER_CI = (
    *("azure-pipelines.yml", "bitbucket-pipelines.yml", ".travis.yml", "Jenkinsfile", ".circleci/config.yml"),
    *(".woodpecker.yml", ".drone.yml", ".buildkite/pipeline.yml", "appveyor.yml"),
)
_OTHER_HOOKS = ("lefthook.yml", "lefthook.yaml", ".husky")
_RUNS_TESTS = re.compile(r"\b(?:pytest|tox|nox)\b")
_NOT_TEXT = "is not UTF-8, which git does not read: save it as UTF-8 and put this into it"


def plan(seen: Seen) -> list[Change]:
    """Return what becomes of every file, nothing of it done yet.

    Raises:
        UsageError: A file cannot be read, or is no TOML.
    """
    changes = [_settings(seen), _ignored(seen), _attributes(seen), *_driver(seen), _hook(seen)]
    changes += [*_ci(seen), *_dependency(seen)]
    return [_inside(change, seen) for change in changes]


def _inside(change: Change, seen: Seen) -> Change:
    """Leave to a person what a link would have written outside of the repository, or nowhere that is there yet."""
    if change.after is None:
        return change
    if not Path(os.path.realpath(change.path)).is_relative_to(os.path.realpath(seen.top)):
        why = "leads out of the repository through a link, so it is left alone: put this there, or into a file here"
    elif any(each.is_symlink() and not each.exists() for each in (change.path, *change.path.parents)):
        why = "is a link that leads nowhere, so it is left alone: put this into a file here"
    else:
        return change
    return Change(change.path, BY_HAND, change.text, why)


def _settings(seen: Seen) -> Change:
    if seen.settings is not None:
        return Change(seen.settings, THERE, why="the settings that count")
    path = seen.root / "pyproject.toml"
    content = read(path)
    if content is not None:
        change = added(path, content, texts.settings(seen, "tool.onetake."), "[tool.onetake]", apart=True)
        if _takes_the_table(change):
            return change
    return added(seen.root / "onetake.toml", None, texts.settings(seen, ""), "settings")


def _takes_the_table(change: Change) -> bool:
    """Tell whether the file is still TOML: one that writes `tool` as an inline table takes no further part of it."""
    try:
        return bool(parse_toml(change.path, change.after or b"")["tool"]["onetake"] == {})
    except UsageError:
        return False


def _ignored(seen: Seen) -> Change:
    first = next(iter(texts.IGNORED))  # lies in the folder of the settings alone, so a rule for that folder does
    own = {first: {f"/{rule}" for rule in texts.IGNORED[first]}}
    places = {
        line: _place(seen, ".gitignore", {*same, *own.get(line, ())}, {*same}) for line, same in texts.IGNORED.items()
    }
    wanted = [line for line, place in places.items() if place is None]
    if wanted:
        return _lines(seen, ".gitignore", wanted)
    return Change(places[first] or seen.root / ".gitignore", THERE, why=", ".join(places))


def _attributes(seen: Seen) -> Change:
    return _lines(seen, ".gitattributes", [*texts.ATTRIBUTES])


def _driver(seen: Seen) -> Iterator[Change]:
    """Yield the section of the repository's own configuration that the attribute `diff` names; none where no git is."""
    said = (git.ask(seen.top, "rev-parse", "--git-path", "config") or b"").removesuffix(b"\n")
    path = seen.top / os.fsdecode(said)
    content = read(path) if said else None
    if content is None:
        return
    undo = f"git config --remove-section diff.{texts.DRIVER}"
    why = f"`git diff` shows entries as `onetake show` does; undo: {undo}"
    if git.line(seen.top, "config", "--get", f"diff.{texts.DRIVER}.textconv"):
        yield Change(path, THERE, why=why)
    elif not path.is_relative_to(seen.top):  # another folder's repository, of which this is a work tree
        yield Change(path, BY_HAND, texts.driver(seen), why)
    else:
        yield added(path, content, texts.driver(seen), why)


def _place(seen: Seen, name: str, own: set[str], above: set[str]) -> Path | None:
    """Return the file that has a line of *own*, or further up one of *above*; None where none has."""
    for folder in _folders(seen):
        if _lines_of(folder / name) & (own if folder == seen.root else above):
            return folder / name
    return None


def _folders(seen: Seen) -> Iterator[Path]:
    """Yield the folders whose files git reads for the project: its own, and those above up to the repository's top."""
    yield seen.root
    yield from takewhile(lambda folder: folder.is_relative_to(seen.top), seen.root.parents)


def _lines_of(path: Path) -> set[str]:
    return {" ".join(line.split()) for line in _text(path).splitlines()}


def _lines(seen: Seen, name: str, wanted: list[str]) -> Change:
    """Plan the lines of a file that git reads; they may stand in one further up."""
    for folder in _folders(seen):
        if _lines_of(folder / name).issuperset(wanted):
            return Change(folder / name, THERE, why=", ".join(wanted))
    path = seen.root / name
    content = read(path)
    if content is not None and not is_utf8(content):
        return Change(path, BY_HAND, "".join(f"{line}\n" for line in wanted), _NOT_TEXT)
    found = _lines_of(path)
    first = next(i for i, line in enumerate(wanted) if line not in found)
    return added(path, content, "".join(f"{line}\n" for line in wanted[first:]), ", ".join(wanted[first:]))


def _hook(seen: Seen) -> Change:
    path = seen.top / ".pre-commit-config.yaml"
    content = read(path)
    if content is None:
        other = next((name for name in _OTHER_HOOKS if (seen.top / name).exists()), None)
        if other:
            why = "runs the hooks here: before a commit it should run this"
            return Change(seen.top / other, BY_HAND, f"{texts.check_command(seen)}\n", why)
        return added(path, None, "repos:\n" + texts.hook(seen, "  "), "a hook that checks the entries")
    text = _text(path)
    if _has_hook(text, seen):
        return Change(path, THERE, why="a hook that checks the entries")
    indent = items_indent(text, "repos") if is_utf8(content) else None
    if indent is None:
        return Change(path, BY_HAND, texts.hook(seen, "  "), "put this at the end of the list `repos`")
    return added(path, content, texts.hook(seen, indent), "a hook that checks the entries")


def _has_hook(text: str, seen: Seen) -> bool:
    """Tell whether a hook of our name is there, whatever became of it, or another that runs the same command."""
    ours = rf"id:\s*[\"']?{texts.hook_id(seen)}[\"']?\s*(?:#.*)?$"
    same = rf"entry:\s*[\"']?{re.escape(texts.check_command(seen))}(?:\s+-[^#\n]*)?[\"']?\s*(?:#.*)?$"
    return re.search(rf"^[^#\n]*(?:{ours}|{same})", text, re.MULTILINE) is not None


def _ci(seen: Seen) -> Iterator[Change]:
    gitlab = seen.top / ".gitlab-ci.yml"
    others = [seen.top / name for name in _OTHER_CI if (seen.top / name).is_file()]
    if (seen.top / ".github").is_dir() or not (gitlab.is_file() or others):
        yield _github(seen)
    if gitlab.is_file():
        yield _by_hand_once(gitlab, texts.gitlab_job(seen), "a job that runs the tests sealed: put this into it")
    for path in others:
        text = f"CI=true ONETAKE_MODE=none {seen.command}pytest\n"
        yield _by_hand_once(path, text, "run the tests sealed there, as this line does")


def _github(seen: Seen) -> Change:
    folder = seen.top / ".github" / "workflows"
    path = folder / texts.workflow_name(seen)
    if path.exists():
        return Change(path, THERE, why="a workflow that runs the tests sealed")
    for other in sorted([*folder.glob("*.yml"), *folder.glob("*.yaml")]):
        said = _without_comments(other)
        if "ONETAKE_MODE" in said and seen.below in said:
            return Change(other, THERE, why="a workflow that runs the tests sealed")
        if _RUNS_TESTS.search(said) and not seen.below:
            return Change(other, BY_HAND, texts.sealed_env(), "runs the tests: this, at its top level, seals them")
    why = "a workflow that runs the tests sealed"
    if not seen.packages:  # else the list of them is told of
        why += f"; put onetake into your dev dependencies, or into its install line: {texts.FORMS}"
    return added(path, None, texts.workflow(seen), why)


def _by_hand_once(path: Path, text: str, why: str) -> Change:
    if "ONETAKE_MODE" in _without_comments(path):
        return Change(path, THERE, why="runs the tests sealed")
    return Change(path, BY_HAND, text, why)


def _without_comments(path: Path) -> str:
    return re.sub(r"(?m)(?:^|(?<=\s))#.*$", "", _text(path))


def _text(path: Path) -> str:
    return (read(path) or b"").decode("utf-8-sig", "replace")


def _dependency(seen: Seen) -> Iterator[Change]:
    """Yield what is to be done where the project's own list of packages lacks onetake, which CI installs from it."""
    if "onetake" in seen.packages or not seen.packages:
        return
    why = f"put onetake into your dev dependencies: as below, {texts.FORMS} in the place of the path"
    command = texts.install_command(seen)
    if command:
        yield Change(seen.root / "pyproject.toml", BY_HAND, f"{command}\n", why)
    elif seen.requirements:
        yield Change(seen.root / seen.requirements[-1], BY_HAND, f"{texts.PLACE}\n", why)
    elif seen.is_package:
        yield Change(seen.root / "pyproject.toml", BY_HAND, f"onetake @ file://{texts.PLACE}\n", why)
