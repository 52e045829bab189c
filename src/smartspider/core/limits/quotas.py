"""Quotas: the most that one user may own."""

from __future__ import annotations

from typing import Literal

import msgspec

QuotaKind = Literal["tasks", "schedules", "notifications", "tokens", "runs"]


class Quotas(msgspec.Struct, frozen=True):
    """The most that a user may own of each kind; 0 means no limit. Admins have none."""

    tasks: int = 2_000
    schedules: int = 500
    notifications: int = 100
    """Notification targets."""
    tokens: int = 100
    """Valid API tokens."""
    runs: int = 100
    """Runs that are queued, running, paused or stopping."""

    def most(self, kind: QuotaKind) -> int:
        """Return the limit of a kind."""
        limit: int = getattr(self, kind)
        return limit
