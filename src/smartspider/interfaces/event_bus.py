"""Telling others what happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from smartspider.core.events import Event

Subscriber = Callable[[Event], None]


class EventBus(Protocol):
    """1. Subscribers hear every event published after they subscribed, in order.
    2. A subscriber that raises is dropped with a logged reason and never disturbs the publisher.
    """

    def publish(self, event: Event) -> None:
        """Tell all subscribers."""

    def subscribe(self, subscriber: Subscriber) -> None:
        """Hear all events from now on."""
