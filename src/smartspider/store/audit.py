"""The audit in SQL. `write` runs inside a transaction: an entry stands or falls with what it tells of."""

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

PIECE = 500
"""Entries that are checked before others have a turn."""
PAST_ALL = (1 << 63) - 1

_encode = msgspec.json.Encoder(order="sorted", enc_hook=str).encode


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


def write(
    connection: Connection, now: float, actor: str, action: str, subject: str, **detail: Any
) -> AuditEntry:
    """Add an entry to the chain; whatever it tells of was made under the claim that is worked on, if any."""
    claim = claims.current_claim()
    if claim is not None:
        idempotency.mark_claim(connection, claim, subject)
    return _add(connection, now, actor, action, subject=subject, detail=detail)


def _add(
    connection: Connection, now: float, actor: str, action: str, *, subject: str, detail: dict[str, Any]
) -> AuditEntry:
    head, last_at = _head(connection)
    at = max(now, last_at)  # processes may differ by a moment
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
    """Not every database keeps a zero byte in a text."""
    return text.replace("\0", "\ufffd")


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogateescape")


class AuditLog:
    """1. Entries are numbered 1, 2, 3, ... in the order of their transactions; their moments never go back.
    2. An entry is never changed or removed: there is no call that does.
    3. `verify` reads the whole chain in constant memory and names the first entry that was changed, removed
       or put in behind our back, the newest ones included.
    4. Entries are listed newest first, by a cursor that never skips or repeats one, found by a key.
    5. An entry that belongs to another write is written in its transaction or not at all.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def append(self, actor: str, action: str, subject: str, detail: dict[str, Any]) -> AuditEntry:
        """Write an entry of its own."""
        return await self._db.write(
            lambda connection: _add(connection, self._db.now(), actor, action, subject=subject, detail=detail)
        )

    async def entries(
        self, only: AuditFilter = AuditFilter(), *, before: int | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """Entries, newest first, those with a smaller number than `before`."""
        return await self._db.read(_listing(only, PAST_ALL if before is None else before, limit))

    async def verify(self) -> AuditCheck:
        """Check the whole chain."""
        last = CHAIN_START
        while True:
            found, head = await self._db.read(_piece(last.id))
            broken = find_break(found, last)
            if broken is not None:
                sound = [entry for entry in found if entry.id < broken.entry_id]
                return AuditCheck(AuditHead(sound[-1].id, sound[-1].hash) if sound else last, broken)
            last = AuditHead(found[-1].id, found[-1].hash) if found else last
            if len(found) < PIECE:
                return AuditCheck(last, check_end(last, head))
            await asyncio.sleep(0)


def _piece(after: int) -> Callable[[Connection], tuple[list[AuditEntry], AuditHead]]:
    def work(connection: Connection) -> tuple[list[AuditEntry], AuditHead]:
        return [_entry(found) for found in rows(connection, SQL.after, (after, PIECE))], _head(connection)[0]

    return work


def listing_sql(only: AuditFilter) -> str:
    """The statement for a filter; only what is asked for stands in it, so that an index is found."""
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
