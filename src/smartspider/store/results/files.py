"""Rows with files: references become what is stored about the file. Runs inside a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from smartspider.core.pages.extraction import Item
from smartspider.core.pages.files import (
    REFERENCE,
    REFERENCE_TEXT,
    StoredFile,
    file_value,
    is_stored,
    literal_value,
    pending_value,
    references_of,
    with_files,
)
from smartspider.store.database import Connection, row, rows
from smartspider.store.settle.files import SQL

MAX_REDIRECTS = 20

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Item).decode


class FileTotals(NamedTuple):
    """The number of files of a run, and their bytes together."""

    files: int = 0
    bytes: int = 0


class RunFile(NamedTuple):
    """A downloaded file of a run, and the URL it was requested from."""

    fingerprint: bytes
    url: str
    path: str
    sha256: str
    bytes: int
    type: str
    downloaded_at: float


def list_files(connection: Connection, run_id: int, after: bytes, limit: int) -> list[RunFile]:
    """Return files of a run after a fingerprint."""
    return [RunFile(*one) for one in rows(connection, SQL.list_files, (run_id, after, limit))]


def find_file(connection: Connection, run_id: int, fingerprint: bytes) -> RunFile | None:
    """Return a file of a run by the fingerprint of its request."""
    found = row(connection, SQL.get_file, (run_id, fingerprint))
    return None if found is None else RunFile(*found)


def file_totals(connection: Connection, run_id: int) -> FileTotals:
    """Return the totals of a run."""
    return FileTotals(*(row(connection, SQL.totals, (run_id,)) or (0, 0)))


def fill_files(connection: Connection, run_id: int, encoded: Sequence[str]) -> list[str]:
    """Return rows as JSON with their references replaced. A file that was not downloaded is null, one that is
    still to be downloaded has no path. What only looks like a reference is what the page had.
    """
    if not any(REFERENCE_TEXT in data for data in encoded):
        return list(encoded)
    items = {number: _decode(data) for number, data in enumerate(encoded) if REFERENCE_TEXT in data}
    wanted = {_fingerprint(one) for item in items.values() for one in references_of(item, is_stored)} - {b""}
    files = _read_files(connection, run_id, wanted)
    states = dict(_pairs(connection, run_id, wanted - files.keys()))

    def value_of(reference: dict[str, Any]) -> Any:
        if (literal := literal_value(reference)) is not None:
            return literal
        fingerprint = _fingerprint(reference)
        if fingerprint in files:
            return file_value(reference, files[fingerprint])
        if fingerprint not in states:
            return reference
        return pending_value(reference) if states[fingerprint] == "open" else None

    filled = {number: with_files(item, value_of, is_stored) for number, item in items.items()}
    return [_encode(filled[at]).decode() if at in filled else data for at, data in enumerate(encoded)]


def _read_files(connection: Connection, run_id: int, wanted: set[bytes]) -> dict[bytes, StoredFile]:
    """Return the files of requests, through redirects."""
    files: dict[bytes, StoredFile] = {}
    origins = {one: {one} for one in wanted}
    for _ in range(MAX_REDIRECTS):
        further: dict[bytes, set[bytes]] = {}
        keys = [(run_id, one) for one in sorted(origins)]
        for fingerprint, target, *parts in connection.executemany(SQL.files, keys):
            if target is not None:
                further.setdefault(target, set()).update(origins[fingerprint])
            else:
                files.update(dict.fromkeys(origins[fingerprint], StoredFile(*parts)))
        if not further:
            break
        origins = further
    return files


def _pairs(connection: Connection, run_id: int, wanted: Iterable[bytes]) -> Iterable[tuple[bytes, str]]:
    keys = [(run_id, one) for one in sorted(wanted)]
    return ((fingerprint, state) for fingerprint, state in connection.executemany(SQL.states, keys))


def _fingerprint(reference: dict[str, Any]) -> bytes:
    try:
        return bytes.fromhex(reference[REFERENCE])
    except ValueError:
        return b""
