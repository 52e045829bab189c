"""The registry of workers, and the desired number of workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from smartspider.core.runs.run import decode_capabilities, encode_capabilities
from smartspider.core.workers.scaling import RunDemand, ScalingDecision
from smartspider.core.workers.worker import WorkerHealth, WorkerRecord, WorkerRegistration
from smartspider.interfaces.worker_registry import HeartbeatReply, HeartbeatReport
from smartspider.store import audit, statements
from smartspider.store.database import Connection, Database, row, rows
from smartspider.store.nodes.leadership import check

SQL = statements.load("workers.sql", __package__)

WRITE_EVERY_S = 5.0
"""A heartbeat without changes is written this often, so that an idle worker hardly writes."""
NEW_CPU_S = 0.1
NEW_MEMORY = 16 << 20
HOSTS_SHOWN = 5
REGISTRATION = (
    "id",
    "name",
    "node",
    "pid",
    "version",
    "slots",
    "joined_at",
    "seen_at",
    "cpu_s",
    "memory",
    "cpus",
)


def registration_values(registration: WorkerRegistration, now: float) -> tuple[Any, ...]:
    """Return the column values of a new worker."""
    said = (registration.name, registration.node, registration.pid, registration.version, registration.slots)
    return (
        *said,
        registration.cpus,
        int(registration.is_elastic),
        encode_capabilities(registration.capabilities),
        now,
    )


def encode_health(health: WorkerHealth) -> str:
    """Encode the health of a worker as JSON."""
    return msgspec.json.encode(health).decode()


class SqlWorkerRegistry:
    """See `interfaces/worker_registry.py`. `is_alive` takes the id of a worker and the time of its last
    heartbeat.
    """

    def __init__(self, database: Database, is_alive: Callable[[int, float], bool]) -> None:
        self._db = database
        self._is_alive = is_alive

    async def beat(self, worker_id: int, beat: HeartbeatReport) -> HeartbeatReply:
        """Store a heartbeat if anything changed, and return the reply."""
        found = await self._db.read(lambda connection: row(connection, SQL.beaten, (worker_id,)))
        if found is None:
            return HeartbeatReply(is_unknown=True)
        slots, cpu_s, memory, seen_at, is_draining = found
        own = slots if beat.slots is None else beat.slots
        is_news = slots != own or beat.cpu_s - cpu_s >= NEW_CPU_S or self._db.now() - seen_at >= WRITE_EVERY_S
        if is_news or abs(memory - beat.memory) >= NEW_MEMORY:
            values = (
                beat.slots,
                beat.cpu_s,
                beat.memory,
                encode_health(beat.health),
                self._db.now(),
                worker_id,
            )
            await self._db.write(lambda connection: connection.execute(SQL.beat, values))
        return HeartbeatReply(own, bool(is_draining))

    async def find(self) -> list[WorkerRecord]:
        """Return all workers in the order they joined."""
        return await self._db.read(self._records)

    async def drain(self, node: str, *, worker_id: int | None = None, actor: str) -> int:
        """Ask the workers of a node, or one of them, to leave."""

        def work(connection: Connection) -> int:
            drained = [name for (name,) in rows(connection, SQL.drain, (node, worker_id))]
            if drained:
                now = self._db.now()
                audit.write(connection, now, actor, "node.drained", f"node:{node}", workers=drained)
            return len(drained)

        return await self._db.write(work)

    async def tune(self, node: str, slots: int, *, worker_id: int | None = None, actor: str) -> int:
        """Set the slots of the workers of a node, or of one of them."""

        def work(connection: Connection) -> int:
            turned = [name for (name,) in rows(connection, SQL.tune, (node, worker_id, slots))]
            if turned:
                now, subject = self._db.now(), f"node:{node}"
                audit.write(connection, now, actor, "node.tuned", subject, workers=turned, slots=slots)
            return len(turned)

        return await self._db.write(work)

    def _records(self, connection: Connection) -> list[WorkerRecord]:
        held: dict[int, int] = {}
        hosts: dict[int, list[str]] = {}
        runs: dict[int, set[int]] = {}
        for worker_id, run_id, host, count in rows(connection, SQL.held):
            held[worker_id] = held.get(worker_id, 0) + count
            runs.setdefault(worker_id, set()).add(run_id)
            shown = hosts.setdefault(worker_id, [])
            if host not in shown and len(shown) < HOSTS_SHOWN:
                shown.append(host)
        return [
            WorkerRecord(
                **dict(zip(REGISTRATION, found, strict=True)),
                is_draining=bool(is_draining),
                is_elastic=bool(is_elastic),
                capabilities=decode_capabilities(capabilities),
                health=msgspec.json.decode(health, type=WorkerHealth),
                is_alive=self._is_alive(found[0], found[7]),
                held=held.get(found[0], 0),
                hosts=hosts.get(found[0], []),
                runs=sorted(runs.get(found[0], ())),
            )
            for is_draining, is_elastic, capabilities, health, *found in rows(connection, SQL.all)
        ]


SCALING = statements.load("scaling.sql", __package__)

COUNTED = 1_000
"""Runs that are read."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ScalingDecision).decode


class ScalingStore:
    """1. Only the leader of the newest term can store a decision (`LeadershipLost` for any other).
    2. The last stored decision is returned, also in other processes.
    3. All runs that are running or queued are returned with their open requests; paused ones are not.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def runs(self) -> list[RunDemand]:
        """Return the runs that want workers, without their lanes."""
        return [RunDemand(*found) for found in await self._db.fetch(SCALING.runs, (COUNTED,))]

    async def save(self, epoch: int, decision: ScalingDecision) -> None:
        """Store the present decision."""
        values = (decision.desired, decision.at, _encode(decision).decode())

        def work(connection: Connection) -> None:
            check(connection, epoch)
            connection.execute(SCALING.keep, values)

        await self._db.write_concurrently(work)

    async def decision(self) -> ScalingDecision | None:
        """Return the last decision; None if there is none."""
        for (decision,) in await self._db.fetch(SCALING.decision):
            return _decode(decision) if decision else None
        return None
