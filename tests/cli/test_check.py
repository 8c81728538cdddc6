"""`onetake check`: what it prints, and what it ends with."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from onetake.format import dump_entry
from onetake.model import ContractRef

LABEL = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
GOOD, BAD = '{"label": "bug"}', '{"label": 7}'


@pytest.fixture
def labels(project, store, make_entry):
    """A project whose contract `labels` takes one of its two entries; returns (the good one, the bad one)."""
    (project / "onetake.toml").write_text('[contracts.labels]\nschema = "labels.json"\n')
    (project / "labels.json").write_text(json.dumps(LABEL))
    ref = ContractRef("labels", 1, "ab" * 32)
    return store(make_entry("one", said=GOOD, contract=ref), make_entry("two", said=BAD, contract=ref))


def test_a_clean_project_says_so_in_one_line(run, store, make_entry):
    store(make_entry(contract=None))
    assert run("check") == (0, "1 entry checked: 0 errors, 0 warnings\n", "")


def test_nothing_to_check_is_no_error(run, project):
    assert run("check") == (0, "0 entries checked: 0 errors, 0 warnings\n", "")


def test_findings_are_told_by_file_with_what_mends_them(run, project, labels):
    _, bad = labels
    path = bad.relative_to(project).as_posix()
    line = bad.read_text().split("\n").index(next(x for x in bad.read_text().split("\n") if '"answer"' in x)) + 1
    code, out, err = run("check")
    assert (code, err) == (1, "")
    assert out == (
        f"{path}\n"
        f"  error: breaks-contract, line {line}\n"
        "    its answer breaks contract 'labels' (violation)\n"
        "    $.label: expected string, found 7\n"
        "    mend: pytest --record-mode=new_episodes tests/test_a.py::test_b\n"
        "\n"
        "2 entries checked: 1 error, 0 warnings\n"
    )


def test_a_finding_in_json(run, project, labels):
    code, out, _ = run("check", "--json")
    told = json.loads(out)
    (found,) = told.pop("findings")
    assert code == 1
    assert told == {
        "cassettes": 1,
        "entries": 2,
        "counts": {"error": 1, "warning": 0, "info": 0},
        "failed": True,
    }
    line = found.pop("line")
    assert '"answer"' in labels[1].read_text().split("\n")[line - 1]
    assert found == {
        "code": "breaks-contract",
        "path": labels[1].relative_to(project).as_posix(),
        "severity": "error",
        "message": "its answer breaks contract 'labels' (violation)\n$.label: expected string, found 7",
        "mend": "pytest --record-mode=new_episodes tests/test_a.py::test_b",
    }


def test_a_warning_fails_only_a_strict_check(run, store, make_entry):
    store(make_entry())  # its contract is declared nowhere, and its schema does not lie beside it
    code, out, _ = run("check")
    assert (code, "warning: unchecked" in out, out.endswith("0 errors, 1 warning\n")) == (0, True, True)
    assert run("check", "--strict")[0] == 1
    assert json.loads(run("check", "--strict", "--json")[1])["failed"] is True


def test_an_info_fails_not_even_a_strict_check(run, store, make_entry):
    store(make_entry(contract=None, verdict="kept:length"))
    code, out, _ = run("check", "--strict")
    assert code == 0
    assert out.endswith("1 entry checked: 0 errors, 0 warnings, 1 info\n")


def test_a_path_is_checked_alone(run, project, store, make_entry):
    store(make_entry("one", contract=None), folder="a/cassettes")
    (torn,) = store(make_entry("two", contract=None), folder="b/cassettes")
    torn.write_bytes(torn.read_bytes()[:-30])
    assert run("check", "a") == (0, "1 entry checked: 0 errors, 0 warnings\n", "")
    code, out, _ = run("check", "b")
    assert (code, out.splitlines()[0]) == (1, torn.relative_to(project).as_posix())
    assert run("check", "b\\cassettes")[0] == 1


def test_a_path_that_is_no_folder_is_a_wrong_use(run, store, make_entry):
    (path,) = store(make_entry())
    assert run("check", "nowhere") == (2, "", "onetake: nowhere: there is no such folder\n")
    assert run("check", path) == (2, "", f"onetake: {path}: is a file: name its folder\n")


def test_wrong_settings_are_a_wrong_use(run, project, labels):
    (project / "onetake.toml").write_text("mod = 1")
    code, out, err = run("check")
    assert (code, out) == (2, "")
    assert "mod" in err


def test_a_schema_that_is_none_is_told_with_all_else(run, project, labels):
    (project / "labels.json").write_text("{")
    labels[0].write_text("{")
    code, out, err = run("check")
    assert (code, err) == (1, "")
    assert f"{labels[0].name}\n  error: broken" in out
    assert "onetake.toml\n  error: broken, line 2\n    contract 'labels': schema file " in out


@pytest.mark.parametrize("command", ["check", "status"])
def test_a_watched_file_that_is_gone_blinds_no_command(run, project, labels, command):
    (project / "onetake.toml").write_text('[contracts.labels]\nschema = "labels.json"\nwatch = ["gone.py"]\n')
    code, out, err = run(command)
    assert (code, err) == (1 if command == "check" else 0, "")
    assert "contract 'labels' watches 'gone.py', and there is no such file" in out
    if command == "check":
        assert out.count("onetake.toml\n  error: broken, line 3\n    contract 'labels' watches 'gone.py'") == 1


def test_text_of_a_file_reaches_no_terminal_as_a_sequence(run, store, make_entry):
    (path,) = store(make_entry(contract=ContractRef("a\x1b[31mb", 1, "ab" * 32)))
    out = run("check")[1]
    assert "\x1b" not in out
    path.write_bytes(dump_entry(make_entry(contract=None, verdict="good\x1b]0;x\x07"))[0])
    assert "\x1b" not in run("check")[1]


TELLING = """
import sys

from onetake.cli import commands

try:
    commands.main(["check", "--json"])
finally:
    not_wanted = {"app", "openai", "anthropic", "httpx", "pydantic", "pytest", "asyncio"}
    print(sorted(not_wanted & set(sys.modules)), file=sys.stderr)
"""


def test_no_project_code_and_no_sdk_is_imported(project, labels, shell):
    (project / "app.py").write_text("raise SystemExit('imported')\n")
    (project / "onetake.toml").write_text('[contracts.labels]\nschema = "app:Labels"\n')
    done = subprocess.run([sys.executable, "-c", TELLING], cwd=project, capture_output=True, text=True, timeout=60)
    assert done.stderr == "[]\n"
    codes = [one["code"] for one in json.loads(done.stdout)["findings"]]
    assert codes == ["unchecked", "unchecked", "not-imported"]
    assert shell("check", "--import", cwd=project).returncode != 0
