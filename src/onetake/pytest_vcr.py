"""What the `vcr` marker of a test says, with the fixtures and the hook that configure it, in our words."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from onetake import modes
from onetake.errors import UsageError
from onetake.pytest_vcr_places import cassette_name, moved
from onetake.pytest_vcr_serving import HOOK, acts, is_marked
from onetake.stores.naming import folder_name
from onetake.vcrwords.naming import without_ending

if TYPE_CHECKING:
    from onetake.preparing import Preparing
    from onetake.vcrwords.configuration import Configuration

_LONGEST = 255

_given = pytest.StashKey["_Given"]()
_configured = pytest.StashKey["Configuration"]()


@dataclass(frozen=True, slots=True)
class _Given:
    """What the fixtures and the hook of a test say."""

    said: Mapping[str, Any]
    is_in_config: bool
    """Whether `vcr_config` says a mode, and not only the hook."""
    matchers: Mapping[str, Any]
    folder: Path | None
    name: str


def read_fixtures(request: pytest.FixtureRequest) -> None:
    """Read the fixtures and the hook by which the cassette of a marked test is configured.

    Args:
        request: The test's.
    """
    item = request.node
    from onetake.vcrwords.configuration import Registry

    registry = Registry()
    if hook := getattr(item.config.hook, HOOK, None):
        hook(config=item.config, vcr=registry)
    config = request.getfixturevalue("vcr_config")
    if not isinstance(config, Mapping):
        pytest.fail(f"onetake: the fixture vcr_config gives a {type(config).__name__}, not a mapping", pytrace=False)
    said = {**registry.said, **config}
    if allowed := request.getfixturevalue("allowed_hosts"):
        said["allowed_hosts"] = allowed
    folder = request.getfixturevalue("vcr_cassette_dir")
    name = str(request.getfixturevalue("default_cassette_name") or cassette_name(item))
    item.stash[_given] = _Given(
        said, "record_mode" in config, registry.matchers, Path(folder) if folder else None, name
    )


def configuration_of(item: pytest.Item) -> Configuration:
    """Return a marked test's configuration.

    Raises:
        UsageError: Something in it has no equal here.
    """
    if _configured not in item.stash:
        from onetake.vcrwords.configuration import Configuration

        given = item.stash.get(_given, None)
        item.stash[_configured] = Configuration(_said_in_vcrpys_words(item), given.matchers if given else {})
    return item.stash[_configured]


def preparing_of(item: pytest.Item) -> Preparing | None:
    """Return what a marked test's configuration does to requests and answers; None for any other test.

    Raises:
        UsageError: Something in it has no equal here.
    """
    return configuration_of(item).preparing if is_marked(item) else None


@contextmanager
def mode_of(item: pytest.Item) -> Iterator[None]:
    """Have a `record_mode` of the configuration go before the option in the block, as in pytest-recording."""
    if not fixed_in(item):
        yield
        return
    before = modes.set_flag(None)
    try:
        yield
    finally:
        modes.set_flag(before)


def fixed_in(item: pytest.Item) -> str:
    """Return where a marked test's `record_mode` is said, one of `modes.VCR_PLACES`; empty where it is not."""
    if not is_marked(item):
        return ""
    if any("record_mode" in marker.kwargs for marker in item.iter_markers("vcr")):
        return modes.VCR_PLACES[0]
    given = item.stash.get(_given, None)
    if given is None or "record_mode" not in given.said:
        return ""
    return modes.VCR_PLACES[1 if given.is_in_config else 2]


def said_by(node: pytest.Item | pytest.Collector) -> dict[str, Any]:
    """Return what the `vcr` markers of a test, a class or a module say in our words, the nearest first.

    Raises:
        UsageError: A test's markers name several cassettes that are there, or a value is none that vcrpy takes.
    """
    if not acts(node.config) or not (theirs := _said_in_vcrpys_words(node)):
        return {}
    from onetake.vcrwords import shapes

    shapes.check(theirs)
    said = dict(filter(None, (_in_our_words(word, value) for word, value in theirs.items())))
    if isinstance(node, pytest.Item) and (shared := _shared(node)) is not None:
        said["name"] = shared
    return said


def place_of(item: pytest.Item) -> tuple[Path, str] | None:
    """Return the folder that a marked test's own cassette lies in, and its name; None for any other test."""
    given = item.stash.get(_given, None)
    if given is None:
        return None
    said = _said_in_vcrpys_words(item)
    folder = Path(said.get("cassette_library_dir") or given.folder or item.path.parent / "cassettes" / item.path.stem)
    name, suffix = given.name, str(said.get("serializer") or ".yaml")
    if len(name) + len(suffix) > _LONGEST:
        digest = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
        name = f"{name[: _LONGEST - len(suffix) - len(digest) - 3]}...{digest}"
    if transform := said.get("path_transformer"):
        path = Path(transform(str(folder / name)))
        folder, name = path.parent, path.name
    return moved(item.config, folder), without_ending(name)


def notes(item: pytest.Item, *, legacy: bool) -> list[str]:
    """Return what of a test's configuration does not act here.

    Args:
        item: The test, which is marked.
        legacy: True where its settings have imported entries go by vcrpy's rule.
    """
    if _configured not in item.stash:
        return []
    found = item.stash[_configured].notes(legacy=legacy)
    said, option = _said_in_vcrpys_words(item).get("record_mode"), item.config.getoption("--record-mode", None)
    if said and option and getattr(said, "value", said) != option:
        where = f"record_mode = {getattr(said, 'value', said)} of {fixed_in(item)}"
        found.append(f"{where} goes before --record-mode={option}")
    return found


def _said_in_vcrpys_words(node: pytest.Item | pytest.Collector) -> dict[str, Any]:
    given = node.stash.get(_given, None)
    said = dict(given.said) if given else {}
    for marker in reversed(list(node.iter_markers("vcr"))):
        said |= marker.kwargs
    return said


def _shared(item: pytest.Item) -> Path | None:
    """Return a cassette that is not the test's own: what `default_cassette` names, or the one of its markers'.

    As in pytest-recording those of the markers are read besides its own and never written, so they count where they
    are there. A session has one cassette.
    """
    place = place_of(item)
    if place is None:
        return None
    own = place[0] / folder_name(place[1])
    named = [_named(path, place[0], item) for marker in item.iter_markers("vcr") for path in marker.args]
    there = [path for path in dict.fromkeys([own, *named]) if path.is_dir()]
    if len(there) > 1:
        merge = f"move the files of {there[1].name} into {there[0]}: entries of several cassettes may lie in one"
        raise UsageError(f"{len(there)} cassettes for one test, and a session has one: {merge}")
    if there and there[0] != own:
        return there[0]
    return own if item.get_closest_marker("default_cassette") is not None else None


def _named(path: str | Path, folder: Path, item: pytest.Item) -> Path:
    """Return the folder that a marker's path means, from the folder of the test's own cassette."""
    if Path(path).is_absolute():
        file = Path(path)
        return moved(item.config, file.parent) / folder_name(without_ending(file.name))
    file = Path(os.path.normpath(folder / path))
    return file.parent / folder_name(without_ending(file.name))


def _in_our_words(word: str, value: Any) -> tuple[str, Any] | None:
    """Return an argument of vcrpy's as ours; None for one that a session does not take."""
    match word:
        case "record_mode":
            from onetake.vcrwords.shapes import mode_of

            return "mode", mode_of(value)
        case "allow_playback_repeats":
            return "repeats", "same" if value else "sequence"
        case "ignore_hosts":
            hosts = [value] if isinstance(value, str) else list(value or ())
            return "spared", [f"[{host}]" if ":" in host else host for host in hosts if isinstance(host, str)]
        case _:
            return None
