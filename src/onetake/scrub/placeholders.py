"""What stands in the place of a secret: its kind, and a number by which the same one is known again."""

from __future__ import annotations

from urllib.parse import unquote_plus

from onetake.scrub.finder import PLACEHOLDER, Hit


class Placeholders:
    """The numbers of one interaction: by first appearance within a kind, after those that its texts already hold."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._last: dict[str, int] = {}
        self._watched: tuple[str | bytes, ...] = ()

    def watch(self, *texts: str | bytes) -> None:
        """Note the texts that are worked on now: the placeholders in them are taken. They are read only on a hit."""
        self._watched = texts

    def name(self, hit: Hit) -> str:
        """Return the placeholder of a secret: the same for the same one."""
        for text in self._watched:
            plain = text if isinstance(text, str) else text.decode("latin-1")
            for kind, number in PLACEHOLDER.findall(unquote_plus(plain)):
                self._last[kind] = max(self._last.get(kind, 0), int(number))
        self._watched = ()
        if hit.secret not in self._given:
            self._last[hit.kind] = self._last.get(hit.kind, 0) + 1
            self._given[hit.secret] = f"[{hit.kind} {self._last[hit.kind]}]"
        return self._given[hit.secret]
