"""What a program or a test sees of its session: what was asked, replayed, recorded and refused."""

from __future__ import annotations

from contextlib import AbstractContextManager

from onetake.engine import Engine
from onetake.errors import Refusal
from onetake.ledger import Expected
from onetake.model import Entry, Mode, Request


class Session:
    """An open cassette. `use_cassette` and the `cassette` fixture give it.

    Args:
        engine: What answers the session's calls.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def mode(self) -> Mode:
        """The mode it runs in."""
        return self._engine.policy.mode

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every readable entry of the cassette, by key and ordinal."""
        return tuple(entry for _, _, entry in self._engine.cassette.all() if isinstance(entry, Entry))

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request that was asked, as it left its client, in the order of asking."""
        return tuple(self._engine.requests)

    @property
    def played(self) -> tuple[Entry, ...]:
        """The entries that were replayed, in the order of asking."""
        found = (self._engine.cassette.load(key, ordinal) for key, ordinal in self._engine.played)
        return tuple(entry for entry in found if isinstance(entry, Entry))

    @property
    def recorded(self) -> tuple[Entry, ...]:
        """The entries that were written."""
        return tuple(self._engine.recorded)

    @property
    def rejects(self) -> tuple[Entry, ...]:
        """The answers that the gate refused."""
        return tuple(self._engine.rejected)

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Every refusal, the expected ones too."""
        return self._engine.ledger.all

    @property
    def unused(self) -> tuple[Entry, ...]:
        """The entries that this session neither replayed nor wrote."""
        touched = set(self._engine.played) | {(entry.key, entry.ordinal) for entry in self._engine.recorded}
        return tuple(entry for entry in self.entries if (entry.key, entry.ordinal) not in touched)

    def expect_refusal(self, kind: type[Refusal] = Refusal) -> AbstractContextManager[Expected]:
        """Open a block in which a refusal is expected: it is acknowledged, and swallowed if it comes through.

        Args:
            kind: The class that is expected, such as `ContractError`; a refusal of another fails the test as ever.

        Raises:
            UsageError: The block ended without such a refusal, or *kind* is no class of refusals.
        """
        return self._engine.ledger.expecting(kind)
