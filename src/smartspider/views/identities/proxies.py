"""Views of proxies. No view has a user or a password."""

from __future__ import annotations

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.proxies import ProxyKind, ProxyRecord


class ProxyView(msgspec.Struct, frozen=True):
    """A proxy of a pool."""

    id: str
    pool: str
    kind: ProxyKind
    url: str
    """Without user and password."""
    weight: float
    owner: str
    requests: int
    failures: int
    """Requests that the proxy failed."""
    success: float
    """Moving average of the share of requests that it did not fail."""
    latency_s: float | None
    banned: bool
    banned_until: str | None
    error: str
    """Why it failed last."""
    created_at: str
    used_at: str | None
    """None: never used."""


class ProxyCheckView(msgspec.Struct, frozen=True):
    """The result of fetching a page through a proxy."""

    ok: bool
    url: str
    status: int | None
    elapsed_s: float | None
    error: str
    proxy: ProxyView


def proxy_view(record: ProxyRecord, now: float) -> ProxyView:
    """Return the view of a proxy."""
    is_banned = record.banned_until > now
    return ProxyView(
        *(str(record.id), record.pool, record.kind, record.url, record.weight, record.owner),
        *(record.requests, record.failures, round(record.success, 4), record.latency_s),
        is_banned,
        format_time(record.banned_until) if is_banned else None,
        record.error,
        format_time(record.created_at),
        format_time(record.used_at),
    )
