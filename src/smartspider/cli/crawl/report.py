"""The report of a crawl: its start, its end, politeness and failures."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from smartspider.cli.runs.left_out import SeenCounts, left_out_lines, missing_lines, seen_line
from smartspider.cli.runs.rendering import outcome_counts, receipt_line
from smartspider.cli.terminal.output import join_names
from smartspider.cli.terminal.streams import coloured_state
from smartspider.core.errors import StoreUnavailable
from smartspider.core.plurals import count, plural
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.installation.data_folder import DataFolder
from smartspider.services.runs.views import left_out_views
from smartspider.store.diagnostics.left_out import LeftOutReport
from smartspider.store.results.files import FileTotals
from smartspider.store.runs.records import HostReceipt
from smartspider.store.runs.store import RunStore

SHOWN_FAILURES = 3
SHOWN_HOSTS = 5


def start_line(run: Run, folder: Path, *, is_resumed: bool) -> str:
    """Return the line that announces a new or resumed run."""
    if is_resumed:
        counters = run.counters
        done = count(counters.done, "page")
        return f"resuming run {run.id}: {done} done, {counters.open} remaining ({folder})"
    return f"run {run.id} of {run.task_name!r} ({folder})"


def end_lines(run: Run, duration_s: float, files: list[str]) -> str:
    """Return the state and counters of a run, and the files with its rows."""
    counters = run.counters
    counts = outcome_counts(
        counters.done,
        counters.items,
        missing=counters.missing,
        failed=counters.failed,
        left_out=counters.skipped + counters.left_out,
        rejected=counters.rejected,
        duplicate=counters.duplicates,
        updated=counters.updated,
    )
    state = coloured_state(run.state, sys.stderr)
    text = f"{state}{f' ({run.reason})' if run.reason else ''}: {counts} in {duration_s:.1f} s"
    if files:
        text += f"\nrows: {join_names(files)}"
    if run.state == "paused":
        text += "\nrun the same command again to resume"
    return text


def file_lines(totals: FileTotals, folder: Path | None) -> list[str]:
    """Return the number and size of downloaded files, and the folder that their paths start in."""
    size = (
        f"{totals.bytes / 1e6:,.1f} MB"
        if totals.bytes >= 100_000
        else f"{totals.bytes:,} {plural(totals.bytes, 'byte')}"
    )
    return [f"files: {totals.files:,} of these pages, {size}; their paths start in {folder}"]


async def read_left_out(folder: DataFolder, run: Run) -> tuple[LeftOutReport, list[str]]:
    """Return what a run left out, and the lines that say so; a note if it cannot be read."""
    try:
        found = await folder.diagnostics.left_out(run.id)
    except StoreUnavailable as error:
        return LeftOutReport(), [f"note: cannot read what was left out: {error.message}"]
    views = left_out_views(found)
    counters = run.counters
    left_out = counters.skipped + counters.left_out
    seen = SeenCounts(
        counters.done, counters.redirect, counters.missing, counters.failed, left_out, counters.open
    )
    lines = [seen_line(seen, views), *left_out_lines(views)] if views else []
    entries = [without_userinfo(url) for url in found.missing_entries]
    return found, [*lines, *missing_lines(entries, found.missing_entry_count, found.empty_fields)]


async def politeness_lines(store: RunStore, run: Run, plan: Plan) -> list[str]:
    """Return the politeness report of a run; a note if it cannot be read."""
    try:
        return receipt_lines(await store.receipt(run.id), plan)
    except StoreUnavailable as error:
        return [f"note: cannot read the politeness report: {error.message}"]


def receipt_lines(receipts: Sequence[HostReceipt], plan: Plan) -> list[str]:
    """Return rates, gaps and violations by host, hosts with most requests first."""
    if not receipts:
        return []
    violations = sum(receipt.violations for receipt in receipts)
    robots = "robots.txt obeyed" if plan.politeness.obey_robots else "robots.txt ignored"
    lines = [f"politeness: {robots}, {count(violations, 'violation')} of host delays"]
    lines += [f"  {receipt_line(receipt)}" for receipt in receipts[:SHOWN_HOSTS]]
    if len(receipts) > SHOWN_HOSTS:
        lines.append(f"  and {count(len(receipts) - SHOWN_HOSTS, 'host')} more")
    return lines


async def unsure_lines(store: RunStore, run: Run) -> list[str]:
    """Return a note for each step that guessed the meaning of values."""
    try:
        counts = await store.step_counts(run.id)
    except StoreUnavailable as error:
        return [f"note: cannot read the counters of steps: {error.message}"]
    return [
        f"note: {name}: {step.unsure} of {count(step.seen, 'value')} can be read in two ways;"
        f" set {'formats' if name.endswith(' date') else 'locale'!r}"
        for name, step in counts.items()
        if step.unsure
    ]


async def failure_lines(folder: DataFolder, run: Run, named: Collection[str] = ()) -> list[str]:
    """Return the first failed requests of a run that are not named already, and where all of them are; a note
    if they cannot be read.
    """
    if not run.counters.failed:
        return []
    try:
        failures = await folder.store.failures(run.id, SHOWN_FAILURES)
    except StoreUnavailable as error:
        return [f"note: cannot read the failures: {error.message}"]
    lines = [
        f"  failed: {failure.url}: {failure.reason}"
        for failure in failures
        if f"{failure.url}: {failure.reason}" not in run.reason and failure.url not in named
    ]
    more = run.counters.failed - len(failures)
    lines += [f"  and {more} more"] if more > 0 else []
    return [
        *lines,
        f"  `smartspider run failures {run.id}` lists all failures, `smartspider why URL` explains one",
    ]
