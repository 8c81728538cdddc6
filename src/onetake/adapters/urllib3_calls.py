"""One call of a pool's `urlopen`, of urllib3 or urllib3-future: what was asked, and what goes to the wire for it."""

from __future__ import annotations

from copy import copy
from functools import cache
from types import ModuleType
from typing import Any
from urllib.parse import quote

from onetake.adapters.urllib3_bodies import Body
from onetake.model import Request

_AS_SENT = "!#$%&'()*+,/:;=?@[]~"


class Reading:
    """How the caller reads one answer: decoded, or, as far as is known, as it lies on the wire."""

    def __init__(self) -> None:
        self._raw = False

    def is_raw(self) -> bool:
        """Tell whether it is, or may be, read as it lies on the wire."""
        return self._raw

    def note_raw(self) -> None:
        """Note that it is, or may be."""
        self._raw = True


class Asked:
    """What a pool was asked.

    Args:
        module: urllib3, or urllib3-future.
        pool: The pool.
        given: The arguments of `urlopen`, by name.
    """

    def __init__(self, module: ModuleType, pool: Any, given: dict[str, Any]) -> None:
        self.module, self.pool, self.given = module, pool, given
        retries, redirect = given.get("retries"), given.get("redirect", True)
        self._kind = module.util.Retry
        self.retries = (
            retries
            if isinstance(retries, self._kind)
            else self._kind.from_int(retries, redirect=redirect, default=pool.retries)
        )
        self.follows = bool(redirect)
        """Whether redirects, and with them retries after a status, belong to this call."""

    @property
    def preloads(self) -> bool:
        """Whether the body is to be read before the caller gets the response."""
        return bool(self.given.get("preload_content", True))

    def check_host(self) -> None:
        """Refuse a URL of another host, as the client does.

        Raises:
            HostChangedError: The client's own.
        """
        if self.given.get("assert_same_host", True) and not self.pool.is_same_host(self.given["url"]):
            raise self.module.exceptions.HostChangedError(self.pool, self.given["url"], self.retries)

    def request(self, place: str, body: Body) -> Request:
        """Return the request as it is matched and stored.

        Args:
            place: Its absolute URL.
            body: The body that it came with.
        """
        skipped = getattr(self.module.util, "SKIP_HEADER", None)
        pairs = tuple((text(name), text(value)) for name, value in self._headers.items() if value != skipped)
        return Request(self.given["method"].upper(), place, pairs, body.content)

    def sent(self, body: Body) -> dict[str, Any]:
        """Return the arguments for the client's own `urlopen`: each try after a status is to be a call of its own.

        Args:
            body: The body that it came with.
        """
        retries = self.retries if self.follows else _recast(self.retries, self._one_try)
        return self.given | self._body(body) | {"headers": self._identity(), "retries": retries}

    def again(self, body: Body, retries: Any) -> dict[str, Any]:
        """Return the arguments for the next try.

        Args:
            body: The body that it came with.
            retries: What is left after the try before.
        """
        return self.given | self._body(body) | {"retries": retries}

    def left_of(self, retries: Any) -> Any:
        """Return retries as the caller's own kind.

        Args:
            retries: What a response says is left, of the kind that `sent` gave.
        """
        return _recast(retries, type(self.retries))

    def is_due(self, response: Any) -> bool:
        """Tell whether the caller's retries want a next try.

        Args:
            response: The answer to this one.
        """
        return not self.follows and bool(
            response.retries.is_retry(
                self.given["method"], response.status, bool(response.headers.get("Retry-After"))
            )
        )  # fmt: skip

    def undoes(self, coding: str) -> bool:
        """Tell whether the client undoes a content-coding for who reads the answer decoded.

        Args:
            coding: As in the header, `gzip`.
        """
        return coding in self.module.HTTPResponse.CONTENT_DECODERS

    @property
    def _one_try(self) -> type:
        kind: Any = type(self.retries)
        return _one_try(kind)

    @property
    def _headers(self) -> Any:
        headers = self.given.get("headers")
        return self.pool.headers if headers is None else headers

    @staticmethod
    def _body(body: Body) -> dict[str, Any]:
        return {"body": body.again(), "body_pos": None}

    def _identity(self) -> Any:
        """Return the headers for the wire, with `identity` for any accept-encoding; the caller's stay as they are.

        Not where a signature covers it. Where there is none, http.client asks for `identity` by itself.
        """
        headers = self._headers
        names = [name for name in headers if text(name).lower() == "accept-encoding"]
        signed = any(
            text(name).lower() == "authorization" and "accept-encoding" in text(headers[name]).lower()
            for name in headers
        )
        if not names or signed:
            return headers
        headers = headers.copy()
        for name in names:
            headers[name] = "identity"
        return headers


def retried(asked: Asked, body: Body, response: Any) -> Any:
    """Return the response of the next try, as the caller's `Retry` says.

    Args:
        asked: What was asked.
        body: The body that it came with.
        response: The answer to the try before, after whose status the next is due.

    Raises:
        MaxRetryError: The client's own: no try is left, and the caller wants an error then.
    """
    retries = response.retries
    method, url = asked.given["method"], asked.given["url"]
    try:
        retries = retries.increment(method, url, response=response, _pool=asked.pool)
    except asked.module.exceptions.MaxRetryError:
        if not retries.raise_on_status:
            return response
        response.drain_conn()
        raise
    response.drain_conn()
    retries.sleep(response)
    return asked.pool.urlopen(**asked.again(body, retries))


def absolute(pool: Any, url: str) -> str:
    """Return the URL of a request as it leaves: without fragment, quoted as the client quotes it.

    Args:
        pool: The pool that is asked.
        url: What it is asked for: a path, or by way of a proxy a whole URL.
    """
    url = quote(url.partition("#")[0], safe=_AS_SENT)
    if not url.startswith("/"):
        return url
    host = f"[{pool.host}]" if ":" in pool.host and not pool.host.startswith("[") else pool.host
    standard = {"http": 80, "https": 443}.get(pool.scheme)
    port = "" if pool.port in (None, standard) else f":{pool.port}"
    return f"{pool.scheme}://{host}{port}{url}"


def text(value: Any) -> str:
    """Return a part of a header as text.

    Args:
        value: Bytes are latin-1; anything else is what `str` makes of it.
    """
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


@cache
def _one_try(kind: Any) -> type:
    """Return a twin of a `Retry` class that retries no status: each try that is answered is a call of its own."""
    return type(kind.__name__, (kind,), {"is_retry": lambda self, *args, **kwargs: False})


def _recast(retries: Any, kind: type) -> Any:
    twin = copy(retries)
    twin.__class__ = kind
    return twin
