"""Notifications about runs and about the store, sent through channels."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

NotificationEvent = Literal[
    "run.finished",
    "run.failed",
    "run.paused",
    "run.few_rows",
    "cookies.invalid",
    "store.full",
    "store.returned",
]
NOTIFICATION_EVENTS: tuple[NotificationEvent, ...] = get_args(NotificationEvent)

SET_MAIL = "set SMARTSPIDER_SMTP_URL and SMARTSPIDER_MAIL_FROM where the server is started"
"""The hint for email targets while no mail server is configured."""


class NotificationTarget(msgspec.Struct, frozen=True):
    """The recipient of notifications. `kind` names its channel; `task_id` None: those of all tasks."""

    id: int
    kind: str
    address: str
    events: tuple[NotificationEvent, ...]
    task_id: int | None
    is_enabled: bool
    created_by: str
    created_at: float


class Notification(msgspec.Struct, frozen=True):
    """A notification and its delivery state. `due_at` None: delivered, or given up with `error`."""

    id: int
    target_id: int
    name: NotificationEvent
    run_id: int
    data: bytes
    created_at: float
    tries: int
    due_at: float | None
    ended_at: float | None
    error: str
