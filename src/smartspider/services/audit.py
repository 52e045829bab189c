"""The audit as people and programs read it."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from smartspider.core.audit import AuditEntry
from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.moments import iso_moment
from smartspider.interfaces.audit_log import AuditCheck
from smartspider.views.audit import AuditCheckView, AuditView
from smartspider.views.times import told_at


def since(text: str) -> float:
    """A moment as people write it, ISO 8601 or seconds; raises `TaskInvalid`."""
    with suppress(ValueError, OverflowError):
        return iso_moment(text).timestamp()
    with suppress(ValueError):
        number = float(text)
        if math.isfinite(number):
            return number
    raise TaskInvalid(
        f"since: {text[:40]!r} is not a moment",
        (Problem("since", "it is not a moment", "for example 2026-07-01T12:00:00Z"),),
        hint="for example 2026-07-01T12:00:00Z",
    )


def told(entry: AuditEntry) -> AuditView:
    """An entry in readable form, also one that somebody spoiled."""
    try:
        detail = msgspec.json.decode(entry.detail)
    except (msgspec.DecodeError, UnicodeDecodeError):
        detail = entry.detail.decode(errors="replace")
    texts = (entry.actor, entry.action, entry.subject, entry.previous, entry.hash)
    actor, action, subject, previous, own = (text.encode(errors="replace").decode() for text in texts)
    return AuditView(str(entry.id), told_at(entry.at), actor, action, subject, detail, previous, own)


def told_check(check: AuditCheck) -> AuditCheckView:
    """What came of a check, in readable form."""
    broken = check.broken
    return AuditCheckView(
        valid=broken is None,
        entries=check.head.id,
        head=check.head.hash,
        broken_entry=None if broken is None else str(broken.entry_id),
        reason="" if broken is None else f"entry {broken.entry_id} {broken.reason}",
    )


def moment(at: float) -> str:
    """A moment as ISO 8601; one that no calendar has, as the number it is."""
    try:
        return datetime.fromtimestamp(at, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return repr(at)
