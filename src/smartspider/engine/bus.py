"""The event bus of a process."""

from __future__ import annotations

import logging

from smartspider.core.events import Event
from smartspider.interfaces.event_bus import Subscriber


class LocalBus:
    """See `interfaces/event_bus.py`."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> None:
        """Hear all events from now on."""
        self._subscribers.append(subscriber)

    def publish(self, event: Event) -> None:
        """Tell all subscribers; one that fails is dropped."""
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(event)
            except Exception:
                self._subscribers.remove(subscriber)
                logging.getLogger(__name__).exception("a subscriber failed and was dropped")
