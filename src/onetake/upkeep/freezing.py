"""The schema of a type as a file, so that a check judges by it without importing the project's code."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from onetake.contract import Contract, stored_contract
from onetake.errors import FormatError, UsageError
from onetake.scrub.scanning import scan
from onetake.settings import ContractSettings
from onetake.stores import files
from onetake.stores.naming import folder_name

FOREIGN = "is there, and was not written by `onetake contract freeze`"
_FOLDER = "schemas"
_HEAD = 1024
_MARK = re.compile(
    rb'\{\s*"\$comment": "Frozen by `onetake contract freeze` from ([\w.:]{1,400}), digest ([0-9a-f]{64})\.'
)


@dataclass(frozen=True, slots=True)
class Frozen:
    """The file that a type's schema is frozen to, as it is.

    Args:
        path: Where it lies, or would lie.
        contract: What is in it; None where there is no such file, or `why`.
        why: Why it does not count: it was changed by hand, say; else empty.
        is_foreign: True for a file that `freeze` did not write, and will not write over.
    """

    path: Path
    contract: Contract | None = None
    why: str = ""
    is_foreign: bool = False

    def differs(self, declared: ContractSettings, today: Contract) -> str:
        """Say why it is not the schema that the type gives today; empty where it is.

        A file that is not there is no difference where the settings do not ask for one.

        Args:
            declared: What the settings say of the contract.
            today: The contract that the type gives today.
        """
        if self.why:
            return self.why
        if self.contract is None:
            return "is not there" if declared.frozen else ""
        if self.contract.digest == today.digest:
            return ""
        return f"is out of date: {declared.schema} gives another schema today (digest {today.digest[:16]}…)"


def frozen_path(declared: ContractSettings, root: Path) -> Path:
    """Return the file that a type's schema is frozen to: as the settings say, else `schemas/<name>.json`.

    A name that some system cannot have as a file's is changed, and then ends in 8 hex digits of its own digest.

    Args:
        declared: What the settings say of the contract, which is declared by a type.
        root: The settings' folder.
    """
    if declared.frozen:
        return root / declared.frozen
    lower = declared.name.lower()  # that case may not count is told by `check_apart`
    name = declared.name if folder_name(lower) == lower else folder_name(declared.name)
    return root / _FOLDER / f"{name}.json"


def read_frozen(declared: ContractSettings, root: Path) -> Frozen:
    """Read the frozen schema of a declared type; what is wrong with it is told, never raised.

    Args:
        declared: What the settings say of the contract.
        root: The settings' folder.
    """
    path = frozen_path(declared, root)
    try:
        data = files.read(path)
    except NotADirectoryError:
        data = None
    except OSError as error:
        return Frozen(path, why=f"cannot be read: {error.strerror or error}", is_foreign=True)
    if data is None:
        return Frozen(path)
    said = _MARK.match(data[:_HEAD])
    if said is None:  # the place is not asked for, so a file there may be about anything
        return Frozen(path, why=FOREIGN if declared.frozen else "", is_foreign=True)
    source = said[1].decode("ascii", "replace")
    if source != declared.schema:
        return Frozen(path, why=f"was frozen from {source}, and the contract is {declared.schema} today")
    try:
        return Frozen(path, stored_contract(data, said[2].decode(), declared.name))
    except FormatError as error:
        return Frozen(path, why=f"was changed since it was frozen: {error}")


def schema_bytes(contract: Contract, declared: ContractSettings) -> bytes:
    """Return what the file of a frozen schema holds: JSON, with the type and the digest in its first member.

    Args:
        contract: What the type gives today.
        declared: What the settings say of it.

    Raises:
        UsageError: A default or an example of the type is a secret.
    """
    said = f"Frozen by `onetake contract freeze` from {declared.schema}, digest {contract.digest}."
    schema = {**contract.schema, "$comment": f"{said} The type's own validators are not in it."}
    text = json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    data = text.encode("utf-8", "backslashreplace")
    if found := next(iter(scan(data)), None):
        raise UsageError(f"contract {declared.name!r}: {declared.schema} has a secret in its schema ({found.kind})")
    return data


def check_apart(contracts: Iterable[ContractSettings], root: Path) -> None:
    """Check that no two types would be frozen to one file.

    Args:
        contracts: Those that are declared by a type.
        root: The settings' folder.

    Raises:
        UsageError: Two would, also where only case tells their files apart.
    """
    taken: dict[str, ContractSettings] = {}
    for declared in contracts:
        path = frozen_path(declared, root)
        other = taken.setdefault(os.path.normpath(path).casefold(), declared)
        if other.schema != declared.schema or frozen_path(other, root) != path:
            both = f"contracts {other.name!r} and {declared.name!r}"
            raise UsageError(f'{both} would be frozen to one file: give one of them `frozen = "…"`')


def check_own(frozen: Frozen) -> None:
    """Check that a schema may be written there.

    Raises:
        UsageError: Something lies there that is not ours.
    """
    if frozen.is_foreign:
        why = frozen.why or FOREIGN
        raise UsageError(f'{frozen.path.as_posix()} {why}: move it, or say `frozen = "…"` in the contract\'s settings')


def write_frozen(frozen: Frozen, data: bytes) -> bool:
    """Write a frozen schema, whole or not at all.

    Args:
        frozen: The file as it is; one of ours, or none.
        data: What it shall hold.

    Returns:
        False where it holds that already; line ends that git turned to CRLF count as ours.

    Raises:
        UsageError: The file cannot be written.
    """
    path = frozen.path
    try:
        if (files.read(path) or b"").replace(b"\r\n", b"\n") == data:
            return False
        files.make_folder(path.parent)
        with files.temporary(path.parent, data) as temp:
            temp.replace(path)
        files.sync_folder(path.parent)
    except OSError as error:
        raise UsageError(f"{path.as_posix()}: cannot be written: {error.strerror or error}") from error
    return True
