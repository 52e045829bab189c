"""The pages of lists are deleted with their run."""

from __future__ import annotations

from typing import Any

from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.database import Connection, rows
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.contracts.actions import begin, settle, take_one


def chains(connection: Connection) -> list[Any]:
    return [chain for (chain,) in rows(connection, "SELECT chain FROM list_page")]


async def test_pages_of_lists_are_deleted_with_their_run_alone(backend: SqliteBackend) -> None:
    worker = await backend.frontier.join(WorkerRegistration("w"))
    run, other = await begin(backend, "a"), await begin(backend, "a", name="other")
    leases = [await take_one(backend, worker, each) for each in (run, other)]
    for lease in leases:
        await settle(backend, Settlement(lease, Close("done", list_digest=b"1" * 16)))
    assert await backend.database.read(chains) == [lease.url_id for lease in leases]
    await backend.store.finish(run.id)
    await backend.store.delete_run(run.id)
    assert await backend.database.read(chains) == [leases[1].url_id]
