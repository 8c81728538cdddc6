"""`onetake init`: what it adds, what it leaves alone, and that a second run changes nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from onetake.cli import init_texts
from onetake.cli.init_seen import look
from onetake.cli.init_yaml import items_indent
from onetake.format import dump_entry
from onetake.settings import Settings, load_settings

SETTINGS_PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
FRESH = [".gitattributes", ".github/workflows/onetake.yml", ".gitignore", ".pre-commit-config.yaml", "onetake.toml"]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A git repository (as far as can be seen), which is the current folder."""
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def init(run):
    """Return a function that runs `onetake init … --json`: the document."""

    def invoke(*words):
        code, out, err = run("init", *words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return invoke


def put(path, content=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def contents(folder):
    """Return every file below a folder with its bytes and the time of its last change."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}


def actions(document):
    return {Path(file["path"]).name: file["action"] for file in document["files"]}


def uncommented(text):
    """Take the # away from every setting that is given as a comment."""
    return re.sub(r"^# (?=\[|\w+ = )", "", text, flags=re.MULTILINE)


def test_a_fresh_project_gets_everything_and_a_second_run_nothing(repository, init):
    first = init()
    assert sorted(contents(repository)) == FRESH
    assert set(actions(first).values()) == {"created"}
    for file in first["files"]:
        assert (repository / file["path"]).read_bytes() == file["text"].encode()
    assert load_settings(repository) == Settings(root=repository)
    before = contents(repository)
    again = init()
    assert set(actions(again).values()) == {"already_there"}
    assert contents(repository) == before
    assert [file["path"] for file in again["files"]] == [file["path"] for file in first["files"]]


def test_a_dry_run_tells_the_same_and_writes_nothing(repository, init, run):
    told = init("--dry-run")
    _, text, _ = run("init", "--dry-run")
    assert contents(repository) == {}
    assert told == {**init(), "dry_run": True}
    for file in told["files"]:
        assert f"would create   {file['path']}: " in text
        assert all(f"    {line}\n" in text for line in file["text"].splitlines() if line)


def test_people_get_one_line_a_file_and_what_is_left_to_them(repository, run):
    put(repository / ".gitignore", "/.onetake/\n.onetake-*\n")
    put(repository / ".gitlab-ci.yml", "a:\n  script: [ls]\n")
    put(repository / "pyproject.toml", '[project]\nname = "x"\ndependencies = ["openai", "pytest"]\n')
    code, out, err = run("init")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:2] == [f"onetake init in {repository.as_posix()}", "seen: openai, pytest"]
    told = [line for line in lines[2:] if not line.startswith("    ") and line]
    assert [re.split(r"\s{2,}|: ", line)[:2] for line in told] == [
        ["extended", "pyproject.toml"],
        ["already there", ".gitignore"],
        ["created", ".gitattributes"],
        ["created", ".pre-commit-config.yaml"],
        ["to do by hand", ".gitlab-ci.yml"],
        ["to do by hand", "pyproject.toml"],
    ]
    job = "\n".join(line.removeprefix("    ") for line in lines if line.startswith("    ")).removesuffix(
        "\nonetake @ file:///path/to/onetake"
    )
    assert yaml.safe_load(job)["onetake"]["script"] == [
        "python -m pip install -e .",
        "onetake check --import",
        "pytest",
    ]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "marked"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "open"])
def test_what_people_wrote_stays_byte_for_byte(repository, init, mark, end, last):
    written = {
        "pyproject.toml": b'# mine \xc3\xa9\n[project]\nname = "x"   # keep\n\n[tool.other]\nb = 1\na = 2',
        ".gitignore": b"# mine\n*.pyc\n\n/build",
        ".gitattributes": b"* text=auto\n*.png -text",
        ".pre-commit-config.yaml": b"# mine\nfail_fast: true\nrepos:\n-   repo: local  # a\n    hooks:\n    -   id: a",
    }
    for name, content in written.items():
        written[name] = mark + (content + b"\n" * last).replace(b"\n", end)
        put(repository / name, written[name])
    init()
    for name, content in written.items():
        now = (repository / name).read_bytes()
        assert now.startswith(content)
        rest = now[len(content) :]
        assert rest.endswith(end)
        assert rest.count(b"\n") == rest.count(end)
        assert rest.startswith(end) is (not last or name == "pyproject.toml")
    assert load_settings(repository) == Settings(root=repository)
    ignored = (repository / ".gitignore").read_bytes()
    assert ignored.endswith(end + b".onetake/" + end + b".onetake-*" + end)
    config = yaml.safe_load((repository / ".pre-commit-config.yaml").read_bytes().decode("utf-8-sig"))
    assert [[hook["id"] for hook in item["hooks"]] for item in config["repos"]] == [["a"], ["onetake-check"]]
    before = contents(repository)
    init()
    assert contents(repository) == before


@pytest.mark.parametrize("packages", ['"openai"', '"anthropic"', ""])
@pytest.mark.parametrize("name", ["pyproject.toml", "onetake.toml"])
def test_the_settings_that_are_comments_are_right_once_they_are_none(repository, init, name, packages):
    if name == "pyproject.toml":
        put(repository / name, f'[project]\nname = "x"\ndependencies = [{packages}]\n')
    else:
        put(repository / "requirements.txt", packages.strip('"') + "\n")
    init()
    path = repository / name
    path.write_text(uncommented(path.read_text(encoding="utf-8")), encoding="utf-8")
    found = load_settings(repository)
    assert (found.max_age.days, found.key.volatile) == (90, ("today",))
    assert found.contracts["answer"].schema == "schemas/answer.json"
    assert any("tool_use_id" in place for place in found.key.ids) is ("anthropic" in packages)


def test_the_lines_for_git_are_those_of_the_page_and_git_reads_them_so(repository, init):
    assert "\n".join(init_texts.ATTRIBUTES) in SETTINGS_PAGE
    (repository / ".git").rmdir()
    subprocess.run(["git", "init", "-q", "."], cwd=repository, check=True, timeout=60)
    put(repository / ".gitattributes", "*.json text eol=crlf\n")
    init()

    def git(*words):
        return subprocess.run(["git", *words], cwd=repository, capture_output=True, text=True, timeout=60).stdout

    entry, sidecar = "tests/cassettes/a/b/x.json", "tests/cassettes/a/b/_raw/x.json"
    assert git("check-attr", "eol", entry) == f"{entry}: eol: lf\n"
    assert git("check-attr", "text", entry, sidecar) == f"{entry}: text: set\n{sidecar}: text: unset\n"
    put(repository / ".onetake" / "rejects" / "x.json")
    assert ".onetake" not in git("status", "--short", "-uall")


def test_a_line_that_is_missing_is_added_alone_and_in_its_order(repository, init):
    json_line, raw_line, diff_line = init_texts.ATTRIBUTES
    path = put(repository / ".gitattributes", f"{json_line}\n")
    assert actions(init())[".gitattributes"] == "extended"
    assert path.read_text() == f"{json_line}\n{raw_line}\n{diff_line}\n"
    path.write_text(f"{raw_line}\n")
    init()
    assert path.read_text() == f"{raw_line}\n{json_line}\n{raw_line}\n{diff_line}\n"
    path.write_text(f"{json_line}\n{raw_line}\n")
    init()
    assert path.read_text() == f"{json_line}\n{raw_line}\n{diff_line}\n"


@pytest.mark.parametrize("line", [".onetake", "/.onetake/", "**/.onetake/", "  .onetake/  ", ".onetake*"])
@pytest.mark.parametrize("left", [".onetake-*", "**/.onetake-*", ".onetake*"])
def test_gitignore_says_it_in_several_ways(repository, init, line, left):
    put(repository / ".gitignore", f"*.pyc\n{line}\n{left}\n")
    assert actions(init())[".gitignore"] == "already_there"


@pytest.mark.parametrize("line", ["/.onetake/", "**/.onetake", ".onetake/\n/.onetake-*"])
def test_what_killed_processes_leave_is_ignored_in_every_folder(repository, init, line):
    put(repository / ".gitignore", f"{line}\n")
    assert actions(init())[".gitignore"] == "extended"
    assert (repository / ".gitignore").read_text() == f"{line}\n.onetake-*\n"


def test_a_subfolder_leads_to_its_project_and_hooks_lie_at_the_top(repository, init, monkeypatch):
    project = repository / "packages" / "my app"
    put(
        project / "pyproject.toml",
        '[project]\nname = "x"\nrequires-python = ">=3.13"\n[dependency-groups]\ndev = ["pytest"]\n',
    )
    put(project / "uv.lock")
    put(project / "tests" / "test_a.py")
    monkeypatch.chdir(project / "tests")
    found = init()
    assert found["root"] == project.as_posix()
    assert found["seen"] == {"sdks": [], "pytest": True, "tests": "tests", "runner": "uv"}
    assert sorted(contents(repository)) == [
        ".github/workflows/onetake-packages-my-app.yml",
        ".pre-commit-config.yaml",
        *(f"packages/my app/{name}" for name in (".gitattributes", ".gitignore", "pyproject.toml")),
        "packages/my app/tests/test_a.py",
        "packages/my app/uv.lock",
    ]
    hook = yaml.safe_load((repository / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"][0]
    assert hook["entry"] == "uv run --project 'packages/my app' onetake check 'packages/my app'"
    job = yaml.safe_load((repository / ".github/workflows/onetake-packages-my-app.yml").read_text())["jobs"]["sealed"]
    assert job["defaults"]["run"]["working-directory"] == "packages/my app"
    assert job["steps"][1]["with"]["python-version"] == "3.13"
    assert [step["run"] for step in job["steps"][2:]] == [
        "python -m pip install uv",
        "uv sync --all-extras --all-groups",
        "uv run onetake check --import",
        "uv run pytest",
    ]
    put(repository / "packages" / "b" / "pyproject.toml", "")
    assert set(actions(init(repository / "packages" / "b")).values()) == {"extended", "created"}
    hooks = yaml.safe_load((repository / ".pre-commit-config.yaml").read_text())["repos"]
    assert [item["hooks"][0]["id"] for item in hooks] == ["onetake-check-packages-my-app", "onetake-check-packages-b"]
    before = contents(repository)
    assert init()["root"] == project.as_posix()
    init(repository / "packages" / "b")
    assert contents(repository) == before


def test_a_folder_that_is_named_is_the_project_unless_settings_above_count_there(repository, init):
    (repository / "sub").mkdir()
    assert init("sub")["root"] == (repository / "sub").as_posix()
    assert (repository / "sub" / "onetake.toml").is_file()
    put(repository / "onetake.toml")
    (repository / "other").mkdir()
    found = init("other")
    assert found["root"] == repository.as_posix()
    assert found["files"][0] | {"path": "onetake.toml", "action": "already_there"} == found["files"][0]


def test_outside_a_repository_the_folder_is_the_project(tmp_path, init, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert init()["root"] == (tmp_path / "here").as_posix()
    assert sorted(contents(tmp_path / "here")) == FRESH


def test_settings_above_the_repository_count_but_its_files_stay_inside(repository, init):
    put(repository.parent / "onetake.toml")
    found = init()
    assert found["root"] == repository.as_posix()
    assert found["files"][0]["action"] == "already_there"
    assert not (repository.parent / ".gitignore").exists()
    assert (repository / ".gitignore").is_file()


@pytest.mark.parametrize(
    "text", ["tool = { other = { a = 1 } }\n", 'tool.other.a = 1\ntool.onetaker = 2\n[project]\nname = "x"\n']
)
def test_a_pyproject_that_takes_no_table_stays_and_gets_a_file_beside_it(repository, init, text):
    path = put(repository / "pyproject.toml", text)
    added = init()["files"][0]
    if added["path"] == "onetake.toml":
        assert path.read_text() == text
    else:
        assert tomllib.loads(path.read_text())["tool"]["onetake"] == {}
    assert load_settings(repository) == Settings(root=repository)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("pyproject.toml", "[project]\nname = \n", r"pyproject\.toml: is no TOML: .*line 2"),
        ("onetake.toml", "mode = 1\n[", r"onetake\.toml: is no TOML"),
        ("pyproject.toml", "[project]\nname = 'é'\n".encode("latin-1"), r"pyproject\.toml: is not UTF-8 \(line 2\)"),
    ],
)
def test_a_broken_file_is_named_and_nothing_is_changed(repository, run, name, content, message):
    put(repository / name, content)
    before = contents(repository)
    code, out, err = run("init")
    assert (code, out) == (2, "")
    assert re.search(message, err)
    assert contents(repository) == before


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", "pyproject.toml", ".pre-commit-config.yaml"])
def test_a_read_only_file_is_named_and_nothing_is_changed(repository, run, name):
    write_all = {
        "pyproject.toml": "",
        ".gitignore": "a\n",
        ".gitattributes": "a\n",
        ".pre-commit-config.yaml": "repos:\n- a: b\n",
    }
    for each, content in write_all.items():
        put(repository / each, content)
    (repository / name).chmod(0o444)
    before = contents(repository)
    code, _, err = run("init")
    assert code == 2
    assert err == f"onetake: {repository / name}: is read-only; nothing was changed\n"
    assert contents(repository) == before
    (repository / name).chmod(0o644)
    assert run("init")[0] == 0


def test_what_is_in_the_way_is_named(repository, run):
    put(repository / ".github", "a file")
    before = contents(repository)
    code, _, err = run("init")
    assert (code, contents(repository)) == (2, before)
    assert re.search(r"onetake\.yml: cannot be made: .*\.github is no folder\n", err)
    (repository / ".github").unlink()
    (repository / ".gitignore").mkdir()
    assert re.search(r"\.gitignore: cannot be read: ", run("init")[2])


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own there")
def test_a_link_stays_a_link_and_permissions_stay(repository, init):
    real = put(repository / "shared-ignore", "a\n")
    real.chmod(0o640)
    (repository / ".gitignore").symlink_to(real)
    init()
    assert (repository / ".gitignore").is_symlink()
    assert real.read_text() == "a\n.onetake/\n.onetake-*\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in repository.iterdir() if "onetake-" in path.name] == []


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own there")
def test_what_fails_half_way_is_named_and_the_next_run_does_the_rest(repository, init, run):
    in_the_way = repository / f".github/workflows/.onetake.yml.onetake-{os.getpid()}"
    in_the_way.mkdir(parents=True)
    code, out, err = run("init")
    assert (code, out) == (2, "")
    assert err.startswith(f"onetake: {repository / '.github/workflows/onetake.yml'}: cannot be written: ")
    assert sorted(contents(repository)) == [name for name in FRESH if name != ".github/workflows/onetake.yml"]
    in_the_way.rmdir()
    assert set(actions(init()).values()) == {"already_there", "created"}
    assert sorted(contents(repository)) == FRESH


def test_a_file_in_utf_16_is_left_to_people(repository, init):
    content = "a\n".encode("utf-16")
    path = put(repository / ".gitignore", content)
    file = next(file for file in init()["files"] if file["path"] == ".gitignore")
    assert (file["action"], file["text"]) == ("by_hand", ".onetake/\n.onetake-*\n")
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "text",
    [
        "",
        "repos: []\n",
        "repos:\n",
        "repos: [{repo: local}]\n",
        "repos:\n- repo: a\nci:\n  autofix_prs: false\n",
        "repos:\n- repo: a\n---\nrepos:\n- repo: b\n",
        "repos:\n- repo: a\n...\n",
        "repos:\n\t- repo: a\n",
        "repos:\n  - repo: a\n - repo: b\n",
        "repos: &all\n- repo: a\n",
        "default: 1\n",
        "{repos: [{repo: a}]}\n",
        "- repos:\n  - a\n",
    ],
)
def test_a_hook_that_cannot_be_added_safely_is_left_to_people(repository, init, text):
    path = put(repository / ".pre-commit-config.yaml", text)
    file = next(file for file in init()["files"] if file["path"] == ".pre-commit-config.yaml")
    assert file["action"] == "by_hand"
    assert path.read_bytes() == text.encode()
    assert yaml.safe_load(f"repos:\n{file['text']}")["repos"][0]["hooks"][0]["entry"] == "onetake check"


@pytest.mark.parametrize(
    "text",
    [
        "repos:\n- repo: a",
        "repos:\n  # first\n  - repo: a\n# last\n",
        "---\nrepos:\n    -   repo: a\n        hooks:\n        -   id: b\n            args: [\n            x]\n\n\n",
        "ci: {a: 1}\nrepos:   # mine\n- repo: a\n  hooks:\n  - id: b\n    entry: |\n      x\n\n        - y\n",
        "repos:\n- repo: a\n  hooks:\n  - id: b\n    name: >+\n      x\n\n",
        "repos:\n- repo: a\n  hooks: [{id: b,\n    name: c}]\n",
    ],
)
def test_a_hook_is_added_as_the_last_item(repository, init, text):
    path = put(repository / ".pre-commit-config.yaml", text)
    init()
    before, after = yaml.safe_load(text), yaml.safe_load(path.read_text())
    assert after["repos"][:-1] == before["repos"]
    assert after["repos"][-1]["hooks"][0]["id"] == "onetake-check"
    assert {**after, "repos": None} == {**before, "repos": None}


def test_the_indent_of_a_list_is_seen_or_not():
    assert items_indent("repos:\r\n  - a: 1\r\n", "repos") == "  "
    assert items_indent("repos:\n- a\n", "other") is None


@pytest.mark.parametrize(
    ("hook", "action"),
    [
        ("- id: x\n    entry: onetake check  # ours", "already_there"),
        ("- {id: x}\n  - id: y\n    entry: 'onetake check --strict'", "already_there"),
        ("- id: onetake-check\n    entry: make check-entries", "already_there"),
        ("# - id: onetake-check\n  - id: x", "extended"),
        ("- id: onetake-check-sub\n    entry: onetake check sub", "extended"),
        ("- id: x\n    name: onetake check", "extended"),
    ],
)
def test_which_hook_is_ours(repository, init, hook, action):
    put(repository / ".pre-commit-config.yaml", f"repos:\n- repo: local\n  hooks:\n  {hook}\n")
    assert actions(init())[".pre-commit-config.yaml"] == action
    assert actions(init())[".pre-commit-config.yaml"] == "already_there"


def ci(document):
    names = ("onetake.yml", "ci.yml", ".gitlab-ci.yml", "Jenkinsfile", "config.yml")
    return {name: action for name, action in actions(document).items() if name in names}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, {"onetake.yml": "created"}),
        ({".github/workflows/ci.yml": "run: make docs  # pytest"}, {"onetake.yml": "created"}),
        ({".github/workflows/ci.yml": "run: pytest -q"}, {"ci.yml": "by_hand"}),
        ({".github/workflows/ci.yml": "env: {ONETAKE_MODE: none}\nrun: pytest"}, {"ci.yml": "already_there"}),
        ({".gitlab-ci.yml": "a: {script: [ls]}"}, {".gitlab-ci.yml": "by_hand"}),
        ({".gitlab-ci.yml": "variables: {ONETAKE_MODE: none}"}, {".gitlab-ci.yml": "already_there"}),
        ({".gitlab-ci.yml": "", ".github/a": ""}, {"onetake.yml": "created", ".gitlab-ci.yml": "by_hand"}),
        ({"Jenkinsfile": "pytest"}, {"Jenkinsfile": "by_hand"}),
        ({".circleci/config.yml": "ONETAKE_MODE=none pytest"}, {"config.yml": "already_there"}),
    ],
)
def test_the_ci_that_is_seen_gets_what_it_can_take(repository, init, files, found):
    for name, content in files.items():
        put(repository / name, content)
    assert ci(init()) == found
    assert ci(init()) == {name: action.replace("created", "already_there") for name, action in found.items()}


@pytest.mark.parametrize("name", ["lefthook.yml", ".husky/pre-commit"])
def test_another_runner_of_hooks_is_left_to_people(repository, init, name):
    put(repository / name)
    found = [file for file in init()["files"] if file["action"] == "by_hand"]
    assert [(file["path"], file["text"]) for file in found] == [(name.split("/")[0], "onetake check\n")]
    assert not (repository / ".pre-commit-config.yaml").exists()


@pytest.mark.parametrize(
    ("files", "steps"),
    [
        ({}, ["python -m pip install pytest", "onetake check --import", "pytest"]),
        (
            {"Pipfile": '[packages]\npytest = "*"\nonetake = "*"\n'},
            ["python -m pip install pytest", "onetake check --import", "pytest"],
        ),
        (
            {"requirements.txt": "openai\n", "requirements-dev.txt": "# x\npytest>=8\nonetake[httpx] ; a\n"},
            ["python -m pip install -r requirements-dev.txt -r requirements.txt", "onetake check --import", "pytest"],
        ),
        (
            {"pyproject.toml": '[project]\nname = "x"\n[project.optional-dependencies]\ndev = ["PyTest","onetake"]\n'},
            ['python -m pip install -e ".[dev]"', "onetake check --import", "pytest"],
        ),
        (
            {"pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\ndev = ["pytest"]\n'},
            [
                "python -m pip install --upgrade pip",
                "python -m pip install --group dev -e .",
                "onetake check --import",
                "pytest",
            ],
        ),
        (
            {"poetry.lock": ""},
            [
                "python -m pip install poetry",
                "poetry install --all-extras",
                "poetry run onetake check --import",
                "poetry run pytest",
            ],
        ),
        (
            {"pdm.lock": ""},
            [
                "python -m pip install pdm",
                "pdm install --group :all",
                "pdm run onetake check --import",
                "pdm run pytest",
            ],
        ),
        ({"setup.py": ""}, ["python -m pip install -e . pytest", "onetake check --import", "pytest"]),
    ],
)
def test_the_workflow_installs_as_the_project_does_and_is_sealed(repository, init, files, steps):
    for name, content in files.items():
        put(repository / name, content)
    init()
    workflow = yaml.safe_load((repository / ".github/workflows/onetake.yml").read_bytes())
    job = workflow["jobs"]["sealed"]
    assert job["env"] == {"CI": "true", "ONETAKE_MODE": "none"}
    assert workflow[True] == {"push": None, "pull_request": None}  # YAML 1.1 takes `on` for yes
    assert [step["run"] for step in job["steps"][2:]] == steps


@pytest.mark.parametrize(
    ("files", "sdks", "uses_pytest"),
    [
        ({"requirements.txt": "OpenAI==1\n-r x.txt\n# anthropic\n"}, ["openai"], False),
        ({"pyproject.toml": '[tool.poetry.group.dev.dependencies]\npytest = "*"\nlitellm = "*"\n'}, ["litellm"], True),
        ({"pyproject.toml": '[tool.uv]\ndev-dependencies = ["google_genai>=1"]\n'}, ["google-genai"], False),
        ({"Pipfile": '[packages]\nanthropic = "*"\n[dev-packages]\npytest = "*"\n'}, ["anthropic"], True),
        ({"setup.cfg": "[options]\ninstall_requires =\n    dspy\n    cohere>1\n"}, ["cohere", "dspy"], False),
        ({"tests/unit/test_a.py": ""}, [], True),
        ({"pytest.ini": ""}, [], True),
        ({"tox.ini": "[pytest]\n"}, [], True),
        ({"tests/readme.md": ""}, [], False),
    ],
)
def test_what_is_seen_of_a_project(repository, init, files, sdks, uses_pytest):
    for name, content in files.items():
        put(repository / name, content)
    seen = init("--dry-run")["seen"]
    assert (seen["sdks"], seen["pytest"]) == (sdks, uses_pytest)


@pytest.mark.parametrize(
    ("files", "name", "text"),
    [
        (
            {"pyproject.toml": '[project]\nname = "x"\ndependencies = ["openai"]\n'},
            "pyproject.toml",
            "onetake @ file:///path/to/onetake\n",
        ),
        ({"requirements.txt": "openai\n"}, "requirements.txt", "/path/to/onetake\n"),
        (
            {"uv.lock": "", "pyproject.toml": '[project]\nname = "x"\ndependencies = ["openai"]\n'},
            "pyproject.toml",
            "uv add --dev /path/to/onetake\n",
        ),
        ({"requirements.txt": "openai\nonetake\n"}, None, None),
    ],
)
def test_a_project_that_does_not_depend_on_onetake_is_told_so(repository, init, files, name, text):
    for each, content in files.items():
        put(repository / each, content)
    found = [(file["path"], file["text"]) for file in init()["files"] if file["action"] == "by_hand"]
    assert found == ([(name, text)] if name else [])


@pytest.mark.parametrize(
    "line",
    [
        "onetake",
        "onetake[pytest]>=0.1 ; python_version > '3'",
        "onetake @ git+https://git.example/team/fork.git",
        "git+https://me@git.example/team/onetake.git@v1",
        "-e git+ssh://git@git.example/team/x.git#egg=onetake",
        "-e ../onetake[pytest]",
        "./vendor/onetake/",
        "C:\\src\\onetake",
        "wheels/onetake-0.1.0-py3-none-any.whl",
        "onetake-0.1.0-py3-none-any.whl",
    ],
)
def test_a_list_that_names_onetake_in_any_form_is_installed_alone(repository, init, line):
    put(repository / "requirements.txt", f"openai\npytest\n{line}\n")
    assert [file for file in init()["files"] if file["action"] == "by_hand"] == []
    workflow = (repository / ".github/workflows/onetake.yml").read_text()
    assert "- run: python -m pip install -r requirements.txt\n" in workflow
    assert "Put onetake" not in workflow


@pytest.mark.parametrize("line", ["onetaker", "./onetake-demo", "git+https://git.example/onetake/x.git", "# onetake"])
def test_another_package_is_not_taken_for_it(repository, init, run, line):
    put(repository / "requirements.txt", f"openai\npytest\n{line}\n")
    assert "requirements.txt: put onetake into your dev dependencies: as below, a path or a git URL" in run("init")[1]
    workflow = (repository / ".github/workflows/onetake.yml").read_text()
    assert "      # Put onetake into your dev dependencies, or into the next line, as a path or a git URL" in workflow
    assert "- run: python -m pip install -r requirements.txt\n" in workflow


def test_a_project_without_a_list_is_told_in_words_what_its_workflow_lacks(repository, run):
    assert "onetake.yml: a workflow that runs the tests sealed; put onetake into your dev" in run("init")[1]


def test_a_folder_that_is_not_there_is_a_wrong_usage(repository, run):
    put(repository / "file")
    assert run("init", "nope") == (2, "", "onetake: nope: there is no such folder\n")
    assert run("init", "file")[0] == 2


def test_two_at_a_time_leave_whole_files(repository):
    put(repository / ".gitignore", "a\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    command = [sys.executable, "-m", "onetake", "init"]
    both = [subprocess.Popen(command, cwd=repository, env=environment, stderr=subprocess.PIPE) for _ in range(2)]
    ended = [(process.communicate(timeout=60)[1], process.returncode) for process in both]
    assert {code for _, code in ended} <= {0, 2}
    assert all(not said or b"run `onetake init` again" in said for said, _ in ended)
    assert (repository / ".gitignore").read_text() == "a\n.onetake/\n.onetake-*\n"
    assert sorted(contents(repository)) == FRESH


def test_a_link_that_leads_nowhere_or_out_of_the_repository_is_left_alone(repository, init, tmp_path):
    outside = put(tmp_path / "outside" / "ignore", "mine\n")
    (repository / ".gitignore").symlink_to(outside)
    (repository / ".gitattributes").symlink_to(tmp_path / "nonexistent" / "x")
    (repository / "onetake.toml").symlink_to("missing.toml")
    (repository / ".github").symlink_to(outside.parent)
    document = init()
    by_hand = {Path(file["path"]).name: file["why"] for file in document["files"] if file["action"] == "by_hand"}
    assert set(by_hand) == {".gitignore", ".gitattributes", "onetake.toml", "onetake.yml"}
    assert "leads nowhere" in by_hand["onetake.toml"]
    assert all("out of the repository" in by_hand[name] for name in by_hand.keys() - {"onetake.toml"})
    assert [path.name for path in (tmp_path / "outside").rglob("*")] == ["ignore"]
    assert outside.read_bytes() == b"mine\n"
    assert not (tmp_path / "nonexistent").exists() and not (repository / "missing.toml").exists()


@pytest.fixture
def real(repository):
    """The same, made by git; returns a function that runs git there: what it prints."""
    (repository / ".git").rmdir()
    who = {f"GIT_{whose}_{what}": "ann@example.com" for whose in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | who

    def git(*words, **environment):
        command = ["git", "-c", "commit.gpgsign=false", *words]
        done = subprocess.run(command, cwd=repository, env=clean | environment, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    git("init", "-q", ".")
    return git


def test_git_shows_entries_as_show_does_and_what_is_none_as_it_is(repository, real, init, make_entry):
    path = repository / "cassettes" / "a" / "chat-0123456789abcdef.json"
    put(path, dump_entry(make_entry("one", "first said"))[0])
    broken = put(repository / "cassettes" / "a" / "chat-aaaaaaaaaaaaaaaa.json", '{"not": "an entry"}\n')
    before = (repository / ".git" / "config").read_bytes()
    assert actions(init())["config"] == "extended"
    assert (repository / ".git" / "config").read_bytes().startswith(before)
    real("add", "-A")
    real("commit", "-qm", "One")
    put(path, dump_entry(make_entry("one", "then said"))[0])
    broken.write_bytes(b'{"not": "one either"}\n')
    bin_folder = str(Path(sys.executable).parent)
    shown = real("diff", PATH=os.pathsep.join([bin_folder, os.environ["PATH"]]))
    assert "-said      first said\n+said      then said\n" in shown
    assert '-{"not": "an entry"}\n+{"not": "one either"}\n' in shown
    assert "onetake" not in shown.replace("onetake/", "")
    plain = os.pathsep.join(one for one in os.environ["PATH"].split(os.pathsep) if one != bin_folder)
    if shutil.which("onetake", path=plain) is None:  # where it cannot be run, git shows the file
        assert '"text": "then said"' in real("diff", PATH=plain)


def test_the_way_git_shows_entries_is_undone_as_it_says(repository, real, init, run):
    (change,) = (file for file in init()["files"] if file["path"].endswith(".git/config"))
    undo = change["why"].rpartition("undo: ")[2]
    assert actions(init())["config"] == "already_there"
    config = (repository / ".git" / "config").read_text()
    assert change["text"] in config
    real(*undo.split()[1:])
    assert (repository / ".git" / "config").read_text() == config.replace(change["text"], "")
    assert actions(init())["config"] == "extended"


def test_a_diff_hides_no_change_of_an_entry(run, store, make_entry, tmp_path):
    whole = make_entry("one", "said")
    body = whole.response.body.replace(b'"stop"', b'"stop", "hidden": 1')
    changed = replace(whole, response=replace(whole.response, body=body))
    others = (changed, replace(whole, extra={"later": 1}), replace(whole, metrics={"latency_ms": 3}))
    shown = []
    for number, entry in enumerate((whole, *others)):
        path = put(tmp_path / f"copy{number}", dump_entry(entry)[0])
        code, out, err = run("show", "--textconv", path)
        assert (code, err) == (0, "")
        shown.append(out)
    assert len(set(shown)) == 4
    assert run("show", "--textconv", path, "--json")[0] == 2


def test_both_sides_of_a_diff_have_one_form_whatever_lies_beside_them(run, store, make_entry, tmp_path):
    events = "".join(f'data: {{"n": {n}}}\n\n' for n in range(3)).encode()
    whole = make_entry("one", "said")
    streamed = replace(
        whole, response=replace(whole.response, body=events, headers=(("content-type", "text/event-stream"),))
    )
    data, sides = dump_entry(streamed)
    (name,) = sides
    copy, beside = put(tmp_path / "copy", data), put(tmp_path / "x" / "chat-0123456789abcdef.json", data)
    put(tmp_path / "x" / name, sides[name])
    shown = [run("show", "--textconv", path)[1] for path in (copy, beside)]
    assert shown[0] == shown[1]
    assert f"{name}, {len(events)} bytes" in shown[0]
    assert "said      said" in shown[0]


@pytest.mark.parametrize("name", ["my app", "it's", 'a "b" \\ c', "x; y # z", "a\nb"])
def test_git_reads_the_way_to_show_entries_as_it_is_meant(tmp_path, name):
    if sys.platform == "win32":
        pytest.skip("no folder has such a name there")
    top = tmp_path / "top"
    (top / ".git").mkdir(parents=True)
    project = top / name
    put(project / "uv.lock")
    put(project / "pyproject.toml", '[project]\nname = "x"\n')
    text = init_texts.driver(look(project, exactly=True))
    config = put(tmp_path / "config", text)
    command = ["git", "config", "-f", str(config), "--get", "diff.onetake.textconv"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    # Run as git runs it, with a program called `uv` that says what it is given.
    uv = put(tmp_path / "bin" / "uv", '#!/bin/sh\nprintf "<%s>" "$@"\n')
    uv.chmod(0o755)
    path = os.pathsep.join([str(uv.parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-c", f'{said.rstrip()} "$@"', "x", "a file"], capture_output=True, text=True, env={"PATH": path}
    )
    assert done.stdout == f"<run><--project><{name}><onetake><show><--textconv><a file>"
