"""Views of notifications and their targets."""

from __future__ import annotations

from typing import Literal

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.notifications import Notification, NotificationEvent, NotificationTarget


class NotificationTargetView(msgspec.Struct, frozen=True):
    """A notification target. Users other than its owner and admins see only the host of `address`."""

    id: str
    kind: str
    """Its channel."""
    address: str
    events: list[NotificationEvent]
    task_id: str | None
    """The task whose events are sent; null means all tasks."""
    task: str | None
    """Its name."""
    enabled: bool
    created_by: str
    created_at: str


class NotificationTargetMade(NotificationTargetView, frozen=True):
    """A new target. `secret` signs its webhook and is returned only here; null for email and Slack."""

    secret: str | None


class ChannelView(msgspec.Struct, frozen=True):
    """A kind of notification target, and what its address is."""

    kind: str
    address: Literal["url", "email"]
    example: str
    is_signed: bool
    """True if a new target has a signing secret."""
    usable: bool
    hint: str
    """The settings that are missing, if it cannot be used."""


class DeliveryView(msgspec.Struct, frozen=True):
    """A delivery: pending, delivered or failed."""

    id: str
    event: NotificationEvent
    run_id: str
    state: Literal["waiting", "delivered", "given_up"]
    tries: int
    error: str
    created_at: str
    next_try_at: str | None
    ended_at: str | None


class TriedView(msgspec.Struct, frozen=True):
    """The result of a test message."""

    delivered: bool
    error: str


def target_view(target: NotificationTarget, task: str | None, *, in_full: bool) -> NotificationTargetView:
    """Return a target with the name of its task, its address masked unless `in_full`."""
    return NotificationTargetView(
        *(str(target.id), target.kind, target.address if in_full else masked(target.address)),
        *(list(target.events), None if target.task_id is None else str(target.task_id), task),
        *(target.is_enabled, target.created_by, format_time(target.created_at)),
    )


def target_made(target: NotificationTargetView, secret: str | None) -> NotificationTargetMade:
    """Return a new target with its secret."""
    return NotificationTargetMade(**msgspec.structs.asdict(target), secret=secret)


def masked(address: str) -> str:
    """Return an address without the parts that may be secret or personal."""
    scheme, mark, rest = address.partition("://")
    if mark:
        return f"{scheme}://{rest.partition('/')[0].partition('?')[0].rpartition('@')[2]}/…"
    return f"…@{address.rpartition('@')[2]}"


def delivery_view(notification: Notification) -> DeliveryView:
    """Return the delivery state of a notification."""
    has_ended = notification.due_at is None
    state: Literal["waiting", "delivered", "given_up"] = "waiting"
    if has_ended:
        state = "given_up" if notification.error else "delivered"
    return DeliveryView(
        *(
            str(notification.id),
            notification.name,
            str(notification.run_id),
            state,
            notification.tries,
            notification.error,
        ),
        *(
            format_time(notification.created_at),
            format_time(notification.due_at),
            format_time(notification.ended_at),
        ),
    )
