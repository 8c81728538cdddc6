"""The fixtures of pytest-recording, for suites that were written for it; those of the suite itself go before them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from onetake.model import Mode
from onetake.pytest_items import failing, running
from onetake.pytest_vcr_serving import is_marked


@pytest.fixture(scope="session")
def record_mode(request: pytest.FixtureRequest) -> str:
    """Return what the command line says of the mode."""
    return request.config.getoption("--record-mode", None) or "none"


@pytest.fixture(scope="session")
def disable_recording(request: pytest.FixtureRequest) -> bool:
    """Return whether no test has a cassette."""
    return bool(request.config.getoption("--disable-recording", False))


@pytest.fixture
def vcr_config() -> dict[str, Any]:
    """Return the configuration that all cassettes share."""
    return {}


@pytest.fixture(scope="module")
def vcr_cassette_dir(request: pytest.FixtureRequest) -> str:
    """Return the folder of a module's cassettes."""
    return str(request.path.parent / "cassettes" / request.path.stem)


@pytest.fixture
def vcr_markers(request: pytest.FixtureRequest) -> list[pytest.Mark]:
    """Return the test's `vcr` markers, the nearest first."""
    return list(request.node.iter_markers("vcr"))


@pytest.fixture
def default_cassette_name(request: pytest.FixtureRequest) -> str:
    """Return the name of the test's cassette."""
    from onetake.pytest_vcr_places import cassette_name

    return cassette_name(request.node)


@pytest.fixture
def allowed_hosts(request: pytest.FixtureRequest, vcr_config: dict[str, Any]) -> list[str] | None:
    """Return the hosts that a test may reach although the network is blocked, as regular expressions."""
    marker = request.node.get_closest_marker("block_network")
    said = marker.kwargs.get("allowed_hosts") if marker else None
    said = said or request.config.getoption("--allowed-hosts", None) or vcr_config.get("allowed_hosts")
    return said.split(",") if isinstance(said, str) else said


@pytest.fixture
def block_network(_onetake_block_network: None) -> None:
    """Take the place of pytest-recording's own, by this name."""


@pytest.fixture(autouse=True)
def _onetake_block_network(request: pytest.FixtureRequest, _onetake_session: None) -> Iterator[None]:
    """Block the network for a test that is marked so, or for all, unless its cassette records."""
    marker = request.node.get_closest_marker("block_network")
    if marker is not None and (marker.args or set(marker.kwargs) - {"allowed_hosts"}):
        pytest.fail("block_network takes one argument, allowed_hosts, by its name", pytrace=False)
    test = request.node.stash.get(running, None)
    records = test is not None and test.run.session.mode is not Mode.NONE
    if records or not (marker or request.config.getoption("--block-network", False)):
        yield
        return
    from onetake import pytest_vcr_network
    from onetake.vcrwords import shapes

    allowed = request.getfixturevalue("allowed_hosts") or ()
    with failing():
        shapes.check({"allowed_hosts": allowed})
    with pytest_vcr_network.blocked(allowed):
        yield


@pytest.fixture
def vcr(request: pytest.FixtureRequest, _onetake_session: None) -> Any:
    """Return the test's cassette in vcrpy's words; None for a test without the marker."""
    test = request.node.stash.get(running, None)
    if test is None or not is_marked(request.node):
        return None
    from onetake import pytest_vcr
    from onetake.vcrwords.cassettes import VcrCassette
    from onetake.vcrwords.matching import compare_all

    said = pytest_vcr.configuration_of(request.node)
    return VcrCassette(test.scope.engine, said.preparing, compare_all(said.match_on, said.own))
