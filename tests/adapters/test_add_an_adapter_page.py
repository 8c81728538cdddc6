"""The how-to page's own adapter passes the suite: its code is run as it stands there."""

from __future__ import annotations

import re
import types
from pathlib import Path

import pytest

from onetake.errors import AdapterError

_PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-an-adapter.md"
_CLIENT, _ADAPTER, _TEST = re.findall(r"```python\n(.*?)```", _PAGE.read_text("utf-8"), re.DOTALL)

oracle, adapter, page = (types.ModuleType(name) for name in ("oracle", "oracle_adapter", "test_oracle"))
page.oracle = oracle
for module, code in ((oracle, _CLIENT), (adapter, _ADAPTER), (page, _TEST)):
    exec(compile(code, module.__name__, "exec"), module.__dict__)


@pytest.fixture(autouse=True)
def _patched():
    adapter.patch(oracle)
    hook = oracle.Oracle.fetch
    adapter.patch(oracle)
    assert oracle.Oracle.fetch is hook


class TestOracle(page.TestOracle):
    pass


def test_an_unknown_shape_is_refused():
    with pytest.raises(AdapterError, match=r"Oracle\.fetch"):
        adapter.patch(types.ModuleType("oracle"))
