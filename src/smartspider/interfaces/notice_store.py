"""Where notices go, and an outbox of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from smartspider.core.notifications import ChannelKind, Notification, NotificationEvent, NotificationTarget

MOST_TARGETS = 1000


class NoticeStore(Protocol):
    """1. A notice is put in once for each target, event and name, also with several keepers, in one
       transaction with how far the events have been looked at.
    2. Writes of a keeper that is not the leader any more are refused.
    3. Changes to targets and their audit entries are one transaction.
    4. A target that is deleted gets nothing more, and one of a task goes with the task.
    5. There are at most `MOST_TARGETS`; every list is found by a key.
    """

    async def add_target(
        self,
        kind: ChannelKind,
        address: str,
        events: Sequence[NotificationEvent],
        *,
        task_id: int | None,
        actor: str,
    ) -> NotificationTarget:
        """A new target."""

    async def get_target(self, target_id: int) -> NotificationTarget:
        """A target."""

    async def find_targets(self, *, after: int = 0, limit: int = 100) -> list[NotificationTarget]:
        """Targets in the order they were added."""

    async def delete_target(self, target_id: int, *, actor: str) -> None:
        """Forget a target and what waits for it."""

    async def looked_at(self) -> int:
        """The id of the last event that notices were made of."""

    async def put(
        self, notices: Sequence[tuple[int, int, NotificationEvent, int, bytes]], *, up_to: int, epoch: int
    ) -> int:
        """Put notices (target, event, name, run, data) into the outbox; how many are new."""

    async def due(self, *, limit: int = 100) -> list[Notification]:
        """Notices to be delivered now."""

    async def delivered(self, notice_id: int, *, epoch: int) -> None:
        """It arrived."""

    async def failed(self, notice_id: int, error: str, *, retry_at: float | None, epoch: int) -> None:
        """It did not; tried again then, or given up."""

    async def find(
        self, *, target_id: int | None = None, before: int | None = None, limit: int = 100
    ) -> list[Notification]:
        """Notices, newest first."""

    async def sweep(self, before: float) -> int:
        """Forget some notices that ended before a moment; how many, 0 when there are no more."""
