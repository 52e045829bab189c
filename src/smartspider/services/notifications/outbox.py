"""Writes the notifications of events to the outbox."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.core.events import RunEvent
from smartspider.core.notifications import NotificationTarget
from smartspider.installation.installation import Installation
from smartspider.services.delivery import BATCH, deliver_batch
from smartspider.services.notifications.messages import notifications_of
from smartspider.store.notifications import MAX_TARGETS, NotificationStore
from smartspider.store.positions import NOTIFICATIONS, StoredPosition
from smartspider.store.runs.store import RunStore


class NotificationOutbox:
    """A sink of events: holds a notification for each event, subscribed target and name."""

    def __init__(
        self,
        notifications: NotificationStore,
        runs: RunStore,
        targets: Sequence[NotificationTarget],
        *,
        epoch: int,
    ) -> None:
        self._notifications = notifications
        self._runs = runs
        self._targets = targets
        self._epoch = epoch

    async def put(self, rows: Sequence[RunEvent]) -> int:
        """See `Sink`; events without a notification are not selected."""
        found = [await notifications_of(event, self._targets, self._runs) for event in rows]
        notifications = [one for of_event in found for one in of_event]
        if notifications:
            await self._notifications.put(notifications, epoch=self._epoch)
        return sum(1 for of_event in found if of_event)


async def write_notifications(installation: Installation, *, epoch: int) -> bool:
    """Write the notifications of the next batch of events; return True while there may be more."""
    notifications, events = installation.notifications, installation.events
    position = StoredPosition(installation.database, NOTIFICATIONS, epoch=epoch)
    known = await notifications.find_targets(limit=MAX_TARGETS)
    targets = [one for one in known if one.is_enabled]
    if targets:
        outbox = NotificationOutbox(notifications, installation.store, targets, epoch=epoch)
        return await deliver_batch(events.since, outbox, position)
    last = await events.last_id()
    # A target receives only events after its creation, and none of the time in which it is paused.
    if last > await position.read() + (0 if known else BATCH):
        await position.advance(last)
    return False
