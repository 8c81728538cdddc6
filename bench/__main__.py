"""`python -m bench [part]`: measure, print the tables, and write them to `bench/results.json`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import batch_runs, batches, importing, imports, keys, recording, replay, upkeep
from bench.table import machine, markdown
from onetake.settings_start import set_start

PARTS = ("replay", "key", "import", "recording", "upkeep", "batch", "batch-run", "import-vcr")


def main() -> None:
    """Run the parts that were asked for."""
    asked = _arguments()
    with TemporaryDirectory(prefix="onetake-bench-", dir=asked.folder) as name:
        folder = Path(name)
        set_start(folder)  # no settings, and no `.onetake` folder, of whatever lies around us
        parts = _parts(folder, asked)
        results: dict[str, Any] = machine()
        print(f"{results['day']}, {results['machine']}.\n", flush=True)
        for part in asked.parts or PARTS:
            results[part] = parts[part]()
            print(markdown(part, results[part]), flush=True)
    asked.results.write_text(json.dumps(results, indent=2) + "\n")


def _parts(folder: Path, asked: argparse.Namespace) -> dict[str, Callable[[], list[dict[str, Any]]]]:
    calls, count = asked.calls, asked.rounds
    return {
        "replay": lambda: replay.measure(folder, calls=calls, count=count, entries=asked.entries),
        "key": lambda: keys.measure(calls=calls, count=count),
        "import": lambda: imports.measure(count=count),
        "recording": lambda: recording.measure(folder, calls=calls, count=count),
        "upkeep": lambda: upkeep.measure(folder, count=count, entries=asked.entries),
        "batch": lambda: batches.measure(folder, count=count, entries=asked.entries),
        "batch-run": lambda: batch_runs.measure(folder, count=count, entries=asked.entries),
        "import-vcr": lambda: importing.measure(folder, entries=asked.entries),
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure onetake beside its peers.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="part", help=f"{', '.join(PARTS)}; all")
    parser.add_argument(
        "--entries",
        type=int,
        help="replay, upkeep: only so many entries; batch, batch-run: records; import-vcr: cassettes",
    )
    parser.add_argument("--calls", type=int, default=750, help="calls a figure, at least (750)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds in which the calls are made (15)")
    parser.add_argument("--folder", help="where cassettes are written; the system's temporary folder")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("results.json"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
