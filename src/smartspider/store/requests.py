"""Requests as stored, and the URLs that runs know."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.frontier.updates import OpenRequest
from smartspider.core.requests.request import NO_EXTRAS, Extras, Request
from smartspider.store import statements
from smartspider.store.database import Connection, Database

_extras = msgspec.json.Decoder(Extras)


def request_of(  # noqa: PLR0917 - the columns of a row, in the order of the statements
    url: str,
    fingerprint: bytes,
    page: str,
    priority: int,
    depth: int,
    is_entry: int,
    extras: bytes | None,
    parent: str | None,
    is_next_page: int,
) -> Request:
    """Return a request from its row; `parent` is the URL of the page it was found on."""
    details = _extras.decode(extras) if extras else NO_EXTRAS
    return Request(
        url, fingerprint, page, priority, depth, bool(is_entry), details, parent, bool(is_next_page)
    )


SQL = statements.load("requests.sql", __package__)


async def find_open_request(database: Database, url_id: int) -> OpenRequest | None:
    """Return the request of an open row; None if the row is closed or was deleted."""
    for attempts, returns, visit, *request in await database.fetch(SQL.open_request, (url_id,)):
        return OpenRequest(request_of(*request), attempts, returns, visit)
    return None


class SqlStoredUrls:
    """See `dedup/url_filter.py`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def stored(self, run_id: int, fingerprints: Sequence[bytes]) -> set[bytes]:
        """Return those of the fingerprints that have a row in the run."""
        keys = [(run_id, fingerprint) for fingerprint in fingerprints]

        def look(connection: Connection) -> set[bytes]:
            return {bytes(found) for (found,) in connection.executemany(SQL.stored, keys)}

        return await self._db.read(look)

    async def totals(self, run_ids: Sequence[int]) -> dict[int, int]:
        """Return the number of rows of each run; unknown runs are left out."""
        keys = [(run_id,) for run_id in run_ids]

        def look(connection: Connection) -> dict[int, int]:
            return dict(connection.executemany(SQL.total, keys).fetchall())

        return await self._db.read(look)

    async def epoch(self) -> str:
        """Return the epoch of the store, see `FilterKey`."""
        ((epoch,),) = await self._db.fetch(SQL.epoch)
        return str(epoch)
