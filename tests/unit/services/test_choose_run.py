"""Which run a crawl works on, and what its end means."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec
import pytest

from smartspider.core.errors import NotAllowed, NotFound
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Counters, Run, RunState
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.services.runs.choose_run import Summary, choose_run, summarize
from smartspider.services.runs.lookup import find_run
from smartspider.store.audit import AuditFilter
from smartspider.store.diagnostics.left_out import LeftOutReport
from smartspider.views.left_out import CoverageGap, LostPage, UndecodablePages, UnmatchedPages
from smartspider.wiring.opening import open_folder
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.contracts.actions import done, plan_of, settle, take


def edited(plan: Plan) -> Plan:
    return msgspec.structs.replace(plan, spec_hash="another")


async def finish(backend: SqliteBackend, run: Run) -> Run:
    await backend.store.set_state(run.id, "running")
    worker = await backend.frontier.join(WorkerRegistration("one"))
    await settle(backend, *(done(lease) for lease in await take(backend, worker, run)))
    return await backend.store.finish(run.id)


async def test_the_first_run_of_a_task_is_new(backend: SqliteBackend) -> None:
    run, is_resumed = await choose_run(backend.store, plan_of(), fresh=False)
    assert (run.state, run.task_name, is_resumed) == ("queued", "task", False)


@pytest.mark.parametrize("state", ["queued", "running", "paused", "stopping", "stopped"])
async def test_an_unfinished_run_is_gone_on_with(backend: SqliteBackend, state: RunState) -> None:
    first, _ = await choose_run(backend.store, plan_of(), fresh=False)
    if state != "queued":
        await backend.store.set_state(first.id, "running")
        await backend.store.set_state(first.id, state)
    run, is_resumed = await choose_run(backend.store, plan_of(), fresh=False)
    assert (run.id, run.state, is_resumed) == (first.id, state, True)


async def test_a_run_of_another_task_is_another_matter(backend: SqliteBackend) -> None:
    first, _ = await choose_run(backend.store, plan_of(name="one"), fresh=False)
    second, is_resumed = await choose_run(backend.store, plan_of(name="two"), fresh=False)
    assert second.id != first.id
    assert not is_resumed


async def test_after_a_finished_run_a_new_one_begins(backend: SqliteBackend) -> None:
    first, _ = await choose_run(backend.store, plan_of(), fresh=False)
    assert (await finish(backend, first)).state == "completed"
    run, is_resumed = await choose_run(backend.store, edited(plan_of()), fresh=False)
    assert run.id != first.id
    assert not is_resumed


async def test_an_edited_task_is_refused_with_a_hint_and_nothing_changes(backend: SqliteBackend) -> None:
    first, _ = await choose_run(backend.store, plan_of(), fresh=False)
    with pytest.raises(
        NotAllowed, match=r"'task' was edited since its unfinished run 1 began \(0 pages"
    ) as caught:
        await choose_run(backend.store, edited(plan_of()), fresh=False)
    assert "--fresh" in caught.value.hint
    assert [run.state for run in await backend.store.find_runs()] == [first.state]


async def test_fresh_drops_the_unfinished_runs_and_begins_anew(backend: SqliteBackend) -> None:
    first, _ = await choose_run(backend.store, plan_of(), fresh=False)
    await backend.store.set_state(first.id, "running")
    await backend.store.set_state(first.id, "paused")
    run, is_resumed = await choose_run(backend.store, edited(plan_of()), fresh=True)
    assert (run.id != first.id, is_resumed) == (True, False)
    dropped = await backend.store.get_run(first.id)
    assert (dropped.state, dropped.reason) == ("cancelled", "replaced by a fresh run")


async def test_a_finished_run_that_owes_its_rows_is_gone_back_to(backend: SqliteBackend) -> None:
    first, _ = await choose_run(backend.store, plan_of(), fresh=False)
    await finish(backend, first)
    again = await choose_run(backend.store, plan_of(), fresh=False, pending_output={first.id})
    assert (again[0].id, again[1]) == (first.id, True)
    for plan, fresh in ((edited(plan_of()), False), (plan_of(), True)):
        other, is_resumed = await choose_run(backend.store, plan, fresh=fresh, pending_output={first.id})
        assert other.id != first.id
        assert not is_resumed
        await backend.store.set_state(other.id, "cancelled")


async def test_rules_that_are_turned_off_are_noted_once(backend: SqliteBackend) -> None:
    plan = msgspec.structs.replace(plan_of(), overrides=("robots.txt is ignored", "no delay"))
    run, _ = await choose_run(backend.store, plan, fresh=False, actor="cli:ann")
    await choose_run(backend.store, plan, fresh=False, actor="cli:bob")
    noted = await backend.audit.entries(AuditFilter(action="politeness.overridden"))
    assert [(one.actor, one.subject, msgspec.json.decode(one.detail)["what"]) for one in noted] == [
        ("cli:ann", f"run:{run.id}", "no delay"),
        ("cli:ann", f"run:{run.id}", "robots.txt is ignored"),
    ]


async def test_a_command_is_about_the_run_named_or_the_newest(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        with pytest.raises(NotFound, match="there is no run yet"):
            await find_run(folder, None)
        runs = [await folder.store.create_run(plan_of()) for _ in range(2)]
        assert (await find_run(folder, None)).id == runs[1].id
        assert (await find_run(folder, runs[0].id)).id == runs[0].id
        with pytest.raises(NotFound):
            await find_run(folder, 77)


def run_in(state: RunState, reason: str = "", **counters: int) -> Run:
    return Run(7, "task", b"{}", "hash", state, reason, Counters(**counters), 0, 0.0)


@pytest.mark.parametrize("state", get_args(RunState))
def test_every_state_has_a_summary_with_the_fields_of_the_contract(state: RunState) -> None:
    counters = {"total": 30, "done": 1, "items": 2, "dead": 3, "broken": 4, "missing": 5, "redirect": 8}
    run = run_in(state, "why", **counters, duplicates=6, rejected=7, skipped=2, left_out=9, files=1)
    report = LeftOutReport(missing_entries=["http://u:p@h/gone"], missing_entry_count=4, empty_fields=["sku"])
    report = msgspec.structs.replace(
        report,
        lost_next_pages=[LostPage("http://u:p@h/2", "dead", "http 500", "http_server_error")],
        lost_next_page_count=1,
        lost_count=1,
        unmatched=[UnmatchedPages("default", 3, "http://u:p@h/")],
        gaps=[CoverageGap("item", "price", 2, 9, "http://u:p@h/7")],
        undecodable=UndecodablePages(2, "http://u:p@h/8"),
        missing_files=["http://h/a.png"],
        missing_file_count=1,
    )
    summary = summarize(run, 1.23456, ["rows.jsonl"], report)
    lost = ([LostPage("http://[redacted]@h/2", "dead", "http 500", "http_server_error")], 1, 1)
    unmatched = [UnmatchedPages("default", 3, "http://[redacted]@h/")]
    gaps = [CoverageGap("item", "price", 2, 9, "http://[redacted]@h/7")]
    rest = (*lost, unmatched, gaps, UndecodablePages(2, "http://[redacted]@h/8"), ["http://h/a.png"], 1)
    head = ("7", state, "why", 1, 2, 7, 5, 6, 7, 1.235, ["rows.jsonl"])
    assert summary == Summary(*head, 39, 8, 7, 11, [], ["http://[redacted]@h/gone"], 4, ["sku"], *rest, 1)
    parts = (summary.pages, summary.redirects, summary.missing, summary.failed, summary.open)
    assert summary.seen == sum(parts) + summary.left_out_count
    assert list(msgspec.json.decode(msgspec.json.encode(summary))) == [
        *("run_id", "state", "reason", "pages", "items", "failed", "missing", "duplicates", "rejected"),
        *("duration_s", "outputs", "seen", "redirects", "open", "left_out_count", "left_out"),
        *("missing_entries", "missing_entry_count", "empty_fields", "lost_next_pages"),
        *(
            "lost_next_page_count",
            "lost_count",
            "unmatched",
            "gaps",
            "undecodable",
            "missing_files",
            "missing_file_count",
            "files",
        ),
    ]
