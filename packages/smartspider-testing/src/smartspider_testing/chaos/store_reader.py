"""Reads the store of a cluster directly, bypassing the code under test."""

from __future__ import annotations

import msgspec

from smartspider_testing.chaos.evaluation import StoredRow
from smartspider_testing.servers import PostgresServer, ServerFailed

SCHEMA = "smartspider"
SHIFT = 40


class RunRow(msgspec.Struct, frozen=True):
    """A row of the table `run`."""

    id: int
    state: str
    reason: str
    total: int
    done: int
    skipped: int
    dead: int
    items: int
    late: int
    returns: int


class StoreReader:
    """Queries the store over an administrator's connection."""

    def __init__(self, server: PostgresServer, database: str) -> None:
        self._server = server
        self._database = database

    def query(self, statement: str) -> list[list[str | None]]:
        """Return the rows of a statement as text."""
        return self._server.execute(f"SET search_path = {SCHEMA}", statement, database=self._database)

    def query_number(self, statement: str, default: int = 0) -> int:
        """Return one number, or `default` without a result or while the store is unavailable."""
        try:
            rows = self.query(statement)
        except (OSError, ServerFailed):
            return default
        return int(float(rows[0][0])) if rows and rows[0][0] is not None else default

    def runs(self) -> list[RunRow]:
        """Return all runs, oldest first; none while the store is unavailable."""
        names = RunRow.__struct_fields__
        try:
            rows = self.query(f"SELECT {', '.join(names)} FROM run ORDER BY id")
        except (OSError, ServerFailed):
            return []
        return [msgspec.convert(dict(zip(names, row, strict=True)), RunRow, strict=False) for row in rows]

    def run(self, run_id: int) -> RunRow | None:
        """Return a run, or None while the store is unavailable."""
        return next((run for run in self.runs() if run.id == run_id), None)

    def rows(self, run_id: int) -> list[StoredRow]:
        """Return the items of a run."""
        first, end = run_id << SHIFT, (run_id + 1) << SHIFT
        found = self.query(f"SELECT data FROM item WHERE id >= {first} AND id < {end} ORDER BY id")
        decoded = [msgspec.json.decode(data or "{}") for (data,) in found]
        return [StoredRow(str(one["page"]), int(one["fetch"]), int(one["row"])) for one in decoded]

    def states(self, run_id: int) -> dict[str, int]:
        """Return the number of rows of a run by state."""
        found = self.query(f"SELECT state, count(*) FROM url WHERE run_id = {run_id} GROUP BY state")
        return {state or "": int(count or 0) for state, count in found}

    def state_of(self, run_id: int, url: str) -> tuple[str, str] | None:
        """Return state and reason of a URL's row."""
        quoted = url.replace("'", "''")
        found = self.query(f"SELECT state, reason FROM url WHERE run_id = {run_id} AND url = '{quoted}'")
        return (found[0][0] or "", found[0][1] or "") if found else None

    def leader(self) -> tuple[int, int]:
        """Return process id and epoch of the leading keeper; zeros if there is none."""
        try:
            rows = self.query("SELECT owner, epoch FROM leader")
        except (OSError, ServerFailed):
            return 0, 0
        owner, epoch = rows[0] if rows else ("", "0")
        parts = (owner or "").split(":")
        return (int(parts[-2]) if len(parts) > 2 else 0), int(epoch or 0)
