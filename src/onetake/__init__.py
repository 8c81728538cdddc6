"""Record a model's answer once, only if it is good; replay it to exactly the caller that asked.

Names are loaded on first use, so that `import onetake` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onetake.adapters.function import recorded as recorded
    from onetake.batch.api import Batch as Batch
    from onetake.contract import Contract as Contract
    from onetake.errors import AdapterError as AdapterError
    from onetake.errors import ChildError as ChildError
    from onetake.errors import ContractError as ContractError
    from onetake.errors import FormatError as FormatError
    from onetake.errors import InteractionNotFound as InteractionNotFound
    from onetake.errors import NetworkRefusal as NetworkRefusal
    from onetake.errors import NewerFormatError as NewerFormatError
    from onetake.errors import NotStored as NotStored
    from onetake.errors import OnetakeError as OnetakeError
    from onetake.errors import Refusal as Refusal
    from onetake.errors import StoreError as StoreError
    from onetake.errors import UnreadableEntry as UnreadableEntry
    from onetake.errors import UsageError as UsageError
    from onetake.installing import install as install
    from onetake.probing.running import probe as probe
    from onetake.scopes import use_cassette as use_cassette
    from onetake.session import Session as Session

_WHERE = {
    "use_cassette": "onetake.scopes",
    "install": "onetake.installing",
    "recorded": "onetake.adapters.function",
    "Batch": "onetake.batch.api",
    "Contract": "onetake.contract",
    "probe": "onetake.probing.running",
    "Session": "onetake.session",
    **dict.fromkeys(
        (
            "AdapterError",
            "ChildError",
            "ContractError",
            "FormatError",
            "InteractionNotFound",
            "NetworkRefusal",
            "NewerFormatError",
            "NotStored",
            "OnetakeError",
            "Refusal",
            "StoreError",
            "UnreadableEntry",
            "UsageError",
        ),
        "onetake.errors",
    ),
}

__all__ = sorted(_WHERE)  # noqa: PLE0605 - the names are those of the table above


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module 'onetake' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return [*__all__]
