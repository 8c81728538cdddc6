"""What one runner at a time holds of a batch: the output that it makes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onetake.claims import Claims, hidden
from onetake.errors import UsageError


def folder_of(path: Path) -> Path:
    """Return where a batch keeps what belongs to a store, or to an output: beside it, out of git's sight.

    Args:
        path: The store or the output.
    """
    return path.absolute().parent / ".onetake" / "batch"


@contextmanager
def making(output: Path) -> Iterator[None]:
    """Keep every other run from making the same output inside the block.

    Args:
        output: Its file; the same one by whatever links it is reached.

    Raises:
        UsageError: Another run is making it.
        StoreError: Its folder cannot be written to.
    """
    real = output.resolve()
    claims, name = Claims(hidden(folder_of(real)) / "outputs.lock"), os.path.normcase(real.name)
    if not claims.take(name):
        raise UsageError(f"{output}: another run is making this output; let that end, or name another one")
    try:
        yield
    finally:
        claims.free(name)
