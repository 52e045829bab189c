"""A user owns a bounded number of things; others and admins are not affected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from smartspider.core.access import Principal
from smartspider.core.errors import QuotaReached
from smartspider.core.limits.quotas import QuotaKind, Quotas
from smartspider.core.tasks import TaskRecord
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.settings import Settings, read_settings
from smartspider.operations.local import LocalOperations
from smartspider.operations.services import Services
from smartspider.services.runs import control
from smartspider.services.runs.start import StartOptions, start_run
from smartspider.wiring.opening import open_folder

ANN, BOB = Principal("ann", "operator"), Principal("bob", "operator")
ADMIN = Principal("root", "admin")
SETTINGS = Settings(quotas=Quotas(tasks=2, schedules=2, notifications=2, tokens=2, runs=2))

Create = Callable[[LocalOperations, int], Awaitable[object]]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[DataFolder]:
    with open_folder(tmp_path / "data", settings=SETTINGS) as folder:
        yield folder


def as_(folder: DataFolder, principal: Principal) -> LocalOperations:
    return LocalOperations(Services(folder), principal)


def task(number: int, owner: str = "ann") -> dict[str, object]:
    return {"name": f"{owner}-{number}", "entry_urls": ["https://shop.example/"]}


async def _task(operations: LocalOperations, number: int) -> None:
    await operations.create_task(task(number, operations.principal.name))


async def _schedule(operations: LocalOperations, number: int) -> None:
    await operations.create_schedule(f"{operations.principal.name}-0", cron=f"{number} 6 * * *")


async def _target(operations: LocalOperations, number: int) -> None:
    await operations.create_notification(
        kind="webhook", address=f"https://93.184.216.34/{number}", events=["run.failed"]
    )


async def _token(operations: LocalOperations, number: int) -> None:
    name = f"{operations.principal.name}-{number}"
    await operations.create_token(name, role="viewer", user=operations.principal.name)


async def _run(operations: LocalOperations, number: int) -> None:
    del number
    owned = await operations.installation.tasks.get(f"{operations.principal.name}-0")
    await start_run(operations.installation, operations.principal, owned, StartOptions(overlap=True))


CREATE: dict[QuotaKind, Create] = {
    "tasks": _task,
    "schedules": _schedule,
    "notifications": _target,
    "tokens": _token,
    "runs": _run,
}


@pytest.mark.parametrize("kind", CREATE)
async def test_a_user_who_has_as_many_as_allowed_gets_no_more_and_others_do(
    folder: DataFolder, kind: QuotaKind
) -> None:
    create = CREATE[kind]
    for who in (ANN, BOB, ADMIN):
        if kind == "tokens" and who is not ADMIN:
            await folder.users.add_user(who.name, "", who.role, actor="root")
        if kind in ("schedules", "runs"):
            await _task(as_(folder, who), 0)
    if kind == "tokens":
        await folder.users.add_user(ADMIN.name, "", "admin", actor="root")
    for number in range(2):
        await create(as_(folder, ANN), number)
    with pytest.raises(QuotaReached) as refused:
        await create(as_(folder, ANN), 2)
    assert refused.value.message.startswith("ann has 2 ")
    assert f"SMARTSPIDER_QUOTA_{kind.upper()}" in refused.value.hint
    await create(as_(folder, BOB), 0)
    for number in range(3):
        await create(as_(folder, ADMIN), number)


async def _owned(folder: DataFolder) -> TaskRecord:
    await _task(as_(folder, ANN), 0)
    return await folder.tasks.get("ann-0")


async def test_a_run_that_has_ended_makes_room_and_is_not_brought_back_into_it(folder: DataFolder) -> None:
    owned = await _owned(folder)
    runs = [await start_run(folder, ANN, owned, StartOptions(overlap=True)) for _ in range(2)]
    await control.pause(folder, ANN, runs[0].id)
    await folder.store.set_state(runs[1].id, "stopped")
    new = await start_run(folder, ANN, owned, StartOptions(overlap=True))
    await control.resume(folder, ANN, runs[0].id)  # a paused run counts as before
    with pytest.raises(QuotaReached):
        await control.resume(folder, ANN, runs[1].id)
    await control.cancel(folder, ANN, new.id)
    await control.resume(folder, ANN, runs[1].id)


async def test_a_deleted_task_makes_room(folder: DataFolder) -> None:
    ann = as_(folder, ANN)
    for number in range(2):
        await _task(ann, number)
    await ann.delete_task("ann-0")
    await _task(ann, 2)


def test_quotas_are_settings() -> None:
    found = read_settings({"SMARTSPIDER_QUOTA_RUNS": "0", "SMARTSPIDER_QUOTA_TASKS": "7"}).quotas
    assert (found.runs, found.tasks, found.tokens) == (0, 7, Quotas().tokens)
