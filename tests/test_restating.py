import pytest

from onetake.restating import restate
from onetake.settings import load_settings


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("onetake.toml", 'match = "legacy"\n', 'match = "legacy"\nlegacy_differing = 7\n'),
        ("onetake.toml", 'match = "legacy"', 'match = "legacy"\nlegacy_differing = 7\n'),
        ("onetake.toml", "legacy_differing = 388  # may fall\r\n", "legacy_differing = 7  # may fall\r\n"),
        (
            "pyproject.toml",
            '[project]\nname = "x"\n\n[tool.onetake]\nmatch = "legacy" # soon\n\n[tool.a]\n',
            '[project]\nname = "x"\n\n[tool.onetake]\nmatch = "legacy" # soon\nlegacy_differing = 7\n\n[tool.a]\n',
        ),
        (
            "pyproject.toml",
            "[tool.other]\nlegacy_differing = 1\n[tool.onetake]\nlegacy_differing = 388\n",
            "[tool.other]\nlegacy_differing = 1\n[tool.onetake]\nlegacy_differing = 7\n",
        ),
    ],
)
def test_only_the_number_is_written(tmp_path, name, before, after):
    path = tmp_path / name
    path.write_bytes(before.encode())
    assert restate(tmp_path, "legacy_differing", 7, "match") == path
    assert path.read_bytes().decode() == after
    assert load_settings(tmp_path).legacy_differing == 7


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("onetake.toml", 'mode = "none"\n'),
        ("pyproject.toml", '[tool]\nonetake = { match = "legacy" }\n'),
        ("pyproject.toml", '[tool.onetake]\nkeep = [\n]\ndescription = """\nlegacy_differing = 3\n"""\n'),
        ("pyproject.toml", "[tool.onetake\n"),
    ],
)
def test_what_cannot_be_done_so_is_left_as_it_is(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert restate(tmp_path, "legacy_differing", 7, "match") is None
    assert path.read_text("utf-8") == text


def test_settings_of_a_folder_above_are_not_this_ones(tmp_path):
    (tmp_path / "onetake.toml").write_text('match = "legacy"\n', "utf-8")
    (tmp_path / "below").mkdir()
    assert restate(tmp_path / "below", "legacy_differing", 7, "match") is None
    assert (tmp_path / "onetake.toml").read_text("utf-8") == 'match = "legacy"\n'


def test_without_settings_there_is_nothing_to_write(tmp_path):
    assert restate(tmp_path, "legacy_differing", 7, "match") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("onetake.toml", "", "legacy_loose = 7\n"),
        ("onetake.toml", "# ours\n", "# ours\nlegacy_loose = 7\n"),
        ("onetake.toml", 'mode = "none"', 'mode = "none"\nlegacy_loose = 7\n'),
        (
            "onetake.toml",
            'keep = [\r\n  "cut",\r\n]\r\n\r\n[key]\r\n',
            'keep = [\r\n  "cut",\r\n]\r\nlegacy_loose = 7\r\n\r\n[key]\r\n',
        ),
        ("pyproject.toml", "[tool.onetake]\n[tool.a]\n", "[tool.onetake]\nlegacy_loose = 7\n[tool.a]\n"),
        (
            "pyproject.toml",
            '[tool.onetake]\nmode = "none"\n\n[tool.a]\n',
            '[tool.onetake]\nmode = "none"\nlegacy_loose = 7\n\n[tool.a]\n',
        ),
    ],
)
def test_what_no_line_names_yet_comes_at_the_end_of_the_table(tmp_path, name, before, after):
    path = tmp_path / name
    path.write_bytes(before.encode())
    assert restate(tmp_path, "legacy_loose", 7) == path
    assert path.read_bytes().decode() == after
    assert load_settings(tmp_path).legacy_loose == 7
