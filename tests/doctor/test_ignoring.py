"""What a project told vcrpy to leave alone."""

from __future__ import annotations

import pytest

from onetake.doctor.ignoring import ignored_hosts

LOCAL = ("0.0.0.0", "127.0.0.1", "[::1]", "localhost")
CONFIG = "import pytest\n\n@pytest.fixture\ndef vcr_config():\n    return {}\n"


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        (CONFIG.format('{"ignore_localhost": True, "record_mode": "none"}'), LOCAL),
        (CONFIG.format('{"ignore_localhost": False, "ignore_hosts": ("a",), **rest}'), ("a",)),
        (CONFIG.format('{"ignore_hosts": hosts(), "other": ["c"]}'), ()),
        (
            CONFIG.format('{"ignore_hosts": HOSTS}') + 'HOSTS = ["b.example"] + ["a.example"]\n',
            ("a.example", "b.example"),
        ),
        ('import vcr\nmy = vcr.VCR(ignore_hosts=["b.example", "a.example"])\n', ("a.example", "b.example")),
        ('def pytest_recording_configure(config, vcr):\n    vcr.ignore_hosts = ["a.example"]\n', ("a.example",)),
        ('PROXY = {"ignore_hosts": ["b.example"]}\nproxy(ignore_hosts=["b.example"])\n', ()),
        ("not python at all (\n", ()),
        ("x = '\0'\n", ()),
        ("", ()),
    ],
)
def test_what_the_text_says_to_vcrpy_is_read_and_nothing_is_run(project, text, hosts):
    folder = project({"conftest.py": ""})
    (folder / "conftest.py").write_text(text)
    assert ignored_hosts([folder / "cassettes/test_a/test_b.yaml"]) == hosts


def test_the_fixture_that_counts_and_those_of_the_tests_own_files(project):
    def says(host):
        return CONFIG.format(f'{{"ignore_hosts": ["{host}"]}}')

    marked = 'import pytest\n\n@pytest.mark.vcr(ignore_hosts=["of.a.marker"])\ndef test_a(): ...\n'
    folder = project(
        {
            "conftest.py": says("above"),
            "project/pyproject.toml": "",
            "project/conftest.py": says("top"),
            "project/tests/conftest.py": says("own"),
            "project/other/conftest.py": says("other"),
            "project/tests/test_a.py": says("of.a.file") + marked,
        }
    )
    sources = [folder / "project/tests/cassettes/a.yaml", folder / "project/tests/cassettes/b.yaml"]
    assert ignored_hosts(sources) == ("own", "of.a.file", "of.a.marker")
    assert ignored_hosts([folder / "project/a.yaml"])[0] == "top"
