"""The rows of a run."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, TypeVar, Unpack

import msgspec

from smartspider.core.errors import RequestInvalid
from smartspider.operations.table import AllOperations
from smartspider.views.arguments import FileArguments, RunArguments
from smartspider.views.listed import Listed
from smartspider.views.results import CoverageView, DifferenceView, ResultCountView, ResultView

T = TypeVar("T")

PAGE_SIZE = 500
"""Items that an iterator fetches with one request."""
COMPRESSIONS = ("gz", "zst", "bz2", "xz")
FORMAT_ALIASES = {"ndjson": "jsonl", "markdown": "md", "db": "sqlite"}

Several = str | Sequence[str]


class Results:
    """The rows of a run, or of the newest run of a task."""

    def __init__(self, client: AllOperations, of: RunArguments) -> None:
        self._client, self._of = client, of

    def __repr__(self) -> str:
        return f"Results({', '.join(f'{name}={value!r}' for name, value in self._of.items())})"

    async def iter(
        self,
        *,
        where: Several = (),
        fields: Several | None = None,
        sort: str | None = None,
        envelope: bool = False,
        page_size: int = PAGE_SIZE,
    ) -> AsyncGenerator[dict[str, Any]]:
        """Yield all rows, each as its fields; with `envelope` also where and when it was found.

        Rows match all conditions in `where`, such as `price>=10`; `fields` selects fields. Each request
        fetches `page_size` rows.
        """

        async def page(cursor: str | None) -> Listed[ResultView]:
            return await self._client.list_results(
                where=where, fields=_joined(fields), sort=sort, limit=page_size, cursor=cursor, **self._of
            )

        async with aclosing(all_of(page)) as found:
            async for row in found:
                data: dict[str, Any] = msgspec.json.decode(row.data)
                yield {**msgspec.structs.asdict(row), "data": data} if envelope else data

    async def count(self, *, where: Several = (), at_most: int = 100_000) -> ResultCountView:
        """Return the number of rows; with conditions, among the first `at_most` rows."""
        return await self._client.count_results(where=where, at_most=at_most, **self._of)

    async def coverage(self, *, fields: Several | None = None, sample: int = 1_000) -> CoverageView:
        """Return the fill rate of the fields, from a sample of the newest rows."""
        return await self._client.get_coverage(fields=_joined(fields), sample=sample, **self._of)

    async def diff(self, *, with_: str | None = None, key: Several = "", limit: int = 100) -> DifferenceView:
        """Return the changes since the previous completed run, or since the run `with_`."""
        key = _joined(key) or ""
        return await self._client.compare_results(with_=with_, key=key, limit=limit, **self._of)

    async def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - what the API calls it
        **options: Unpack[FileArguments],
    ) -> Path:
        """Write all rows to a file, whose suffix sets the format: `rows.csv`, `rows.jsonl.gz`. The file
        appears when it is complete.
        """
        target = Path(path)
        named, compression = _by_name(target)
        chosen = format or named
        if not chosen:
            raise RequestInvalid(
                f"{target.name!r} has no suffix that sets the format", hint="use a name such as rows.csv"
            )
        if format is None and compression:
            options.setdefault("compression", compression)
        pieces = self._client.export_results(format=chosen, **self._of, **options)
        await _write(target, pieces)
        return target


async def _write(target: Path, pieces: AsyncGenerator[bytes]) -> None:
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        async with aclosing(pieces):
            with await asyncio.to_thread(part.open, "xb") as file:
                async for piece in pieces:
                    await asyncio.to_thread(file.write, piece)
        await asyncio.to_thread(part.replace, target)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _by_name(path: Path) -> tuple[str, str | None]:
    """Return the format and the compression of a file name."""
    *_, last = suffixes if (suffixes := [suffix[1:].lower() for suffix in path.suffixes]) else [""]
    if last in COMPRESSIONS:
        before = suffixes[-2] if len(suffixes) > 1 else ""
        return FORMAT_ALIASES.get(before, before), last
    return FORMAT_ALIASES.get(last, last), None


def _joined(words: Several | None) -> str | None:
    return words if words is None or isinstance(words, str) else ",".join(words)


async def all_of(page: Callable[[str | None], Awaitable[Listed[T]]]) -> AsyncGenerator[T]:
    """Yield all items of a list; `page` fetches the page at a cursor."""
    cursor: str | None = None
    while True:
        found = await page(cursor)
        for one in found.items:
            yield one
        cursor = found.next
        if cursor is None:
            return
