"""The overview reads as much of a large installation as of a small one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import apsw
from tests.unit.api.asking import SETTINGS, open_services

from smartspider.backends.sqlite.database import SqliteConnection
from smartspider.installation.installation import Installation
from smartspider.services.overview import get_overview
from smartspider.store.database import Connection
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task

STATES = "CASE WHEN number <= 40 THEN 'paused' WHEN number % 10 = 0 THEN 'failed' ELSE 'completed' END"
TASK = {"name": "shop", "entry_urls": ["http://127.0.0.1:9/"], "selectors": {"fields": {"title": "h1"}}}


def copied(connection: apsw.Connection, table: str, count: int, **changed: str) -> None:
    """Insert copies of the only row of a table; `changed` are expressions of `number`."""
    names = [str(column[1]) for column in connection.execute(f"PRAGMA table_info({table})")]
    chosen = ", ".join(changed.get(name, name) for name in names)
    connection.execute(
        "WITH RECURSIVE place (number) AS (SELECT 2 UNION ALL SELECT number + 1 FROM place WHERE number < ?)"
        f" INSERT INTO {table} SELECT {chosen} FROM place, {table}",
        (count,),
    )


async def fill(installation: Installation, tasks: int) -> None:
    """Store tasks with a run each, of which some ended badly just now."""
    await installation.store.create_run(compile_task(parse_task(TASK)), actor="admin")

    def work(connection: Connection) -> None:
        raw = cast("SqliteConnection", connection).apsw
        name, now = "'shop-' || number", str(installation.clock.now())
        copied(raw, "task", tasks, id="number", name=name)
        ended = {"state": STATES, "reason": "'guard: 5 failures'", "finished_at": now, "dead": "number % 3"}
        copied(raw, "run", tasks, id="number", task_id="number", task_name=name, **ended)

    await installation.database.write(work)


async def steps_of_overview(folder: Path, tasks: int) -> tuple[int, int]:
    """The steps that SQLite takes for an overview, and how many of them walk through a whole table."""
    async with open_services(folder, SETTINGS) as services:
        installation = services.installation
        await fill(installation, tasks)
        seen: list[dict[str, int]] = []

        def trace(event: dict[str, Any]) -> None:
            seen.append(event["stmt_status"])

        await installation.database.read(
            lambda connection: cast("SqliteConnection", connection).apsw.trace_v2(
                apsw.SQLITE_TRACE_PROFILE, trace
            )
        )
        seen.clear()
        shown = await get_overview(installation)
        assert (len(shown.tasks), len(shown.attention)) == (20, 50)
        walked = sum(one["SQLITE_STMTSTATUS_FULLSCAN_STEP"] for one in seen)
        return sum(one["SQLITE_STMTSTATUS_VM_STEP"] for one in seen), walked


async def test_an_overview_of_10_000_tasks_takes_the_steps_of_one_of_1_000(tmp_path: Path) -> None:
    few = await steps_of_overview(tmp_path / "few", 1_000)
    many = await steps_of_overview(tmp_path / "many", 10_000)
    assert many[0] <= few[0] * 1.1
    assert many[1] <= few[1]
