"""The installed recorder, and what it does not see."""

from __future__ import annotations

import pytest

from onetake.doctor.recorder import Environment

PATCH = (
    "import http.client\n\ndef build():\n    import httpx\n    import urllib3.connection as conn\n"
    "    from . import stubs\n"
)


@pytest.fixture
def environment(tmp_path):
    """Return a function that makes a project with an environment of its own, of distributions and what they need."""

    def make(patch=PATCH, **needs):
        packages = tmp_path / ".venv" / "lib" / "python3.12" / "site-packages"
        (tmp_path / ".venv").mkdir()
        (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /nowhere\n", encoding="utf-8")
        (packages / "vcr").mkdir(parents=True)
        (packages / "vcr" / "patch.py").write_text(patch, encoding="utf-8")
        for name, lines in needs.items():
            folder = packages / f"{name}-1.2.dist-info"
            folder.mkdir()
            metadata = [
                f"Name: {name.replace('_', '-')}",
                "Version: 1.2",
                *(f"Requires-Dist: {line}" for line in lines),
            ]
            (folder / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", *metadata, ""]), encoding="utf-8")
        return Environment(tmp_path), packages

    return make


def test_an_sdk_whose_library_is_not_intercepted_is_named(environment):
    found, _ = environment(
        vcrpy=[],
        pytest_recording=["vcrpy"],
        openai=["httpx2>=2", "httpx>=0.27; extra == 'old'"],
        cohere=["httpx>=0.21", "requests>=2"],
        xai_sdk=["grpcio>=1"],
        flask=["httpx2"],
    )
    assert [(one.sdk, one.version, one.clients) for one in found.unseen()] == [
        ("openai", "1.2", ("httpx2",)),
        ("xai-sdk", "1.2", ("grpcio",)),
    ]
    assert found.recorders == {"vcrpy": "1.2", "pytest-recording": "1.2"}
    assert found.intercepted >= {"httpx", "requests", "urllib3"}


def test_an_sdk_that_brings_a_library_along_sends_through_it(environment):
    found, packages = environment(vcrpy=[], dspy=["httpx"])
    (packages / "dspy" / "_vendor" / "lm15").mkdir(parents=True)
    assert [(one.sdk, one.clients) for one in found.unseen()] == [("dspy", ("lm15",))]


@pytest.mark.parametrize("patch", ["", "(", "import httpcore\nimport httpcore2\n"])
def test_a_recorder_that_cannot_be_read_hides_nothing_that_is_known(environment, patch):
    found, _ = environment(patch, vcrpy=[], openai=["httpx2"])
    assert list(found.unseen()) == []


def test_the_recorder_of_this_environment_intercepts_what_the_sdks_use(tmp_path):
    assert Environment(tmp_path).intercepted >= {"httpx", "httpx2", "aiohttp", "requests", "botocore"}
