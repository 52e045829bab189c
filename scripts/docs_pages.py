"""Unpack HTML pages of documentation packages of the distribution beside the checkout, as test data.

`docs_pages.py FOLDER` downloads and unpacks missing packages; nothing is installed. Needs
`apt-get` and `dpkg-deb` (Debian, Ubuntu). Does nothing, without network access, if all are there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WANTED: tuple[tuple[str, ...], ...] = (
    ("git-doc",),
    ("postgresql-doc-15", "postgresql-doc-16", "postgresql-doc-17"),
    ("sqlite3-doc",),
    ("apache2-doc",),
)
"""One package of each group; its name differs between releases."""

DONE = ".complete"


def main(arguments: list[str]) -> int:
    """Complete the folder; return 0 on success."""
    if len(arguments) != 1:
        print("usage: docs_pages.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    missing = [group for group in WANTED if not any((folder / name / DONE).exists() for name in group)]
    if not missing:
        return 0
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        print("documentation pages need apt-get and dpkg-deb (Debian or Ubuntu)", file=sys.stderr)
        return 1
    print("fetching documentation pages to test on ...", file=sys.stderr, flush=True)
    for group in missing:
        if not any(fetch(name, folder) for name in group) and not (
            refresh() and any(fetch(name, folder) for name in group)
        ):
            print(f"none of {', '.join(group)} could be fetched by apt-get download", file=sys.stderr)
            return 1
    return 0


def fetch(name: str, folder: Path) -> bool:
    """Download and unpack a package. Return True on success; an interrupted download is not taken for a
    complete one.
    """
    with tempfile.TemporaryDirectory() as place:
        got = subprocess.run(
            ["apt-get", "download", "-qq", name], cwd=place, capture_output=True, check=False
        )
        archives = list(Path(place).glob("*.deb"))
        if got.returncode != 0 or not archives:
            return False
        target = folder / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        subprocess.run(["dpkg-deb", "-x", str(archives[0]), str(target)], check=True)
        (target / DONE).touch()
    return True


def refresh() -> bool:
    """Update the package lists, as root or with sudo. Return True if they may have changed."""
    for words in (["apt-get"], ["sudo", "-n", "apt-get"]):
        if (
            shutil.which(words[0])
            and not subprocess.run([*words, "update", "-qq"], capture_output=True, check=False).returncode
        ):
            return True
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
