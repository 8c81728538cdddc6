"""Which requests of a program are interactions, and which are none of our business."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from copy import copy
from enum import StrEnum
from functools import lru_cache
from typing import Self
from urllib.parse import urlsplit

from onetake import dialects, loopback
from onetake.errors import UsageError
from onetake.model_hosts import is_model_host
from onetake.quiet import QUIET

_PATTERN = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|(?:\*|[A-Za-z0-9_-]+)(?:\.(?:\*|[A-Za-z0-9_-]+))*)(?::(?P<port>\d{1,5}))?(?P<path>/[^\s?#]*)?"
)
_LOOPBACK = re.compile(r"(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[(?:::1|(?:0+:){7}0*1|::ffff:127(?:\.\d{1,3}){3})\]")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Route(StrEnum):
    """What a request of the program is to us."""

    INTERACTION = "interaction"
    """Recorded and replayed."""
    IGNORED = "ignored"
    """Named by `ignore`: it passes, untouched."""
    QUIET = "quiet"
    """On the quiet list: never stored, never counted."""
    LOCAL = "local"
    """The program's own traffic on loopback: it passes, untouched."""


class Traffic:
    """Tell interactions from all other traffic.

    Args:
        hosts: Patterns of what is an interaction wherever it goes, before the quiet list and loopback.
        ignore: Patterns of what passes untouched, before everything else.
        quiet: Patterns added to the built-in quiet list; unlike those, they count for every path.
        spared: Patterns of what a suite's own `ignore_hosts` for vcrpy lets pass, before everything else.
        sealed: True where nothing may go live: then no call to a model passes by a suite's own words, only by `ignore`.

    A pattern is `host`, `host:port`, `host/path` or `host:port/path`: `api.example.com`, `127.0.0.1:8000`,
    `[::1]:8000`, `*.example.com` (its subdomains), `example.com/v1/*`. A `*` stands for labels of a host or for any
    text of a path; without a port every port is meant, without a path every path.

    Raises:
        UsageError: A pattern is none of these, or would name every host.
    """

    def __init__(
        self,
        *,
        hosts: Sequence[str] = (),
        ignore: Sequence[str] = (),
        quiet: Sequence[str] = (),
        spared: Sequence[str] = (),
        sealed: bool = False,
    ) -> None:
        self.said = {"hosts": frozenset(hosts), "ignore": frozenset(ignore)}
        """The patterns of each kind, as they were given."""
        self._hosts = _compile("hosts", hosts)
        self._ignore = _compile("ignore", ignore)
        self._quiet = _compile("quiet", quiet)
        self._exact = _compile("ignore", [pattern for pattern in (*ignore, *quiet) if _is_exact(pattern)])
        said = ((Route.IGNORED, ignore), (Route.INTERACTION, hosts), (Route.QUIET, quiet))
        self._alone = [*((route, *_hosts_alone(patterns)) for route, patterns in said), (Route.QUIET, *_BUILT_IN_ALONE)]
        self._spared = _compile("ignore_hosts", spared)
        self._spared_alone = _hosts_alone(spared)
        self._sealed = sealed
        self._passes: Callable[[str, str], str] | None = None
        self._connects: Callable[[str], bool] | None = None
        self._known = lru_cache(maxsize=1024)(self._verdict)
        self._known_alone = lru_cache(maxsize=1024)(self._connection)

    def verdict(self, method: str, url: str) -> Route:
        """Say what a request is.

        Args:
            method: Upper case; `CALL` for a decorated function.
            url: Absolute URL, or `function:<qualified name>`.

        Returns:
            The route; a URL that cannot be read is an interaction, so that nothing slips out through it.
        """
        return self._known(method, url)

    def letting(self, passes: Callable[[str, str], str] | None, connects: Callable[[str], bool] | None) -> Self:
        """Return the same with what a suite's own functions let pass besides: like `spared`, before everything else.

        Args:
            passes: Given a method and a URL, names what has such a request be ignored; else empty.
            connects: Given a host, tells whether a connection to it is; its requests may be interactions all the same.
        """
        other = copy(self)
        other._passes, other._connects = passes, connects
        other._known = lru_cache(maxsize=1024)(other._verdict)
        other._known_alone = lru_cache(maxsize=1024)(other._connection)
        return other

    def withheld(self, method: str, url: str) -> str:
        """Name the suite's own word by which a call to a model would pass, were the session not sealed; else empty."""
        place = _place(url) if self._sealed else None
        if place is None or self._ignore.fullmatch(place[1]) or not self._is_models(method, url, *place):
            return ""
        by = self._left_out_by(method, url, place[1])
        return by or ("allowed_hosts" if self._may_connect(place[0].strip("[]")) else "")

    def names(self, url: str) -> bool:
        """Tell whether `hosts` names a URL."""
        place = _place(url)
        return place is not None and self._hosts.fullmatch(place[1]) is not None

    def connection(self, host: str, port: int | None) -> Route | None:
        """Say what a connection is, of which neither method nor path is known.

        Args:
            host: A name or an address, in lower case, without brackets.
            port: None where it is not known: then that of a pattern does not count, unless it is one of `hosts`.

        Returns:
            The route by the first pattern for every path that fits; `LOCAL` for other loopback; else None.
        """
        return self._known_alone(host, port)

    def spares(self, names: Collection[str], port: int | None) -> bool:
        """Tell whether a suite's own words let a connection pass, of which neither method nor path is known.

        Args:
            names: All names of its other end, as `connection` takes one.
            port: None where it is not known.
        """
        routes = {self.connection(name, port) for name in names}
        if self._sealed and (Route.INTERACTION in routes or any(map(is_model_host, names))):
            return False
        return any(map(self._may_connect, names)) or any(
            self._spared_alone[port is None].fullmatch(f"{_bracketed(name)}:{port or 0}/") for name in names
        )

    def _connection(self, host: str, port: int | None) -> Route | None:
        host = _bracketed(host)
        for route, with_port, without in self._alone:
            pattern = without if port is None and route is not Route.INTERACTION else with_port
            if pattern.fullmatch(f"{host}:{port or 0}/"):
                return route
        return Route.LOCAL if _LOOPBACK.fullmatch(host) else None

    def _may_connect(self, host: str) -> bool:
        return self._connects is not None and self._connects(host)

    def _left_out_by(self, method: str, url: str, target: str) -> str:
        """Name the suite's own word that leaves a request out, if any."""
        if self._spared.fullmatch(target):
            return "ignore_hosts"
        return self._passes(method, url) if self._passes is not None else ""

    def _is_models(self, method: str, url: str, host: str, target: str) -> bool:
        """Tell whether a request is a model's: by its host, by `hosts`, or by its path."""
        is_known = is_model_host(host) or self._hosts.fullmatch(target) is not None
        return is_known or _dialect_of(method, url, host) is not None

    def warning(self, method: str, url: str) -> str:
        """Return what to say of a request that passes untouched and speaks a known dialect, empty for others.

        Nothing where `ignore` or `quiet` names its port or its path: whoever writes that means it. A pattern that names
        a whole host may let model calls slip out with the rest, and so may loopback where Ollama has a port of its own.

        Returns:
            The rest of a line that begins with the request.
        """
        place = _place(url)
        if place and self._exact.fullmatch(place[1]):
            return ""
        if self._known(method, url) is Route.LOCAL:
            own = "name its server in `hosts`, or in `ignore` if it is the program's own"
            may_be = loopback.may_be_ollama(method, url)
            return f"may be a model call (ollama) and is not recorded: {own}" if may_be else ""
        host, target = place or ("", "")
        dialect = _dialect_of(method, url, host)
        if dialect is None:
            return ""
        by = self._left_out_by(method, url, target)
        what = f"the suite's {by}, which lets" if by else "the pattern that lets"
        return f"looks like a model call ({dialect.name}) and is not recorded: narrow {what} it pass"

    def _verdict(self, method: str, url: str) -> Route:
        place = _place(url)
        if place is None:
            return Route.INTERACTION
        host, target = place
        if self._ignore.fullmatch(target):
            return Route.IGNORED
        if self._left_out_by(method, url, target):
            is_withheld = self._sealed and self._is_models(method, url, host, target)
            return Route.INTERACTION if is_withheld else Route.IGNORED
        if self._hosts.fullmatch(target):
            return Route.INTERACTION
        if self._quiet.fullmatch(target):
            return Route.QUIET
        if _is_built_in(target):
            return Route.QUIET if dialects.find(method, url) is None else Route.INTERACTION
        if _LOOPBACK.fullmatch(host):
            return Route.LOCAL if loopback.dialect_of(method, url) is None else Route.INTERACTION
        return Route.INTERACTION


def _dialect_of(method: str, url: str, host: str) -> dialects.Dialect | None:
    is_local = _LOOPBACK.fullmatch(host) is not None
    return loopback.dialect_of(method, url) if is_local else dialects.find(method, url)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _hosts_alone(patterns: Iterable[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Make two expressions of the patterns that name a host with every path: as they are, and whatever their port."""
    bare = [pattern.removesuffix("/*") for pattern in patterns]
    alone = [pattern for pattern in bare if "/" not in pattern and pattern.strip("*.")]
    hosts = [re.sub(r":\d+$", "", pattern) for pattern in alone]
    return _compile("hosts", alone), _compile("hosts", [host for host in hosts if host.strip("*.")])


@lru_cache(maxsize=512)
def _is_built_in(target: str) -> bool:
    return _BUILT_IN.fullmatch(target) is not None


def _place(url: str) -> tuple[str, str] | None:
    """Return the host, and what patterns are matched against (`host:port/path`); None for what is no URL of a host."""
    try:
        split = urlsplit(url)
        port = split.port or _DEFAULT_PORTS.get(split.scheme, 0)
    except ValueError:
        return None
    if not split.hostname:
        return None
    host = _bracketed(split.hostname.rstrip("."))
    return host, f"{host}:{port}{split.path or '/'}"


def _compile(setting: str, patterns: Iterable[str]) -> re.Pattern[str]:
    """Make one expression of all patterns; without any it matches nothing."""
    return re.compile("|".join(_expression(setting, pattern) for pattern in patterns) or r"(?!)")


def _is_exact(pattern: str) -> bool:
    found = _PATTERN.fullmatch(pattern)
    return found is not None and bool(found["port"] or found["path"])


def _expression(setting: str, pattern: str) -> str:
    found = _PATTERN.fullmatch(pattern)
    if found is None:
        raise UsageError(f"{setting}: {_complaint(pattern)}")
    host, port, path = found["host"].lower(), found["port"], found["path"]
    if not host.strip("*.") and not port and not path:
        raise UsageError(f"{setting}: {pattern!r} names every host; add a port or a path, or name the host")
    if port and not 0 < int(port) < 65536:
        raise UsageError(f"{setting}: {pattern!r} has no port of 1 to 65535")
    return (
        re.escape(host).replace(r"\*", r"[^:/\[\]]+")
        + (f":{int(port)}" if port else r":\d+")
        + (re.escape(path).replace(r"\*", ".*") if path else "/.*")
    )


def _complaint(pattern: str) -> str:
    if "://" in pattern:
        return f"leave the scheme out of {pattern!r}: {pattern.partition('://')[2]!r}"
    if pattern.endswith(":*"):
        return f"leave the port out of {pattern!r}, then every port is meant"
    return f"{pattern!r} is no pattern; write host, host:port or host/path, as in *.example.com or 127.0.0.1:8000"


_BUILT_IN = _compile("quiet", [pattern for _, patterns in QUIET for pattern in patterns])
_BUILT_IN_ALONE = _hosts_alone([pattern for _, patterns in QUIET for pattern in patterns])
