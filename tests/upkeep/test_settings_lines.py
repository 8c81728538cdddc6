"""Lines of settings files."""

from __future__ import annotations

import pytest

from onetake.upkeep.settings_lines import line_of

TABLES = """\
[tool.onetake]
watch = "no setting of a contract"
[tool.onetake.contracts.other]
schema = "a.json"
watch = ["b.py"]
[tool.onetake.contracts."my items"]  # ours
schema = "a.json"
label_paths = [
  "$.watch = 1",
]
  watch=["a.py"]
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TABLES, 11),
        (TABLES.replace("  watch=", "  # watch="), 6),
        (TABLES.replace("\n", "\r\n"), 11),
        ('[contracts]\n"my items" = { schema = "a.json", watch = ["a.py"] }\n', 2),
        ('[contracts]\n"my items".schema = "a.json"\n\'my items\'.watch = ["a.py"]\n', 3),
        ('mode = "none"\ncontracts."my items".watch = ["a.py"]\n', 2),
        ("[contracts.items]\nwatch = []\n[torn\n= 1\n", 1),
        ("", 1),
    ],
)
def test_a_setting_of_a_contract_is_found_however_it_is_written(tmp_path, text, line):
    file = tmp_path / "onetake.toml"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert line_of(file, "my items", "watch") == line
