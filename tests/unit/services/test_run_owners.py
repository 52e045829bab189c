"""Runs belong to the owner of their task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from smartspider.core.access import Principal
from smartspider.core.errors import Forbidden, NotFound
from smartspider.core.tasks import TaskRecord
from smartspider.core.tuning import Tuning
from smartspider.interfaces.audit_log import AuditFilter
from smartspider.services import control, knobs
from smartspider.services.desk import Desk
from smartspider.services.starting import Order, start_run
from smartspider.taskfile.load import parse_task
from smartspider.taskfile.spec import spec_of
from smartspider.wiring.deleting import delete_run_of_server
from smartspider.wiring.desk import desk_of
from smartspider.wiring.folder import DataFolder, open_folder
from smartspider.wiring.settings import Settings

ANN, BOB = Principal("ann", "operator"), Principal("bob", "operator")
ADMIN = Principal("root", "admin")
VIEWER = Principal("ann", "viewer")
NARROW = Principal("ann", "operator", scopes=("runs:read",))

Act = Callable[[DataFolder, Desk, Principal, int], Awaitable[object]]

ACTS: dict[str, Act] = {
    "pause": lambda _folder, desk, who, run_id: control.pause(desk, who, run_id),
    "resume": lambda _folder, desk, who, run_id: control.resume(desk, who, run_id),
    "stop": lambda _folder, desk, who, run_id: control.stop(desk, who, run_id),
    "retry": lambda _folder, desk, who, run_id: control.retry(desk, who, run_id),
    "retry all": lambda _folder, desk, who, run_id: control.retry(desk, who, run_id, "all"),
    "tune": lambda _folder, desk, who, run_id: knobs.tune(desk, who, run_id, Tuning(concurrency=2)),
    "cancel": lambda _folder, desk, who, run_id: control.cancel(desk, who, run_id),
    "delete": delete_run_of_server,
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[DataFolder]:
    with open_folder(tmp_path / "data") as folder:
        yield folder


@pytest.fixture
def desk(folder: DataFolder) -> Desk:
    return desk_of(folder, Settings())


@pytest.fixture
async def task(folder: DataFolder) -> TaskRecord:
    spec = spec_of(parse_task({"name": "shop", "entry_urls": ["https://shop.example/"]}))
    return await folder.tasks.create(spec, actor="ann")


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
@pytest.mark.parametrize("stranger", [BOB, VIEWER, NARROW], ids=["other", "viewer", "scope"])
async def test_a_stranger_changes_nothing(
    folder: DataFolder, desk: Desk, task: TaskRecord, act: Act, stranger: Principal
) -> None:
    run = await start_run(desk, ANN, task)
    with pytest.raises(Forbidden):
        await act(folder, desk, stranger, run.id)
    assert await folder.store.get_run(run.id) == run


@pytest.mark.parametrize("stranger", [BOB, VIEWER, NARROW], ids=["other", "viewer", "scope"])
async def test_a_stranger_starts_nothing(
    folder: DataFolder, desk: Desk, task: TaskRecord, stranger: Principal
) -> None:
    with pytest.raises(Forbidden):
        await start_run(desk, stranger, task)
    assert await folder.store.find_runs() == []


@pytest.mark.parametrize("who", [ANN, ADMIN], ids=["owner", "admin"])
async def test_the_owner_and_an_admin_act_under_their_names(
    folder: DataFolder, desk: Desk, task: TaskRecord, who: Principal
) -> None:
    run = await start_run(desk, who, task, Order(started_by="schedule:3"))
    assert run.started_by == "schedule:3"
    assert (await control.pause(desk, who, run.id)).reason == f"paused by {who.name}"
    await control.cancel(desk, who, run.id)
    await delete_run_of_server(folder, desk, who, run.id)
    entries = await folder.audit.entries(AuditFilter(subject=f"run:{run.id}"))
    assert {entry.actor for entry in entries} == {who.name}
    assert entries[0].action == "run.deleted"


async def test_a_deleted_task_is_not_started(folder: DataFolder, desk: Desk, task: TaskRecord) -> None:
    deleted = await folder.tasks.delete(task.id, actor="ann")
    with pytest.raises(NotFound, match="is deleted"):
        await start_run(desk, ANN, deleted)
