"""Open outside material: a package of a registry or a commit of a public repository, as a folder.

    open_source("pypi:price-parser==0.5.0")      the source distribution
    open_source("npm:jsdom@26.1.0")
    open_source("deb:python3-doc")               the package of this machine's Debian release
    open_source("github:owner/name@<commit>")    the commit; or the newest one of a local mirror

Folders are kept in `~/.cache/smartspider-benchmarks` (SMARTSPIDER_BENCH_CACHE). Repositories come from
the bare clones below SMARTSPIDER_BENCH_MIRROR (`owner+name/...`), else from github.com.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin

CACHE = Path(os.environ.get("SMARTSPIDER_BENCH_CACHE", "~/.cache/smartspider-benchmarks")).expanduser()
MIRROR = os.environ.get("SMARTSPIDER_BENCH_MIRROR", "")


class SourceUnavailable(Exception):
    """The material cannot be had from here."""


def open_source(source: str) -> Path:
    """Return the folder of a source, fetching it the first time."""
    folder = CACHE / "".join(each if each.isalnum() or each in "-._" else "+" for each in source)
    if folder.exists():
        return folder
    kind, _, name = source.partition(":")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        unpacked = Path(scratch) / "unpacked"
        unpacked.mkdir()
        try:
            _FETCHERS[kind](name, Path(scratch), unpacked)
        except subprocess.CalledProcessError as error:
            raise SourceUnavailable(f"{source}: {error.stderr.decode(errors='replace').strip()}") from error
        unpacked.rename(folder)
    return folder


def _from_pypi(name: str, scratch: Path, unpacked: Path) -> None:
    """Download without pip, which would build the package to read its metadata."""
    project, _, version = name.partition("==")
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
    page = f"{index}/{project}/"
    try:
        with urllib.request.urlopen(page, timeout=60) as answer:
            links = re.findall(r'href="([^"#]+)', answer.read().decode())
        address = next(each for each in links if each.endswith((f"-{version}.tar.gz", f"-{version}.zip")))
        archive = scratch / address.rpartition("/")[2]
        with urllib.request.urlopen(urljoin(page, address), timeout=600) as answer:
            archive.write_bytes(answer.read())
    except (OSError, StopIteration) as error:
        raise SourceUnavailable(f"pypi:{name}: no source distribution to be had: {error}") from error
    _unpack(archive, unpacked)


def _from_npm(name: str, scratch: Path, unpacked: Path) -> None:
    _run(["npm", "pack", "--silent", "--pack-destination", str(scratch), name])
    _unpack(_only(scratch, name), unpacked)


def _from_debian(name: str, scratch: Path, unpacked: Path) -> None:
    _run(["apt-get", "download", "-q", name], cwd=scratch)
    _run(["dpkg-deb", "-x", str(_only(scratch, name)), str(unpacked)])


def _from_github(name: str, scratch: Path, unpacked: Path) -> None:
    repository, _, commit = name.partition("@")
    mirrored = sorted(Path(MIRROR).glob(repository.replace("/", "+") + "*/**/HEAD")) if MIRROR else []
    if mirrored:
        git = mirrored[0].parent
        known = subprocess.run(
            ["git", "-C", str(git), "cat-file", "-e", f"{commit}^{{commit}}"],
            capture_output=True,
            check=False,
        )
        tree = commit if commit and known.returncode == 0 else "HEAD"
    else:
        git, tree = scratch / "git", "FETCH_HEAD"
        _run(["git", "init", "-q", "--bare", str(git)])
        address = f"https://github.com/{repository}"
        _run(["git", "-C", str(git), "fetch", "-q", "--depth", "1", address, commit or "HEAD"])
    _check_out(git, tree, unpacked)


def _check_out(git: Path, tree: str, folder: Path) -> None:
    """Write the files of a tree; a mirror may lack its largest files."""
    listing = subprocess.run(
        ["git", "-C", str(git), "ls-tree", "-r", "-z", tree], check=True, capture_output=True, timeout=600
    )
    entries = [line.partition("\t") for line in listing.stdout.decode(errors="replace").split("\0") if line]
    blobs = {path: head.split()[2] for head, _, path in entries if head.startswith("100")}
    command = ["git", "-C", str(git), "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        for path, blob in blobs.items():
            reader.stdin.write(f"{blob}\n".encode())
            reader.stdin.flush()
            answer = reader.stdout.readline().split()
            if answer[1] == b"missing":
                continue
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(reader.stdout.read(int(answer[2]) + 1)[:-1])


_FETCHERS: dict[str, Callable[[str, Path, Path], None]] = {
    "pypi": _from_pypi,
    "npm": _from_npm,
    "deb": _from_debian,
    "github": _from_github,
}


def _run(command: list[str], cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, timeout=600)


def _only(folder: Path, name: str) -> Path:
    files = [each for each in folder.iterdir() if each.is_file()]
    if len(files) != 1:
        raise SourceUnavailable(f"{name}: expected one archive, found {len(files)}")
    return files[0]


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive; a single top folder is left out of the paths."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(scratch)
        else:
            with tarfile.open(archive) as opened_tar:
                opened_tar.extractall(scratch, filter="data")
        entries = list(Path(scratch).iterdir())
        top = entries[0] if len(entries) == 1 and entries[0].is_dir() else Path(scratch)
        for entry in top.iterdir():
            shutil.move(str(entry), folder / entry.name)
