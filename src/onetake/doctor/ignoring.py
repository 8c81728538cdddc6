"""What a project told vcrpy to leave alone: `onetake import` proposes it as the setting `ignore`.

This is the one reader of that: `cli/import_.py` calls it, and nothing in `importers` reads a project's Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from onetake.doctor.configurations import Configurations, Said, said, told
from onetake.doctor.evaluation import Scope
from onetake.doctor.following import keywords
from onetake.doctor.modules import Module, dotted, fixture_name
from onetake.doctor.sources import Sources, root_of
from onetake.vcrwords.filters import LOCAL_HOSTS

_HOSTS, _LOCALHOST = "ignore_hosts", "ignore_localhost"


def ignored_hosts(cassettes: Iterable[Path]) -> tuple[str, ...]:
    """Return the hosts whose calls vcrpy let pass, as patterns for the setting `ignore`. Nothing of a project is run.

    Args:
        cassettes: The files of vcrpy. What their projects say to it counts: the `vcr_config` fixture that counts for
            their folders, those of the tests' own files, hooks, markers, `VCR(…)` and `use_cassette(…)`.

    Returns:
        Those that stand in the text; what is computed is not known.
    """
    projects: dict[Path, dict[Path, None]] = {}
    for folder in dict.fromkeys(one.absolute().parent for one in cassettes):
        projects.setdefault(root_of(folder), {})[folder] = None
    found = (host for root, folders in projects.items() for one in _said(root, folders) for host in _hosts(one))
    return tuple(dict.fromkeys(found))


def _said(root: Path, folders: Iterable[Path]) -> Iterator[Said]:
    sources = Sources(root)
    configurations = Configurations(sources)
    yield from dict.fromkeys(one for folder in folders for one in configurations.around(folder))
    for module in sources.mentioning(_HOSTS.encode(), _LOCALHOST.encode()):
        yield from _in_file(sources, configurations, module)


def _in_file(sources: Sources, configurations: Configurations, module: Module) -> Iterator[Said]:
    """Yield what the calls of a file say, and the fixtures of a file with tests, which count for these alone."""
    for _, function, owner in module.functions if module.path.name != "conftest.py" else ():
        if fixture_name(function) == "vcr_config" and (found := configurations.fixture(module, owner)) is not None:
            yield found
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and _speaks_to_vcrpy(sources, module, node):
            yield said(module, node, "call", keywords(Scope(sources, module), node))


def _speaks_to_vcrpy(sources: Sources, module: Module, node: ast.Call) -> bool:
    name = sources.imported_as(module, dotted(node))
    return name.endswith(("mark.vcr", ".use_cassette")) or name.rpartition(".")[2] == "VCR"


def _hosts(one: Said) -> Iterator[str]:
    if _only(one, _LOCALHOST) is True:
        yield from sorted(f"[{host}]" if ":" in host else host for host in LOCAL_HOSTS)
    hosts = _only(one, _HOSTS)
    if isinstance(hosts, list | tuple | set):
        yield from sorted(host for host in hosts if isinstance(host, str))


def _only(one: Said, name: str) -> Any:
    values = told((one,), name).values
    return values[0] if len(values) == 1 else None
