"""Who is told of calls to models that no session is concerned with: under pytest, those of tests without a cassette."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from onetake.steps import Policy


class Watch(Protocol):
    """What is told. A call is only let pass by an adapter; that it reaches a model, the sockets say."""

    @property
    def policy(self) -> Policy:
        """What tells model calls from all other traffic here and now, and knows the secrets."""

    def asked(self, method: str, url: str) -> None:
        """Be told of a request that an adapter lets pass; a client below the one that was intercepted is left out."""

    def reached(self, host: str, port: int | None, asked: str) -> None:
        """Be told that something is about to leave for a model; may raise, and then it does not.

        Args:
            host: Its name, or the address that the settings name.
            port: None where it is not known.
            asked: What leaves, in one printable line.
        """


watch: Watch | None = None
"""Who is told, in this whole process."""


def set_watch(new: Watch | None) -> Watch | None:
    """Set who is told; returns who was."""
    global watch
    before, watch = watch, new
    return before
