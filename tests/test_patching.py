"""Clients are patched when they are there, whenever that is."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from types import ModuleType

import pytest

from onetake import patching
from onetake.adapters import httpx as adapter
from onetake.errors import AdapterError
from onetake.testing.provider import openai_chat


@pytest.fixture
def program(provider, tmp_path):
    """Run a program in a process of its own; it asks the provider and prints."""
    (tmp_path / "onetake.toml").touch()

    def run(source):
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(source).replace("URL", repr(provider.url + "/v1/chat/completions")))
        done = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


_ASK = """
def ask(client):
    return client.post(URL, json={"messages": []}).json()["choices"][0]["message"]["content"]
"""


@pytest.mark.parametrize("module", ["httpx", pytest.param("httpx2", marks=pytest.mark.whole)])
@pytest.mark.parametrize(
    "source",
    [
        "import onetake\nwith onetake.use_cassette('c', mode='once') as session:\n    import {0}\n    print(ask({0}))",
        "from {0} import Client\nimport onetake\nwith onetake.use_cassette('c', mode='once') as session:\n"
        "    print(ask(Client()))",
        "import {0}, onetake\nclient = {0}.Client()\nwith onetake.use_cassette('c', mode='once') as session:\n"
        "    print(ask(client))",
        "import onetake\nwith onetake.use_cassette('other', mode='once'):\n    pass\nimport {0}\n"
        "with onetake.use_cassette('c', mode='once') as session:\n    print(ask({0}))",
    ],
    ids=["imported-inside", "name-imported-before", "client-made-before", "imported-between"],
)
def test_a_client_is_recorded_whenever_it_is_imported(program, provider, module, source):
    provider.script([openai_chat("recorded")])
    code = _ASK + source.format(module) + "\nprint(len(session.recorded), len(session.played))"
    assert program(code) == ["recorded", "1", "0"]
    assert program(code) == ["recorded", "0", "1"]
    assert provider.count == 1


def test_a_module_that_is_imported_anew_is_patched_anew(program, provider):
    code = """
        import sys
        import onetake
        with onetake.use_cassette("c", mode="once") as session:
            import httpx
            for name in [name for name in sys.modules if name.partition(".")[0] == "httpx"]:
                del sys.modules[name]
            import httpx as again
            assert again is not httpx
            again.post(URL, json={"messages": []})
        print(len(session.recorded))
    """
    assert program(code) == ["1"]


def test_a_reloaded_module_is_patched_once(program, provider):
    code = """
        import importlib
        import httpx
        import onetake
        with onetake.use_cassette("c", mode="once") as session:
            importlib.reload(httpx).post(URL, json={"messages": []})
        print(len(session.recorded), httpx.__spec__.loader.__class__.__name__)
    """
    assert program(code) == ["1", "SourceFileLoader"]


def test_an_import_in_another_thread_while_sessions_open(program, provider):
    code = """
        import sys
        import threading
        import onetake
        def load():
            import httpx
            httpx.post(URL, json={"messages": []})
        with onetake.use_cassette("c", mode="once") as session:
            thread = threading.Thread(target=load)
            thread.start()
            for number in range(20):
                with onetake.use_cassette(f"c/{number}"):
                    pass
            thread.join()
        print(len(session.recorded))
    """
    assert program(code) == ["1"]


def test_a_session_imports_no_client(program):
    code = """
        import sys
        import onetake
        with onetake.use_cassette("c"):
            print(*({"httpx", "httpx2", "asyncio", "trio"} & set(sys.modules)), "none")
    """
    assert program(code) == ["none"]


def test_a_client_of_an_unknown_shape_is_refused_by_name():
    class Strange:
        __name__ = "httpx"
        __version__ = "9.0"

    with pytest.raises(AdapterError, match=r"cannot intercept httpx 9\.0: it has no HTTPTransport\.handle_request"):
        adapter.patch(Strange())


@pytest.mark.parametrize("part", ["AsyncHTTPConnectionPool", "ResponsePromise"])
def test_urllib3_future_in_the_place_of_urllib3_goes_to_its_own_adapter(monkeypatch, part):
    module = ModuleType("urllib3")
    module.__version__ = "2.99"
    setattr(module, part, type(part, (), {}))
    monkeypatch.setitem(sys.modules, "urllib3", module)
    with pytest.raises(AdapterError, match=r"cannot intercept urllib3-future 2\.99"):
        patching.install()


def test_urllib3_of_another_shape_is_refused_as_what_it_is(monkeypatch):
    module = ModuleType("urllib3")
    module.__version__ = "9.0"
    monkeypatch.setitem(sys.modules, "urllib3", module)
    with pytest.raises(AdapterError, match=r"cannot intercept urllib3 9\.0"):
        patching.install()
