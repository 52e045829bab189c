"""The workers there are, as they tell themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from smartspider.core.capabilities import decode_capabilities, encode_capabilities
from smartspider.core.workers.worker import WorkerHealth, WorkerRecord, WorkerRegistration
from smartspider.interfaces.worker_registry import HeartbeatReply, HeartbeatReport
from smartspider.store import audit, statements
from smartspider.store.database import Connection, Database, row, rows

SQL = statements.load("workers.sql", __package__)

KEEP_S = 15.0
"""A beat that tells nothing new is written this often, so that an idle worker hardly writes."""
NEW_CPU_S = 0.1
NEW_MEMORY = 16 << 20
HOSTS_SHOWN = 5
CARD = ("id", "name", "node", "pid", "version", "slots", "joined_at", "seen_at", "cpu_s", "memory", "cpus")


def registration_values(card: WorkerRegistration, now: float) -> tuple[Any, ...]:
    """What is written of a worker that comes."""
    said = (card.name, card.node, card.pid, card.version, card.slots)
    return (*said, card.cpus, int(card.is_elastic), encode_capabilities(card.capabilities), now)


def encode_health(form: WorkerHealth) -> str:
    """How a worker does, as it is kept."""
    return msgspec.json.encode(form).decode()


class SqlWorkerRegistry:
    """See `interfaces/worker_registry.py`. `is_alive` judges a worker by its id and when it was last seen."""

    def __init__(self, database: Database, is_alive: Callable[[int, float], bool]) -> None:
        self._db = database
        self._is_alive = is_alive

    async def beat(self, worker_id: int, beat: HeartbeatReport) -> HeartbeatReply:
        """Keep it, if it tells anything new; what the worker should do."""
        found = await self._db.read(lambda connection: row(connection, SQL.beaten, (worker_id,)))
        if found is None:
            return HeartbeatReply(is_unknown=True)
        slots, cpu_s, memory, seen_at, is_draining = found
        own = slots if beat.slots is None else beat.slots
        is_news = slots != own or beat.cpu_s - cpu_s >= NEW_CPU_S or self._db.now() - seen_at >= KEEP_S
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
        """All workers, in the order they joined."""
        return await self._db.read(self._records)

    async def drain(self, node: str, *, worker_id: int | None = None, actor: str) -> int:
        """Ask workers of a node to leave, or one of them."""

        def work(connection: Connection) -> int:
            asked = [name for (name,) in rows(connection, SQL.drain, (node, worker_id))]
            if asked:
                now = self._db.now()
                audit.write(connection, now, actor, "node.drained", f"node:{node}", workers=asked)
            return len(asked)

        return await self._db.write(work)

    async def tune(self, node: str, slots: int, *, worker_id: int | None = None, actor: str) -> int:
        """Have workers of a node, or one of them, hold so many requests at most."""

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
                **dict(zip(CARD, found, strict=True)),
                is_draining=bool(is_draining),
                is_elastic=bool(is_elastic),
                capabilities=decode_capabilities(capabilities),
                health=msgspec.json.decode(form, type=WorkerHealth),
                is_alive=self._is_alive(found[0], found[7]),
                held=held.get(found[0], 0),
                hosts=hosts.get(found[0], []),
                runs=sorted(runs.get(found[0], ())),
            )
            for is_draining, is_elastic, capabilities, form, *found in rows(connection, SQL.all)
        ]
