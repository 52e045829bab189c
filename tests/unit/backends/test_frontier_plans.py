"""What a lease costs does not grow with what is queued: everything it looks at is found by a key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from smartspider.backends.sqlite import demand, queue
from smartspider.store.database import rows
from smartspider.store.nodes import workers
from smartspider.store.nodes import workers as scaling
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock

GROWING = ("run", "lane", "later", "queue", "url", "host")
STATEMENTS = {
    "runnable": ("[1]",),
    "asked": (1.0, "[1]"),
    "with_suspects": ("[1]",),
    "with_open_lanes": ("[1]",),
    "wake_lanes": ("[1]", 1.0),
    "due_later": ("[1]", 1.0),
    "due_suspects": (1, 1.0),
    "open_lanes": (1, 9),
    "head": (1, 9),
    "ahead_lanes": (1, 1.0, 9),
    "queues_at": (1,),
    "next_wake": ("[1]", 1.0),
    "next_due": ("[1]", 1.0),
    "held_by": (1,),
}


async def steps_of(folder: Path, sql: str, values: tuple[object, ...]) -> list[str]:
    backend = SqliteBackend(folder, ManualClock())
    try:
        plan = await backend.database.read(lambda raw: rows(raw, f"EXPLAIN QUERY PLAN {sql}", values))
    finally:
        await backend.close()
    return [str(step) for *_, step in plan]


@pytest.mark.parametrize("name", STATEMENTS)
async def test_leasing_scans_no_table_that_grows(tmp_path: Path, name: str) -> None:
    steps = await steps_of(tmp_path, getattr(queue.SQL, name), STATEMENTS[name])
    assert steps
    assert not [step for step in steps if step.startswith(tuple(f"SCAN {table}" for table in GROWING))], steps


async def test_workers_are_listed_by_what_is_in_flight(tmp_path: Path) -> None:
    steps = await steps_of(tmp_path, workers.SQL.held, ())
    assert not [step for step in steps if step.startswith(("SCAN host", "SCAN url", "SCAN run"))], steps


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        (scaling.SCALING.runs, (9,)),
        (demand.SQL.count, (1, 9)),
        (demand.SQL.looked, (1, 9, 9, 1.0)),
    ],
    ids=["runs", "count", "looked"],
)
async def test_deciding_how_many_workers_are_wanted_scans_no_table_that_grows(
    tmp_path: Path, sql: str, values: tuple[object, ...]
) -> None:
    steps = await steps_of(tmp_path, sql, values)
    assert not [step for step in steps if re.match(r"SCAN (run|lane|host|lease|url|[hlr])\b", step)], steps
