"""Views of the audit log."""

from __future__ import annotations

from typing import Any

import msgspec


class AuditView(msgspec.Struct, frozen=True):
    """An audit entry: actor, action, subject and time. `hash` covers the entry and the hash of the previous
    one.
    """

    id: str
    at: str
    actor: str
    action: str
    subject: str
    detail: Any
    previous: str
    hash: str


class AuditCheckView(msgspec.Struct, frozen=True):
    """The result of verifying the hash chain. `entries` is the number of valid entries, `head` the hash of
    the last of them.
    """

    valid: bool
    entries: int
    head: str
    broken_entry: str | None
    reason: str
