"""Tasks and their versions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from smartspider.api.answers import ETAG, LOCATION, answer, answers, answers_nothing, described, no_answer
from smartspider.api.bodies import TASK_BODY, SentTask
from smartspider.api.etags import IfMatch, etag, expected_version
from smartspider.api.house import Housed
from smartspider.api.idempotency import once
from smartspider.api.ids import TaskId
from smartspider.api.paging import Cursor, Limit
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.core.tasks import MAX_NOTE
from smartspider.services import saving, task_views, tasks
from smartspider.services.checking import check_document
from smartspider.views.listed import Listed
from smartspider.views.preview import DryRun
from smartspider.views.tasks import TaskLine, TaskSaved, TaskView, VersionLine, VersionView
from smartspider.wiring import looking
from smartspider.wiring.timetable import timetable_of

router = APIRouter(prefix="/api/tasks", tags=["tasks"])

Reader = Annotated[Principal, needs("tasks", "read")]
Writer = Annotated[Principal, needs("tasks", "write")]
Note = Annotated[str, Query(max_length=MAX_NOTE, description="What this version is for.")]
Number = Annotated[int, Path(ge=1, le=10**12, description="The number of a version.")]
MOST_PAGES = 20

SAVED = {
    "id": "1",
    "task_id": "1",
    "name": "shop_prices",
    "version": 1,
    "status": "created",
    "changes": [],
    "warnings": [],
}
CHANGED = {
    **SAVED,
    "version": 2,
    "status": "changed",
    "changes": [{"kind": "changed", "path": "concurrency", "before": 8, "after": 16}],
}


@router.post(
    "",
    name="create_task",
    summary="Keep a new task",
    description="The body is a task file. With `dry_run` it is only checked, and with `preview` its first "
    "pages are fetched and read as a crawl would; nothing is kept then.",
    openapi_extra=TASK_BODY,
    **{
        **answers(TaskSaved, "The task is kept", status=201, example=SAVED, **LOCATION),
        "responses": {
            201: described(TaskSaved, "The task is kept", example=SAVED, **LOCATION),
            200: described(
                DryRun,
                "What came of a dry run, also of a task that is not valid",
                example={"valid": True, "errors": [], "warnings": [], "preview": [{"title": "Tea"}]},
            ),
        },
    },
)
@once
async def create_task(
    sent: SentTask,
    house: Housed,
    principal: Writer,
    *,
    dry_run: Annotated[bool, Query(description="Only check it.")] = False,
    preview: Annotated[bool, Query(description="Fetch a few pages as well; with `dry_run`.")] = False,
    pages: Annotated[int, Query(ge=1, le=MOST_PAGES, description="How many pages a preview fetches.")] = 3,
    note: Note = "",
) -> Response:
    """Keep a new task."""
    if dry_run:
        return answer(await looking.dry_run(house, principal, sent.value, pages if preview else 0))
    checked = await check_document(sent.value())
    view = await saving.create(timetable_of(house.premises, house.settings), principal, checked, note)
    return answer(view, 201, {"Location": f"/api/tasks/{view.id}", "ETag": etag(view.version)})


@router.get("", name="list_tasks", summary="Tasks", **answers(Listed[TaskLine], "A page of tasks"))
async def list_tasks(
    house: Housed,
    _principal: Reader,
    name: Annotated[str, Query(max_length=100, description="Only names that begin so, by name.")] = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Tasks in the order they were created, or by name where a name is asked for."""
    return answer(await task_views.list_tasks(house.premises.tasks, name, cursor=cursor, limit=limit))


@router.get(
    "/{task_id}",
    name="get_task",
    summary="A task as it stands",
    **answers(TaskView, "The task", **ETAG),
)
async def get_task(task_id: TaskId, house: Housed, principal: Reader) -> Response:
    """The newest version of a task, and its newest run. Secrets in it are shown to who may change it."""
    task = await tasks.find_task(house.premises.tasks, task_id)
    view = await task_views.show(house.premises.tasks, house.premises.store, principal, task)
    return answer(view, headers={"ETag": etag(task.version)})


@router.put(
    "/{task_id}",
    name="change_task",
    summary="Keep a new version of a task",
    openapi_extra=TASK_BODY,
    **answers(TaskSaved, "The task as it is now", example=CHANGED, **ETAG),
)
async def change_task(
    task_id: TaskId,
    sent: SentTask,
    house: Housed,
    principal: Writer,
    *,
    if_match: IfMatch = None,
    note: Note = "",
) -> Response:
    """A new version, or the old one when nothing changed. A task keeps its name."""
    task = await tasks.find_own_task(house.premises.tasks, task_id, principal)
    checked = await check_document(sent.value())
    expected = expected_version(if_match, task.version)
    table = timetable_of(house.premises, house.settings)
    view = await saving.change(table, principal, task, checked, expected=expected, note=note)
    return answer(view, headers={"ETag": etag(view.version)})


@router.delete(
    "/{task_id}", name="delete_task", summary="Delete a task", **answers_nothing("The task is deleted")
)
async def delete_task(
    task_id: TaskId, house: Housed, principal: Writer, if_match: IfMatch = None
) -> Response:
    """Its runs, their rows and its versions stay. Not while a run of it is unfinished."""
    task = await tasks.find_own_task(house.premises.tasks, task_id, principal)
    expected_version(if_match, task.version)
    await tasks.delete(house.premises.tasks, task, principal)
    return no_answer()


@router.get(
    "/{task_id}/versions",
    name="list_task_versions",
    summary="Versions of a task, newest first",
    **answers(Listed[VersionLine], "A page of versions, each with what it changed"),
)
async def list_task_versions(
    task_id: TaskId,
    house: Housed,
    principal: Reader,
    limit: Annotated[int, Query(ge=1, le=100, description="How many at most.")] = 20,
    cursor: Cursor = None,
) -> Response:
    """Who wrote each, when, why, and what changed; also of a deleted task by its id."""
    task = await tasks.find_task(house.premises.tasks, task_id, or_deleted=True)
    store = house.premises.tasks
    return answer(await task_views.list_versions(store, principal, task, cursor=cursor, limit=limit))


@router.get(
    "/{task_id}/versions/{number}",
    name="get_task_version",
    summary="A version of a task",
    **answers(VersionView, "The version, with the task as it was"),
)
async def get_task_version(task_id: TaskId, number: Number, house: Housed, principal: Reader) -> Response:
    """One version, with what it changed; also of a deleted task by its id."""
    task = await tasks.find_task(house.premises.tasks, task_id, or_deleted=True)
    return answer(await task_views.show_version(house.premises.tasks, principal, task, number))
