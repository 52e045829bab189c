"""Recrawling: when to fetch a page again that an earlier run of the task fetched."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

WINDOW = "window: "
"""Prefix of the reason of requests skipped because of `dedup.window`."""

NOT_DUE = "recrawl: "
"""Prefix of the reason of requests skipped because the page seldom changes."""

_MAX_TAG = 1024
_UNITS = ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"))


class PageVersion(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Version of a page as named by the server: ETag and Last-Modified."""

    etag: str = ""
    last_modified: str = ""

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Conditional request headers for any other version."""
        headers = (("If-None-Match", self.etag), ("If-Modified-Since", self.last_modified))
        return tuple(header for header in headers if header[1])


def page_version(headers: Mapping[str, str]) -> PageVersion:
    """Return the version in a response's headers, without values that cannot be sent back."""
    return PageVersion(_sendable(headers.get("etag", "")), _sendable(headers.get("last-modified", "")))


def _sendable(text: str) -> str:
    return text if len(text) <= _MAX_TAG and text.isascii() and text.isprintable() else ""


class LastVisit(msgspec.Struct, frozen=True, gc=False):
    """The last visit of a page by a run of the task."""

    run_id: int
    at: float
    interval_s: float | None = None


class RecrawlPolicy(msgspec.Struct, frozen=True):
    """`recrawl` and `dedup.window` of a task. With the defaults no history is kept or read."""

    window_s: float | None = None
    """Skip URLs fetched within this time, except entries and their further pages."""
    conditional: bool = False
    """Send conditional requests (ETag, Last-Modified). An unchanged page yields its stored items again."""
    min_s: float | None = None
    """Bounds of the adaptive interval, which follows how often the page changed."""
    max_s: float | None = None
    is_by_depth: bool = False
    """A page's depth decides which of its links are followed."""

    @property
    def needs_history(self) -> bool:
        """Return whether pages must be remembered between runs."""
        return self.window_s is not None or self.conditional or self.is_adaptive

    @property
    def is_adaptive(self) -> bool:
        """Return whether each page has its own interval."""
        return self.max_s is not None

    def next_interval_s(self, interval_s: float | None, *, has_changed: bool) -> float:
        """Return the next interval: halved if the page changed, otherwise increased by half."""
        low, high = self.min_s or 0.0, self.max_s or 0.0
        if interval_s is None:
            return low
        return min(max(interval_s * (0.5 if has_changed else 1.5), low), high)

    def skip_reason(self, visit: LastVisit, now: float) -> str:
        """Return why the page is not fetched now, or an empty string if it is due."""
        seen = f"fetched {_ago(now - visit.at)} in run {visit.run_id}"
        if self.window_s is not None and now < visit.at + self.window_s:
            return f"{WINDOW}{seen}"
        if self.is_adaptive:
            low, high = self.min_s or 0.0, self.max_s or 0.0
            due_at = visit.at + min(max(visit.interval_s or low, low), high)
            if now < due_at:
                due = f"{datetime.fromtimestamp(due_at, UTC):%Y-%m-%d %H:%M} UTC"
                return f"{NOT_DUE}not due until {due}, {seen}"
        return ""


def _ago(seconds: float) -> str:
    for unit_s, name in _UNITS:
        if seconds >= unit_s:
            number = int(seconds // unit_s)
            return f"{number} {name}{'s' if number > 1 else ''} ago"
    return "less than a minute ago"
