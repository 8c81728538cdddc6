"""Which urllib3 is intercepted, when, and what happens with one of another shape."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest
import urllib3

from onetake.adapters import urllib3 as adapter
from onetake.errors import AdapterError
from onetake.testing.provider import Provider


def test_patching_again_and_under_instrumentation_changes_nothing(monkeypatch):
    adapter.patch(urllib3)
    ours = urllib3.HTTPConnectionPool.urlopen
    adapter.patch(urllib3)
    assert urllib3.HTTPConnectionPool.urlopen is ours

    def instrumented(self, *args, **kwargs):
        return ours(self, *args, **kwargs)

    instrumented.__wrapped__ = ours
    monkeypatch.setattr(urllib3.HTTPConnectionPool, "urlopen", instrumented)
    adapter.patch(urllib3)
    assert urllib3.HTTPConnectionPool.urlopen is instrumented


def _untouched():
    found = urllib3.HTTPConnectionPool.urlopen
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    return found


def _other(urlopen=None, response=urllib3.HTTPResponse):
    module = types.ModuleType("urllib3")
    module.__version__ = "9.0"
    module.HTTPConnectionPool = type("HTTPConnectionPool", (), {"urlopen": urlopen} if urlopen else {})
    module.HTTPResponse = response
    return module


def _fewer(self, method, url, body=None, headers=None): ...


def _unknown_response(body=b""): ...


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (_other(), "urllib3 9.0: it has no HTTPConnectionPool.urlopen"),
        (_other(_fewer), "HTTPConnectionPool.urlopen without retries"),
        (_other(_untouched(), _unknown_response), "HTTPResponse without status"),
    ],
    ids=["nothing", "fewer", "response"],
)
def test_br_073_a_version_of_another_shape_is_an_adapter_error(module, said):
    with pytest.raises(AdapterError, match="onetake cannot intercept") as raised:
        adapter.patch(module)
    assert said in str(raised.value)


def test_onetake_imports_no_urllib3():
    code = "import sys, onetake; assert not {'urllib3', 'requests'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_program_that_imports_urllib3_inside_the_session(tmp_path):
    program = tmp_path / "program.py"
    (tmp_path / "onetake.toml").touch()
    program.write_text(
        "import json, sys\n"
        "from onetake import use_cassette\n"
        "with use_cassette('late', mode=sys.argv[2]) as session:\n"
        "    assert 'urllib3' not in sys.modules\n"
        "    import urllib3\n"
        "    body = json.dumps({'messages': [{'role': 'user', 'content': 'late'}]})\n"
        "    print(urllib3.PoolManager().request('POST', sys.argv[1], body=body).data.decode())\n"
        "print(len(session.recorded), len(session.played))\n"
    )
    with Provider() as provider:
        said = []
        for mode in ("once", "none"):
            args = [sys.executable, program, provider.url + "/v1/chat/completions", mode]
            said.append(
                subprocess.run(args, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
            )
            provider.close()
    assert said[0][0] == said[1][0]
    assert [lines[-1] for lines in said] == ["1 0", "0 1"]
