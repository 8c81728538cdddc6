from __future__ import annotations

from pathlib import Path

import pytest

from onetake.review.waiting import cassette_of
from onetake.stores.naming import folder_name


def test_a_test_that_shares_a_cassette_has_a_part_of_its_place(desk):
    test = "tests/test_a.py::test_b"
    for part in (folder_name(test), f"{folder_name(test)}~2"):
        desk.aside("pending", desk.entry(part, provenance={"test": test}), "cassettes/shared", part)
    desk.aside("pending", desk.entry("own"), "cassettes/test_a/test_b", "~3")
    folders = {one.folder.relative_to(desk.root).as_posix() for one in desk.changes().found}
    assert folders == {"cassettes/shared", "cassettes/test_a/test_b"}


@pytest.mark.parametrize(
    ("place", "folder"),
    [
        ("cassettes/a", "cassettes/a"),
        ("cassettes/a/~2", "cassettes/a"),
        ("cassettes/a~12345678", "cassettes/a~12345678"),
        ("a~0123456789abcdef", None),
        ("a~0123456789abcdef/~2", None),
        (".", None),
    ],
)
def test_where_a_place_leads(place, folder):
    assert cassette_of(Path(place), Path("/p"), "") == (Path("/p") / folder if folder else None)


def test_what_lies_aside_and_is_damaged_is_a_change_too(desk):
    path = desk.aside("rejects", desk.reject())
    path.write_bytes(b'{"provenance": 3}')
    linked = path.with_name("chat-0123456789abcdef.json")
    linked.symlink_to(path)
    found = {one.path: one for one in desk.changes().found}
    assert (found[path].why, found[path].folder) == ("", desk.root / "cassettes" / "a")
    assert found[linked].why == "cannot be read: is a symbolic link, and none is followed"
    assert list(found) == [linked, path]


def test_a_link_out_of_the_project_is_not_followed(desk, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (desk.root / ".onetake").mkdir()
    (desk.root / ".onetake" / "rejects").symlink_to(outside, target_is_directory=True)
    (outside / "chat-0123456789abcdef.json").write_bytes(b"{}")
    assert desk.kinds() == {}
