"""The rows of a run."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, Unpack

import msgspec

from smartspider.client.paging import PAGE, all_of
from smartspider.core.errors import RequestInvalid
from smartspider.operations.table import AllOperations
from smartspider.views.arguments import FileArguments, RunArguments
from smartspider.views.listed import Listed
from smartspider.views.results import CoverageView, DifferenceView, ResultCountView, ResultView

PACKED = ("gz", "zst", "bz2", "xz")
ALIKE = {"ndjson": "jsonl", "markdown": "md", "db": "sqlite"}

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
    ) -> AsyncGenerator[dict[str, Any]]:
        """All rows, each as its fields; with `envelope` also where and when it was found.

        `where` are conditions that must all hold, like `price>=10`; `fields` those that are wanted.
        """

        async def page(cursor: str | None) -> Listed[ResultView]:
            return await self._client.list_results(
                where=where, fields=_joined(fields), sort=sort, limit=PAGE, cursor=cursor, **self._of
            )

        async with aclosing(all_of(page)) as found:
            async for row in found:
                data: dict[str, Any] = msgspec.json.decode(row.data)
                yield {**msgspec.structs.asdict(row), "data": data} if envelope else data

    async def count(self, *, where: Several = (), at_most: int = 100_000) -> ResultCountView:
        """How many rows there are; with conditions, among as many as `at_most`."""
        return await self._client.count_results(where=where, at_most=at_most, **self._of)

    async def coverage(self, *, fields: Several | None = None, sample: int = 1_000) -> CoverageView:
        """How full the fields are, over the newest rows."""
        return await self._client.get_coverage(fields=_joined(fields), sample=sample, **self._of)

    async def diff(self, *, with_: str | None = None, key: Several = "", limit: int = 100) -> DifferenceView:
        """What changed since the completed run before, or since the run `with_`."""
        key = _joined(key) or ""
        return await self._client.compare_results(with_=with_, key=key, limit=limit, **self._of)

    async def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - what the API calls it
        **how: Unpack[FileArguments],
    ) -> Path:
        """All rows in a file, whose name says how they are written: `rows.csv`, `rows.jsonl.gz`. It appears
        when it is whole.
        """
        target = Path(path)
        named, packed = _by_name(target)
        chosen = format or named
        if not chosen:
            raise RequestInvalid(f"{target.name!r} does not say what to write", hint="name it like rows.csv")
        if format is None and packed:
            how.setdefault("compression", packed)
        pieces = self._client.export_results(format=chosen, **self._of, **how)
        await _written(target, pieces)
        return target


async def _written(target: Path, pieces: AsyncGenerator[bytes]) -> None:
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
    """The format that a file name means, and how it is packed."""
    *_, last = suffixes if (suffixes := [suffix[1:].lower() for suffix in path.suffixes]) else [""]
    if last in PACKED:
        before = suffixes[-2] if len(suffixes) > 1 else ""
        return ALIKE.get(before, before), last
    return ALIKE.get(last, last), None


def _joined(words: Several | None) -> str | None:
    return words if words is None or isinstance(words, str) else ",".join(words)
