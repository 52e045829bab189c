"""The audit log: a chain of entries, each bound to the previous one by its hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec


class AuditHead(msgspec.Struct, frozen=True):
    """Number and hash of the newest entry of a chain."""

    id: int
    hash: str


CHAIN_START = AuditHead(0, "0" * 64)
"""The head of an empty chain."""


class AuditEntry(msgspec.Struct, frozen=True):
    """An audit entry. `action` is noun.verb (`task.changed`), `subject` the object of it (`task:3`), `detail`
    JSON. `previous` is the hash of the previous entry, `hash` covers this one.
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
    """The first invalid entry of a chain, and the reason."""

    entry_id: int
    reason: str


def entry_hash(entry: AuditEntry) -> str:
    """Return the SHA-256 of an entry's number, time, actor, action, subject, detail and previous hash.

    Each part is encoded as a netstring: length in bytes, colon, bytes, comma.
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


def seal(entry: AuditEntry, head: AuditHead) -> AuditEntry:
    """Return the entry numbered and hashed as the successor of `head`."""
    bound = msgspec.structs.replace(entry, id=head.id + 1, previous=head.hash)
    return msgspec.structs.replace(bound, hash=entry_hash(bound))


def find_break(entries: Iterable[AuditEntry], head: AuditHead = CHAIN_START) -> ChainBreak | None:
    """Return the first entry that was altered or does not follow its predecessor, or None.

    `head` precedes the first entry, so that a long chain can be verified in batches.
    """
    for entry in entries:
        if entry.id != head.id + 1:
            return ChainBreak(head.id + 1, "is missing")
        if entry_hash(entry) != entry.hash:
            return ChainBreak(entry.id, "was modified")
        if entry.previous != head.hash:
            return ChainBreak(entry.id, "does not follow the entry before it")
        head = AuditHead(entry.id, entry.hash)
    return None


def check_end(last: AuditHead, head: AuditHead) -> ChainBreak | None:
    """Return the break of a chain that ends with `last` and should end with `head`, or None."""
    if last == head:
        return None
    if last.id < head.id:
        return ChainBreak(last.id + 1, "is missing")
    return ChainBreak(last.id, "is not the newest entry that was written")
