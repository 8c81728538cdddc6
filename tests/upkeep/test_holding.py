"""What of a folder is ours: files named as entries, files that begin as one, sidecars."""

from __future__ import annotations

import pytest

from onetake.cassette_files import list_folders
from onetake.upkeep.holding import begins_as_entry, digests_in, holding_of


def held(root):
    return [found for listed in list_folders(root) if (found := holding_of(listed))]


@pytest.mark.parametrize(
    ("data", "begins"),
    [
        (b'{\n  "onetake": 1,\n', True),
        (b'\xef\xbb\xbf{\r\n  "onetake": 1,', True),
        (b'{"onetake":99', True),
        (b'{"onetake": "yes"}', False),
        (b'{"name": "onetake"}', False),
        (b"", False),
    ],
)
def test_an_entry_under_another_name_is_known_by_its_beginning(tmp_path, data, begins):
    path = tmp_path / "greeting.json"
    path.write_bytes(data)
    assert begins_as_entry(path) is begins
    assert [one.paths for one in held(tmp_path)] == ([(path,)] if begins else [])


def test_what_is_no_file_begins_as_nothing(tmp_path):
    (tmp_path / "folder.json").mkdir()
    assert not begins_as_entry(tmp_path / "folder.json")
    assert not begins_as_entry(tmp_path / "absent.json")


def test_sidecars_without_an_entry_are_a_cassette_and_other_folders_of_that_name_are_none(folder, streamed):
    (path,) = folder.record(streamed)
    path.unlink()
    (folder.root / "docs/_raw").mkdir(parents=True)
    (folder.root / "docs/_raw/picture.png").write_bytes(b"")
    (found,) = held(folder.root)
    assert (found.folder, found.paths, len(found.sides), found.unlisted) == (path.parent, (), 2, "")


def test_the_line_of_a_field_and_of_a_damage(folder):
    (path,) = folder.record()
    (whole,) = next(iter(held(folder.root))).read()
    assert whole.line_of("key") == folder.line_of(path, '"key": ')
    assert whole.line_of("absent") == 1
    path.write_bytes(b'{"onetake": 1,\n"verdict": "good",\n"verdict"')
    (torn,) = next(iter(held(folder.root))).read()
    assert (torn.entry, torn.broken_line) == (None, 3)


def test_a_digest_is_found_however_its_digits_are_spelled():
    digest = "0a" * 32
    spelled = digest.replace("0", "\\u0030").replace("a", "\\u0061", 3)
    for text in (digest, spelled, f"\\\\n{spelled}"):
        assert digests_in(f'{{"schema": "{text}"}}'.encode()) == {digest}
    assert digests_in(b"\\u0030" + b"b" * 59) == set(), "what is no JSON spells nothing"
