"""Leases made by hand, where no frontier is needed."""

from __future__ import annotations

from itertools import count

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.open_rows import PostgresOpenRows
from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.contracts.actions import plan_of

_counters = count(1)


async def started(backend: PostgresBackend, plan: Plan | None = None) -> Run:
    """A run that takes pages."""
    run = await backend.store.create_run(plan or plan_of("one"))
    return await backend.store.set_state(run.id, "running")


async def leases(database: PostgresDatabase, run: Run) -> list[Lease]:
    """All open requests of a run, in the order they were found."""
    rows = PostgresOpenRows(database)
    places = await rows.places_after(run.id, limit=10_000)
    found = await rows.requests([place.url_id for place in places])
    return [
        Lease(
            FencingToken(1, next(_counters)),
            url_id,
            run.id,
            row.request,
            SendWindow(0.0, 0.0, 0.0),
            database.now() + 60.0,
            row.attempts,
            row.returns,
            visit=row.visit,
        )
        for url_id, row in sorted(found.items())
    ]
