"""Notices: who is told, by webhook or email, what became of runs."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.client.connection import new_key, place
from smartspider.client.operations.wired import Wired
from smartspider.core.notices import NoticeKind, NoticeName
from smartspider.views.listed import Listed
from smartspider.views.notices import DeliveryView, NoticeTargetMade, NoticeTargetView, TriedView

NOTICES = "/api/notices"


class NoticeOperations(Wired):
    """Who is told when a run ends."""

    async def list_notices(self, *, limit: int = 100, cursor: str | None = None) -> Listed[NoticeTargetView]:
        """Who is told, oldest first."""
        params = {"limit": limit, "cursor": cursor}
        return await self.connection.get(NOTICES, Listed[NoticeTargetView], params)

    async def create_notice(
        self,
        *,
        kind: NoticeKind,
        address: str,
        events: Sequence[NoticeName],
        task_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> NoticeTargetMade:
        """Tell somebody what becomes of runs; the answer holds the secret of the signatures, this once."""
        body = {"kind": kind, "address": address, "events": list(events), "task_id": task_id}
        return await self.connection.post(NOTICES, NoticeTargetMade, body, key=idempotency_key or new_key())

    async def get_notice(self, notice_id: str) -> NoticeTargetView:
        """Who is told what."""
        return await self.connection.get(place(f"{NOTICES}/", notice_id), NoticeTargetView)

    async def delete_notice(self, notice_id: str) -> None:
        """Tell somebody nothing more."""
        await self.connection.request("DELETE", place(f"{NOTICES}/", notice_id))

    async def test_notice(self, notice_id: str, *, idempotency_key: str | None = None) -> TriedView:
        """Send a notice for trying out, once and at once."""
        path = place(f"{NOTICES}/", notice_id, "/test")
        return await self.connection.post(path, TriedView, key=idempotency_key or new_key())

    async def list_deliveries(
        self, notice_id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Listed[DeliveryView]:
        """What was told, newest first: delivered, waiting for another try, or given up."""
        path = place(f"{NOTICES}/", notice_id, "/deliveries")
        return await self.connection.get(path, Listed[DeliveryView], {"limit": limit, "cursor": cursor})
