"""Deleting a run, and nothing but it."""

from __future__ import annotations

import pytest

from smartspider.core.errors import NotAllowed, NotFound
from smartspider.core.runs.run import RunState
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.installation.data_folder import DataFolder, pending_output_marker, run_lock
from smartspider.telemetry.log_files import FOLDER as LOGS
from smartspider.wiring.deletion import delete_local_run
from smartspider_testing.contracts.actions import plan_of


def files_of(folder: DataFolder) -> set[str]:
    paths = [*folder.path.glob(f"{LOGS}/*"), *folder.path.glob("runs/*")]
    return {str(path.relative_to(folder.path)) for path in paths}


async def make_run(folder: DataFolder) -> int:
    run_id = (await folder.store.create_run(plan_of())).id
    with run_lock(folder.path, run_id):
        pending_output_marker(folder.path, run_id).touch()
    (folder.path / LOGS).mkdir(exist_ok=True)
    for name in (f"run-{run_id}.jsonl", f"run-{run_id}-worker-0.jsonl", f"run-{run_id}-worker-0.jsonl.1"):
        (folder.path / LOGS / name).touch()
    return run_id


async def test_everything_of_a_run_goes_and_everything_of_another_stays(folder: DataFolder) -> None:
    first = await make_run(folder)
    before = files_of(folder)
    second = await make_run(folder)
    assert await delete_local_run(folder, second) == ""
    assert files_of(folder) == before
    assert [run.id for run in await folder.store.find_runs()] == [first]


@pytest.mark.parametrize("state", ["running", "stopping"])
async def test_a_run_that_a_dead_process_left_behind_can_be_deleted(
    folder: DataFolder, state: RunState
) -> None:
    run_id = await make_run(folder)
    await folder.store.set_state(run_id, "running")
    await folder.store.set_state(run_id, state)
    await delete_local_run(folder, run_id)
    assert await folder.store.find_runs() == []


async def test_a_run_that_is_crawled_stays_whole(folder: DataFolder) -> None:
    run_id = await make_run(folder)
    before = files_of(folder)
    with run_lock(folder.path, run_id), pytest.raises(NotAllowed, match="in use by another process"):
        await delete_local_run(folder, run_id)
    assert files_of(folder) == before
    assert [run.id for run in await folder.store.find_runs()] == [run_id]


async def test_a_run_that_is_not_there_leaves_no_trace(folder: DataFolder) -> None:
    with pytest.raises(NotFound):
        await delete_local_run(folder, 77)
    assert files_of(folder) == set()


async def test_space_that_cannot_be_given_back_now_does_not_keep_the_run(folder: DataFolder) -> None:
    run_id = await make_run(folder)
    await folder.frontier.join(WorkerRegistration("of another run"))
    assert await delete_local_run(folder, run_id) == f"the data folder {folder.path} is in use"
    assert await folder.store.find_runs() == []
    assert files_of(folder) == set()


async def test_a_log_that_cannot_be_removed_does_not_keep_the_run(folder: DataFolder) -> None:
    run_id = await make_run(folder)
    (folder.path / LOGS / f"run-{run_id}-worker-9.jsonl").mkdir()
    assert await delete_local_run(folder, run_id) == ""
    assert files_of(folder) == {f"{LOGS}/run-{run_id}-worker-9.jsonl"}


async def test_a_run_is_not_taken_out_of_the_hands_of_a_servers_worker(folder: DataFolder) -> None:
    run_id = await make_run(folder)
    await folder.store.set_state(run_id, "running")
    await folder.frontier.join(WorkerRegistration("worker"))
    with pytest.raises(NotAllowed, match="may be held by a worker"):
        await delete_local_run(folder, run_id)
    assert (await folder.store.get_run(run_id)).state == "running"
