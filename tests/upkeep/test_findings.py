"""What findings mean for the exit code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onetake.upkeep.findings import SEVERITY, Code, Severity, count, fails, finding


def of(*severities):
    codes = {severity: code for code, severity in SEVERITY.items()}
    return [finding(codes[Severity(name)], Path("a.json"), "said", "mend") for name in severities]


def test_every_code_has_a_severity_and_every_severity_a_code():
    assert set(SEVERITY) == set(Code)
    assert set(SEVERITY.values()) == set(Severity)


def test_every_code_is_on_its_page_with_its_severity_and_no_other():
    page = Path(__file__).parents[2] / "docs/reference/findings.md"
    told = re.findall(r"^\| `([\w-]+)` \| (\w+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(told) == {code.value: severity.value for code, severity in SEVERITY.items()}
    assert len(told) == len(SEVERITY)


def test_a_finding_that_says_nothing_to_do_is_none(tmp_path):
    with pytest.raises(ValueError, match="without a mend: orphan"):
        finding(Code.ORPHAN, tmp_path, "no test asks for it", "")


@pytest.mark.parametrize(
    ("severities", "fails_at_all", "fails_strictly"),
    [
        ([], False, False),
        (["info"], False, False),
        (["info", "warning"], False, True),
        (["warning", "error", "info"], True, True),
    ],
)
def test_errors_fail_and_warnings_only_strictly(severities, fails_at_all, fails_strictly):
    found = of(*severities)
    assert (fails(found, strict=False), fails(found, strict=True)) == (fails_at_all, fails_strictly)


def test_counts_leave_no_severity_out_and_begin_with_the_worst():
    assert list(count(of("info", "error", "info")).items()) == [("error", 1), ("warning", 0), ("info", 2)]
