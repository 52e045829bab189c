"""Reads the events of a run in order: from the queue of a subscriber, and from the store after a gap."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.redaction.masking import mask_view
from smartspider.installation.installation import Installation
from smartspider.services.live.hub import StreamMessage, Subscriber, event_message
from smartspider.views.runs import LiveEvent

PIECE = 500
"""Events read from the store at a time."""
RESET = "stream.reset"

_encode = msgspec.json.Encoder().encode


class EventReader:
    """A position in the events of a run. Each event after it is read once."""

    def __init__(
        self, installation: Installation, run_id: int, subscriber: Subscriber, piece: int = PIECE
    ) -> None:
        self._installation, self._run_id = installation, run_id
        self._subscriber, self._piece = subscriber, piece
        self.number = 0
        """The number of the last event read."""
        self._is_behind = True
        self.is_woken = True
        """True if the store was not followed for a moment. The reader sets it to False."""

    async def start_after(self, number: int) -> list[StreamMessage]:
        """Continue after an event; return `stream.reset` if those that follow it are no longer kept."""
        feed, self.number = self._installation.events, number
        if number <= 0 or await feed.of_run(self._run_id, after=number - 1, limit=1):
            return []
        self.number = await feed.first_number(self._run_id) - 1
        return [self.message(RESET, {"first": self.number + 1})]

    async def start_at_end(self) -> None:
        """Continue after the newest event, which is found by binary search."""
        low, step = 0, 1024
        while await self._has_after(low + step - 1):
            low, step = low + step, step * 2
        while step > 1:
            step //= 2
            if await self._has_after(low + step - 1):
                low += step
        self.number = low

    async def next(self) -> list[StreamMessage]:
        """Return the next messages; none if there are none yet."""
        received = self._subscriber.take()
        queued = [message for message in received.messages if (message.number or 0) > self.number]
        if received.is_woken:
            self._is_behind = self.is_woken = True
        if not self._is_behind:
            if not queued:
                return []
            if self._follows_on(queued):
                self.number += len(queued)
                return queued
        events = await self._installation.events.of_run(self._run_id, after=self.number, limit=self._piece)
        self._is_behind = len(events) == self._piece
        if not events:
            return []
        messages = [event_message(event) for event in events]
        if events[0].number > self.number + 1:
            messages.insert(0, self.message(RESET, {"first": events[0].number}))
        self.number = events[-1].number
        return messages

    def has_more(self) -> bool:
        """Return whether the store may have more events."""
        return self._is_behind

    async def look_for_more(self) -> bool:
        """Return whether the store has an event after the position."""
        self._is_behind |= await self._has_after(self.number)
        return self._is_behind

    def message(self, name: str, data: Any, number: int | None = None) -> StreamMessage:
        """Return a message that is no event of the run."""
        at = format_time(self._installation.clock.now())
        view = LiveEvent(number, str(self._run_id), at, name, msgspec.Raw(_encode(mask_view(data))))
        return StreamMessage(number, self._run_id, name, _encode(view).decode())

    async def _has_after(self, number: int) -> bool:
        return bool(await self._installation.events.of_run(self._run_id, after=number, limit=1))

    def _follows_on(self, queued: list[StreamMessage]) -> bool:
        return all(message.number == self.number + place for place, message in enumerate(queued, 1))
