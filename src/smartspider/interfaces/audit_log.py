"""The audit: a list that only grows, and that tells when somebody changed it behind our back."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from smartspider.core.audit import AuditEntry, AuditHead, ChainBreak


class AuditFilter(msgspec.Struct, frozen=True):
    """Which entries are wanted: those for which all that is given holds."""

    action: str | None = None
    subject: str | None = None
    actor: str | None = None
    since: float | None = None


class AuditCheck(msgspec.Struct, frozen=True):
    """What came of checking the chain: how far it is sound, and the first break if there is one."""

    head: AuditHead
    broken: ChainBreak | None


class AuditLog(Protocol):
    """1. Entries are numbered 1, 2, 3, ... in the order of their transactions; their moments never go back.
    2. An entry is never changed or removed: there is no call that does.
    3. `verify` reads the whole chain in constant memory and names the first entry that was changed, removed
       or put in behind our back, the newest ones included.
    4. Entries are listed newest first, by a cursor that never skips or repeats one, found by a key.
    5. An entry that belongs to another write is written in its transaction or not at all.
    """

    async def append(self, actor: str, action: str, subject: str, detail: dict[str, Any]) -> AuditEntry:
        """Write an entry of its own."""

    async def entries(
        self, only: AuditFilter = AuditFilter(), *, before: int | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """Entries, newest first, those with a smaller number than `before`."""

    async def verify(self) -> AuditCheck:
        """Check the whole chain."""
