"""Refuse to create more than one user may own."""

from __future__ import annotations

from smartspider.core.access import Principal
from smartspider.core.errors import QuotaReached
from smartspider.core.limits.quotas import QuotaKind
from smartspider.installation.installation import Installation

NOUNS: dict[QuotaKind, tuple[str, str]] = {
    "tasks": ("tasks", "delete tasks that are not needed"),
    "schedules": ("schedules", "delete schedules that are not needed"),
    "notifications": ("notification targets", "delete targets that are not needed"),
    "tokens": ("valid tokens", "revoke tokens that are not needed"),
    "runs": ("active runs", "wait until one has ended, or cancel one"),
}
"""The name of each kind in messages, and advice."""


async def check_quota(
    installation: Installation, principal: Principal, kind: QuotaKind, owner: str | None = None
) -> None:
    """Raise `QuotaReached` if the owner, by default the principal, has as many of a kind as allowed.

    Admins are not limited.
    """
    if principal.role != "admin":
        await check_owner(installation, owner or principal.name, kind)


async def check_owner(installation: Installation, owner: str, kind: QuotaKind) -> None:
    """Raise `QuotaReached` if an owner has as many of a kind as allowed."""
    most = installation.settings.quotas.most(kind)
    if not most or await installation.quotas.count(kind, owner, most) < most:
        return
    noun, advice = NOUNS[kind]
    raise QuotaReached(
        f"{owner} has {most} {noun}, the most that one user may have",
        hint=f"{advice}; an admin raises the limit by SMARTSPIDER_QUOTA_{kind.upper()}",
    )
