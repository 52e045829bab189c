"""Rows: listed, counted, compared, exported."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Unpack

import aiohttp

from smartspider.client.connection import CONNECT_S
from smartspider.client.operations.wired import Wired
from smartspider.views.asked import ExportWords, RunWords
from smartspider.views.listed import Listed
from smartspider.views.results import (
    CleaningView,
    CoverageView,
    DifferenceView,
    RejectView,
    ResultCountView,
    ResultView,
)

RESULTS = "/api/results"
PIECE = 1 << 16
SILENT_S = 600.0
"""How long a file may take to be made before its first piece comes, and each after that."""


def several(words: str | Sequence[str]) -> list[str]:
    """One or more words as a list."""
    return [words] if isinstance(words, str) else list(words)


class ResultOperations(Wired):
    """The rows that runs found: `run_id`, or `task_id` for the newest run of a task."""

    async def list_results(
        self,
        *,
        where: str | Sequence[str] = (),
        fields: str | None = None,
        sort: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        **of: Unpack[RunWords],
    ) -> Listed[ResultView]:
        """A page of rows. With a filter it may be short, even empty, and still have a `next`."""
        params = {
            "where": several(where),
            "fields": fields,
            "sort": sort,
            "limit": limit,
            "cursor": cursor,
            **of,
        }
        return await self.connection.get(RESULTS, Listed[ResultView], params)

    async def count_results(
        self, *, where: str | Sequence[str] = (), at_most: int = 100_000, **of: Unpack[RunWords]
    ) -> ResultCountView:
        """How many rows there are; with a filter, among as many as `at_most`."""
        params = {"where": several(where), "at_most": at_most, **of}
        return await self.connection.get(f"{RESULTS}/count", ResultCountView, params)

    async def get_coverage(
        self, *, fields: str | None = None, sample: int = 1_000, **of: Unpack[RunWords]
    ) -> CoverageView:
        """How full the fields are, over the newest rows."""
        return await self.connection.get(
            f"{RESULTS}/coverage", CoverageView, {"fields": fields, "sample": sample, **of}
        )

    async def compare_results(
        self, *, with_: str | None = None, key: str = "", limit: int = 100, **of: Unpack[RunWords]
    ) -> DifferenceView:
        """What changed since the completed run before, or since the run `with_`."""
        params = {"with": with_, "key": key, "limit": limit, **of}
        return await self.connection.get(f"{RESULTS}/diff", DifferenceView, params)

    async def list_rejects(
        self, *, limit: int = 100, cursor: str | None = None, **of: Unpack[RunWords]
    ) -> Listed[RejectView]:
        """Items that were not kept, with the reason."""
        params = {"limit": limit, "cursor": cursor, **of}
        return await self.connection.get(f"{RESULTS}/rejects", Listed[RejectView], params)

    async def list_cleaning(
        self,
        *,
        field: str | None = None,
        step: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        **of: Unpack[RunWords],
    ) -> Listed[CleaningView]:
        """What steps made of values, where the task has `cleaning_log`."""
        params = {"field": field, "step": step, "limit": limit, "cursor": cursor, **of}
        return await self.connection.get(f"{RESULTS}/cleaning", Listed[CleaningView], params)

    async def export_results(
        self,
        *,
        format: str = "jsonl",  # noqa: A002 - what the API calls it
        **how: Unpack[ExportWords],
    ) -> AsyncGenerator[bytes]:
        """All rows of a run as a file, piece by piece. Raises when it breaks off, so a part is no whole."""
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_S, sock_read=SILENT_S)
        async with self.connection.open(
            "POST",
            f"{RESULTS}/export",
            params={**how, "format": format, "where": several(how.get("where", ()))},
            timeout=timeout,
        ) as answer:
            async for piece in answer.content.iter_chunked(PIECE):
                yield piece
