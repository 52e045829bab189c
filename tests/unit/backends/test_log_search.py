"""Searching log lines costs what is found, however many there are."""

from __future__ import annotations

import pytest

from smartspider.core.logs import LEVELS, LogLine
from smartspider.store import metrics
from smartspider.store.database import rows
from smartspider.store.logs import histogram
from smartspider.store.logs import store as logs
from smartspider.store.logs.store import LogStore, SearchLimits
from smartspider.store.logs.terms import LogFilter, filter_terms, match_expression, words
from smartspider_testing.backends.sqlite import SqliteBackend

FILTERS = [
    LogFilter(),
    LogFilter(run_id=1),
    LogFilter(run_id=1, level=30),
    LogFilter(task_id=1, level=40),
    LogFilter(host="h", error="e", worker="w"),
    LogFilter(text="some words"),
    LogFilter(since=1.0, until=2.0),
    LogFilter(task_id=1, run_id=1, level=20, since=1.0, until=2.0, host="h", error="e", worker="w", text="x"),
]


async def plan(backend: SqliteBackend, sql: str, values: tuple[object, ...]) -> list[str]:
    return await backend.database.read(
        lambda connection: [str(found[-1]) for found in rows(connection, f"EXPLAIN QUERY PLAN {sql}", values)]
    )


@pytest.mark.parametrize("only", FILTERS)
@pytest.mark.parametrize("order", ["DESC LIMIT 100", "ASC LIMIT 100"])
async def test_lines_are_found_by_their_numbers_and_marks(
    backend: SqliteBackend, only: LogFilter, order: str
) -> None:
    sql, values = logs.search_sql(only, order)
    marks = filter_terms(only)
    bound = (0, 99, match_expression(marks)) if marks else (0, 99)
    steps = await plan(backend, sql, (*bound, *values))
    assert not any(
        "TEMP B-TREE" in step or step.startswith("SCAN log ") or step == "SCAN log" for step in steps
    )
    if marks:
        assert steps[0].startswith("SCAN log_words VIRTUAL TABLE INDEX")
        assert "M" in steps[0].rpartition(":")[2]  # it is asked for the marks
        assert steps[1].startswith("SEARCH log USING INTEGER PRIMARY KEY")
    else:
        assert steps == ["SEARCH log USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"]


@pytest.mark.parametrize("only", [*FILTERS, LogFilter(levels=(10, 40)), LogFilter(url="http://a/", text="x")])
async def test_lines_are_counted_by_their_numbers_and_marks(backend: SqliteBackend, only: LogFilter) -> None:
    sql, values = histogram.times_sql(only, 10)
    marks = filter_terms(only)
    bound = (0, 99, match_expression(marks)) if marks else (0, 99)
    for step in await plan(backend, sql, (*bound, *values)):
        assert step.startswith(("SEARCH log USING INTEGER PRIMARY KEY", "SCAN log_words VIRTUAL TABLE")), step
    sql, values = histogram.sample_sql(only)
    text = () if only.text is None else (match_expression(words(only.text)),)
    steps = await plan(backend, sql, (10, 5, 6, 99, 1, *text, *values))
    assert any(step.startswith("SEARCH log USING INTEGER PRIMARY KEY") for step in steps)
    for step in steps:
        if "block" in step or "pick" in step or step in ("SETUP", "RECURSIVE STEP", "LIST SUBQUERY 3"):
            continue
        blocks = ("LIST SUBQUERY",)
        lines = ("SCAN CONSTANT ROW", "SEARCH log USING INTEGER PRIMARY KEY", "SCAN log_words VIRTUAL TABLE")
        assert step.startswith((*blocks, *lines)), step


@pytest.mark.parametrize("name", ["ends", "last", "line_from", "oldest", "of_run", "task_of"])
async def test_what_else_is_read_is_found_by_key(backend: SqliteBackend, name: str) -> None:
    values = {"line_from": (1,), "oldest": (9,), "of_run": (match_expression(["x"]), 1, 9), "task_of": (1,)}
    steps = await plan(backend, getattr(logs.SQL, name), values.get(name, ()))
    small = (
        "SCAN sqlite_sequence",
        "SCAN CONSTANT ROW",
        "SCALAR SUBQUERY",
        "SCAN log_words VIRTUAL TABLE INDEX",
    )
    for step in steps:
        assert step.startswith(("SEARCH", *small)) or (name == "oldest" and step == "SCAN log"), step
        assert "TEMP" not in step


@pytest.mark.parametrize("name", ["live_runs", "held", "is_known", "add"])
async def test_gauges_and_sums_look_at_no_table_that_grows(backend: SqliteBackend, name: str) -> None:
    values = {"live_runs": (9,), "held": (1.0, 9), "is_known": ("a", "b"), "add": ("a", "b", 1.0)}
    for step in await plan(backend, getattr(metrics.SQL, name), values[name]):
        is_index = "USING INDEX run_live" in step or "INDEX host_held" in step
        assert is_index or not step.startswith(("SCAN run", "SCAN host", "SCAN metric")), step


async def test_a_search_without_marks_looks_at_so_many_lines(backend: SqliteBackend) -> None:
    store = LogStore(backend.database, SearchLimits(lines=10))
    now = backend.clock.now()
    await store.add([LogLine(now - 100.0 + number, 20, "a.b", str(number)) for number in range(100)])
    only = LogFilter(until=now - 95.0)
    page = await store.before(only, limit=5)
    assert (page.lines, page.next) == ([], 91)
    seen = []
    while page.next is not None:
        page = await store.before(only, before=page.next, limit=5)
        seen += [one.line.text for one in page.lines]
    assert seen == ["5", "4", "3", "2", "1", "0"]
    page = await store.after(LogFilter(since=now - 3.0), after=0, limit=5)
    assert (page.lines, page.next) == ([], 10)


async def test_a_search_for_several_marks_looks_at_so_many_numbers(backend: SqliteBackend) -> None:
    store = LogStore(backend.database, SearchLimits(entries=10))
    now = backend.clock.now()
    lines = [
        LogLine(now, 20, "a.b", f"{number}", host=f"h{number % 2}", error=f"e{number % 3}")
        for number in range(60)
    ]
    await store.add(lines)
    for ascending in (False, True):
        seen, at, calls = [], 0 if ascending else None, 0
        while True:
            only = LogFilter(host="h1", error="e2")
            page = (
                await store.after(only, after=at or 0, limit=9)
                if ascending
                else await store.before(only, before=at, limit=9)
            )
            seen += [int(one.line.text) for one in page.lines]
            calls += 1
            if page.next is None or page.next == at:
                break
            at = page.next
        assert calls >= 6
        assert sorted(seen) == [number for number in range(60) if number % 2 == 1 and number % 3 == 2]
        assert seen == sorted(seen, reverse=not ascending)


async def test_lines_a_little_out_of_order_are_found_by_time(backend: SqliteBackend) -> None:
    """Two processes write at different times what happened at the same."""
    store = LogStore(backend.database)
    start = backend.clock.now()
    moments = []
    for number in range(40):
        await backend.clock.advance(60.0)
        delay = 200.0 if number % 2 else 0.0
        moments.append(backend.clock.now() - delay)
        await store.add([LogLine(moments[-1], 20, "a.b", str(number))])
    for since in range(0, 2600, 130):
        wanted = [str(number) for number, at in enumerate(moments) if at >= start + since]
        page = await store.after(LogFilter(since=start + since), after=0, limit=100)
        assert [one.line.text for one in page.lines] == wanted
        wanted = [str(number) for number, at in enumerate(moments) if at <= start + since]
        page = await store.before(LogFilter(until=start + since), limit=100)
        assert [one.line.text for one in page.lines] == wanted[::-1]


def test_words_are_what_people_call_words() -> None:
    assert words("Timeout: GET http://a.example/p_q/15?x=1 timeout") == [
        *("timeout", "get", "http", "a", "example", "p", "q", "15", "x", "1"),
    ]
    assert words("Straße 银行 \uff26\uff55\uff4c\uff4c") == ["strasse", "银", "行", "full"]
    assert words("\ue000r1") == ["r1"]
    assert len(words("x" * 1000)[0]) < 100


def test_levels_that_nobody_defined_are_found_by_those_below() -> None:
    assert filter_terms(LogFilter(level=35)) == filter_terms(LogFilter(level=LEVELS["warning"]))
    assert filter_terms(LogFilter(level=10)) == []
