"""The audit log."""

from __future__ import annotations

import msgspec

from smartspider.core.audit import AuditEntry
from smartspider.core.datetimes import format_time
from smartspider.installation.installation import Installation
from smartspider.services.inputs import parse_cursor, parse_time, to_page
from smartspider.store.audit import AuditCheck, AuditFilter
from smartspider.views.audit import AuditCheckView, AuditView
from smartspider.views.listed import Listed


class AuditQuery(msgspec.Struct, frozen=True):
    """Conditions on audit entries, as given by a caller."""

    action: str | None = None
    subject: str | None = None
    actor: str | None = None
    since: str | None = None


async def list_entries(
    installation: Installation, query: AuditQuery, *, cursor: str | None, limit: int
) -> Listed[AuditView]:
    """List audit entries, newest first."""
    filter_ = AuditFilter(query.action, query.subject, query.actor, parse_time("since", query.since))
    found = await installation.audit.entries(filter_, before=parse_cursor(cursor), limit=limit + 1)
    return to_page(found, limit, lambda entry: entry.id, entry_view)


async def verify_audit(installation: Installation) -> AuditCheckView:
    """Verify the whole hash chain of the audit."""
    return check_view(await installation.audit.verify())


def entry_view(entry: AuditEntry) -> AuditView:
    """Return the view of an entry, even of one that was tampered with."""
    try:
        detail = msgspec.json.decode(entry.detail)
    except (msgspec.DecodeError, UnicodeDecodeError):
        detail = entry.detail.decode(errors="replace")
    texts = (entry.actor, entry.action, entry.subject, entry.previous, entry.hash)
    actor, action, subject, previous, own = (text.encode(errors="replace").decode() for text in texts)
    return AuditView(str(entry.id), format_time(entry.at), actor, action, subject, detail, previous, own)


def check_view(check: AuditCheck) -> AuditCheckView:
    """Return the view of a verification."""
    broken = check.broken
    return AuditCheckView(
        valid=broken is None,
        entries=check.head.id,
        head=check.head.hash,
        broken_entry=None if broken is None else str(broken.entry_id),
        reason="" if broken is None else f"entry {broken.entry_id} {broken.reason}",
    )
