"""Read what went wrong in a run, in groups by cause and host. All functions run inside a transaction."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from smartspider.core.frontier.cause import LOST_CAUSES, CauseCode, ProblemCause, ProblemKind
from smartspider.core.frontier.verdict import UrlState
from smartspider.core.requests.refusal import REFUSAL_CODES
from smartspider.core.runs.run import end_id, first_id
from smartspider.store import statements
from smartspider.store.database import Connection, RowCursor, row, rows
from smartspider.store.settle.step_log import REJECTS_KEPT

SQL = statements.load("problems.sql", __package__)

SCANNED = 50_000
"""Requests of one cause that are read; beyond that, counts say "at least"."""
EMPTY_SCANNED = 1_000
GROUPS = 1_000
"""Groups that are kept, the largest of each cause."""

_ONLY_SKIPPED = frozenset(REFUSAL_CODES) - {"other"}


class ProblemGroup(msgspec.Struct, frozen=True):
    """Requests or items with which the same went wrong, at one host."""

    kind: ProblemKind
    cause: ProblemCause
    host_id: int
    count: int
    first_at: float
    last_at: float
    example: int
    """The id of the first request, or of the first rejected item."""
    is_cut: bool = False
    """At least so many."""
    can_retry: bool = False
    """A retry reopens these requests."""
    step: str = ""
    field: str = ""


class ProblemExample(msgspec.Struct, frozen=True):
    """The first request of a group, with its host."""

    page_id: int
    url: str
    reason: str
    host: str


def read_problems(connection: Connection, run_id: int, kinds: Collection[ProblemKind]) -> list[ProblemGroup]:
    """Return the groups of some kinds, the most harmful first: skipped ones last, then by size."""
    found: list[ProblemGroup] = []
    for (cause,) in rows(connection, SQL.causes, (run_id,)):
        if cause not in _ONLY_SKIPPED or "skipped" in kinds:
            found += _of_cause(connection, run_id, cause)
    if "lost" in kinds:
        empty = rows(connection, SQL.empty_pages, (run_id, EMPTY_SCANNED, GROUPS))
        found += [
            ProblemGroup("lost", "no_items", host_id, count, first_at=first, last_at=last, example=example)
            for _, host_id, count, first, last, example in empty
        ]
    if "rejected" in kinds:
        found += _rejects(connection, run_id)
    return sorted((group for group in found if group.kind in kinds), key=_harm)[:GROUPS]


def _of_cause(connection: Connection, run_id: int, cause: CauseCode) -> list[ProblemGroup]:
    found = rows(connection, SQL.by_host, (run_id, cause, SCANNED, GROUPS))
    is_cut = sum(one[2] for one in found) >= SCANNED
    return [
        ProblemGroup(
            *(kind, cause, host_id, count, first_at, last_at, example),
            is_cut=is_cut,
            can_retry=state != "skipped" or cause == "host_held",
        )
        for state, host_id, count, first_at, last_at, example in found
        if (kind := _kind(state, cause)) is not None
    ]


def _kind(state: UrlState, cause: CauseCode) -> ProblemKind | None:
    """Return the kind of requests in a state; None if they are no problem, or found in another way."""
    match state:
        case "dead" | "broken":
            return "lost" if cause in LOST_CAUSES else "failed"
        case "skipped":
            return "skipped"
        case _:
            return None


def _rejects(connection: Connection, run_id: int) -> list[ProblemGroup]:
    found = rows(connection, SQL.rejects, (first_id(run_id), end_id(run_id), GROUPS))
    counted = row(connection, SQL.rejected, (run_id,))
    kept = sum(one[3] for one in found)
    is_cut = kept >= REJECTS_KEPT and counted is not None and counted[0] > kept
    return [
        ProblemGroup(
            *("rejected", "refused_value" if step else "missing_field"),
            *(host_id, count, first_at, last_at, example),
            is_cut=is_cut,
            step=step,
            field=field,
        )
        for step, field, host_id, count, first_at, last_at, example in found
    ]


def read_examples(connection: Connection, groups: list[ProblemGroup]) -> list[ProblemExample]:
    """Return the example of each group. All are asked for before the first is read."""
    asked = [
        connection.execute(SQL.reject if group.kind == "rejected" else SQL.request, (group.example,))
        for group in groups
    ]
    return [_example(cursor) for cursor in asked]


def _example(cursor: RowCursor) -> ProblemExample:
    found = cursor.fetchone()
    return ProblemExample(0, "", "", "") if found is None else ProblemExample(*found)


def _harm(group: ProblemGroup) -> tuple[bool, int, str, str, str, int]:
    return group.kind == "skipped", -group.count, group.kind, group.cause, group.field, group.host_id
