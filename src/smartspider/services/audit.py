"""The audit as people and programs read it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from smartspider.core.audit import AuditEntry
from smartspider.interfaces.audit_log import AuditCheck


class ToldEntry(msgspec.Struct, frozen=True):
    """An entry with its moment as ISO 8601 and its detail as values."""

    id: str
    at: str
    actor: str
    action: str
    subject: str
    detail: Any
    previous: str
    hash: str


class ToldCheck(msgspec.Struct, frozen=True):
    """Whether the chain is whole; how many entries are sound, and the hash of the last of them."""

    valid: bool
    entries: int
    head: str
    broken_entry: str | None
    reason: str


def told(entry: AuditEntry) -> ToldEntry:
    """An entry in readable form, also one that somebody spoiled."""
    try:
        detail = msgspec.json.decode(entry.detail)
    except (msgspec.DecodeError, UnicodeDecodeError):
        detail = entry.detail.decode(errors="replace")
    texts = (entry.actor, entry.action, entry.subject, entry.previous, entry.hash)
    actor, action, subject, previous, own = (text.encode(errors="replace").decode() for text in texts)
    return ToldEntry(str(entry.id), moment(entry.at), actor, action, subject, detail, previous, own)


def told_check(check: AuditCheck) -> ToldCheck:
    """What came of a check, in readable form."""
    broken = check.broken
    return ToldCheck(
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
