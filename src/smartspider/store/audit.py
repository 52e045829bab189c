"""The audit log. `write` runs inside the transaction of the write that it records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from smartspider.core import failpoints
from smartspider.core import idempotency as claims
from smartspider.core.audit import CHAIN_START, AuditEntry, AuditHead, ChainBreak, check_end, find_break, seal
from smartspider.store import idempotency, statements
from smartspider.store.database import Connection, Database, row, rows

SQL = statements.load("audit.sql", __package__)

BATCH = 500
"""Entries verified in one transaction."""
PAST_ALL = (1 << 63) - 1

_encode = msgspec.json.Encoder(order="sorted", enc_hook=str).encode


class AuditFilter(msgspec.Struct, frozen=True):
    """Conditions that all must hold."""

    action: str | None = None
    subject: str | None = None
    actor: str | None = None
    since: float | None = None


class AuditCheck(msgspec.Struct, frozen=True):
    """The result of verifying the chain: its last sound entry, and the first break if there is one."""

    head: AuditHead
    broken: ChainBreak | None


def write(
    connection: Connection, now: float, actor: str, action: str, subject: str, **detail: Any
) -> AuditEntry:
    """Append an entry to the chain, and mark the current idempotency claim with its subject."""
    claim = claims.current_claim()
    if claim is not None:
        idempotency.mark_claim(connection, claim, subject)
    return _add(connection, now, actor, action, subject=subject, detail=detail)


def _add(
    connection: Connection, now: float, actor: str, action: str, *, subject: str, detail: dict[str, Any]
) -> AuditEntry:
    head, last_at = _head(connection)
    at = max(now, last_at)  # the clocks of processes differ slightly
    who, what, whom = _storable(actor), _storable(action), _storable(subject)
    entry = seal(AuditEntry(0, at, who, what, whom, _encode(detail), "", ""), head)
    connection.execute(
        SQL.add,
        (
            *(entry.id, entry.at, entry.actor, entry.action, entry.subject, entry.detail.decode()),
            *(entry.previous, entry.hash),
        ),
    )
    failpoints.reach("audit.added")
    connection.execute(SQL.set_head, (entry.id, entry.hash))
    failpoints.reach("audit.headed")
    return entry


def _head(connection: Connection) -> tuple[AuditHead, float]:
    found = row(connection, SQL.head)
    return (AuditHead(found[0], found[1]), found[2]) if found else (CHAIN_START, 0.0)


def _entry(found: tuple[Any, ...]) -> AuditEntry:
    number, at, actor, action, subject, detail, previous, own = found
    return AuditEntry(
        *(number, at, _text(actor), _text(action), _text(subject)),
        detail=detail,
        previous=_text(previous),
        hash=_text(own),
    )


def _storable(text: str) -> str:
    """Replace NUL, which not every database stores in text."""
    return text.replace("\0", "\ufffd")


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogateescape")


class AuditLog:
    """1. Entries are numbered 1, 2, 3, ... in the order of their transactions; their times never go back.
    2. No call changes or removes an entry.
    3. `verify` reads the whole chain in constant memory and returns the first entry that was changed,
       removed or inserted outside of this class, the newest ones included.
    4. Entries are listed newest first, by a cursor that neither skips nor repeats one, using an index.
    5. The entry for another write is committed in the same transaction or not at all.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def append(self, actor: str, action: str, subject: str, detail: dict[str, Any]) -> AuditEntry:
        """Append an entry in a transaction of its own."""
        return await self._db.write(
            lambda connection: _add(connection, self._db.now(), actor, action, subject=subject, detail=detail)
        )

    async def entries(
        self, only: AuditFilter = AuditFilter(), *, before: int | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """Return entries with numbers smaller than `before`, newest first."""
        return await self._db.read(_listing(only, PAST_ALL if before is None else before, limit))

    async def verify(self) -> AuditCheck:
        """Verify the whole chain."""
        last = CHAIN_START
        while True:
            found, head = await self._db.read(_read_batch(last.id))
            broken = find_break(found, last)
            if broken is not None:
                sound = [entry for entry in found if entry.id < broken.entry_id]
                return AuditCheck(AuditHead(sound[-1].id, sound[-1].hash) if sound else last, broken)
            last = AuditHead(found[-1].id, found[-1].hash) if found else last
            if len(found) < BATCH:
                return AuditCheck(last, check_end(last, head))
            await asyncio.sleep(0)


def _read_batch(after: int) -> Callable[[Connection], tuple[list[AuditEntry], AuditHead]]:
    def work(connection: Connection) -> tuple[list[AuditEntry], AuditHead]:
        return [_entry(found) for found in rows(connection, SQL.after, (after, BATCH))], _head(connection)[0]

    return work


def listing_sql(only: AuditFilter) -> str:
    """Return the statement for a filter. It has only the given conditions, so that an index is used."""
    given = [f" AND {name} = ?" for name in ("subject", "actor", "action") if getattr(only, name) is not None]
    floor = " AND id >= ?" if only.since is not None else ""
    return f"{SQL.before}{''.join(given)}{floor} ORDER BY id DESC LIMIT ?"


def _listing(only: AuditFilter, before: int, limit: int) -> Callable[[Connection], list[AuditEntry]]:
    def work(connection: Connection) -> list[AuditEntry]:
        values: list[Any] = [before]
        values += [_storable(value) for value in (only.subject, only.actor, only.action) if value is not None]
        if only.since is not None:
            first = row(connection, SQL.since, (only.since,))
            if first is None:
                return []
            values.append(first[0])
        return [_entry(found) for found in rows(connection, listing_sql(only), (*values, limit))]

    return work
