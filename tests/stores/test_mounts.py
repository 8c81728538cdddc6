"""What kind of file system a path lies on."""

from __future__ import annotations

import pytest

from onetake.stores.mounts import network_kind


@pytest.mark.parametrize(
    ("kind", "said"), [("ext4", ""), ("nfs4", "nfs4"), ("fuse.sshfs", "fuse.sshfs")], ids=["disk", "nfs", "sshfs"]
)
def test_network_file_systems_are_told_by_the_nearest_mount(tmp_path, kind, said):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "20 1 8:1 / / rw - ext4 /dev/a rw\n"
        f"21 20 0:5 / /data/team\\040one rw,relatime shared:1 - {kind} server:/x rw\n"
        "22 20 0:6 / /data/team\\040one\\040b rw - nfs x rw\n"
    )
    assert network_kind(tmp_path / "x.db", mounts) == ""
    assert network_kind(tmp_path.__class__("/data/team one/calls.db"), mounts) == said
    assert network_kind(tmp_path / "x.db", tmp_path / "missing") == ""
