"""Write notifications to the outbox, and deliver them."""

from __future__ import annotations

import asyncio
import logging

from smartspider.core.errors import DeliveryFailed, NotFound
from smartspider.core.notifications import Notification
from smartspider.installation.installation import Installation
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Term
from smartspider.services.notifications.notifier import Deliver, message_of, retry_at
from smartspider.services.notifications.outbox import write_notifications
from smartspider.store.notifications import NotificationStore

log = logging.getLogger("smartspider.keeper")


class WriteNotifications:
    """Writes the notifications of new events."""

    name, every_s = "notices", 1.0

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._done = (0, -1)
        """The term and the last event whose notifications are written."""

    async def do(self, term: Term) -> None:
        """Process all new events; usually there are none."""
        last = term.epoch, await self._installation.events.last_id()
        if last == self._done:
            return
        while await write_notifications(  # noqa: ASYNC110 - yields to other tasks, waits for nothing
            self._installation, epoch=term.epoch
        ):
            await asyncio.sleep(0)
        self._done = last


class DeliverNotifications:
    """Delivers notifications from the outbox, several at a time."""

    name, every_s = "post", 1.0
    at_once = 8

    def __init__(self, store: NotificationStore, deliver: Deliver, clock: Clock) -> None:
        self._store = store
        self._send = deliver
        self._clock = clock

    async def do(self, term: Term) -> None:
        """Deliver all due notifications."""
        while due := await self._store.due(limit=self.at_once):
            delivered = await asyncio.gather(
                *(self._deliver(notification, term.epoch) for notification in due), return_exceptions=True
            )
            for error in delivered:
                if error is not None:
                    raise error

    async def _deliver(self, notification: Notification, epoch: int) -> None:
        try:
            target = await self._store.get_target(notification.target_id)
            await self._send(target, message_of(notification))
        except NotFound:
            return  # the target was deleted meanwhile
        except DeliveryFailed as error:
            log.warning("notification %d, try %d: %s", notification.id, notification.tries + 1, error.message)
            why = error.message
        except Exception:  # must not be retried at once
            log.exception("notification %d, attempt %d failed", notification.id, notification.tries + 1)
            why = "unexpected error"
        else:
            await self._store.mark_delivered(notification.id, epoch=epoch)
            return
        again_at = retry_at(self._clock, notification.tries)
        await self._store.mark_failed(notification.id, why, retry_at=again_at, epoch=epoch)
