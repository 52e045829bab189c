"""Choose the run of a `crawl` command, and summarize it."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from smartspider.core.errors import NotAllowed
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import UNFINISHED, Run, RunState
from smartspider.core.tasks import SYSTEM
from smartspider.services.runs.views import left_out_parts, lost_parts
from smartspider.store.diagnostics.left_out import LeftOutReport
from smartspider.store.runs.store import RunStore
from smartspider.views.left_out import CoverageGap, LeftOutView, LostPage, UndecodablePages, UnmatchedPages

OUTPUT_STATES: frozenset[RunState] = frozenset({"completed", "failed"})
"""States in which the output files of a run are written."""


class Summary(msgspec.Struct, frozen=True):
    """The summary of a run, which `--json` prints."""

    run_id: str
    state: str
    reason: str
    pages: int
    items: int
    failed: int
    missing: int
    duplicates: int
    rejected: int
    duration_s: float
    outputs: list[str]
    seen: int
    """All distinct URLs: `pages` + `redirects` + `missing` + `failed` + `left_out_count` + `open`."""
    redirects: int
    open: int
    left_out_count: int
    left_out: list[LeftOutView]
    missing_entries: list[str]
    missing_entry_count: int
    empty_fields: list[str]
    lost_next_pages: list[LostPage]
    lost_next_page_count: int
    lost_count: int
    """Requests among the lost pages that brought something else than they were followed for."""
    unmatched: list[UnmatchedPages]
    gaps: list[CoverageGap]
    undecodable: UndecodablePages | None
    missing_files: list[str]
    missing_file_count: int
    files: int
    """Downloaded files; they are among `pages`."""


async def choose_run(
    store: RunStore, plan: Plan, *, fresh: bool, pending_output: Collection[int] = (), actor: str = SYSTEM
) -> tuple[Run, bool]:
    """Return the run to crawl and whether it is resumed.

    A finished run in `pending_output` is returned again, because its output files were not written.
    """
    runs = await store.find_runs(plan.name)
    unfinished = [run for run in runs if run.state in UNFINISHED]
    if fresh:
        for run in unfinished:
            await store.set_state(run.id, "cancelled", "replaced by a fresh run", actor=actor)
        unfinished = []
    elif (
        runs
        and runs[0].id in pending_output
        and runs[0].state in OUTPUT_STATES
        and runs[0].spec_hash == plan.spec_hash
    ):
        return runs[0], True
    if not unfinished:
        return await store.create_run(plan, actor=actor), False
    run = unfinished[0]
    if run.spec_hash != plan.spec_hash:
        done = f"{run.counters.done} page{'' if run.counters.done == 1 else 's'} done"
        raise NotAllowed(
            f"the task {plan.name!r} was edited since its unfinished run {run.id} began"
            f" ({done}, {run.counters.open} open)",
            hint="use --fresh to replace that run by a new one, or restore the task file to continue it",
        )
    return run, True


def summarize(run: Run, duration_s: float, outputs: list[str], left_out: LeftOutReport) -> Summary:
    """Return the summary of a run."""
    counters = run.counters
    return Summary(
        run_id=str(run.id),
        state=run.state,
        reason=run.reason,
        pages=counters.done,
        items=counters.items,
        failed=counters.failed,
        missing=counters.missing,
        duplicates=counters.duplicates,
        rejected=counters.rejected,
        duration_s=round(duration_s, 3),
        outputs=outputs,
        seen=counters.seen,
        redirects=counters.redirect,
        open=counters.open,
        left_out_count=counters.skipped + counters.left_out,
        **left_out_parts(left_out),
        **lost_parts(left_out),
        files=counters.files,
    )
