"""Log lines, followed as they are written."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from smartspider.installation.installation import Installation
from smartspider.services.live.hub import LiveHub
from smartspider.store.logs.terms import LogFilter
from smartspider.views.logs import LogView, log_view

TAIL_BATCH = 200


async def tail_logs(
    installation: Installation,
    hub: LiveHub,
    wanted: LogFilter,
    holder: str,
    *,
    after: int | None = None,
) -> AsyncGenerator[LogView | None]:
    """Yield lines to a user as they are written, those after a number first; None when there were none for a
    while.
    """
    logs = installation.logs
    with hub.subscribe_logs(holder) as subscriber:
        last = await logs.last_id() if after is None else after
        while True:
            page = await logs.after(wanted, after=last, limit=TAIL_BATCH)
            for line in page.lines:
                yield log_view(line)
            if page.next is not None and page.next > last:
                last = page.next
                continue
            subscriber.take()
            if not await subscriber.wait():
                yield None
