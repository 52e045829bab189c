"""Messages about no run: they are kept in memory until they are delivered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from smartspider.core.errors import DeliveryFailed, StoreUnavailable
from smartspider.core.notifications import NotificationEvent, NotificationTarget
from smartspider.interfaces.clock import Clock
from smartspider.services.notifications.notifier import Deliver, Message, numbered_message, retry_at
from smartspider.store.notifications import MAX_TARGETS, NotificationStore

log = logging.getLogger("smartspider.keeper")


class PendingDelivery(msgspec.Struct, frozen=True):
    """A message to deliver to a target."""

    target: NotificationTarget
    message: Message
    tries: int = 0
    due_at: float = 0.0


class MemoryOutbox:
    """Delivers messages to the targets of their event. A new leader knows nothing of those of another."""

    def __init__(self, notifications: NotificationStore, deliver: Deliver, clock: Clock) -> None:
        self._notifications = notifications
        self._send_message = deliver
        self._clock = clock
        self._pending: list[PendingDelivery] = []

    @property
    def is_empty(self) -> bool:
        """Return whether everything was delivered, or given up."""
        return not self._pending

    async def put(self, event: NotificationEvent, id_: str, data: bytes) -> None:
        """Add a message for each target of an event; its id begins with the event and `id_`."""
        try:
            targets = await self._notifications.find_targets(limit=MAX_TARGETS)
        except StoreUnavailable as error:
            log.warning("notifications cannot be sent: %s", error.message)
            return
        self._pending += [
            PendingDelivery(one, numbered_message(f"{event}-{id_}-{one.id}", data))
            for one in targets
            if one.is_enabled and event in one.events
        ]

    async def deliver(self) -> None:
        """Deliver what is due."""
        now = self._clock.now()
        due = [one for one in self._pending if one.due_at <= now]
        later = [one for one in self._pending if one.due_at > now]
        if due:
            left: Sequence[PendingDelivery | None] = await asyncio.gather(*map(self._send, due))
            self._pending = later + [one for one in left if one is not None]

    async def _send(self, pending: PendingDelivery) -> PendingDelivery | None:
        """Deliver a message; return it with its next attempt if that failed."""
        try:
            await self._send_message(pending.target, pending.message)
        except DeliveryFailed as error:
            again_at = retry_at(self._clock, pending.tries)
            log.warning("%s, try %d: %s", pending.message.id, pending.tries + 1, error.message)
            if again_at is None:
                return None
            return msgspec.structs.replace(pending, tries=pending.tries + 1, due_at=again_at)
        return None
