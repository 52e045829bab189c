"""Publishing events within a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from smartspider.core.events import Event

Subscriber = Callable[[Event], None]


class EventBus(Protocol):
    """1. Subscribers get every event published after they subscribed, in order.
    2. A subscriber that raises is removed and the reason is logged; the publisher is not affected.
    """

    def publish(self, event: Event) -> None:
        """Pass an event to all subscribers."""

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber` with every event from now on."""
