"""Notices as they are told."""

from __future__ import annotations

from typing import Literal

import msgspec

from smartspider.core.notices import Notice, NoticeKind, NoticeName, NoticeTarget
from smartspider.views.times import told_at


class NoticeTargetView(msgspec.Struct, frozen=True):
    """Where notices go. To others than its owner and admins, only the host of `address` is told."""

    id: str
    kind: NoticeKind
    address: str
    events: list[NoticeName]
    task_id: str | None
    """null: those of all tasks."""
    enabled: bool
    created_by: str
    created_at: str


class NoticeTargetMade(NoticeTargetView, frozen=True):
    """A new target. `secret` is what its webhook is signed with, and is told only now; null for email."""

    secret: str | None


class DeliveryView(msgspec.Struct, frozen=True):
    """A notice on its way, delivered or given up."""

    id: str
    event: NoticeName
    run_id: str
    state: Literal["waiting", "delivered", "given_up"]
    tries: int
    error: str
    created_at: str
    next_try_at: str | None
    ended_at: str | None


class TriedView(msgspec.Struct, frozen=True):
    """Whether a notice for trying out arrived."""

    delivered: bool
    error: str


def target_view(target: NoticeTarget, *, in_full: bool) -> NoticeTargetView:
    """A target, as one person may see it."""
    return NoticeTargetView(*_target(target, in_full=in_full))


def target_made(target: NoticeTarget, secret: str | None) -> NoticeTargetMade:
    """A target for who made it."""
    return NoticeTargetMade(*_target(target, in_full=True), secret=secret)


def _target(
    target: NoticeTarget, *, in_full: bool
) -> tuple[str, NoticeKind, str, list[NoticeName], str | None, bool, str, str]:
    return (
        *(str(target.id), target.kind, target.address if in_full else masked(target.address)),
        *(list(target.events), None if target.task_id is None else str(target.task_id)),
        *(target.is_enabled, target.created_by, told_at(target.created_at)),
    )


def masked(address: str) -> str:
    """An address without what may be a secret or somebody's name."""
    scheme, mark, rest = address.partition("://")
    if mark:
        return f"{scheme}://{rest.partition('/')[0].partition('?')[0].rpartition('@')[2]}/…"
    return f"…@{address.rpartition('@')[2]}"


def delivery_view(notice: Notice) -> DeliveryView:
    """A notice."""
    is_over = notice.due_at is None
    state: Literal["waiting", "delivered", "given_up"] = "waiting"
    if is_over:
        state = "given_up" if notice.error else "delivered"
    return DeliveryView(
        *(str(notice.id), notice.name, str(notice.run_id), state, notice.tries, notice.error),
        *(told_at(notice.created_at), told_at(notice.due_at), told_at(notice.ended_at)),
    )
