"""Rows of runs: listed, counted, compared, exported."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any, Unpack

from smartspider.operations.operation import Operations, operation
from smartspider.views.arguments import ExportArguments, Fields, RunArguments, Where
from smartspider.views.listed import Listed
from smartspider.views.params import Cursor, Limit, Param, query
from smartspider.views.results import (
    ChangeKind,
    CleaningView,
    CoverageView,
    DifferenceView,
    RejectView,
    ResultCountView,
    ResultView,
)

RowCursor = Annotated[
    str | None,
    Param(about="`next` of the previous page.", rules={"max_length": 3000, "pattern": "^[0-9A-Za-z_-]*$"}),
]
Format = Annotated[
    str,
    Param(
        about="csv, json, jsonl, md, xml, xlsx, parquet, sqlite, or a format added by a plug-in.",
        rules={"max_length": 40},
        examples=("csv",),
    ),
]
ROW = {
    "id": "1099511627777",
    "run_id": "1",
    "page_id": "1099511627777",
    "url": "http://127.0.0.1:8001/list?page=1",
    "data": {"title": "Sencha", "price": 12.5},
    "fingerprint": "5ecd9c64b8f3a1d0f6b1a2c3d4e5f607",
    "created_at": "2026-01-02T03:04:05.678Z",
}


class ResultOperations(Operations):
    """The rows of a run: `run_id`, or the newest run of `task_id`."""

    @operation(
        "GET",
        "/api/results",
        needs=("results", "read"),
        summary="List rows",
        answer="A page of rows",
        example={"items": [ROW], "next": None},
        is_heavy=True,
    )
    async def list_results(
        self,
        *,
        where: Where = (),
        fields: Fields = None,
        sort: Annotated[
            str | None,
            query(
                "A field or path to sort by; a leading `-` reverses the order: `-price`. Rows without a "
                "value come last. Runs of up to 200,000 rows can be sorted; `created_at` and `-created_at` "
                "(the order rows were committed in) work with any number.",
                max_length=300,
            ),
        ] = None,
        limit: Limit = 100,
        cursor: RowCursor = None,
        **source: Unpack[RunArguments],
    ) -> Listed[ResultView]:
        """List the rows of the newest run of a task, or of the run given.

        A filtered page reads at most 20,000 rows, so it may contain fewer than `limit` rows, or none, and
        still have a `next`.
        """
        from smartspider.services.results import results
        from smartspider.services.results.results import RowSelection

        return await results.list_rows(
            self.installation,
            results.row_source(source),
            RowSelection(_several(where), fields, sort),
            cursor=cursor,
            limit=limit,
        )

    @operation(
        "GET",
        "/api/results/count",
        needs=("results", "read"),
        summary="Count rows",
        answer="The count",
        example={"run_id": "1", "count": 120, "complete": True},
        is_heavy=True,
    )
    async def count_results(
        self,
        *,
        where: Where = (),
        at_most: Annotated[
            int, query("Maximum number of rows to read with a filter.", ge=1, le=1_000_000)
        ] = 100_000,
        **source: Unpack[RunArguments],
    ) -> ResultCountView:
        """Count rows; with a filter, only the first `at_most` rows are read."""
        from smartspider.services.results import results

        return await results.count_rows(
            self.installation, results.row_source(source), _several(where), at_most=at_most
        )

    @operation(
        "GET",
        "/api/results/coverage",
        needs=("results", "read"),
        summary="Get the fill rate of fields",
        answer="The fill rate of each field, over the newest rows",
        is_heavy=True,
    )
    async def get_coverage(
        self,
        *,
        fields: Fields = None,
        sample: Annotated[int, query("The number of rows to read.", ge=1, le=100_000)] = 1_000,
        **source: Unpack[RunArguments],
    ) -> CoverageView:
        """Return the fill rate of each field, measured on the newest rows."""
        from smartspider.services.results import results

        return await results.get_coverage(
            self.installation, results.row_source(source), fields, sample=sample
        )

    @operation(
        "GET",
        "/api/results/diff",
        needs=("results", "read"),
        summary="Compare two runs",
        answer="The counts, and a page of the changes",
    )
    async def compare_results(
        self,
        *,
        with_: Annotated[str | None, query("The run to compare with.", alias="with", max_length=40)] = None,
        key: Annotated[str, query("Fields that identify a row: `a,b`.", max_length=1000)] = "",
        kind: Annotated[ChangeKind | None, query("Only changes of this kind.")] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
        **source: Unpack[RunArguments],
    ) -> DifferenceView:
        """Compare a run with the previous completed run, or with the run `with`.

        The counts cover all rows. Every page compares the runs again: to get all new and changed rows,
        export with `only_changes`.
        """
        from smartspider.services.results import results

        return await results.diff_rows(
            self.installation,
            self.services.exports.slots.acquire(self.principal.name),
            results.row_source(source),
            with_,
            key,
            kind=kind,
            cursor=cursor,
            limit=limit,
        )

    @operation(
        "GET",
        "/api/results/rejects",
        needs=("results", "read"),
        summary="List rejected items",
        answer="A page of items, with the reason",
        is_heavy=True,
    )
    async def list_rejects(
        self, *, limit: Limit = 100, cursor: Cursor = None, **source: Unpack[RunArguments]
    ) -> Listed[RejectView]:
        """List items that were rejected, with the reason."""
        from smartspider.services.results import results

        return await results.list_rejects(
            self.installation, results.row_source(source), cursor=cursor, limit=limit
        )

    @operation(
        "GET",
        "/api/results/cleaning",
        needs=("results", "read"),
        summary="List changes made by steps",
        answer="A page of changes",
        is_heavy=True,
    )
    async def list_cleaning(
        self,
        *,
        field: Annotated[str | None, query("Only this field.", max_length=1000)] = None,
        step: Annotated[
            str | None, query("Only this step: `number`, or `pipeline[2] number`.", max_length=1000)
        ] = None,
        page_id: Annotated[str | None, query("Only values of this request.", max_length=40)] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
        **source: Unpack[RunArguments],
    ) -> Listed[CleaningView]:
        """List values before and after each step. Recorded for tasks with `"cleaning_log": true`."""
        from smartspider.services.results import results

        return await results.list_cleaning(
            self.installation,
            results.row_source(source),
            (field, step),
            page_id=page_id,
            cursor=cursor,
            limit=limit,
        )

    async def export_results(
        self,
        *,
        format: str = "jsonl",  # noqa: A002 - the name of the API's parameter
        **options: Unpack[ExportArguments],
    ) -> AsyncGenerator[bytes]:
        """Yield all rows of a run as a file, in pieces.

        Raises an error if it breaks off, so that a part is never taken for the whole.
        """
        export = await self._begin_export(format=format, **options)
        async for piece in export.chunks:
            yield piece

    @operation(
        "POST",
        "/api/results/export",
        needs=("results", "read"),
        summary="Export rows as a file",
        answer="The file",
        name="export_results",
        is_file=True,
    )
    async def _begin_export(
        self,
        *,
        format: Format = "jsonl",  # noqa: A002 - the name of the API's parameter
        **options: Unpack[ExportArguments],
    ) -> Any:
        """Export all rows of a run as a file. Text formats are streamed; xlsx, parquet and sqlite files are
        written completely before they are sent.

        If an error occurs during streaming, the connection is closed early, so that an incomplete file is
        not mistaken for a complete one.
        """
        from smartspider.services.results import exports, results
        from smartspider.services.tasks.confidentiality import sees_secrets_of

        run = await results.find_existing_run(self.installation, results.row_source(options))
        shows_all = await sees_secrets_of(self.principal, self.installation, str(run.task_id))
        choice = exports.export_choice(format, options, masks_urls=not shows_all)
        return self.services.exports.begin(run, choice, self.principal.name)

    @operation(
        "GET",
        "/api/results/export",
        needs=("results", "read"),
        summary="Save rows as a file with a browser",
        answer="The file",
        name="save_results",
        is_file=True,
    )
    async def _save(
        self,
        *,
        format: Format = "jsonl",  # noqa: A002 - the name of the API's parameter
        **options: Unpack[ExportArguments],
    ) -> Any:
        """Export all rows of a run as POST does, for browsers: they open this address with a ticket and write
        the file to disk while it arrives.
        """
        return await self._begin_export(format=format, **options)

    @operation(
        "GET",
        "/api/results/{row_id}",
        needs=("results", "read"),
        summary="Get a row",
        answer="The row",
        example=ROW,
    )
    async def get_result(
        self, row_id: Annotated[str, Param(about="The id of a row.", rules={"max_length": 40})]
    ) -> ResultView:
        """Return a row by its id."""
        from smartspider.services.results import results

        return await results.get_row(self.installation, row_id)


def _several(where: str | Sequence[str]) -> list[str]:
    return [where] if isinstance(where, str) else list(where)
