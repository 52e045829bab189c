"""Rows: listed, counted, compared, exported."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import StringConstraints
from starlette.responses import Response

from smartspider.api.answers import answer, answers
from smartspider.api.files import FileAnswer
from smartspider.api.house import Housed
from smartspider.api.paging import Cursor, Limit
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.interfaces.sink import OutputOptions
from smartspider.services import results
from smartspider.services.exports import MEDIA_TYPES, ExportChoice
from smartspider.services.results import Asked, Choice
from smartspider.services.rows import MAX_CONDITIONS
from smartspider.views.listed import Listed
from smartspider.views.results import (
    CleaningView,
    CoverageView,
    DifferenceView,
    RejectView,
    ResultCountView,
    ResultView,
)

router = APIRouter(prefix="/api/results", tags=["results"])

Reader = Annotated[Principal, needs("results", "read")]
Text = Annotated[str, StringConstraints(max_length=250)]
"""All parameters at their longest, percent-encoded, still fit into the 64 KB that a request line may have."""
Where = Annotated[
    list[Text],
    Query(
        default_factory=list,
        max_length=MAX_CONDITIONS,
        description="Only rows with `field=value`, `field!=value`, `field<3`, `<=`, `>`, `>=`, `field~part` "
        "(a part of a text, or an element of a list) or `field?` (not null). A field may be a path: "
        "`tags[0]`, `seller.name`. Given several times, all must hold.",
        examples=["price>=10"],
    ),
]
Fields = Annotated[str | None, Query(max_length=1500, description="Only these fields, in this order: `a,b`.")]
Sort = Annotated[
    str | None,
    Query(
        max_length=300,
        description="A field or path to sort by; `-` before it turns the order around: `-price`. Rows "
        "without a value come last. Runs of up to 200,000 rows are sorted; `created_at` and `-created_at` "
        "(the order rows were committed in) go with any number.",
    ),
]
RowCursor = Annotated[
    str | None,
    Query(max_length=3000, pattern="^[0-9A-Za-z_-]*$", description="`next` of the page before."),
]
Format = Annotated[
    str,
    Query(
        alias="format",
        max_length=40,
        description="csv, json, jsonl, md, xml, xlsx, parquet, sqlite, or one that a plug-in adds.",
        examples=["csv"],
    ),
]

ROW = {
    "run_id": "1",
    "url": "http://127.0.0.1:8001/list?page=1",
    "data": {"title": "Sencha", "price": 12.5},
    "fingerprint": "5ecd9c64b8f3a1d0f6b1a2c3d4e5f607",
    "created_at": "2026-01-02T03:04:05.678Z",
}
NAMED = {
    "Content-Disposition": {
        "description": "The name of the file: `<task>-run-<id>.<format>`.",
        "schema": {"type": "string"},
    }
}
FILE: dict[str, Any] = {
    "description": "The file",
    "headers": NAMED,
    "content": {
        **{media_type.partition(";")[0]: {"schema": {}} for media_type in sorted(set(MEDIA_TYPES.values()))},
        "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
    },
}


async def _asked(
    task_id: Annotated[
        str | None, Query(max_length=200, description="The id or name of a task: its newest run.")
    ] = None,
    run_id: Annotated[str | None, Query(max_length=40, description="The id of a run.")] = None,
) -> Asked:
    return Asked(run_id or None, task_id or None)  # `task_id=` says no more than leaving it out


AskedRun = Annotated[Asked, Depends(_asked)]


async def _options(
    envelope: Annotated[
        bool, Query(description="Write url, run, fingerprint and time with every row.")
    ] = False,
    excel: Annotated[
        bool, Query(description="CSV that spreadsheets open well: marked as UTF-8, no formulas.")
    ] = False,
    delimiter: Annotated[
        str, Query(max_length=10, description="What separates CSV cells: one of , ; | : ^ ~ # or `tab`.")
    ] = ",",
) -> OutputOptions:
    return OutputOptions(envelope, excel, "\t" if delimiter.lower() == "tab" else delimiter)


async def _choice(
    options: Annotated[OutputOptions, Depends(_options)],
    *,
    where: Where,
    format_: Format = "jsonl",
    compression: Annotated[
        str | None, Query(max_length=40, description="gz, zst, bz2 or xz, for formats that are text.")
    ] = None,
    fields: Fields = None,
    only_changes: Annotated[
        bool,
        Query(description="Only rows that are new or changed since the last completed run of the task."),
    ] = False,
) -> ExportChoice:
    return ExportChoice(format_, compression, where, fields, only_changes, options)


@router.get(
    "",
    name="list_results",
    summary="Rows of a run",
    description="The newest run of a task, or the run that is named. A page with a filter may be short, even "
    "empty, and still have a `next`: it looks at 20,000 rows at most.",
    **answers(Listed[ResultView], "A page of rows", example={"items": [ROW], "next": None}),
)
async def list_results(
    house: Housed,
    _principal: Reader,
    asked: AskedRun,
    *,
    where: Where,
    fields: Fields = None,
    sort: Sort = None,
    limit: Limit = 100,
    cursor: RowCursor = None,
) -> Response:
    """A page of rows."""
    choice = Choice(where, fields, sort)
    return answer(await results.rows(house.premises, asked, choice, cursor=cursor, limit=limit))


@router.get(
    "/count",
    name="count_results",
    summary="How many rows there are",
    **answers(ResultCountView, "The count", example={"run_id": "1", "count": 120, "complete": True}),
)
async def count_results(
    house: Housed,
    _principal: Reader,
    asked: AskedRun,
    where: Where,
    at_most: Annotated[
        int, Query(ge=1, le=1_000_000, description="Rows to look at, where there is a filter.")
    ] = 100_000,
) -> Response:
    """How many rows there are."""
    return answer(await results.count(house.premises, asked, where, at_most=at_most))


@router.get(
    "/coverage",
    name="get_coverage",
    summary="How full the fields are",
    **answers(CoverageView, "Field by field, over the newest rows"),
)
async def get_coverage(
    house: Housed,
    _principal: Reader,
    asked: AskedRun,
    fields: Fields = None,
    sample: Annotated[int, Query(ge=1, le=100_000, description="How many rows to look at.")] = 1_000,
) -> Response:
    """How full the fields are."""
    return answer(await results.coverage(house.premises, asked, fields, sample=sample))


@router.get(
    "/diff",
    name="compare_results",
    summary="What changed between two runs",
    description="Compared with the completed run before it, or with the run that `with` names. The counts "
    "are of all rows; `only_changes` of the export has all rows that are new or changed.",
    **answers(DifferenceView, "The counts, and the first changes"),
)
async def compare_results(
    house: Housed,
    _principal: Reader,
    asked: AskedRun,
    with_: Annotated[
        str | None, Query(alias="with", max_length=40, description="The run to compare with.")
    ] = None,
    key: Annotated[
        str, Query(max_length=1000, description="Fields that rows are recognised by: `a,b`.")
    ] = "",
    limit: Limit = 100,
) -> Response:
    """What changed between two runs."""
    slots = house.exports.slots
    return answer(await results.changes(house.premises, slots, asked, with_, key, limit=limit))


@router.get(
    "/rejects",
    name="list_rejects",
    summary="Items that were not kept",
    **answers(Listed[RejectView], "A page of them, with the reason"),
)
async def list_rejects(
    house: Housed, _principal: Reader, asked: AskedRun, limit: Limit = 100, cursor: Cursor = None
) -> Response:
    """Items that were not kept."""
    return answer(await results.rejects(house.premises, asked, cursor=cursor, limit=limit))


@router.get(
    "/cleaning",
    name="list_cleaning",
    summary="What steps made of values",
    description='Kept where the task says `"cleaning_log": true`.',
    **answers(Listed[CleaningView], "A page of them"),
)
async def list_cleaning(
    house: Housed,
    _principal: Reader,
    asked: AskedRun,
    *,
    field: Annotated[str | None, Query(max_length=1000, description="Only this field.")] = None,
    step: Annotated[
        str | None,
        Query(max_length=1000, description="Only this step: `number`, or `pipeline[2] number`."),
    ] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """What steps made of values."""
    found = await results.cleaning(house.premises, asked, (field, step), cursor=cursor, limit=limit)
    return answer(found)


@router.post(
    "/export",
    name="export_results",
    summary="All rows of a run as a file",
    description="Sent while it is made; xlsx, parquet and sqlite are made first. When something goes wrong "
    "on the way the connection breaks off, so that a part is never taken for the whole.",
    status_code=200,
    response_class=Response,
    responses={200: FILE},
)
async def export_results(
    house: Housed,
    _principal: Reader,
    asked: AskedRun,
    choice: Annotated[ExportChoice, Depends(_choice)],
) -> Response:
    """All rows of a run as a file."""
    run = await results.find_made_run(house.premises, asked)
    return FileAnswer(house.exports.begin(run, choice))
