"""What a comparison says."""

from onetake.probing.findings import Compared, Finding, Kind, Severity, by_weight


def finding(severity, path):
    return Finding("a.json", path, severity, Kind.REMOVED, "string", None)


def test_the_gravest_stand_first_each_once():
    info, warning, error, later = (
        finding(severity, path)
        for severity, path in (
            (Severity.INFO, "a"),
            (Severity.WARNING, "a"),
            (Severity.ERROR, "a"),
            (Severity.ERROR, "b"),
        )
    )
    assert by_weight([info, later, warning, error, info, later]) == (error, later, warning, info)


class Value:
    """A value that counts how often it is compared."""

    compared = 0

    def __eq__(self, other):
        Value.compared += 1
        return self is other

    __hash__ = object.__hash__


def test_many_findings_are_not_compared_each_with_each():
    many = [Finding("a.json", "a", Severity.INFO, Kind.ADDED, None, Value()) for _ in range(100)]
    assert by_weight(many * 2) == tuple(many)
    assert Value.compared < 300


def test_the_worst_grade_counts():
    grades = [Severity.INFO, Severity.ERROR, Severity.WARNING]
    assert Compared(tuple(finding(grade, "a") for grade in grades)).worst() is Severity.ERROR
    assert (
        Compared(tuple(finding(grade, "a") for grade in (Severity.WARNING, Severity.INFO))).worst() is Severity.WARNING
    )
    assert Compared().worst() is None
