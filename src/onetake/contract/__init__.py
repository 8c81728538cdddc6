"""What an answer must satisfy: a schema or a type, named and versioned, closed by default."""

from __future__ import annotations

import copy
import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from onetake import strictjson
from onetake.contract.checking import Checker
from onetake.contract.closing import close, digest
from onetake.contract.linting import lint
from onetake.contract.tree import SchemaTree
from onetake.contract.types import Given, read
from onetake.contract.violations import no_json
from onetake.contract.watch import watch_digest
from onetake.contract.words import modern
from onetake.errors import FormatError, UsageError
from onetake.model import ContractRef, Request, Violation
from onetake.settings import ContractSettings
from onetake.settings_values import TYPE, is_selector, nearest


class Contract:
    """What an answer must satisfy.

    Args:
        schema: A JSON Schema as mapping; the path of a JSON file that holds one; or a type that pydantic can describe
            (model, dataclass, TypedDict, Literal, `list[Model]`, …).
        name: What entries, settings and messages call it; None takes a file's stem or a type's qualified name.
        schema_version: 1 or more; raised by hand when answers of the old meaning must not be replayed.
        watch: Files, folders or globs whose content belongs to the contract: the parser of these answers.
        on: Which answers it judges: `text`, `tool:NAME` (that tool's arguments), `schema:NAME` (answers to requests
            that carry a schema of that name), or a callable on the request.

    Raises:
        UsageError: The schema is wrong or loose in a way that cannot be meant (unknown keyword, type or format, a
            `$ref` that leads nowhere, a pattern that cannot be compiled), or an argument is.
    """

    def __init__(
        self,
        schema: Any,
        *,
        name: str | None = None,
        schema_version: int = 1,
        watch: Sequence[str | Path] = (),
        on: str | Callable[[Request], bool] = "text",
    ) -> None:
        try:
            given = read(schema)
        except UsageError as error:
            raise UsageError(f"contract {name!r}: {error}" if name else str(error)) from None
        self.name = _checked_name(name if name is not None else given.name)
        self.schema_version = schema_version
        self.watch = (watch,) if isinstance(watch, str | Path) else tuple(watch)
        self.on = on
        self._judge = given.judge
        self._watched: dict[Path, str | None] = {}
        try:
            _check_arguments(schema_version, on)
            self._tree = SchemaTree(modern(given.schema), formats=given.formats)
            self._left = close(self._tree)
            self._checker = Checker(self._tree)
        except UsageError as error:
            raise UsageError(f"contract {self.name!r}: {error}") from None
        self._digest = digest(self._tree.root)

    def __repr__(self) -> str:
        return f"Contract({self.name!r}, schema_version={self.schema_version}, digest={self._digest[:12]!r})"

    @property
    def schema(self) -> dict[str, Any]:
        """The closed JSON Schema in 2020-12's words; a copy."""
        return copy.deepcopy(self._tree.root)

    @property
    def digest(self) -> str:
        """64 lower-case hex digits: SHA-256 of the closed schema without title, description, default, examples."""
        return self._digest

    @property
    def is_type(self) -> bool:
        """True where a type judges besides the schema: its validators are not in the digest."""
        return self._judge is not None

    def ref(self, root: Path | None = None) -> ContractRef:
        """Return what an entry remembers of this contract.

        Args:
            root: Where relative paths of `watch` count from; None for the current folder. The files are read once for
                each root: what is loaded in this process does not change when a file does.

        Raises:
            UsageError: A watched path names no file.
        """
        root = (root or Path()).absolute()
        if root not in self._watched:
            self._watched[root] = watch_digest(self.watch, root, self.name)
        return ContractRef(self.name, self.schema_version, self._digest, self._watched[root])

    def selects(self, request: Request, on: str) -> bool:
        """Tell whether this contract judges an answer.

        Args:
            request: The request that was answered.
            on: What there is to judge: `text`, `tool:NAME` or `schema:NAME`. A callable `on` is asked with the request
                only, and judges the text, or the tool arguments where there are tool calls.
        """
        return bool(self.on(request)) if callable(self.on) else self.on == on

    def judge_text(self, text: str) -> tuple[Violation, ...]:
        """Return what is wrong with an answer's text, sorted by path; empty where it is right.

        Text that is no strict JSON (fenced, NaN, a key twice in one object) is one violation at `$` that expects
        `JSON`. Never raises on odd text.
        """
        parsed = _parse(text)
        return (parsed,) if isinstance(parsed, Violation) else self.judge_value(parsed)

    def judge_value(self, value: Any) -> tuple[Violation, ...]:
        """Return what is wrong with a JSON value, sorted by path; empty where it is right.

        By the closed schema first; a type's own validation is asked only about what fits its schema.
        """
        found = self._checker.check(value)
        if found or self._judge is None:
            return found
        return self._judge.check(value)

    def lint(self) -> tuple[str, ...]:
        """Name what is still loose, one line each: `$.properties.meta: any value passes`."""
        return lint(self._tree, self._left)


def violations_as_written(schema: Mapping[str, Any], value: Any, *, is_text: bool) -> tuple[Violation, ...]:
    """Return what is wrong with an answer by the schema that its own request carried.

    As written: nothing is closed, unknown words pass. A schema that cannot be checked says nothing: the provider
    took it.

    Args:
        schema: The request's schema.
        value: The answer's text, or a JSON value.
        is_text: True where *value* is text that holds the JSON.
    """
    parsed = _parse(value) if is_text else value
    if isinstance(parsed, Violation):
        return (parsed,)
    checker = _as_written(json.dumps(schema))
    return checker.check(parsed) if checker else ()


def stored_contract(data: bytes, digest: str, name: str) -> Contract:
    """Read a contract from the schema that lies beside the entries, `_schemas/<digest>.json`.

    Args:
        data: The file's bytes.
        digest: The digest that its name says.
        name: What to call it.

    Returns:
        A contract of the schema alone: what a type checks besides is not in it, and `on` is `text`.

    Raises:
        FormatError: The file holds no schema, or another one.
    """
    schema = _parse(data.decode("utf-8", "replace"))
    if not isinstance(schema, dict):
        raise FormatError("it holds no JSON Schema")
    try:
        # A type's schema may name formats that only the type knows.
        found = Contract(Given(schema, formats=False), name=name)
    except UsageError as error:
        raise FormatError(str(error)) from None
    except RecursionError:
        raise FormatError("it is nested too deep") from None
    if found.digest != digest:
        raise FormatError(f"it holds another schema than the one it was kept as (digest {found.digest})")
    return found


def unwatching(contract: Contract) -> Contract:
    """Return a contract that judges the same and watches nothing; compiled once all the same."""
    other = copy.copy(contract)
    other.watch, other._watched = (), {}
    return other


def names_type(schema: str) -> bool:
    """Tell whether a declared schema is `module:Type`, which only importing the module can read."""
    return TYPE.fullmatch(schema) is not None


def as_contracts(
    given: Any,
    *,
    root: Path,
    declared: Mapping[str, ContractSettings],
    schema_version: int | None = None,
    prefix: str = "tool.onetake.",
) -> tuple[Contract, ...]:
    """Return what `contract=` names.

    Args:
        given: None, a declared name, a `Contract`, a type, the path of a schema file (`Path`), or a list of those.
        root: Where relative schema files count from, and what is importable while a declared type is imported.
        declared: The settings' contracts.
        schema_version: The version of a bare type or file; None for 1.
        prefix: What stands before the name of a table in the settings, for messages.

    Raises:
        UsageError: A name is not declared (says the nearest), two contracts share a name, `schema_version` stands
            beside a contract that has its own, or a contract is wrong.
    """
    asked = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
    if schema_version is not None and any(isinstance(one, str | Contract) for one in asked):
        raise UsageError("schema_version= goes with a bare type; a declared contract has its own, beside its schema")
    found = tuple(_as_contract(one, root, declared, schema_version, prefix) for one in asked)
    names = [contract.name for contract in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"two contracts are called {twice!r}: give each a name of its own")
    return found


@lru_cache(maxsize=256)  # a program sends few schemas, each with every request
def _as_written(schema: str) -> Checker | None:
    try:
        return Checker(SchemaTree(modern(json.loads(schema)), words=False))
    except UsageError:
        return None


def _as_contract(
    given: Any, root: Path, declared: Mapping[str, ContractSettings], schema_version: int | None, prefix: str
) -> Contract:
    if isinstance(given, Contract):
        return given
    if isinstance(given, str):
        if given not in declared:
            known = f"declare it as [{prefix}contracts.{given}]"
            raise UsageError(f"contract {given!r} is not declared in the settings{nearest(given, declared, known)}")
        return _declared(declared[given], root)
    given = root / given if isinstance(given, Path) else given
    return Contract(given, schema_version=1 if schema_version is None else schema_version)


def _declared(settings: ContractSettings, root: Path) -> Contract:
    place = TYPE.fullmatch(settings.schema)
    schema = _imported(settings, place[1], place[2], root) if place else root / settings.schema
    return Contract(
        schema,
        name=settings.name,
        schema_version=settings.schema_version,
        watch=settings.watch,
        on=settings.on,
    )


def _imported(settings: ContractSettings, module: str, attribute: str, root: Path) -> Any:
    sys.path.insert(0, str(root))
    try:
        found = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"contract {settings.name!r}: {settings.schema} cannot be imported: {error}") from error
    finally:
        sys.path.remove(str(root))
    return found


def _parse(text: str) -> Any:
    """Return the JSON value of a text, or the violation that it is none."""
    try:
        return strictjson.loads(text)
    except strictjson.NotStrictError as error:
        return Violation("$", "JSON", no_json(text, str(error)))


def _checked_name(name: str | None) -> str:
    if not isinstance(name, str) or not name:
        raise UsageError("a schema given as mapping needs a name: Contract(schema, name=…)")
    return name


def _check_arguments(schema_version: Any, on: Any) -> None:
    if not isinstance(schema_version, int) or isinstance(schema_version, bool) or schema_version < 1:
        raise UsageError(f"schema_version is {schema_version!r}, and must be a whole number, 1 or more")
    if not callable(on) and not (isinstance(on, str) and is_selector(on)):
        raise UsageError(f"on is {on!r}, and must be text, tool:NAME, schema:NAME or a callable on the request")
