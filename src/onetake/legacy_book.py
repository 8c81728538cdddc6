"""`onetake-legacy.json`: how many answers each test of a project still gets for requests that differ.

It lies beside the settings and is committed. A test with 0 is clean, and goes by strict matching from then on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from onetake import strictjson
from onetake.errors import FormatError
from onetake.options import Options
from onetake.settings import Settings
from onetake.stores import files

NAME = "onetake-legacy.json"
FORMAT = 1
_LARGEST = 16 * 1024 * 1024


def read(root: Path) -> dict[str, int]:
    """Return how many answers of each test went to requests that differ, by the test's id; empty without a file.

    Args:
        root: The settings' folder.

    Raises:
        FormatError: The file is damaged, or of a newer onetake.
    """
    path = root / NAME
    try:
        found = path.stat()
    except OSError:
        return {}
    return dict(_read(path, found.st_mtime_ns, found.st_size))


@lru_cache(maxsize=8)  # it is asked for each test
def _read(path: Path, _changed: int, _size: int) -> dict[str, int]:
    try:
        data = files.read(path, _LARGEST)
        said = {"onetake_legacy": FORMAT, "tests": {}} if data is None else strictjson.loads(data.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        why = "is damaged: restore it from version control, or delete it, and each test is seen anew"
        raise FormatError(f"{path.as_posix()}: {why} ({error})") from None
    is_known = isinstance(said, dict) and said.get("onetake_legacy") == FORMAT
    tests = said.get("tests") if is_known else None
    if not isinstance(tests, dict) or not all(type(number) is int and number >= 0 for number in tests.values()):
        raise FormatError(f"{path.as_posix()}: is no such file of this onetake: upgrade, or restore it")
    return tests


def write(root: Path, tests: Mapping[str, int]) -> None:
    """Write the file, a test a line, whole or not at all; the same tests always give the same bytes.

    Args:
        root: The settings' folder.
        tests: As `read` returns them.

    Raises:
        OSError: It cannot be written.
    """
    lines = ",\n".join(f"    {json.dumps(test, ensure_ascii=False)}: {tests[test]}" for test in sorted(tests))
    inside = f"{{\n{lines}\n  }}" if lines else "{}"
    text = f'{{\n  "onetake_legacy": {FORMAT},\n  "tests": {inside}\n}}\n'
    with files.temporary(root, text.encode("utf-8", "backslashreplace")) as temp:
        temp.chmod(0o644)
        temp.replace(root / NAME)


def narrowed(options: Options, settings: Settings, test: str) -> Options:
    """Return the options of a test's session: of one that is clean, with strict matching, unless its marker says more.

    Args:
        options: What its markers say.
        settings: The project's.
        test: Its id; empty outside tests.

    Raises:
        FormatError: The file is damaged.
    """
    if settings.match != "legacy" or options.match is not None or not test or not (known := read(settings.root)):
        return options
    from onetake.scrub import Scrubber  # only here: it is slow to load

    is_clean = known.get(Scrubber(settings.scrub).begin().text(test)) == 0
    return replace(options, match="whole") if is_clean else options
