"""What kind of file system a path lies on."""

from __future__ import annotations

from pathlib import Path

_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs"})
_MOUNTS = Path("/proc/self/mountinfo")


def network_kind(path: Path, mounts: Path = _MOUNTS) -> str:
    """Return the kind of network file system that a path lies on, by the system's table of mounts; empty for a disk.

    Source: proc(5), `/proc/pid/mountinfo`: the fifth field is where it is mounted, the first after ` - ` its kind.
    """
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    found = "", ""
    for line in lines:
        before, _, after = line.partition(" - ")
        point = before.split(" ")[4].replace("\\040", " ")
        if path.is_relative_to(point) and len(point) >= len(found[0]):
            found = point, after.split(" ")[0]
    return found[1] if found[1] in _NETWORK else ""
