"""Duties about notices: putting them into the outbox, and delivering them."""

from __future__ import annotations

import asyncio
import logging

from smartspider.core.errors import DeliveryFailed, NotFound
from smartspider.core.notifications import Notification
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Term
from smartspider.services.notifications.messages import look
from smartspider.services.notifications.notifier import Post, letter_of, retry_at
from smartspider.store.events import EventFeed
from smartspider.store.notifications import NotificationStore
from smartspider.store.runs.store import RunStore

log = logging.getLogger("smartspider.keeper")


class WriteNotifications:
    """Looks at what happened to runs."""

    name, every_s = "notices", 1.0

    def __init__(self, notices: NotificationStore, events: EventFeed, store: RunStore) -> None:
        self._notices = notices
        self._events = events
        self._store = store
        self._looked_at = (0, -1)
        """The term, and its last event that all notices were written of."""

    async def do(self, term: Term) -> None:
        """All new events; mostly there are none, and nothing else is asked for."""
        last = term.epoch, await self._events.last_id()
        if last == self._looked_at:
            return
        while await look(  # noqa: ASYNC110 - others have a turn in between
            self._notices, self._events, self._store, epoch=term.epoch
        ):
            await asyncio.sleep(0)
        self._looked_at = last


class DeliverNotifications:
    """Delivers what is in the outbox, several at a time."""

    name, every_s = "post", 1.0
    at_once = 8

    def __init__(self, notices: NotificationStore, post: Post, clock: Clock) -> None:
        self._notices = notices
        self._post = post
        self._clock = clock

    async def do(self, term: Term) -> None:
        """All that are due."""
        while due := await self._notices.due(limit=self.at_once):
            delivered = await asyncio.gather(
                *(self._deliver(notice, term.epoch) for notice in due), return_exceptions=True
            )
            for error in delivered:
                if error is not None:
                    raise error

    async def _deliver(self, notice: Notification, epoch: int) -> None:
        try:
            target = await self._notices.get_target(notice.target_id)
            await self._post.deliver(target, letter_of(notice))
        except NotFound:
            return  # deleted meanwhile, with what waited for it
        except DeliveryFailed as error:
            log.warning("notice %d, try %d: %s", notice.id, notice.tries + 1, error.message)
            why = error.message
        except Exception:  # it must not be tried again and again at once
            log.exception("notice %d, try %d", notice.id, notice.tries + 1)
            why = "an unexpected error"
        else:
            await self._notices.delivered(notice.id, epoch=epoch)
            return
        again_at = retry_at(self._clock, notice.tries)
        await self._notices.failed(notice.id, why, retry_at=again_at, epoch=epoch)
