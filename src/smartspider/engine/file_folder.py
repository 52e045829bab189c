"""Downloaded files in a folder. See `FileStore`."""

from __future__ import annotations

import hashlib
import mimetypes
import os
import re
import stat
from pathlib import Path, PurePosixPath
from tempfile import mkstemp
from urllib.parse import unquote, urlsplit

from smartspider.core.errors import StoreUnavailable
from smartspider.core.failpoints import reach
from smartspider.core.pages.files import FilePlan, StoredFile
from smartspider.core.pages.page import Page
from smartspider.core.requests.urls import host_of

_UNSAFE = re.compile(r"[^\w.-]+")
_EXTENSION = re.compile(r"[A-Za-z0-9]{1,8}")
_PLACEHOLDER = re.compile(r"\{(sha256|name|ext|host)\}")
_LONGEST_NAME = 100
_NAME_BYTES = 220
"""Longest name of a file or folder; file systems take 255 bytes, and a digest may be added."""
_COMMON = {
    "image/avif": "avif",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "text/html": "html",
    "text/plain": "txt",
}
"""Where `mimetypes` is unsure, or depends on the machine."""
_ANY = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/force-download"})
"""Types that say nothing about the content."""


class FileFolder:
    """Writes files below a folder: first under a temporary name, then linked to their own."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, page: Page, plan: FilePlan) -> StoredFile:
        """Store the body of a page."""
        digest = hashlib.sha256(page.body).hexdigest()
        name = file_name(page, plan.name, digest)
        folder = self._root / plan.folder
        try:
            path = _write(folder / name, page.body, digest)
        except OSError as error:
            raise StoreUnavailable(
                f"the file {folder / name} cannot be written: {error.strerror or error}",
                hint="check the free space and the rights of the folder",
            ) from error
        relative = path.relative_to(self._root).as_posix()
        return StoredFile(relative, digest, len(page.body), page.media_type)


def file_name(page: Page, template: str, digest: str) -> str:
    """Return the name of a file, with forward slashes; no part of it comes from the page unchecked."""
    path = PurePosixPath(unquote(urlsplit(page.hops[0] if page.hops else page.url).path))
    values = {
        "sha256": digest,
        "name": _safe(path.name.removesuffix(path.suffix)) or "file",
        "ext": extension_of(page, path.suffix),
        "host": _safe(host_of(page.url)),
    }
    filled = _PLACEHOLDER.sub(lambda found: values[found[1]], template)
    return "/".join(_shortened(part) for part in filled.split("/"))


def extension_of(page: Page, suffix: str) -> str:
    """Return the extension of a file by its media type, else by its URL, else `bin`."""
    kind = page.media_type
    known = _COMMON.get(kind) or (None if kind in _ANY else mimetypes.guess_extension(kind))
    if known:
        return known.removeprefix(".")
    written = suffix.removeprefix(".").lower()
    return written if _EXTENSION.fullmatch(written) else "bin"


def _safe(text: str) -> str:
    """Return a text that is a file name anywhere: letters, digits, `_`, `-` and inner dots."""
    return _UNSAFE.sub("_", text)[:_LONGEST_NAME].strip("._")


def _shortened(name: str) -> str:
    """Return a name of at most `_NAME_BYTES` bytes, its extension kept."""
    if len(name.encode()) <= _NAME_BYTES:
        return name
    path = PurePosixPath(name)
    room = _NAME_BYTES - len(path.suffix.encode())
    return path.stem.encode()[:room].decode(errors="ignore") + path.suffix


def _write(path: Path, body: bytes, digest: str) -> Path:
    """Write a file, unless it exists with this content; another content gets the digest in its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = mkstemp(prefix=".part-", dir=path.parent)
    temporary = Path(name)
    try:
        reach("file.created")
        with os.fdopen(number, "wb") as file:
            file.write(memoryview(body)[: len(body) // 2])
            file.flush()
            reach("file.half_written")
            file.write(memoryview(body)[len(body) // 2 :])
            file.flush()
            os.fsync(file.fileno())
        reach("file.written")
        temporary.chmod(0o644)
        for target in (path, path.with_name(f"{path.stem}-{digest[:16]}{path.suffix}")):
            if _link(temporary, target, body):
                reach("file.linked")
                return target
        return temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _link(temporary: Path, target: Path, body: bytes) -> bool:
    """Give a file its name. Return False if a file with other content has it."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        found = target.lstat()
        is_file = stat.S_ISREG(found.st_mode) and found.st_size == len(body)
        return is_file and target.read_bytes() == body
    return True
