"""What a person says of an entry, as it is kept in its provenance."""

from __future__ import annotations

from onetake.printable import block
from onetake.scrub import Scrubber


def reason_of(text: str, scrubber: Scrubber) -> str:
    """Return a reason as it is kept: printable, its line ends as they are, and without secrets.

    Args:
        text: What was said; may be empty.
        scrubber: The project's.
    """
    return scrubber.begin().text(block(text).strip())
