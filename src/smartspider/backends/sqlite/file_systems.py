"""Kinds of file systems: SQLite's locks cannot be trusted on a network."""

from __future__ import annotations

from pathlib import Path

NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph"})


def network_file_system(folder: Path) -> str:
    """Return the kind of the network file system that a folder is on; empty for a local one."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return ""
    path = folder.resolve()
    best, kind = -1, ""
    for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
        fields = line.split(" ")
        point = Path(fields[1].replace("\\040", " "))
        if (path == point or point in path.parents) and len(point.parts) > best:
            best, kind = len(point.parts), fields[2]
    return kind if kind in NETWORK_FILE_SYSTEMS else ""
