"""Secrets in files: found wherever they are, and never told."""

from __future__ import annotations

from base64 import b64encode

import pytest

from onetake.model import Response
from onetake.upkeep.rekey.rekeying import rekey

KEY = "sk-proj-" + "Zq7" * 16


@pytest.mark.parametrize(
    "change",
    [
        lambda folder, path: folder.edit(path, '"test": "', f'"test": "{KEY} '),
        lambda folder, path: folder.edit(path, "Sort this", f"Sort {KEY}"),
        lambda folder, path: folder.edit(path, "https://api.openai.com/", f"https://user:{KEY}@api.openai.com/"),
    ],
)
def test_a_secret_is_found_and_never_told(folder, change):
    (path,) = folder.record()
    change(folder, path)
    found = [one for one in folder.findings() if one.code == "secret"]
    assert len(found) == 1
    assert (found[0].path, found[0].severity, found[0].line) == (path, "error", folder.line_of(path, KEY))
    assert KEY not in found[0].message + found[0].mend


def test_a_secret_in_a_torn_file_and_in_a_sidecar_nobody_names(folder):
    (path,) = folder.record()
    folder.edit(path, "Sort this", f"Sort {KEY}")
    path.write_bytes(path.read_bytes()[:-40])
    side = path.parent / "_raw"
    side.mkdir()
    (side / f"{'0' * 64}.sse").write_text(f"data: {KEY}")
    assert folder.codes() == ["broken", "secret", "secret"]
    path.unlink()
    assert folder.codes() == ["secret", "unused-sidecar", "unused-sidecar"]


def test_a_secret_in_a_small_binary_body(folder, direct):
    body = b"\xff\xfe " + KEY.encode()
    kind = (("content-type", "application/octet-stream"),)
    plain = Response(200, kind, body.replace(KEY.encode(), b"-" * len(KEY)))
    (path,) = folder.record((direct.chat("x", url="https://example.com/v1/blob"), plain), contract=None)
    assert folder.codes() == []
    folder.edit(path, b64encode(plain.body).decode(), b64encode(body).decode())
    assert folder.codes() == ["secret"]


def test_a_rule_that_came_later_finds_what_was_recorded_before_it(folder, answer):
    (path,) = folder.record(("Sort ticket T-4711", answer))
    folder.settings(top='[scrub]\npatterns = ["T-[0-9]{4}"]')
    (found,) = folder.findings()
    assert (found.code, found.path) == ("secret", path)
    assert "$.messages[0].content" in found.message


def test_a_header_that_carries_credentials_is_a_secret_by_its_name(folder):
    (path,) = folder.record()
    text = path.read_text()
    at = text.index('"headers": [') + len('"headers": [')
    path.write_text(text[:at] + '["authorization", "hunter2"], ' + text[at:])
    assert [(one.code, one.message) for one in folder.findings()] == [
        ("secret", "secret in the file at $.request.headers[0][1]")
    ]


BADGES = '[scrub]\npatterns = ["badge-[0-9]{6}"]\n'
NESTED = {
    "vouched": {"reason": "seen with badge-123456", "watch": "0" * 64},
    "pinned": {"reason": "for badge-123456"},
    "adopted": {"from": "0" * 64, "at": "2026-03-01T10:00:00Z", "reason": "as badge-123456 said"},
    "notes": [{"by": ["badge-123456"]}],
}


@pytest.mark.parametrize("name", NESTED)
def test_a_rule_finds_what_lies_deep_in_the_provenance_and_rekey_scrubs_it(folder, name):
    (path,) = folder.record()
    folder.rewrite(path, **{name: NESTED[name]})
    folder.settings(top=BADGES)
    found = {one.code.value: one for one in folder.findings()}
    assert f"at provenance$.{name}" in found["secret"].message
    assert "onetake rekey " in found["secret"].mend
    assert not any("123456" in one.message + one.mend for one in found.values())
    (move,) = rekey(folder.root, writes=True).moves
    assert move.new_path == move.path == path
    assert [where.startswith(f"provenance$.{name}") for where in move.spans] == [True]
    assert "badge-" not in path.read_text()
    assert folder.load(path).provenance.keys() >= {name, "test"}
    assert "secret" not in folder.codes()


def test_a_rule_finds_what_lies_in_a_field_that_nobody_knows_and_rekey_scrubs_it(folder):
    (path,) = folder.record()
    folder.edit(path, '"ordinal": 0', '"ordinal": 0,\n  "note": {"who": ["badge-123456", 7, null]}')
    folder.settings(top=BADGES)
    assert folder.codes() == ["secret"]
    (move,) = rekey(folder.root, writes=True).moves
    assert move.spans == ("extra$.note.who[0]",)
    assert folder.load(path).extra == {"note": {"who": ["[secret 1]", 7, None]}}
    assert folder.codes() == []
