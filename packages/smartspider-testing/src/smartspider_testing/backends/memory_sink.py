"""A sink in memory, the reference for other sinks."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.interfaces.sink import SinkRow
from smartspider_testing.crashes import SimulatedCrash


class MemorySink:
    """A sink that implements `interfaces/sink.py` for rows that change."""

    def __init__(self) -> None:
        self.rows: dict[str, SinkRow] = {}
        self.is_crashing = False
        """True: `put` stores the first half of a batch and raises `SimulatedCrash`."""

    async def put(self, rows: Sequence[SinkRow]) -> int:
        """Store rows by key, newer versions only."""
        for row in rows[: len(rows) // 2] if self.is_crashing else rows:
            stored = self.rows.get(row.key)
            if stored is None or stored.version < row.version:
                self.rows[row.key] = row
        if self.is_crashing:
            raise SimulatedCrash("put")
        return len(rows)
