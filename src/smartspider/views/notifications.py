"""Views of notifications and their targets."""

from __future__ import annotations

from typing import Literal

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.notifications import ChannelKind, Notification, NotificationEvent, NotificationTarget


class NotificationTargetView(msgspec.Struct, frozen=True):
    """A notification target. Users other than its owner and admins see only the host of `address`."""

    id: str
    kind: ChannelKind
    address: str
    events: list[NotificationEvent]
    task_id: str | None
    """The task whose events are sent; null means all tasks."""
    enabled: bool
    created_by: str
    created_at: str


class NotificationTargetMade(NotificationTargetView, frozen=True):
    """A new target. `secret` signs its webhook and is returned only here; null for email and Slack."""

    secret: str | None


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


def target_view(target: NotificationTarget, *, in_full: bool) -> NotificationTargetView:
    """Return a target, its address masked unless `in_full`."""
    return NotificationTargetView(*_target(target, in_full=in_full))


def target_made(target: NotificationTarget, secret: str | None) -> NotificationTargetMade:
    """Return a new target with its secret."""
    return NotificationTargetMade(*_target(target, in_full=True), secret=secret)


def _target(
    target: NotificationTarget, *, in_full: bool
) -> tuple[str, ChannelKind, str, list[NotificationEvent], str | None, bool, str, str]:
    return (
        *(str(target.id), target.kind, target.address if in_full else masked(target.address)),
        *(list(target.events), None if target.task_id is None else str(target.task_id)),
        *(target.is_enabled, target.created_by, format_time(target.created_at)),
    )


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
