"""The audit as people and programs read it."""

from __future__ import annotations

import msgspec

from smartspider.core.audit import AuditEntry
from smartspider.installation.installation import Installation
from smartspider.services.inputs import page_of, place_of, read_moment
from smartspider.store.audit import AuditCheck, AuditFilter
from smartspider.views.audit import AuditCheckView, AuditView
from smartspider.views.listed import Listed
from smartspider.views.times import format_time


class AuditQuery(msgspec.Struct, frozen=True):
    """Which entries are wanted, as people ask for them."""

    action: str | None = None
    subject: str | None = None
    actor: str | None = None
    since: str | None = None


async def entries(
    installation: Installation, asked: AuditQuery, *, cursor: str | None, limit: int
) -> Listed[AuditView]:
    """What was done, newest first."""
    only = AuditFilter(asked.action, asked.subject, asked.actor, read_moment("since", asked.since))
    found = await installation.audit.entries(only, before=place_of(cursor), limit=limit + 1)
    return page_of(found, limit, lambda entry: entry.id, to_view)


async def verify(installation: Installation) -> AuditCheckView:
    """Whether the audit is what was written: the whole chain is read."""
    return check_view(await installation.audit.verify())


def to_view(entry: AuditEntry) -> AuditView:
    """An entry in readable form, also one that somebody spoiled."""
    try:
        detail = msgspec.json.decode(entry.detail)
    except (msgspec.DecodeError, UnicodeDecodeError):
        detail = entry.detail.decode(errors="replace")
    texts = (entry.actor, entry.action, entry.subject, entry.previous, entry.hash)
    actor, action, subject, previous, own = (text.encode(errors="replace").decode() for text in texts)
    return AuditView(str(entry.id), format_time(entry.at), actor, action, subject, detail, previous, own)


def check_view(check: AuditCheck) -> AuditCheckView:
    """What came of a check, in readable form."""
    broken = check.broken
    return AuditCheckView(
        valid=broken is None,
        entries=check.head.id,
        head=check.head.hash,
        broken_entry=None if broken is None else str(broken.entry_id),
        reason="" if broken is None else f"entry {broken.entry_id} {broken.reason}",
    )
