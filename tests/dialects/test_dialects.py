import sys

import pytest

from onetake import dialects

PLUG_IN = """
class Mine:
    name = {name!r}

    def speaks(self, method, url):
        return url.endswith("/chat/completions")


DIALECT = Mine()
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install packages with a dialect each; without them at the end."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(*names):
        for name in names:
            (tmp_path / f"plugged_{name}.py").write_text(PLUG_IN.format(name=name))
            info = tmp_path / f"{name}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            (info / "entry_points.txt").write_text(f"[onetake.dialects]\n{name} = plugged_{name}:DIALECT\n")
            modules.append(f"plugged_{name}")
        dialects.known.cache_clear()

    modules = []
    yield install
    for module in modules:
        sys.modules.pop(module, None)
    monkeypatch.undo()
    dialects.known.cache_clear()


def test_every_dialect_has_a_name_of_its_own():
    names = [dialect.name for dialect in dialects.known()]
    assert sorted(set(names)) == sorted(names)


def test_what_is_installed_takes_a_path_back_from_a_built_in_dialect(installed):
    url = "https://api.example/v1/chat/completions"
    assert dialects.find("POST", url).name == "openai-chat"
    installed("zulu", "alpha")
    assert dialects.find("POST", url).name == "alpha", "the first of their names"
    assert [dialect.name for dialect in dialects.known()][:3] == ["alpha", "zulu", "openai-chat"]
    assert dialects.find("POST", "https://api.example/v1/messages").name == "anthropic-messages"
