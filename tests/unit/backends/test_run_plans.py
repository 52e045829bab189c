"""Lists of runs, pages and events are found by keys: no call looks at all there is, or sorts it."""

from __future__ import annotations

import re

import pytest

from smartspider.backends.sqlite import queue
from smartspider.store import events
from smartspider.store.database import Connection, rows
from smartspider.store.runs import lifecycle
from smartspider_testing.backends.sqlite import SqliteBackend

FILES = {"store": lifecycle.SQL, "events": events.SQL, "frontier": queue.SQL}

FOUND_BY_KEY = [
    "frontier.leased",
    *(f"store.{name}" for name in ("runs", "runs_named", "runs_of_task", "runs_in", "runs_of_task_in")),
    *(
        f"store.{name}"
        for name in (
            *("live_runs", "unfinished", "pages", "pages_open", "pages_closed", "pages_with_cause"),
            *("failed", "failed_with_cause", "failed_page", "host_id"),
        )
    ),
    *(f"store.{name}" for name in ("knobs", "has_open", "get_run", "recent", "count_unfinished")),
    *(
        f"events.{name}"
        for name in ("of_run", "since", "last_id", "first_number", "trim", "forget", "progress", "series")
    ),
]
INDEX = {
    "store.runs_named": "run_task",
    "store.runs_of_task": "run_of_task",
    "store.recent": "run_of_task",
    "store.count_unfinished": "run_state",
    "store.runs_in": "run_state",
    "store.runs_of_task_in": "run_task_state",
    "store.live_runs": "run_live",
    "store.unfinished": "run_unfinished",
    "store.pages_open": "url_open",
    "store.pages_closed": "url_closed",
    "store.pages_with_cause": "url_cause",
    "store.failed": "url_closed",
    "store.failed_with_cause": "url_cause",
    "events.of_run": "event_run",
}
SMALL = (
    *("SCAN scanned", "SCAN CONSTANT ROW"),
    *("SCAN run USING INDEX run_live", "SCAN run USING COVERING INDEX run_live"),
)
"""What is read whole: runs that are worked on, and what a LIMIT has bounded."""


@pytest.mark.parametrize("name", FOUND_BY_KEY)
async def test_a_list_is_found_by_its_key(backend: SqliteBackend, name: str) -> None:
    file, _, block = name.partition(".")
    sql = getattr(FILES[file], block)
    marks = re.findall(r"[?](\d*)", sql)
    values = (1,) * max([len(set(marks)) if "1" in marks else len(marks), 0])

    def plan(connection: Connection) -> list[str]:
        return [step for *_, step in rows(connection, f"EXPLAIN QUERY PLAN {sql}", values)]

    steps = await backend.database.read(plan)
    assert not [step for step in steps if "TEMP B-TREE" in step]
    assert not [step for step in steps if step.startswith("SCAN") and not step.startswith(SMALL)]
    if name in INDEX:
        assert any(f"INDEX {INDEX[name]}" in step for step in steps)
