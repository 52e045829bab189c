"""Statements about tasks, schedules, notifications and the replay of runs use indexes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from smartspider.backends.sqlite import frontier
from smartspider.core.tasks import TaskOrder
from smartspider.store import notifications, schedules, tasks
from smartspider.store.database import rows
from smartspider.store.tasks import TaskFilter
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock

TASKS = ("delete_firings", "delete_schedules", "delete_notifications", "delete_targets")
FILTERS = (
    *(TaskFilter(), TaskFilter(prefix="a"), TaskFilter(q="a"), TaskFilter(owner="a")),
    *(TaskFilter(state="failed"), TaskFilter("a", "a", "a", "failed")),
)
ORDERS: tuple[tuple[TaskOrder, int | str], ...] = (
    *(("created", 1), ("-created", 1)),
    *(("name", "ab"), ("-name", "ab")),
)
REPLAY = ("live_count", "open_count", "open_rows")


def statements() -> list[tuple[str, str]]:
    found = []
    for loaded in (schedules.SQL, notifications.SQL):
        found += list(vars(loaded).items())
    found += [(name, getattr(frontier.SQL, name)) for name in REPLAY]
    found += [(name, getattr(tasks.SQL, name)) for name in TASKS]
    return [
        *found,
        *(
            (f"{order} {only}", tasks.listing(only, order, after)[0])
            for only in FILTERS
            for order, after in ORDERS
        ),
    ]


@pytest.mark.parametrize(("name", "sql"), statements(), ids=lambda part: part[:30])
async def test_nothing_is_scanned_and_nothing_sorted(tmp_path: Path, name: str, sql: str) -> None:
    backend = SqliteBackend(tmp_path, ManualClock())
    numbered = [int(one) for one in re.findall(r"\?(\d+)", sql)]
    values = (1,) * (max(numbered) if numbered else sql.count("?"))
    steps = await backend.database.read(
        lambda connection: [str(step) for *_, step in rows(connection, f"EXPLAIN QUERY PLAN {sql}", values)]
    )
    await backend.close()
    scans = [step for step in steps if step.startswith("SCAN") and "CONSTANT ROW" not in step]
    walks = [step for step in scans if not re.search(r"USING (COVERING )?INDEX firing_watched", step)]
    if name == "sweep":  # the first few by id
        walks = [step for step in walks if step != "SCAN notification"]
    if name in (
        "count_targets",
        "delete_notifications",
        "delete_targets",
    ):  # there are at most a thousand targets
        walks = [step for step in walks if not re.match(r"SCAN notification_target", step)]
    assert walks == [], steps
    assert not [step for step in steps if "TEMP B-TREE" in step], steps
