"""Slots of the host gates for requests that belong to no run: previews."""

from __future__ import annotations

import msgspec

from smartspider.backends.sql import hosts
from smartspider.backends.sql.connection import Connection
from smartspider.backends.sqlite import gate as gates
from smartspider.backends.sqlite.database import Database
from smartspider.core.lease import Window


class SqlitePermits:
    """Reserves slots at the gates that all runs share."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def reserve(self, host: str, delay_s: float) -> Window:
        """The next slot of a host, at least so far from the one before, also where no run stands."""

        def work(connection: Connection) -> Window:
            gate = hosts.read_gate(connection, hosts.find_host(connection, host))
            spaced = msgspec.structs.replace(gate, run_s=max(gate.run_s, delay_s))
            window = gates.reserve(connection, spaced, self._db.now())
            gates.reopen_lanes(connection, gate.host_id, self._db.now())
            return window.shifted(self._db.clock_shift())

        return await self._db.write(work)
