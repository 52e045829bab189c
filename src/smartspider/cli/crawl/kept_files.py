"""Output files that a run without rows leaves as they are, and what is said about them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from smartspider.cli.terminal.output import join_names
from smartspider.core.plurals import count
from smartspider.core.runs.run import Run
from smartspider.outputs.stdout import STDOUT
from smartspider.services.runs.choose_run import OUTPUT_STATES


def kept_files(outputs: Sequence[Path], run: Run, *, allows_empty: bool) -> list[Path]:
    """Return the output files that a run does not write. A run without rows writes no file if it failed; if
    it completed and its rules found nothing, it replaces the rows of an earlier run only if that is allowed.
    """
    counters = run.counters
    if counters.items or run.state not in OUTPUT_STATES:
        return []
    files = [path for path in outputs if path != STDOUT]
    if run.state == "failed":
        return files
    if counters.duplicates or allows_empty:
        return []
    return [path for path in files if path.is_file() and path.stat().st_size > 0]


def empty_run_notes(run: Run, kept_files: Sequence[Path]) -> list[str]:
    """Return notes about a finished run without rows, and the files it did not write."""
    if run.counters.items or run.state not in OUTPUT_STATES:
        return []
    kept, absent = ([str(path) for path in kept_files if path.exists() is there] for there in (True, False))
    why = "the run failed without rows"
    if run.state == "completed":
        why = "the run has no rows; --allow-empty writes an empty file"
    notes = [f"{join_names(kept)} was not overwritten: {why}"] if kept else []
    notes += [f"{join_names(absent)} was not written: {why}"] if absent else []
    if run.counters.rejected:
        rejected = count(run.counters.rejected, "item")
        notes.append(f"all rows were rejected ({rejected}); `smartspider results rejects` shows why")
    elif run.state == "completed" and run.counters.done:
        notes.append("no items were found; `smartspider dry-run TASK` shows what the rules match")
    return notes
