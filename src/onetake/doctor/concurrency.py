"""Where a test starts calls that run at the same time: itself, or a fixture or code of the project that it calls."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from onetake.doctor.fixtures import Fixtures
from onetake.doctor.modules import Function, Module, dotted
from onetake.doctor.openings import Opening
from onetake.doctor.sources import Sources

_STARTERS = frozenset(
    {
        "asyncio.gather",
        "asyncio.as_completed",
        "asyncio.TaskGroup",
        "anyio.create_task_group",
        "trio.open_nursery",
        "threading.Thread",
        "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.thread.ThreadPoolExecutor",
        "multiprocessing.pool.ThreadPool",
        "multiprocessing.dummy.Pool",
        "joblib.Parallel",
        "gevent.joinall",
        "gevent.pool.Pool",
        "tqdm.asyncio.tqdm.gather",
        "tqdm.asyncio.tqdm_asyncio.gather",
        "tqdm.contrib.concurrent.thread_map",
        "asyncer.create_task_group",
        "dspy.Parallel",
        "dspy.asyncify",
        "litellm.batch_completion",
        "langchain_core.runnables.RunnableParallel",
    }
)
_STARTERS_OF_ONE = frozenset(
    {
        "asyncio.create_task",
        "asyncio.ensure_future",
        "asyncio.to_thread",
        "asyncio.wait",
        "anyio.to_thread.run_sync",
        "threading.Timer",
    }
)
"""They start one call beside another: in a test that is what it is about, deep in a library it may be anything."""
_METHODS_OF_ONE = frozenset({"create_task", "start_soon"})
"""Methods that start one call beside another, whatever they are called on."""
_METHODS = frozenset({"run_in_executor", "abatch", "batch_completion"})
"""Methods that run calls at the same time, whatever they are called on."""
_CALLED_UNSEEN = ("__init__", "__call__", "__enter__", "__iter__", "forward", "aforward")
"""Methods that are called without being named; the last two by dspy and its kind."""
_RUNNERS = frozenset({"run_until_complete", "run_coroutine_threadsafe", "async_to_sync", "start_blocking_portal"})
_RUNS = frozenset({"asyncio.run", "anyio.run", "trio.run"})
_MOST = 200
"""Functions that are looked through for one test."""


@dataclass(frozen=True, slots=True)
class Site:
    """One place that starts calls which run at the same time."""

    path: Path
    line: int
    name: str
    """As it is written: `asyncio.gather`."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the text of one function tells."""

    site: Site | None
    site_of_one: Site | None
    """As `site`, where one more call is started."""
    awaits: bool
    """Whether it is async, or runs an event loop."""
    attributes: frozenset[str]
    reached: tuple[tuple[Module, ast.AST], ...]
    """What its names mean in the project."""


class Concurrency:
    """Finds where the tests of a project run calls at the same time.

    Args:
        sources: The project.
        fixtures: Its fixtures.
    """

    def __init__(self, sources: Sources, fixtures: Fixtures) -> None:
        self._sources = sources
        self.fixtures = fixtures
        self._facts: dict[Function, _Facts] = {}

    def find_site(self, opening: Opening) -> Site | None:
        """Return the first place that a test reaches at which calls are started that run at the same time.

        Args:
            opening: The test.
        """
        if opening.function is None:
            return None
        return _Search(self, opening.owner).run(opening.home, opening.function)

    def facts(self, module: Module, function: Function) -> _Facts:
        """Return what the text of a function tells, read once."""
        if function not in self._facts:
            nodes = list(ast.walk(function))
            module = module.at(function)
            calls = [(one, name) for one in nodes if isinstance(one, ast.Call) and (name := dotted(one.func))]
            sites = (Site(module.path, call.lineno, name) for call, name in calls if self._starts(module, name))
            of_one = (
                Site(module.path, call.lineno, name)
                for call, name in calls
                if self._sources.imported_as(module, name) in _STARTERS_OF_ONE
                or ("." in name and name.rpartition(".")[2] in _METHODS_OF_ONE)
            )
            names = dict.fromkeys(dotted(one) for one in nodes if isinstance(one, ast.Name | ast.Attribute))
            reached = (self._sources.lookup(module, name) for name in names if name)
            self._facts[function] = _Facts(
                next(sites, None),
                next(of_one, None),
                isinstance(function, ast.AsyncFunctionDef) or any(self._runs_loop(module, name) for _, name in calls),
                frozenset(one.attr for one in nodes if isinstance(one, ast.Attribute)),
                tuple(filter(None, reached)),
            )
        return self._facts[function]

    def base(self, module: Module, node: ast.expr) -> tuple[Module, ast.AST] | None:
        """Return the class of the project that another one is made from."""
        name = dotted(node)
        return self._sources.lookup(module, name) if name else None

    def _starts(self, module: Module, name: str) -> bool:
        is_method = "." in name and name.rpartition(".")[2] in _METHODS
        return is_method or self._sources.imported_as(module, name) in _STARTERS or self._makes_thread(module, name)

    def _makes_thread(self, module: Module, name: str) -> bool:
        """Tell whether a call makes an object of a class of the project that is a thread."""
        found = self._sources.lookup(module, name)
        if found is None or not isinstance(found[1], ast.ClassDef):
            return False
        bases = (
            (place, dotted(base)) for place, one in self._sources.lineage(found[0], found[1]) for base in one.bases
        )
        return any(self._sources.imported_as(place, base) in _STARTERS for place, base in bases)

    def _runs_loop(self, module: Module, name: str) -> bool:
        return name.rpartition(".")[2] in _RUNNERS or self._sources.imported_as(module, name) in _RUNS


class _Search:
    """Follows the names of a function: to functions of the project, and to the methods that it uses of its classes.

    Async ones are followed from where something awaits: an async function, or one that runs an event loop.
    """

    def __init__(self, project: Concurrency, owner: ast.ClassDef | None) -> None:
        self._project = project
        self._owner = owner
        self._todo: list[tuple[Module, Function]] = []
        self._seen: set[ast.AST] = set()
        self._methods: dict[str, list[tuple[Module, Function]]] = {}
        """The methods of the classes that were met, by their names."""
        self._used = {False: set(_CALLED_UNSEEN), True: set(_CALLED_UNSEEN)}
        """The names of methods that are used, and of those that may be awaited."""

    def run(self, module: Module, function: Function) -> Site | None:
        home = module
        self._todo.append((module, function))
        if self._owner is not None:
            self._add_class(module, self._owner)
        for at in range(_MOST):
            if at == len(self._todo):
                break
            module, function = self._todo[at]
            facts = self._project.facts(module, function)
            site = facts.site or (facts.site_of_one if module.path == home.path else None)
            if site is not None:
                return site
            self._follow(module, function, facts)
        return None

    def _follow(self, module: Module, function: Function, facts: _Facts) -> None:
        for argument in function.args.args:
            fixture = self._project.fixtures.function(module, self._owner, argument.arg)
            if fixture is not None:
                self._add(*fixture, awaits=True)
        for awaits in (False, True) if facts.awaits else (False,):
            new = facts.attributes - self._used[awaits]
            self._used[awaits] |= new
            for name in new & self._methods.keys():
                for place, method in self._methods[name]:
                    self._add(place, method, awaits=awaits)
        for place, node in facts.reached:
            self._add(place, node, awaits=facts.awaits)

    def _add(self, module: Module, node: ast.AST, *, awaits: bool) -> None:
        if isinstance(node, ast.ClassDef):
            self._add_class(module, node)
            return
        if isinstance(node, ast.AsyncFunctionDef) and not awaits:
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node not in self._seen:
            self._seen.add(node)
            self._todo.append((module, node))

    def _add_class(self, module: Module, node: ast.ClassDef) -> None:
        if node in self._seen:
            return
        self._seen.add(node)
        for one in node.body:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                self._methods.setdefault(one.name, []).append((module, one))
                for awaits, names in self._used.items():
                    if one.name in names:
                        self._add(module, one, awaits=awaits)
        for base in node.bases:
            if (found := self._project.base(module, base)) is not None:
                self._add(*found, awaits=False)
