"""`block_network`: what is let out, and what is as before behind it."""

from __future__ import annotations

import socket

import pytest

from onetake.pytest_vcr_network import blocked

pytest_plugins = ("pytester",)


@pytest.fixture
def port():
    """A port of this machine that somebody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_only_hosts_that_are_named_from_their_beginning_are_reached(port):
    with blocked(["10[.]", "127[.]0"]):
        socket.create_connection(("127.0.0.1", port), 5).close()
    for allowed in ([], ["0.0.1"]):
        with blocked(allowed), pytest.raises(RuntimeError, match=r"^Network is disabled for host '127.0.0.1'$"):
            socket.create_connection(("127.0.0.1", port), 5)


def test_every_way_to_connect_is_blocked_and_a_pair_of_sockets_is_none(port):
    with blocked([]):
        with socket.socket() as one, pytest.raises(RuntimeError, match="127"):
            one.connect_ex((bytearray(b"127.0.0.1"), port))
        left, right = socket.socketpair()
        with left, right:
            left.sendall(b"x")
            assert right.recv(1) == b"x"


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no sockets with paths")
def test_a_socket_with_a_path_is_blocked_by_it():
    with blocked(["/run"]), socket.socket(socket.AF_UNIX) as one:
        with pytest.raises(RuntimeError, match="host '/nowhere'"):
            one.connect("/nowhere")
        with pytest.raises(OSError, match="No such file"):
            one.connect("/run/nowhere")


def test_all_is_as_before_behind_it_though_it_ends_by_an_error(port):
    before = socket.socket.connect, socket.socket.connect_ex, socket.socketpair
    with pytest.raises(KeyError), blocked([]):
        raise KeyError
    assert (socket.socket.connect, socket.socket.connect_ex, socket.socketpair) == before
    socket.create_connection(("127.0.0.1", port), 5).close()


def test_block_network_and_its_options(inner, provider):
    inner.write(
        "test_it.py",
        """
        import os, socket
        from urllib.parse import urlsplit
        import pytest

        def reach():
            place = urlsplit(os.environ["PROVIDER"])
            socket.create_connection((place.hostname, place.port), 5).close()

        @pytest.mark.block_network
        def test_blocked():
            with pytest.raises(RuntimeError, match="Network is disabled for host '127.0.0.1'"):
                reach()

        @pytest.mark.block_network(allowed_hosts=["127[.]0"])
        def test_allowed(): reach()

        def test_plain(): reach()

        @pytest.mark.block_network("x")
        def test_wrong(): pass

        @pytest.mark.block_network(allowed_hosts=["*"])
        def test_no_expression(): pass
        """,
    )
    result = inner("--strict-markers")
    result.assert_outcomes(passed=3, errors=2)
    assert "onetake: allowed_hosts takes regular expressions of hosts" in result.stdout.str()
    inner("--block-network").assert_outcomes(passed=2, failed=1, errors=2)
    inner("--block-network", "--allowed-hosts=10.,127.").assert_outcomes(passed=2, failed=1, errors=2)
