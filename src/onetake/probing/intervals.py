"""What a sample says of the whole: between which shares the truth lies."""

from __future__ import annotations

import math

_Z = 1.959964
"""Of an interval that holds the truth in 95 of 100 samples."""


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Return between which shares of the whole the truth lies, at 95 %.

    Args:
        hits: How many of a sample are meant, 0 to *of*.
        of: How many there are in it; 0 says nothing, which is `(0, 1)`.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    """
    if not of:
        return 0.0, 1.0
    share, spread = hits / of, _Z * _Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * math.sqrt(share * (1 - share) / of + spread / (4 * of))
    # At the ends it is exact, and floats are not.
    return 0.0 if hits == 0 else middle - half, 1.0 if hits == of else middle + half
