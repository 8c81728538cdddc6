from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from onetake.errors import UsageError
from onetake.model import Mode, Repeats
from onetake.settings import (
    ContractSettings,
    Credentials,
    KeyRules,
    MaxAge,
    Replace,
    ScrubRules,
    Settings,
    key_rules,
    load_settings,
    parse_max_age,
    parse_mode,
    parse_setting,
)

ALL = """
mode = "new_episodes"
repeats = "same"
keep = ["violation", "status:429", "status:4xx"]
on_reject = "pass"
refusals = "report"
match = "legacy"
legacy_differing = 388
legacy_loose = 0
hosts = ["127.0.0.1:8000"]
ignore = ["localhost:9999"]
quiet = ["telemetry.example.com"]
max_age = { days = 90, then = "fail" }
probe_after = 30
pinned = ["cassettes/golden/*", "0307867d"]

[key]
ignore = ["$.metadata.trace_id"]
ids = ["$.messages[*].tool_calls[*].id"]
volatile = ["today"]
replace = [{ pattern = "run-[0-9a-f]{8}", with = "run-ID" }, { pattern = "x", with = "" }]
headers = ["X-My-Tenant"]
origins = { "http://127.0.0.1:*" = "local" }

[contracts.items]
schema = "schemas/items.json"
schema_version = 3
watch = ["app/parse.py"]
on = "tool:save"
label_paths = ["$.items[*].label"]

[contracts.other]
schema = "app.models:Items"

[scrub]
paths = ["$.user"]
patterns = ["cust-[0-9]+"]
keep_headers = ["X-Request-Cost"]

[credentials]
MY_API_KEY = "none-needed"
"https://models.example:8443" = "GATEWAY_KEY"
"http://127.0.0.1:8080" = ""
"""


def under_tool(text):
    """Write a top level as a `pyproject.toml` has it."""
    return "[tool.onetake]\n" + re.sub(r"^\[", "[tool.onetake.", text, flags=re.MULTILINE)


def write(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"), [("onetake.toml", ALL), ("onetake.toml", under_tool(ALL)), ("pyproject.toml", under_tool(ALL))]
)
def test_every_setting_is_read_from_either_file(tmp_path, name, text):
    write(tmp_path, name, text)
    assert load_settings(tmp_path) == Settings(
        root=tmp_path,
        mode=Mode.NEW_EPISODES,
        repeats=Repeats.SAME,
        keep=("violation", "status:429", "status:4xx"),
        on_reject="pass",
        refusals="report",
        match="legacy",
        legacy_differing=388,
        legacy_loose=0,
        hosts=("127.0.0.1:8000",),
        ignore=("localhost:9999",),
        quiet=("telemetry.example.com",),
        max_age=MaxAge(90, "fail"),
        probe_after=30,
        pinned=("cassettes/golden/*", "0307867d"),
        key=KeyRules(
            ignore=("$.metadata.trace_id",),
            ids=("$.messages[*].tool_calls[*].id",),
            volatile=("today",),
            replace=(Replace("run-[0-9a-f]{8}", "run-ID"), Replace("x", "")),
            headers=("x-my-tenant",),
            origins={"http://127.0.0.1:*": "local"},
        ),
        contracts={
            "items": ContractSettings(
                "items", "schemas/items.json", 3, ("app/parse.py",), "tool:save", None, ("$.items[*].label",)
            ),
            "other": ContractSettings("other", "app.models:Items"),
        },
        scrub=ScrubRules(("$.user",), ("cust-[0-9]+",), ("x-request-cost",)),
        credentials=Credentials(
            {"MY_API_KEY": "none-needed"}, {"https://models.example:8443": "GATEWAY_KEY", "http://127.0.0.1:8080": ""}
        ),
    )


def test_the_nearest_file_counts_alone(tmp_path):
    write(tmp_path, "onetake.toml", 'mode = "all"\nrepeats = "same"')
    write(tmp_path / "a", "pyproject.toml", '[tool.onetake]\nmode = "once"')
    write(tmp_path / "a" / "b", "pyproject.toml", '[tool.other]\nwords = "onetake"')
    found = load_settings(write(tmp_path / "a" / "b" / "c", "test_x.py", ""))
    assert (found.root, found.mode, found.repeats) == (tmp_path / "a", Mode.ONCE, None)


def test_in_one_folder_onetake_toml_goes_first(tmp_path):
    write(tmp_path, "pyproject.toml", '[tool.onetake]\nmode = "all"')
    write(tmp_path, "onetake.toml", "")
    assert load_settings(tmp_path) == Settings(root=tmp_path)


def test_an_empty_table_counts_too(tmp_path):
    write(tmp_path, "onetake.toml", 'mode = "all"')
    write(tmp_path / "a", "pyproject.toml", "[tool.onetake]")
    assert load_settings(tmp_path / "a") == Settings(root=tmp_path / "a")


@pytest.mark.parametrize("start", [".", "test_x.py", "not_there.py"])
def test_without_any_the_folder_is_the_root(tmp_path, monkeypatch, start):
    (tmp_path / "test_x.py").touch()
    monkeypatch.chdir(tmp_path)
    assert load_settings(Path(start)) == Settings(root=tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mod = 1", "onetake.toml: knows no 'mod'; did you mean 'mode'?"),
        ("[key]\nignor = []", "onetake.toml: key knows no 'ignor'; did you mean 'ignore'?"),
        ("[scrub]\nkeep-headers = []", "onetake.toml: scrub knows no 'keep-headers'; did you mean 'keep_headers'?"),
        ("[contracts.x]\nschema = 'x'\nversion = 1", "contracts.x knows no 'version'; did you mean 'schema_version'?"),
        ("probe_after = 0", "probe_after: must be a number of days, more than 0, not 0"),
        ("max_age = { day = 1 }", "max_age knows no 'day'; did you mean 'days'?"),
        ("max_age = { then = 'warn' }", "max_age lacks 'days': { days = …, then = … }"),
        ("[[key.replace]]\npattern = 'x'\nto = 'y'", "key.replace[0] knows no 'to'; it may be 'pattern' or 'with'"),
        ("[[key.replace]]\npattern = 'x'", "key.replace[0] lacks 'with': { pattern = …, with = … }"),
        (
            "[contracts.x]\nschema = 'x'\nlabel_paths = ['$.a', 'label']",
            "contracts.x.label_paths[1]: JSON path 'label' must start with $",
        ),
        (
            "[contracts.x]\nschema = 'x'\nlabel_paths = ['$[\"\\q\"]']",
            "contracts.x.label_paths[0]: must be a JSON path",
        ),
        ("[contracts.x]", "contracts.x lacks 'schema': { schema = …, schema_version = …, "),
        ("[tool.onetak]", "onetake.toml: tool knows no 'onetak'; did you mean 'onetake'?"),
        ("[tool.onetake]\n[key]", "onetake.toml: has settings in two forms, 'key' and under 'tool': use one of them"),
        ("mode = 'nones'", "onetake.toml: mode: unknown word 'nones'; did you mean 'none'?"),
        ("mode = 1", "mode: must be 'none', 'once', 'new_episodes', 'all', 'off', 'replay' or 'rewrite', not 1"),
        ("repeats = 'sequense'", "repeats: unknown word 'sequense'; did you mean 'sequence'?"),
        ("on_reject = 'ignore'", "on_reject: unknown word 'ignore'; it may be 'raise' or 'pass'"),
        ("refusals = 'reports'", "refusals: unknown word 'reports'; did you mean 'report'?"),
        ("keep = 'violation'", "keep: must be a list, as in ['violation'], not 'violation'"),
        ("keep = ['violations']", "keep: unknown kind 'violations'; did you mean 'violation'?"),
        ("keep = ['status:4x']", "keep: unknown kind 'status:4x'; did you mean 'status:4xx'?"),
        ("hosts = [1]", 'hosts[0]: must be a text, as in "…", not 1'),
        ("ignore = ['']", "ignore[0]: must be a text, as in \"…\", not ''"),
        ("pinned = 'golden'", "pinned: must be a list, as in ['golden'], not 'golden'"),
        ("quiet = {}", "quiet: must be a list, not {}"),
        ("max_age = 90", "max_age: must be a table: { days = …, then = … }, not 90"),
        ("max_age = { days = 0 }", "max_age.days: must be a number of days, more than 0, not 0"),
        ("max_age = { days = inf }", "max_age.days: must be a number of days, more than 0, not inf"),
        ("max_age = { days = 1, then = 'fails' }", "max_age.then: unknown word 'fails'; did you mean 'fail'?"),
        ("key = []", "key: must be a table: { ignore = …, ids = …, "),
        ("[key]\norigins = { a = 1 }", "key.origins.a: must be a text"),
        ("[contracts.x]\nschema = 'x'\nschema_version = 0", "contracts.x.schema_version: must be a whole number, 1 or"),
        (
            "[contracts.x]\nschema = 'x'\non = 'tools:x'",
            "contracts.x.on: unknown selector 'tools:x'; did you mean 'tool:",
        ),
        ("contracts = { x = 'schemas/x.json' }", "contracts.x: must be a table: { schema = …, "),
        ("hosts = " + "{ a = '" + "x" * 99 + "' }", "hosts: must be a list, not {'a': 'xxxxxxxxxx"),
    ],
)
def test_what_is_wrong_is_named_with_file_table_and_what_would_be_right(tmp_path, text, message):
    write(tmp_path, "onetake.toml", text)
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        load_settings(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'onetake.toml'}: ")
    assert len(str(caught.value)) - len(str(tmp_path)) < 250


def test_in_pyproject_the_table_has_its_whole_name(tmp_path):
    write(tmp_path, "pyproject.toml", "[tool.onetake.key]\nheader = []")
    with pytest.raises(UsageError, match=r"pyproject\.toml: tool\.onetake\.key knows no 'header'; .*'headers'"):
        load_settings(tmp_path)


def test_broken_toml_is_named_with_its_line(tmp_path):
    write(tmp_path, "onetake.toml", 'mode = "none"\nrepeats = same\n')
    with pytest.raises(UsageError, match=r"onetake\.toml: is no TOML: .*line 2"):
        load_settings(tmp_path)


def test_a_broken_pyproject_matters_only_if_it_speaks_of_us(tmp_path):
    write(tmp_path, "pyproject.toml", "[tool.other\n")
    assert load_settings(tmp_path) == Settings(root=tmp_path)
    write(tmp_path, "pyproject.toml", "[tool.onetake\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml: is no TOML: .*line 1"):
        load_settings(tmp_path)


def test_a_byte_order_mark_and_windows_line_ends_are_no_harm(tmp_path):
    write(tmp_path, "onetake.toml", b'\xef\xbb\xbfmode = "none"\r\nrepeats = "same"\r\n')
    assert (load_settings(tmp_path).mode, load_settings(tmp_path).repeats) == (Mode.NONE, Repeats.SAME)


@pytest.mark.parametrize(
    ("content", "line"), [('mode = "none"\n'.encode("utf-16"), 1), (b'# a\n# \xe9\nmode = "none"\n', 2)]
)
def test_another_encoding_is_named(tmp_path, content, line):
    write(tmp_path, "onetake.toml", content)
    with pytest.raises(UsageError, match=rf"onetake\.toml: is not UTF-8 \(line {line}\)"):
        load_settings(tmp_path)
    (tmp_path / "onetake.toml").unlink()
    write(tmp_path, "pyproject.toml", '[tool.onetake]\nmode = "none"\n'.encode("utf-16"))
    with pytest.raises(UsageError, match="is not UTF-8"):
        load_settings(tmp_path)


def test_toml_that_nests_too_deep_is_named(tmp_path):
    write(tmp_path, "onetake.toml", "hosts = " + "[" * 5000 + "]" * 5000)
    with pytest.raises(UsageError, match="nested too deep"):
        load_settings(tmp_path)


def test_a_settings_file_that_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / "onetake.toml").mkdir()
    with pytest.raises(UsageError, match=r"onetake\.toml: cannot be read"):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("word", "mode"), [*((mode.value, mode) for mode in Mode), ("replay", Mode.NONE), ("rewrite", Mode.ALL)]
)
def test_words_for_modes(word, mode):
    assert parse_mode(word) is mode


@pytest.mark.parametrize(("word", "near"), [("new-episodes", "new_episodes"), ("NONE", "none"), ("replays", "replay")])
def test_a_wrong_word_for_a_mode_names_the_nearest(word, near):
    with pytest.raises(UsageError, match=f"mode: unknown word {word!r}; did you mean {near!r}"):
        parse_mode(word)


def test_values_of_markers_and_calls_are_checked_alike():
    assert parse_setting("keep", ("cut",), "the marker") == ("cut",)
    with pytest.raises(UsageError, match="the marker of test_x: must be a list"):
        parse_setting("keep", "cut", "the marker of test_x")
    assert parse_max_age({"days": 1.5}) == parse_max_age(MaxAge(1.5)) == MaxAge(1.5, "warn")
    assert parse_max_age(None) is None
    rules = KeyRules(ignore=("$.a",))
    assert key_rules({"ignore": ["$.a"]}) == key_rules(rules) == rules
    assert key_rules(None) == KeyRules()
    with pytest.raises(UsageError, match="key knows no 'ignored'; did you mean 'ignore'"):
        key_rules({"ignored": []})


def test_settings_are_read_without_heavy_modules():
    code = (
        "import sys; from pathlib import Path; import onetake.settings as s; light = set(sys.modules); "
        "s.load_settings(Path('.')); print([m for m in ('difflib', 'tomllib', 'asyncio') if m in light])"
    )
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == "[]"
