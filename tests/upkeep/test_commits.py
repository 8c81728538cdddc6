"""What is asked of git: with names and configurations that could make it do something else."""

from __future__ import annotations

import os

import pytest


@pytest.mark.skipif(os.name == "nt", reason="names that Windows does not have")
def test_names_that_git_could_take_for_something_else(repository):
    names = ["-x.py", ":(top)x.py", "a\nb.py", "grün.py", "a\tb.py", "x y.py", "\udcff.py", '"q".py', "*.py"]
    for name in names:
        repository.write(repository.parser, f"odd/{name}")
    repository.watch('watch = ["odd"]')
    repository.commit("Odd")
    repository.folder.record()
    repository.git("mv", "odd", "even")
    repository.watch('watch = ["even"]')
    repository.commit("Even")
    assert repository.said() == []
    for name in names:
        repository.write(repository.fixed, f"even/{name}")
        fix = repository.commit("Fix")
        (said,) = repository.said()
        assert f"last in {fix[:12]}" in said
        assert said.endswith(": Fix)")


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for the program")
def test_the_configuration_of_a_repository_makes_git_run_nothing(unwatched, tmp_path_factory):
    place = tmp_path_factory.mktemp("evil")
    evil, mark = place / "evil", place / "mark"
    evil.write_text(f"#!/bin/sh\necho run >> {mark}\n")
    evil.chmod(0o755)
    unwatched.write("*.py diff=evil filter=evil\n", ".gitattributes")
    unwatched.write(unwatched.fixed)
    unwatched.commit("Fix")
    for name in ("core.fsmonitor", "core.pager", "diff.external", "gpg.program", "core.sshCommand", "core.editor"):
        unwatched.git("config", name, str(evil))
    for name in ("diff.evil.textconv", "diff.evil.command", "filter.evil.smudge", "filter.evil.clean"):
        unwatched.git("config", name, str(evil))
    unwatched.git("config", "log.showSignature", "true")
    unwatched.git("config", "core.hooksPath", str(place))
    assert unwatched.said()[0].endswith(": Fix)")
    assert not mark.exists()
