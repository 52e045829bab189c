"""Runs belong to the owner of their task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from smartspider.core.access import Principal
from smartspider.core.errors import Forbidden, NotFound
from smartspider.core.runs.tuning import Tuning
from smartspider.core.tasks import TaskRecord
from smartspider.installation.data_folder import DataFolder
from smartspider.services.runs import control, tuning
from smartspider.services.runs.start import StartOptions, start_run
from smartspider.store.audit import AuditFilter
from smartspider.taskfile.load import parse_task
from smartspider.taskfile.model.task import task_spec
from smartspider.wiring.deletion import delete_run

ANN, BOB = Principal("ann", "operator"), Principal("bob", "operator")
ADMIN = Principal("root", "admin")
VIEWER = Principal("ann", "viewer")
NARROW = Principal("ann", "operator", scopes=("runs:read",))

Act = Callable[[DataFolder, Principal, int], Awaitable[object]]

ACTS: dict[str, Act] = {
    "pause": control.pause,
    "resume": control.resume,
    "stop": control.stop,
    "retry": control.retry,
    "retry all": lambda folder, who, run_id: control.retry(folder, who, run_id, "all"),
    "tune": lambda folder, who, run_id: tuning.tune(folder, who, run_id, Tuning(concurrency=2)),
    "cancel": control.cancel,
    "delete": delete_run,
}


@pytest.fixture
async def task(folder: DataFolder) -> TaskRecord:
    spec = task_spec(parse_task({"name": "shop", "entry_urls": ["https://shop.example/"]}))
    return await folder.tasks.create(spec, actor="ann")


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
@pytest.mark.parametrize("stranger", [BOB, VIEWER, NARROW], ids=["other", "viewer", "scope"])
async def test_a_stranger_changes_nothing(
    folder: DataFolder, task: TaskRecord, act: Act, stranger: Principal
) -> None:
    run = await start_run(folder, ANN, task)
    with pytest.raises(Forbidden):
        await act(folder, stranger, run.id)
    assert await folder.store.get_run(run.id) == run


@pytest.mark.parametrize("stranger", [BOB, VIEWER, NARROW], ids=["other", "viewer", "scope"])
async def test_a_stranger_starts_nothing(folder: DataFolder, task: TaskRecord, stranger: Principal) -> None:
    with pytest.raises(Forbidden):
        await start_run(folder, stranger, task)
    assert await folder.store.find_runs() == []


@pytest.mark.parametrize("who", [ANN, ADMIN], ids=["owner", "admin"])
async def test_the_owner_and_an_admin_act_under_their_names(
    folder: DataFolder, task: TaskRecord, who: Principal
) -> None:
    run = await start_run(folder, who, task, StartOptions(started_by="schedule:3"))
    assert run.started_by == "schedule:3"
    assert (await control.pause(folder, who, run.id)).reason == f"paused by {who.name}"
    await control.cancel(folder, who, run.id)
    await delete_run(folder, who, run.id)
    entries = await folder.audit.entries(AuditFilter(subject=f"run:{run.id}"))
    assert {entry.actor for entry in entries} == {who.name}
    assert entries[0].action == "run.deleted"


async def test_a_deleted_task_is_not_started(folder: DataFolder, task: TaskRecord) -> None:
    deleted = await folder.tasks.delete(task.id, actor="ann")
    with pytest.raises(NotFound, match="is deleted"):
        await start_run(folder, ANN, deleted)
