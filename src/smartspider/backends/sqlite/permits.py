"""Slots of the host gates for requests that belong to no run: previews."""

from __future__ import annotations

import msgspec

from smartspider.backends.sqlite import gate as gates
from smartspider.backends.sqlite.database import Database
from smartspider.core.frontier.lease import GateClosed, SendWindow
from smartspider.store.database import Connection
from smartspider.store.hosts import gates as hosts


class SqlitePermits:
    """Reserves slots at the gates that all runs share."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def reserve(self, host: str, delay_s: float) -> SendWindow | GateClosed:
        """The next slot of a host, at least so far from the one before, also where no run stands."""

        def work(connection: Connection) -> SendWindow | GateClosed:
            gate = hosts.read_gate(connection, hosts.find_host(connection, host))
            spaced = msgspec.structs.replace(gate, run_s=max(gate.run_s, delay_s))
            return gates.permit(connection, spaced, self._db.now()).shifted(self._db.clock_shift())

        return await self._db.write(work)
