"""Ids of url and item rows: the run's id is their prefix, so that a run is one range of rows."""

from __future__ import annotations

SHIFT = 40


def first_id(run_id: int) -> int:
    """Return the smallest row id of a run."""
    return run_id << SHIFT


def end_id(run_id: int) -> int:
    """Return the end of a run's row ids, exclusive."""
    return (run_id + 1) << SHIFT


def run_of(row_id: int) -> int:
    """Return the run of a row."""
    return row_id >> SHIFT
