"""When a page that an earlier run of the task has fetched is fetched again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

WINDOW = "window: "
"""How the reason of a request begins that was left alone because of `dedup.window`."""

NOT_DUE = "recrawl: "
"""How the reason of a request begins that was left alone because its page seldom changes."""

_MAX_TAG = 1024
_UNITS = ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"))


class PageVersion(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A version of a page in the server's words."""

    etag: str = ""
    last_modified: str = ""

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Headers that ask for the page only if it is another version."""
        asked = (("If-None-Match", self.etag), ("If-Modified-Since", self.last_modified))
        return tuple(header for header in asked if header[1])


def version_of(headers: Mapping[str, str]) -> PageVersion:
    """The version that an answer names; words that cannot be sent back are left out."""
    return PageVersion(_sendable(headers.get("etag", "")), _sendable(headers.get("last-modified", "")))


def _sendable(text: str) -> str:
    return text if len(text) <= _MAX_TAG and text.isascii() and text.isprintable() else ""


class LastVisit(msgspec.Struct, frozen=True, gc=False):
    """The last look that a run of the task had at a page."""

    run_id: int
    at: float
    interval_s: float | None = None


class RecrawlPolicy(msgspec.Struct, frozen=True):
    """`recrawl` and `dedup.window` of a task. The defaults look back at nothing and cost nothing."""

    window_s: float | None = None
    """A URL that is not an entry or a further page of one is left alone for so long after it was fetched."""
    conditional: bool = False
    """Ask whether a page changed since (ETag, Last-Modified); an unchanged one gives its rows again."""
    min_s: float | None = None
    """Adaptive: between `min_s` and `max_s` after a fetch, by how often the page was seen to change."""
    max_s: float | None = None
    is_by_depth: bool = False
    """How deep a page is found decides which of its links are followed."""

    @property
    def looks_back(self) -> bool:
        """Whether anything about pages has to be remembered from run to run."""
        return self.window_s is not None or self.conditional or self.is_adaptive

    @property
    def is_adaptive(self) -> bool:
        """Whether each page has an interval of its own."""
        return self.max_s is not None

    def next_interval_s(self, interval_s: float | None, *, has_changed: bool) -> float:
        """The interval after another look: halved when the page changed, half as long again when not."""
        low, high = self.min_s or 0.0, self.max_s or 0.0
        if interval_s is None:
            return low
        return min(max(interval_s * (0.5 if has_changed else 1.5), low), high)

    def reason_to_wait(self, visit: LastVisit, now: float) -> str:
        """Why a page that was visited then is left alone now; empty when it is due."""
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


def is_left_alone(reason: str) -> bool:
    """Whether a request was skipped because an earlier look at its page is recent enough."""
    return reason.startswith((WINDOW, NOT_DUE))


def _ago(seconds: float) -> str:
    for unit_s, name in _UNITS:
        if seconds >= unit_s:
            number = int(seconds // unit_s)
            return f"{number} {name}{'s' if number > 1 else ''} ago"
    return "less than a minute ago"
