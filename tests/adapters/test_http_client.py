"""http.client by itself: the suite, and what only this client has."""

from __future__ import annotations

import http.client
import types
from contextlib import contextmanager
from urllib.parse import urljoin, urlsplit

import pytest

from onetake.adapters import http_client as adapter
from onetake.errors import AdapterError
from onetake.testing import AdapterConformance, Answer


class _BrokenOffError(Exception):
    """Either of the two kinds of error that http.client raises where a body breaks off; the suite wants one class."""


class TestHttpClient(AdapterConformance):
    colours = ("sync",)
    read_error = _BrokenOffError
    encodings = ()

    def send(self, method, url, *, headers, body):
        with _opened(url) as connection:
            response = _sent(connection, method, url, headers, body)
            content = response.read()
            if response.status == 307:
                target = urljoin(url, response.getheader("location"))
                return self.send(method, target, headers=headers, body=body)
            return Answer(response.status, tuple(response.getheaders()), content)

    @contextmanager
    def stream(self, method, url, *, headers, body):
        with _opened(url) as connection, _sent(connection, method, url, headers, body) as response:
            yield iter(lambda: response.read1(65536), b"")


@contextmanager
def _opened(url):
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    try:
        yield connection
    except (http.client.IncompleteRead, ConnectionResetError) as error:
        raise _BrokenOffError from error
    finally:
        connection.close()


def _sent(connection, method, url, headers, body):
    place = urlsplit(url)
    connection.request(method, place.path + (f"?{place.query}" if place.query else ""), body or None, dict(headers))
    return connection.getresponse()


def test_a_module_of_another_shape_is_an_error_at_the_start():
    class HTTPConnection:
        default_port = 80

    HTTPConnection.__module__ = "elsewhere"
    module = types.SimpleNamespace(__name__="elsewhere", HTTPConnection=HTTPConnection)
    with pytest.raises(AdapterError, match=r"it has no HTTPConnection\.putrequest, endheaders, send"):
        adapter.patch(module)
    HTTPConnection.__module__ = "other"
    with pytest.raises(AdapterError, match="no HTTPConnection of its own"):
        adapter.patch(module)


def test_private_parts_that_moved_are_an_error_at_the_start():
    parts = ("putrequest", "endheaders", "send", "getresponse", "close", "connect")
    moved = type("HTTPConnection", (), dict.fromkeys(parts, lambda self: None) | {"__init__": lambda self, host: None})
    moved.__module__ = "elsewhere"
    with pytest.raises(AdapterError, match="_tunnel_host, _tunnel_port"):
        adapter.patch(types.SimpleNamespace(__name__="elsewhere", HTTPConnection=moved))


def test_this_version_has_the_known_shape():
    connection = http.client.HTTPConnection("example.com")
    assert connection._tunnel_host is None
    connection.set_tunnel("far.example", 8443)
    assert (connection._tunnel_host, connection._tunnel_port) == ("far.example", 8443)


def test_vcrpy_in_place_of_the_connection_is_named():
    theirs = type("VCRHTTPConnection", (), {"__module__": "vcr.stubs"})
    module = types.SimpleNamespace(__name__="http.client", HTTPConnection=theirs)
    assert adapter.rival(module) == "vcrpy"
    assert adapter.rival(http.client) == ""
