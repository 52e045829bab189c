"""Show runs: their counters, steps, workers and hosts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec

from smartspider.cli.runs.left_out import run_left_out_lines
from smartspider.cli.terminal.streams import coloured_state
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.store.runs.records import HostReceipt
    from smartspider.views.runs import MetricsView, ReceiptHost, ReceiptView, RunView


_RESUME = "no worker is alive; `smartspider crawl` of its task or `smartspider up` continues it"


def run_details(run: MetricsView, receipt: ReceiptView) -> dict[str, Any]:
    """Return the JSON of `run show`."""
    more = {"task_version": run.version, "counters": run_counters(run), "receipt": receipt.hosts}
    return {**msgspec.structs.asdict(run), **more}


def run_counters(run: RunView) -> dict[str, int]:
    """Return the counters of a run, named as in the ledger."""
    return {
        "total": run.total,
        "done": run.success_count,
        "redirect": run.redirect_count,
        "missing": run.missing_count,
        "skipped": run.skipped_count,
        "dead": run.fail_count - run.broken_count,
        "broken": run.broken_count,
        "items": run.items,
        "rejected": run.rejected,
        "duplicates": run.duplicates,
        "updated": run.updated,
        "duplicate_urls": run.duplicate_urls,
        "retries": run.retry_count,
        "returns": run.return_count,
        "late": run.late_count,
        "bytes_read": run.bytes_read,
        "left_out": run.left_out_count - run.skipped_count,
        "files": run.files,
    }


def state_and_reason(run: RunView, *, is_interrupted: bool) -> tuple[str, str]:
    """Return the state and the reason to show. A run is interrupted if it runs, but no worker is alive."""
    return ("interrupted", run.reason or _RESUME) if is_interrupted else (run.state, run.reason)


def run_lines(run: MetricsView, receipt: ReceiptView, *, is_interrupted: bool = False) -> list[str]:
    """Return the lines of `run show`."""
    state, reason = state_and_reason(run, is_interrupted=is_interrupted)
    state = coloured_state(state, sys.stdout)
    shown = [f"run {run.run_id} of {run.task} (version {run.version}): {state} {reason}".rstrip()]
    shown += [f"  {name:<15} {value}" for name, value in run_counters(run).items()]
    if run.distinct_estimate is not None:
        shown.append(f"  {'distinct URLs':<15} {_distinct_text(run)}")
    if run.finished_at is None:
        shown.append(f"  {'now':<15} {_progress_text(run)}")
    shown += [
        f"  step {name}: {count(step.seen, 'value')}, {step.changed} changed, {step.emptied} emptied,"
        f" {step.rejected} rejected" + (f", {step.unsure} unsure" if step.unsure else "")
        for name, step in run.steps.items()
    ]
    shown += [f"  worker {one.worker}: {one.in_flight} in flight" for one in run.workers]
    shown += [f"  {line.strip()}" for line in run_left_out_lines(run)]
    gates = {host.host: host for host in run.hosts}
    for host in receipt.hosts:
        line = f"  host {receipt_line(host)}, {count(host.violations, 'violation')}"
        gate = gates.get(host.host)
        if gate is not None and gate.hold_reason:
            line += f", held until {gate.held_until}: {gate.hold_reason}"
        shown.append(line)
    return shown


def receipt_line(receipt: HostReceipt | ReceiptHost) -> str:
    """Return the requests to a host, their rate and their smallest gap in a line."""
    text = f"{receipt.host}: {count(receipt.requests, 'request')}"
    if receipt.requests_per_s:
        text += f", {receipt.requests_per_s:.1f}/s on average"
    if receipt.smallest_gap_s is not None:
        text += f", smallest gap {receipt.smallest_gap_s:.3f} s (delay {receipt.asked_delay_s:g} s)"
    if receipt.refusals:
        text += f", {count(receipt.refusals, 'time')} 429, 503 or timeout"
    return text


def outcome_counts(
    done: int, items: int, *, missing: int, failed: int, left_out: int, **item_counts: int
) -> str:
    """Return the counters of a run that are not zero, pages and items first."""
    parts = [count(done, "page"), count(items, "item")]
    others = {"missing": missing, "failed": failed, "left out": left_out}
    shown = [f"{number} {name}" for name, number in others.items() if number]
    shown += [count(number, f"{name} item") for name, number in item_counts.items() if number]
    return ", ".join(parts + shown)


def _distinct_text(run: MetricsView) -> str:
    text = f"about {run.distinct_estimate} (± {run.distinct_error or 0.0:.1%})".replace("%", " %")
    return f"{text}, {run.task_distinct_estimate} of all runs" if run.task_distinct_estimate else text


def _progress_text(run: MetricsView) -> str:
    text = f"{run.queued} queued, {run.in_flight} in flight, {run.pages_per_s:g} pages/s"
    text += f", {count(run.running_workers, 'worker')}"
    return f"{text}, about {run.eta_s:.0f} s to go" if run.eta_s is not None else text
