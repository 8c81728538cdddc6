"""What the outputs of a store need, noted beside the store: the roots from which a prune marks what stays.

Each output has a file here that says which run of it was the last, and a list of the keys that its rows were made from.
A list is on disk before its output gets its name, and an older one goes after that: of what stands, all is listed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO

from onetake.aside import hide
from onetake.batch.claims import folder_of
from onetake.batch.ledger import Ledger
from onetake.batch.opening import STDIN
from onetake.batch.remembering import Told, name_of
from onetake.errors import StoreError, UsageError
from onetake.store_users import READ_ONLY
from onetake.stores import files

_KEY = 32
_AT_ONCE = 4096
_GIVE_UP = "run the batch again, or give up with `--forget` what only it needs"


@dataclass(frozen=True, slots=True)
class Root:
    """What is known of an output.

    Args:
        told: What its last run was told.
        job: That run's job: `Job.digest`.
        keys: The digest of its keys, as in its manifest; empty while that run has not published it.
    """

    told: Told
    job: str
    keys: str = ""


class Needs:
    """The list of keys of one output that is being made.

    Within a `with`, in which it is written anew; it is kept by `keep`, or gone afterwards.

    Args:
        store: Where the replies are.
        out: The output.
    """

    def __init__(self, store: Path, out: Path) -> None:
        self._store, self._folder = store, _folder(store)
        self._name = name_of(out.absolute())
        self._temp = _temp(self._folder, self._name)
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Needs:
        with _told(self._temp):
            _make(self._folder)
            self._file = self._temp.open("wb")
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                files.remove(self._temp)

    def add(self, keys: Iterable[str]) -> None:
        """List the keys of a row."""
        if self._file is not None:
            self._file.writelines(map(bytes.fromhex, keys))

    def keep(self, digest: str) -> None:
        """Have the list on disk.

        Args:
            digest: Of all keys, as the manifest has it.

        Raises:
            StoreError: It cannot be written.
        """
        if self._file is not None:
            with _told(self._temp):
                files.sync(self._file)
                self._file.close()
                self._temp.replace(self._folder / f"{self._name}-{digest}.keys")
                files.sync_folder(self._folder)


def note(told: Told, job: str, keys: str = "") -> None:
    """Note the last run of an output; the list of one that is published is then the only one.

    Args:
        told: What it was told.
        job: See `Root`, as the next.

    Raises:
        StoreError: It cannot be written: a prune would not know of it.
    """
    folder, name = _folder(Path(told.store)), name_of(Path(told.output))
    path = folder / f"{name}.json"
    with _told(path):
        _make(folder)
        content = json.dumps(asdict(Root(told, job, keys))).encode("utf-8", "surrogatepass")
        temp = _temp(folder, name)
        with temp.open("wb") as file:
            file.write(content)
            files.sync(file)
        temp.replace(path)
        files.sync_folder(folder)
        for other in _lists(folder, name) if keys else ():
            if other.stem != f"{name}-{keys}":
                files.remove(other)


def roots_of(store: Path, left_out: Collection[str] = ()) -> list[Root]:
    """Return what is known of each output of a store.

    Args:
        store: A file or a folder.
        left_out: Outputs, absolute, whose notes are not even read.

    Raises:
        StoreError: A note is damaged.
    """
    skipped = {name_of(Path(output)) for output in left_out}
    return [_read(path) for path in sorted(_folder(store).glob("*.json")) if path.stem not in skipped]


def listed(store: Path, root: Root) -> Iterator[str]:
    """Return the keys that an output was made from, by all of its lists.

    Raises:
        StoreError: The list of a published output is not there, or one is damaged.
    """
    folder, name = _folder(store), name_of(Path(root.told.output))
    found = _lists(folder, name)
    if root.keys and folder / f"{name}-{root.keys}.keys" not in found:
        raise StoreError(f"{root.told.output}: the list of the replies that it needs is gone; {_GIVE_UP}")
    for path in found:
        yield from _keys(path, root)


def check_known(roots: Sequence[Root], ledger: Ledger, store: str, left_out: Collection[str]) -> None:
    """See that what all outputs of a store need can be told.

    Args:
        roots: Of all of them but those that are left out.
        ledger: Of the store.
        store: What messages call it.
        left_out: Outputs, absolute.

    Raises:
        UsageError: It cannot: nothing is noted of an output, or its run did not end and can be told no more.
    """
    for one in roots:
        if not one.keys and (not one.told.job or one.told.input == STDIN):
            why = "its input came from standard input" if one.told.job else "Python code made its job"
            raise _unknown(store, one.told.output, f"its run has not ended, and {why}")
    known = {one.told.output for one in roots}.union(left_out)
    for run in ledger.runs():
        if run.output_file and run.output_file not in known:
            raise _unknown(store, run.output_file, "the note of it beside the store is gone")


def _unknown(store: str, output: str, why: str) -> UsageError:
    end = "end its run, or give up with `--forget` what only it needs"
    return UsageError(f"{store}: what {output} needs cannot be told, as {why}: {end}")


def _keys(path: Path, root: Root) -> Iterator[str]:
    digest = sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_KEY * _AT_ONCE):
                for at in range(0, len(piece), _KEY):
                    key = piece[at : at + _KEY].hex()
                    digest.update(f"{key}\n".encode())
                    yield key
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error
    if digest.hexdigest() != path.stem.partition("-")[2]:
        raise StoreError(f"{path}: is damaged, and {root.told.output} needs what it lists; {_GIVE_UP}")


def _read(path: Path) -> Root:
    try:
        found = json.loads((files.read(path) or b"").decode("utf-8", "surrogatepass"))
        return Root(Told(**found["told"]), found["job"], found["keys"])
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError):
        raise StoreError(f"{path}: is damaged, and says what an output needs; {_GIVE_UP}") from None


def _folder(store: Path) -> Path:
    real = store.resolve()
    return folder_of(real) / f"{real.name}.needed"


def _lists(folder: Path, name: str) -> list[Path]:
    return sorted(folder.glob(f"{name}-*.keys"))


def _temp(folder: Path, name: str) -> Path:
    """Return what is written before it gets its name: one run makes an output, and the next takes what a kill left."""
    return folder / f"{name}.tmp"


def _make(folder: Path) -> None:
    hide(folder.parent.parent.parent)
    files.make_folder(folder)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say what cannot be written, unless nobody could write there, which is how prunes are kept away, too."""
    try:
        yield
    except OSError as error:
        if error.errno not in READ_ONLY:
            raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
