"""The audit: what was done, by whom and to what, each entry bound to the one before it by a hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec


class AuditHead(msgspec.Struct, frozen=True):
    """The newest entry of a chain, by its number and hash."""

    id: int
    hash: str


CHAIN_START = AuditHead(0, "0" * 64)
"""What the first entry follows."""


class AuditEntry(msgspec.Struct, frozen=True):
    """One act. `action` is a noun and a verb (`task.changed`), `subject` what it was done to (`task:3`),
    `detail` JSON. `previous` is the hash of the entry before, `hash` that of all of this.
    """

    id: int
    at: float
    actor: str
    action: str
    subject: str
    detail: bytes
    previous: str
    hash: str


class ChainBreak(msgspec.Struct, frozen=True):
    """Where a chain stops being what was written: the entry, and what is wrong with it."""

    entry_id: int
    reason: str


def entry_hash(entry: AuditEntry) -> str:
    """SHA-256 over the number, moment, actor, action, subject, detail and previous hash of an entry.

    Each part is written as netstrings are: its length in bytes, a colon, the bytes, a comma.
    """
    digest = hashlib.sha256()
    parts = (
        *(str(entry.id), repr(entry.at), entry.actor, entry.action, entry.subject),
        *(entry.detail, entry.previous),
    )
    for part in parts:
        written = part if isinstance(part, bytes) else part.encode("utf-8", "surrogateescape")
        digest.update(b"%d:%b," % (len(written), written))
    return digest.hexdigest()


def sealed(entry: AuditEntry, head: AuditHead) -> AuditEntry:
    """The entry, as the one that follows `head`."""
    bound = msgspec.structs.replace(entry, id=head.id + 1, previous=head.hash)
    return msgspec.structs.replace(bound, hash=entry_hash(bound))


def first_break(entries: Iterable[AuditEntry], head: AuditHead = CHAIN_START) -> ChainBreak | None:
    """The first of these entries that does not follow the one before it, or is not what was written.

    `head` is what the first of them must follow, so that a long chain can be looked at piece by piece.
    """
    for entry in entries:
        if entry.id != head.id + 1:
            return ChainBreak(head.id + 1, "is missing")
        if entry_hash(entry) != entry.hash:
            return ChainBreak(entry.id, "is not what was written")
        if entry.previous != head.hash:
            return ChainBreak(entry.id, "does not follow the entry before it")
        head = AuditHead(entry.id, entry.hash)
    return None


def missing_end(last: AuditHead, head: AuditHead) -> ChainBreak | None:
    """What is wrong when a chain ends with `last` and should end with `head`."""
    if last == head:
        return None
    if last.id < head.id:
        return ChainBreak(last.id + 1, "is missing")
    return ChainBreak(last.id, "is not the newest entry that was written")
