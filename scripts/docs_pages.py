"""Real pages to test on: HTML of documentation packages of the distribution, unpacked beside the checkout.

`docs_pages.py FOLDER` fetches the packages it does not have yet and unpacks them; nothing is installed. Needs
`apt-get` and `dpkg-deb` (Debian, Ubuntu). Does nothing, at once and without a network, when all is there.
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
    """Make the folder whole; 0 when it is."""
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
    """Download one package and unpack it; whether that worked. A kill leaves no half that counts as whole."""
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
    """Ask for the lists of packages, as root or by sudo; whether there may be news now."""
    for words in (["apt-get"], ["sudo", "-n", "apt-get"]):
        if (
            shutil.which(words[0])
            and not subprocess.run([*words, "update", "-qq"], capture_output=True, check=False).returncode
        ):
            return True
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
