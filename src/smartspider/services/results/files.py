"""The files that a run downloaded: listed, and sent."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from smartspider.core.datetimes import format_time
from smartspider.core.errors import NotFound
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.installation.installation import Installation
from smartspider.services.inputs import to_page
from smartspider.services.results.exports import Export
from smartspider.services.results.outputs import OTHER
from smartspider.store.results.files import RunFile
from smartspider.views.listed import Listed
from smartspider.views.results import FileView

PIECE_BYTES = 1 << 18
_ID = re.compile(r"[0-9a-f]{32}")


async def list_files(
    installation: Installation, run_id: int, *, cursor: str | None, limit: int
) -> Listed[FileView]:
    """List the files of a run."""
    run = await installation.store.get_run(run_id)
    after = b"" if cursor is None else _fingerprint(cursor)
    found = await installation.results.files(run.id, after=after, limit=limit + 1)
    return to_page(found, limit, lambda one: one.fingerprint.hex(), lambda one: _view(run.id, one))


async def send_file(
    installation: Installation, run_id: int, file_id: str, slot: AbstractContextManager[None]
) -> Export:
    """Return a file of a run to send; `slot` is held while it is sent.

    It is sent as plain bytes: a page of a site must not run as one of ours.
    """
    run = await installation.store.get_run(run_id)
    found = await installation.results.file(run.id, _fingerprint(file_id))
    if found is None:
        raise _not_found(file_id)
    file = await asyncio.to_thread(open_below, installation.require_files_path(), found)
    return Export(PurePosixPath(found.path).name, OTHER, _pieces(file, slot))


def open_below(root: Path, found: RunFile) -> BinaryIO:
    """Open a file below a folder; raise `NotFound` unless it is there, whole, and a file of that folder."""
    hint = "it was deleted or moved after the download"
    path = root / found.path
    try:
        if not path.resolve().is_relative_to(root.resolve()):
            raise NotFound(f"the file {found.path} is not in the folder of files", hint=hint)
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")
    except OSError as error:
        raise NotFound(f"the file {found.path} cannot be read: {error.strerror}", hint=hint) from error
    info = os.fstat(file.fileno())
    if not stat.S_ISREG(info.st_mode) or info.st_size != found.bytes:
        file.close()
        raise NotFound(f"the file {found.path} is not the one that was downloaded", hint=hint)
    return file


async def _pieces(file: BinaryIO, slot: AbstractContextManager[None]) -> AsyncIterator[bytes]:
    with file, slot:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece


def _fingerprint(file_id: str) -> bytes:
    if _ID.fullmatch(file_id) is None:
        raise _not_found(file_id)
    return bytes.fromhex(file_id)


def _not_found(file_id: str) -> NotFound:
    return NotFound(f"there is no file {file_id[:40]!r} in this run", hint="list the files of the run")


def _view(run_id: int, found: RunFile) -> FileView:
    return FileView(
        id=found.fingerprint.hex(),
        run_id=str(run_id),
        url=without_userinfo(found.url),
        path=found.path,
        sha256=found.sha256,
        bytes=found.bytes,
        type=found.type,
        downloaded_at=format_time(found.downloaded_at),
    )
