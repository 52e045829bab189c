"""The log of steps in a settle: rejected items, changed values, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from smartspider.core.frontier.verdict import Close
from smartspider.core.pages.extraction import StepCount
from smartspider.core.runs.run import end_id, first_id
from smartspider.store import statements
from smartspider.store.database import Connection, Row

SQL = statements.load("settle.sql", __package__)

REJECTS_KEPT = 10_000
CHANGES_KEPT = 1_000_000
"""Rows kept per run; further ones are only counted."""
REJECT_BYTES = 20_000
CHANGE_BYTES = 2_000
"""Length of a stored value, as JSON."""

_encode = msgspec.json.Encoder().encode


class StepLog:
    """Collects what steps did on pages, and writes it once per settle."""

    def __init__(self, connection: Connection, run_id: int) -> None:
        self._connection = connection
        self._run_id = run_id
        self._rejects: list[tuple[Any, ...]] = []
        self._changes: list[tuple[Any, ...]] = []
        self._counts: dict[str, StepCount] = {}

    def record(self, url_id: int, close: Close) -> None:
        """Record the steps of a page."""
        for reject in close.rejected[: REJECTS_KEPT - len(self._rejects)]:
            texts = _clean(reject.reason), _clean(reject.step), _clean(reject.field)
            values = short_json(reject.value, REJECT_BYTES), short_json(reject.item, REJECT_BYTES)
            self._rejects.append((url_id, *texts, *values))
        for change in close.changes[: CHANGES_KEPT - len(self._changes)]:
            values = short_json(change.before, CHANGE_BYTES), short_json(change.after, CHANGE_BYTES)
            place = url_id, change.item, _clean(change.step), _clean(change.field)
            self._changes.append((*place, *values, _clean(change.note)))
        for step, count in close.counts.items():
            deltas = self._counts.setdefault(_clean(step), StepCount())
            deltas.seen += count.seen
            deltas.changed += count.changed
            deltas.emptied += count.emptied
            deltas.rejected += count.rejected
            deltas.unsure += count.unsure

    def write(self) -> None:
        """Write the log, up to the limits per run."""
        end = (end_id(self._run_id),)
        last_reject = self._connection.execute(SQL.last_reject, end) if self._rejects else None
        last_change = self._connection.execute(SQL.last_change, end) if self._changes else None
        if last_reject is not None:
            self._write(last_reject.fetchall(), SQL.add_reject, self._rejects, REJECTS_KEPT)
        if last_change is not None:
            self._write(last_change.fetchall(), SQL.add_change, self._changes, CHANGES_KEPT)
        if self._counts:
            records = [
                (self._run_id, step, *msgspec.structs.astuple(count))
                for step, count in sorted(self._counts.items())
            ]
            self._connection.executemany(SQL.add_count, records)

    def _write(self, last: list[Row], add: str, records: Sequence[tuple[Any, ...]], kept: int) -> None:
        low = first_id(self._run_id)
        number = max(last[0][0] or 0, low)
        room = max(kept - (number - low), 0)
        numbered = [(number + place, *record) for place, record in enumerate(records[:room], 1)]
        self._connection.executemany(add, numbered)


def short_json(value: Any, limit: int) -> str:
    """Return the value as JSON of at most about `limit` bytes; a longer one becomes a string of its
    beginning.

    A value that JSON cannot hold becomes a string that says so: a rejected value must not prevent the
    others from being stored.
    """
    try:
        data = _encode(value)
    except (msgspec.MsgspecError, UnicodeEncodeError, TypeError, OverflowError, RecursionError) as error:
        data = _encode(_clean(f"not storable: {error}"[:500]))
    if len(data) <= limit:
        return data.decode()
    head = value[:limit].encode() if isinstance(value, str) else data[:limit]
    while len(data) > limit:
        data = _encode(f"{head.decode('utf-8', 'ignore')}…")
        head = head[: len(head) * limit // len(data) - 1]
    return data.decode()


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "�")
