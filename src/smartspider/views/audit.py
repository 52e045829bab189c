"""The audit as it is told."""

from __future__ import annotations

from typing import Any

import msgspec


class AuditView(msgspec.Struct, frozen=True):
    """An entry: who did what, to what, when. `hash` is over all of it and the hash before."""

    id: str
    at: str
    actor: str
    action: str
    subject: str
    detail: Any
    previous: str
    hash: str


class AuditCheckView(msgspec.Struct, frozen=True):
    """Whether the chain is whole; how many entries are sound, and the hash of the last of them."""

    valid: bool
    entries: int
    head: str
    broken_entry: str | None
    reason: str
