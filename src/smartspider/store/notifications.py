"""Notification targets, and the outbox of notifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from smartspider.core import failpoints
from smartspider.core.errors import NotAllowed, NotFound
from smartspider.core.notifications import Notification, NotificationEvent, NotificationTarget
from smartspider.store import audit, statements, tasks
from smartspider.store.database import Connection, Database, one, row, rows
from smartspider.store.nodes import leadership

SQL = statements.load("notifications.sql", __package__)

PAST_ALL = (1 << 63) - 1
MAX_ERROR_LENGTH = 500
_events = msgspec.json.Decoder(tuple[NotificationEvent, ...])


MAX_TARGETS = 1000


def _get_target(connection: Connection, target_id: int) -> NotificationTarget:
    found = row(connection, SQL.target, (target_id,))
    if found is None:
        raise NotFound(
            f"there is no notification target {target_id}",
            hint="`smartspider notification list` shows all targets",
        )
    return _target(found)


def _target(found: tuple[Any, ...]) -> NotificationTarget:
    number, kind, address, events, task_id, is_enabled, *rest = found
    return NotificationTarget(number, kind, address, _events.decode(events), task_id, bool(is_enabled), *rest)


def _notification(found: tuple[Any, ...]) -> Notification:
    number, target_id, name, run_id, data, *rest = found
    return Notification(number, target_id, name, run_id, data.encode(), *rest)


class NotificationStore:
    """1. A notification is added once for each target, event and name, also with several keepers.
    2. Writes of a keeper that no longer leads are refused.
    3. Changes to targets and their audit entries are one transaction.
    4. A paused target gets nothing until it is resumed. A deleted one gets nothing more, and the targets of
       a task are deleted with it.
    5. There are at most `MAX_TARGETS`; every list uses an index.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def add_target(
        self,
        kind: str,
        address: str,
        events: Sequence[NotificationEvent],
        *,
        task_id: int | None,
        actor: str,
    ) -> NotificationTarget:
        """Add a target."""

        def work(connection: Connection) -> NotificationTarget:
            now = self._db.now()
            if task_id is not None:
                tasks.get_live(connection, task_id)
            if one(connection, SQL.count_targets) >= MAX_TARGETS:
                raise NotAllowed(
                    f"there are {MAX_TARGETS} notification targets, the maximum",
                    hint="delete one that is not needed",
                )
            encoded = msgspec.json.encode(events).decode()
            target_id = one(connection, SQL.add_target, (kind, address, task_id, encoded, actor, now))
            # The address may hold a secret: that of a webhook often does.
            detail = {"kind": kind, "events": list(events), "task": task_id and f"task:{task_id}"}
            audit.write(connection, now, actor, "notification.created", f"notification:{target_id}", **detail)
            return _get_target(connection, target_id)

        return await self._db.write(work)

    async def get_target(self, target_id: int) -> NotificationTarget:
        """Return a target."""
        return await self._db.read(lambda connection: _get_target(connection, target_id))

    async def find_targets(self, *, after: int = 0, limit: int = 100) -> list[NotificationTarget]:
        """Return targets in the order they were added."""
        return await self._db.read(
            lambda connection: [_target(found) for found in rows(connection, SQL.targets, (after, limit))]
        )

    async def change_target(
        self,
        target_id: int,
        *,
        actor: str,
        address: str | None = None,
        events: Sequence[NotificationEvent] | None = None,
        task_id: int | None = None,
        is_of_all_tasks: bool = False,
        is_enabled: bool | None = None,
    ) -> NotificationTarget:
        """Change what is given. Without `task_id` the task stays, unless the target is to be one of all."""

        def work(connection: Connection) -> NotificationTarget:
            before = _get_target(connection, target_id)
            if task_id is not None:
                tasks.get_live(connection, task_id)
            changed = msgspec.structs.replace(
                before,
                address=before.address if address is None else address,
                events=before.events if events is None else tuple(events),
                task_id=None if is_of_all_tasks else before.task_id if task_id is None else task_id,
                is_enabled=before.is_enabled if is_enabled is None else is_enabled,
            )
            if changed == before:
                return before
            encoded = msgspec.json.encode(changed.events).decode()
            values = (changed.address, encoded, changed.task_id, int(changed.is_enabled), target_id)
            connection.execute(SQL.change_target, values)
            detail = {
                "events": list(changed.events),
                "task": changed.task_id and f"task:{changed.task_id}",
                "enabled": changed.is_enabled,
                "address_changed": changed.address != before.address,
            }
            subject = f"notification:{target_id}"
            audit.write(connection, self._db.now(), actor, "notification.changed", subject, **detail)
            return changed

        return await self._db.write(work)

    async def delete_target(self, target_id: int, *, actor: str) -> None:
        """Delete a target and its pending notifications."""

        def work(connection: Connection) -> None:
            gone = _get_target(connection, target_id)
            connection.execute(SQL.delete_notifications, (target_id,))
            connection.execute(SQL.delete_target, (target_id,))
            audit.write(
                connection,
                self._db.now(),
                actor,
                "notification.deleted",
                f"notification:{target_id}",
                kind=gone.kind,
            )

        await self._db.write(work)

    async def put(
        self, notifications: Sequence[tuple[int, int, NotificationEvent, int, bytes]], *, epoch: int
    ) -> int:
        """Add notifications (target, event, name, run, data) to the outbox. Return how many are new."""

        def work(connection: Connection) -> int:
            leadership.check(connection, epoch)
            now = self._db.now()
            put = [
                (target_id, event_id, name, run_id, data.decode(), now)
                for target_id, event_id, name, run_id, data in notifications
            ]
            new = connection.executemany(SQL.put, put).fetchall()
            failpoints.reach("notifications.put")
            return len(new)

        return await self._db.write(work)

    async def due(self, *, limit: int = 100) -> list[Notification]:
        """Return notifications to deliver now."""
        return await self._listed(SQL.due, (self._db.now(), limit))

    async def mark_delivered(self, notification_id: int, *, epoch: int) -> None:
        """Record that a notification was delivered."""

        def work(connection: Connection) -> None:
            leadership.check(connection, epoch)
            connection.execute(SQL.delivered, (self._db.now(), notification_id))

        await self._db.write(work)

    async def mark_failed(
        self, notification_id: int, error: str, *, retry_at: float | None, epoch: int
    ) -> None:
        """Record a failed delivery, and when to retry; without `retry_at` it is given up."""

        def work(connection: Connection) -> None:
            leadership.check(connection, epoch)
            connection.execute(
                SQL.failed, (retry_at, self._db.now(), error[:MAX_ERROR_LENGTH], notification_id)
            )

        await self._db.write(work)

    async def find(
        self, *, target_id: int | None = None, before: int | None = None, limit: int = 100
    ) -> list[Notification]:
        """Return notifications, newest first."""
        bound = PAST_ALL if before is None else before
        if target_id is None:
            return await self._listed(SQL.before, (bound, limit))
        return await self._listed(SQL.before_of_target, (target_id, bound, limit))

    async def _listed(self, sql: str, values: tuple[Any, ...]) -> list[Notification]:
        return [_notification(found) for found in await self._db.fetch(sql, values)]

    async def sweep(self, before: float) -> int:
        """Delete some notifications that ended before a moment. Return the number, 0 when none are left."""

        def work(connection: Connection) -> int:
            connection.execute(SQL.sweep, (before,))
            return connection.changes()

        return await self._db.write(work)
