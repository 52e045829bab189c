"""Ids of url and item rows carry their run, so a run is one range of rows."""

from __future__ import annotations

SHIFT = 40


def first_id(run_id: int) -> int:
    """The smallest id a row of this run can have."""
    return run_id << SHIFT


def end_id(run_id: int) -> int:
    """One more than the greatest id a row of this run can have."""
    return (run_id + 1) << SHIFT


def run_of(row_id: int) -> int:
    """The run a row belongs to."""
    return row_id >> SHIFT
