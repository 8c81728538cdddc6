"""The table of docs/reference/sdks.md, from what a run of the matrix found: `table.py [--write | --print] ROWS`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "sdks.md"
BEGIN, END = "<!-- matrix: written by scripts/matrix --write -->\n", "<!-- end of the matrix -->\n"


def table(rows: list[dict[str, str]]) -> str:
    """Return the rows as Markdown, by SDK and way."""
    lines = ["| SDK | way | carried by | dialect |", "| --- | --- | --- | --- |"]
    for row in sorted(rows, key=lambda row: (row["sdk"], _version(row["version"]), row["way"])):
        cells = (f"{row['sdk']} {row['version']}", row["way"], row["client"], row["dialect"] or "none")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _version(text: str) -> list[int]:
    return [int(part) if part.isdigit() else 0 for part in text.split(".")]


def main(arguments: list[str]) -> int:
    """Write, print or compare the table; returns the exit code."""
    if not arguments:
        sys.stderr.write("usage: table.py [--write | --print] ROWS\n")
        return 2
    rows = [json.loads(line) for line in Path(arguments[-1]).read_text("utf-8").splitlines()]
    found = table(rows)
    if "--print" in arguments:
        sys.stdout.write(found)
        return 0
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    written = before + BEGIN + found + END + after
    if "--write" in arguments:
        PAGE.write_text(written, "utf-8")
        return 0
    if written != page:
        sys.stderr.write(f"{PAGE.name} is not what the run found; scripts/matrix --write writes it\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
