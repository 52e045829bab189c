"""The vault: named secrets and sealed values. It encrypts nothing itself and never sees a key."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec

from smartspider.core import failpoints
from smartspider.core.errors import Forbidden, NotAllowed, NotFound
from smartspider.core.vault import SealedKind, SealedRecord, SealedValue, SecretRecord
from smartspider.store import audit, statements
from smartspider.store.database import Connection, Database, one, row, rows

SQL = statements.load("vault.sql", __package__)

MAX_SECRETS = 10_000
BATCH = 200
"""Sealed values that are rewrapped or read in one transaction."""

SECRET: SealedKind = "secret"  # noqa: S105 - a kind of record


class SealContext(msgspec.Struct, frozen=True):
    """The record that a sealed value is bound to."""

    installation: str
    kind: SealedKind
    id: int
    version: int


Seal = Callable[[SealContext], SealedValue]
"""Encrypts the value of a record, which gets its id and version in the transaction."""
Rewrap = Callable[[SealContext, SealedValue], SealedValue]
"""Returns a sealed value with its data key wrapped by the current master key."""


class FoundSecret(msgspec.Struct, frozen=True):
    """A named secret with its sealed value."""

    record: SecretRecord
    context: SealContext
    sealed: SealedValue


class VaultStore:
    """1. A record and its sealed value change in one transaction, with its audit entry. 2. Each value is
    sealed for the installation, kind, id and version of its record. 3. Opening a secret is in the audit,
    with who opened it, in the transaction that reads it. 4. Rewrapping changes no value and can be
    interrupted. 5. Lists and look-ups use an index.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def set_secret(
        self,
        name: str,
        seal: Seal,
        *,
        actor: str,
        is_shared: bool | None = None,
        check_owner: Callable[[str], None] = lambda _: None,
    ) -> SecretRecord:
        """Add a named secret of the actor, or replace the value of one whose owner `check_owner` accepts.

        `is_shared` None: as before, at first False.
        """

        def work(connection: Connection) -> SecretRecord:
            now, before = self._db.now(), _find(connection, name)
            if before is None:
                if one(connection, SQL.count_secrets) >= MAX_SECRETS:
                    raise NotAllowed(
                        f"there are {MAX_SECRETS} secrets, the maximum", hint="delete one that is not needed"
                    )
                id_ = one(connection, SQL.add_secret, (name, actor, int(bool(is_shared)), now))
                record = SecretRecord(id_, name, actor, bool(is_shared), 1, now, now, None)
            else:
                check_owner(before.owner)
                shared = before.is_shared if is_shared is None else is_shared
                changed = (int(shared), before.version + 1, now, before.id)
                connection.execute(SQL.change_secret, changed)
                record = msgspec.structs.replace(
                    before, is_shared=shared, version=before.version + 1, updated_at=now
                )
            put_sealed(connection, SECRET, record.id, record.version, seal)
            detail = {"version": record.version, "shared": record.is_shared, "owner": record.owner}
            audit.write(connection, now, actor, "secret.set", f"secret:{name}", **detail)
            return record

        return await self._db.write(work)

    async def get_secret(self, name: str) -> SecretRecord:
        """Return a named secret; raise `NotFound` if there is none."""
        return await self._db.read(lambda connection: _get(connection, name))

    async def find_secrets(self, *, after: str = "", limit: int = 100) -> list[SecretRecord]:
        """Return named secrets in the order of their names."""
        return [_secret(found) for found in await self._db.fetch(SQL.secrets, (after, limit))]

    async def delete_secret(self, name: str, *, actor: str) -> None:
        """Delete a named secret with its value."""

        def work(connection: Connection) -> None:
            record = _get(connection, name)
            delete_sealed(connection, SECRET, record.id)
            connection.execute(SQL.delete_secret, (record.id,))
            audit.write(connection, self._db.now(), actor, "secret.deleted", f"secret:{name}")

        await self._db.write(work)

    async def has_any(self, names: Collection[str]) -> bool:
        """Return whether there is a secret with one of these names."""
        return await self._db.read(lambda connection: any(knows(connection, name) for name in names))

    async def open_secrets(
        self, names: Collection[str], *, owner: str | None, opened_by: str
    ) -> list[FoundSecret]:
        """Return the secrets of these names that the tasks of `owner` may use; None: all of them.

        Raise `Forbidden` for one that they may not use.
        """

        def work(connection: Connection) -> list[FoundSecret]:
            now, found = self._db.now(), list(_usable(connection, names, owner))
            for secret in found:
                record = secret.record
                connection.execute(SQL.used, (now, record.id))
                subject, version = f"secret:{record.name}", record.version
                audit.write(connection, now, opened_by, "secret.opened", subject, version=version)
            return found

        return await self._db.write(work)

    async def key_ids(self) -> set[str]:
        """Return the ids of the master keys that sealed values need."""
        return {key_id for (key_id,) in await self._db.fetch(SQL.key_ids)}

    async def count_by_key(self) -> dict[str, int]:
        """Return the number of sealed values of each master key, by its id."""
        return {key_id: number for key_id, number in await self._db.fetch(SQL.key_counts)}  # noqa: C416 - typed

    async def read_sealed(
        self, after: tuple[str, int] = ("", 0), *, limit: int = BATCH
    ) -> list[tuple[SealContext, SealedRecord]]:
        """Return sealed values and what they are bound to, in the order of their records."""

        def work(connection: Connection) -> list[tuple[SealContext, SealedRecord]]:
            found = [_sealed(each) for each in rows(connection, SQL.all_sealed, (*after, limit))]
            return [(_context(installation_of(connection), each), each) for each in found]

        return await self._db.read(work)

    async def rewrap(self, key_id: str, rewrap: Rewrap, *, actor: str, limit: int = BATCH) -> int:
        """Rewrap some values that another master key opens; return how many, 0 when none are left."""

        def work(connection: Connection) -> int:
            found = [_sealed(each) for each in rows(connection, SQL.of_other_keys, (key_id, limit))]
            for each in found:
                new = rewrap(_context(installation_of(connection), each), each.sealed)
                connection.execute(SQL.rewrap, (new.key_id, new.data_key, each.kind, each.id))
            if found:
                detail = {"values": len(found), "key": key_id}
                audit.write(connection, self._db.now(), actor, "vault.rewrapped", "vault", **detail)
            failpoints.reach("vault.rewrapped")
            return len(found)

        return await self._db.write(work)


def knows(connection: Connection, name: str) -> bool:
    """Return whether there is a named secret."""
    return _find(connection, name) is not None


def put_sealed(connection: Connection, kind: SealedKind, id_: int, version: int, seal: Seal) -> None:
    """Seal the value of a record and store it."""
    sealed = seal(SealContext(installation_of(connection), kind, id_, version))
    connection.execute(SQL.seal, (kind, id_, version, sealed.key_id, sealed.data_key, sealed.value))


def find_sealed(
    connection: Connection, kind: SealedKind, id_: int, version: int
) -> tuple[SealContext, SealedValue] | None:
    """Return the sealed value of a record, and what it must be bound to; None if it has none."""
    found = row(connection, SQL.sealed, (kind, id_))
    if found is None:
        return None
    # The version of the record, not of the sealed value: an older value is refused.
    return SealContext(installation_of(connection), kind, id_, version), _sealed(found).sealed


def delete_sealed(connection: Connection, kind: SealedKind, id_: int) -> None:
    """Delete the sealed value of a record."""
    connection.execute(SQL.unseal, (kind, id_))


def _usable(connection: Connection, names: Collection[str], owner: str | None) -> Iterator[FoundSecret]:
    for name in sorted(names):
        record = _find(connection, name)
        if record is None:
            continue
        if owner is not None and owner != record.owner and not record.is_shared:
            raise Forbidden(
                f"the secret {name} belongs to {record.owner}, and a task of {owner} refers to it",
                hint=f"ask for `smartspider secret set {name} --shared`, or use one of another name",
            )
        found = find_sealed(connection, SECRET, record.id, record.version)
        if found is not None:
            yield FoundSecret(record, *found)


def installation_of(connection: Connection) -> str:
    """Return the random id that sealed values are bound to."""
    found = row(connection, SQL.installation)
    if found is not None:
        return str(found[0])
    new = secrets.token_hex(16)
    connection.execute(SQL.set_installation, (new,))
    return new


def _context(installation: str, record: SealedRecord) -> SealContext:
    return SealContext(installation, record.kind, record.id, record.version)


def _find(connection: Connection, name: str) -> SecretRecord | None:
    found = row(connection, SQL.secret, (name,))
    return None if found is None else _secret(found)


def _get(connection: Connection, name: str) -> SecretRecord:
    found = _find(connection, name)
    if found is None:
        raise NotFound(f"there is no secret {name}", hint="`smartspider secret list` shows all names")
    return found


def _secret(found: tuple[Any, ...]) -> SecretRecord:
    id_, name, owner, is_shared, *rest = found
    return SecretRecord(id_, name, owner, bool(is_shared), *rest)


def _sealed(found: tuple[Any, ...]) -> SealedRecord:
    kind, id_, version, key_id, data_key, value = found
    return SealedRecord(kind, id_, version, SealedValue(key_id, bytes(data_key), bytes(value)))
