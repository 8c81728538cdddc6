"""Tests of `unittest` that open cassettes by vcrpy's own classes, `VCRTestCase` and `VCRMixin`.

Source: vcrpy 9.4, `vcr.unittest`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from onetake.doctor.configurations import Said, said, told
from onetake.doctor.evaluation import Scope
from onetake.doctor.following import returned
from onetake.doctor.modules import Module, dotted
from onetake.doctor.sources import Sources
from onetake.doctor.values import text_of

_BASES = ("VCRTestCase", "VCRMixin")


def opens_cassettes(sources: Sources, module: Module, owner: ast.ClassDef) -> bool:
    """Tell whether a class is made from one of vcrpy's, so that each of its tests opens a cassette."""
    bases = ((place, dotted(base)) for place, one in sources.lineage(module, owner) for base in one.bases)
    return any(sources.imported_as(place, name).rpartition(".")[2] in _BASES for place, name in bases)


def said_by(sources: Sources, module: Module, owner: ast.ClassDef) -> list[Said]:
    """Return what a class and those before it say to vcrpy, the weakest first."""
    found = []
    for place, method in reversed(list(_methods(sources, module, owner, "_get_vcr_kwargs"))):
        given: dict[str, Any] = {method.args.kwarg.arg: {}} if method.args.kwarg else {}
        found.append(said(place, method, "VCR", returned(Scope(sources, place, given), method)))
    return found


def claims(sources: Sources, module: Module, owner: ast.ClassDef, test: str, layers: list[Said]) -> Iterator[str]:
    """Yield the paths that the cassette of a test may have, without an ending.

    Args:
        sources: The project.
        module: The file of the class.
        owner: The class.
        test: The test's own name.
        layers: What the class says.
    """
    here = PurePath(module.path.parent)
    names = list(_texts(sources, module, owner, "_get_cassette_name")) or [f"{owner.name}.{test}"]
    folders = list(map(text_of, told(layers, "cassette_library_dir").values))
    folders = folders or list(_texts(sources, module, owner, "_get_cassette_library_dir")) or ["cassettes"]
    for folder in folders:
        for name in names:
            yield (here / folder / name.removesuffix(".yaml")).as_posix()
            yield (sources.root / folder / name.removesuffix(".yaml")).as_posix()


def _texts(sources: Sources, module: Module, owner: ast.ClassDef, name: str) -> Iterator[str]:
    for place, method in _methods(sources, module, owner, name):
        yield text_of(returned(Scope(sources, place), method))
        return


def _methods(
    sources: Sources, module: Module, owner: ast.ClassDef, name: str
) -> Iterator[tuple[Module, ast.FunctionDef]]:
    for place, one in sources.lineage(module, owner):
        yield from ((place, node) for node in one.body if isinstance(node, ast.FunctionDef) and node.name == name)
