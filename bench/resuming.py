"""`python -m bench.resuming FOLDER ROWS`: look for all replies of a finished batch, then publish it; what that took."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from time import perf_counter

from bench.batches import FinishedBatch
from bench.timing import timed


def main() -> None:
    """Scan, publish, and say what it took."""
    batch = FinishedBatch(Path(sys.argv[1]), int(sys.argv[2]), is_there=True)
    began, early = perf_counter(), 0
    for number in batch.scan():
        if number == min(1_000, batch.rows):
            early = _memory()
    took, publish = perf_counter() - began, timed(batch.replay)
    memory = {"early": early, "end": _memory()}
    print(json.dumps({"seconds": round(took, 2), "publish_s": round(publish, 2), "mb": memory}))


def _memory() -> int:
    """Return the most memory that this process has taken, in MB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
