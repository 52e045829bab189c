"""Delivers notifications through channels."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

import msgspec

from smartspider.core.errors import DeliveryFailed, NotBuilt, NotFound
from smartspider.core.notifications import Notification, NotificationTarget
from smartspider.installation.installation import Installation
from smartspider.interfaces.clock import Clock
from smartspider.plugins.kinds import CHANNEL
from smartspider.plugins.registry import resolve

BACKOFF_S = (30.0, 120.0, 600.0, 2700.0)
"""Pause after each failed attempt; after the last one the notification is given up."""


EVENTS = {
    "run.finished": "finished",
    "run.failed": "failed",
    "run.paused": "paused",
    "run.few_rows": "has far fewer rows than usual",
    "cookies.invalid": "cookies are signed out",
    "store.full": "the store is full",
    "store.returned": "the store accepts writes again",
    "test": "test",
}
"""The words for an event."""


class Message(msgspec.Struct, frozen=True):
    """A notification as it is sent: an id that stays the same across attempts, and the JSON."""

    id: str
    body: bytes


class ChannelAddress(msgspec.Struct, frozen=True):
    """The form of the addresses of a channel's targets, with an example."""

    form: Literal["url", "email"]
    example: str


class Channel(Protocol):
    """A way to deliver messages to one kind of target. `address` says what its address is, for forms.

    1. `check_address` raises `RequestInvalid` or `PrivateAddress` for an address it cannot deliver to.
    2. `send` returns once the receiver accepted the message, and raises `DeliveryFailed` otherwise.
    3. `secret` returns what its messages to a target are signed with; None if they are not signed.
    4. `lacks` says what must be set before it can deliver anything; empty: nothing.
    """

    address: ChannelAddress

    def lacks(self) -> str:
        """Return what must be set first."""

    def check_address(self, address: str) -> None:
        """Check the address of a new target."""

    async def send(self, target: NotificationTarget, message: Message) -> None:
        """Deliver one message."""

    def secret(self, target_id: int) -> str | None:
        """Return the signing secret of a target."""


Deliver = Callable[[NotificationTarget, Message], Awaitable[None]]
"""Sends a message to a target; raises `DeliveryFailed`."""


class Notifier:
    """The channels of an installation, each made when it is first used."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._channels: dict[str, Channel] = {}

    def channel(self, kind: str) -> Channel:
        """Return the channel of a kind."""
        if kind not in self._channels:
            self._channels[kind] = resolve(CHANNEL, kind)(self._installation)
        return self._channels[kind]

    async def deliver(self, target: NotificationTarget, message: Message) -> None:
        """Send a message to a target; raise `DeliveryFailed`."""
        try:
            channel = self.channel(target.kind)
        except (NotFound, NotBuilt) as error:  # its package was removed
            raise DeliveryFailed(error.line) from error
        await channel.send(target, message)


def message_of(notification: Notification) -> Message:
    """Return the message of a stored notification."""
    return numbered_message(str(notification.id), notification.data)


def numbered_message(id_: str, data: bytes) -> Message:
    """Return a message whose JSON object starts with `id`."""
    rest = data.strip()[1:]
    comma = b"" if rest.startswith(b"}") else b","
    return Message(id_, b'{"id":' + msgspec.json.encode(id_) + comma + rest)


def describe(message: Message) -> tuple[str, list[str]]:
    """Return a message in words: a headline, and lines with its details."""
    content: dict[str, Any] = msgspec.json.decode(message.body)
    run, store = content.get("run", {}), content.get("store", {})
    event = EVENTS.get(content["event"], content["event"])
    of_run = f"{run.get('task', '')}, run {run.get('run_id', '')}: " if run else ""
    lines = [f"{name}: {value}" for name, value in {**run, **store}.items() if value not in ("", None)]
    lines += [f"{name}: {content[name]}" for name in ("cookies", "reason") if name in content]
    if "usual_items" in content:
        lines.append(f"usual items: {content['usual_items']:g}")
    return f"{of_run}{event}", [f"{event} at {content['at']}", "", *lines]


def retry_at(clock: Clock, attempts: int) -> float | None:
    """Return when to try again after this many earlier failed attempts; None: give up."""
    return clock.now() + BACKOFF_S[attempts] if attempts < len(BACKOFF_S) else None
