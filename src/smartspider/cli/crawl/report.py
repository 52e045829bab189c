"""The report of a crawl: its start, its end, politeness and failures."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from smartspider.cli.runs.left_out import SeenCounts, left_out_lines, missing_lines, seen_line
from smartspider.cli.runs.rendering import outcome_counts, receipt_line
from smartspider.cli.terminal.output import join_names
from smartspider.cli.terminal.streams import coloured_state
from smartspider.core.errors import StoreUnavailable
from smartspider.core.pages.extraction import StepCount
from smartspider.core.plurals import count, plural
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.installation.data_folder import DataFolder
from smartspider.outputs.cells import to_text
from smartspider.services.plans import plan_columns
from smartspider.services.runs.views import left_out_views
from smartspider.store.diagnostics.left_out import LeftOutReport
from smartspider.store.results.files import FileTotals
from smartspider.store.results.store import FieldFill
from smartspider.store.runs.records import HostReceipt
from smartspider.store.runs.store import RunStore

SHOWN_FAILURES = 3
SHOWN_HOSTS = 5
SHOWN_SPARSE = 3
SPARSE = 0.2
"""A field with a value in at most this share of rows is mostly empty."""
FILL_SAMPLE = 1_000
"""Number of rows that are looked at, newest first."""


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


async def value_lines(folder: DataFolder, run: Run, plan: Plan) -> list[str]:
    """Return notes about values that steps guessed or could not read, and about fields that few rows have."""
    try:
        counts = await folder.store.step_counts(run.id)
        fields = [column.name for column in plan_columns(plan)]
        fills = await folder.results.field_fill(run.id, fields, sample=FILL_SAMPLE)
    except StoreUnavailable as error:
        return [f"note: cannot read the counters of values: {error.message}"]
    return [*_step_lines(counts), *_sparse_lines(fills)]


def _step_lines(counts: Mapping[str, StepCount]) -> list[str]:
    unread = [
        f"note: {name}: {step.emptied} of {count(step.seen, 'value')} could not be read and became null;"
        f" `smartspider results show --where {_field_of(name)}=` shows their rows"
        for name, step in counts.items()
        if step.emptied
    ]
    return unread + [
        f"note: {name}: {step.unsure} of {count(step.seen, 'value')} can be read in two ways;"
        f" set {'formats' if name.endswith(' date') else 'locale'!r}"
        for name, step in counts.items()
        if step.unsure
    ]


def _field_of(step: str) -> str:
    """Return the field of a step of a rule: `price` for `fields.price.steps[0] number`."""
    return step.partition("fields.")[2].partition(".steps")[0] or "FIELD"


def _sparse_lines(fills: Sequence[FieldFill]) -> list[str]:
    """Return a note about fields with a value in few of the sampled rows; those without any are reported
    elsewhere.
    """
    sparse = [one for one in fills if 0 < one.filled <= SPARSE * one.rows]
    if not sparse:
        return []
    shown = ", ".join(
        f"{one.field} ({one.filled} of {count(one.rows, 'row')}, such as {to_text(one.examples[0])[:40]!r})"
        for one in sparse[:SHOWN_SPARSE]
    )
    more = f" and {count(len(sparse) - SHOWN_SPARSE, 'more field')}" if len(sparse) > SHOWN_SPARSE else ""
    return [f"note: mostly empty: {shown}{more}"]


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
