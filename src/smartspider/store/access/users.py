"""The store of users, sessions and API tokens."""

from __future__ import annotations

import msgspec

from smartspider.core.access import (
    STANDALONE_PREFIX,
    NewBrowserSession,
    NewToken,
    Principal,
    Role,
    TokenRecord,
    UserRecord,
    is_within,
)
from smartspider.core.errors import Conflict, NotAllowed, NotFound
from smartspider.core.tasks import SYSTEM
from smartspider.store import audit, statements
from smartspider.store.access import sessions, tokens
from smartspider.store.database import Connection, Database, row, rows

SQL = statements.load("users.sql", __package__)


class UserStore:
    """1. User names are unique; a second one raises `Conflict`.
    2. Every write and its audit entry are one transaction; no secret and no hash is in the audit log.
    3. The last enabled admin cannot be disabled, deleted or given another role.
    4. Changing a password or a role, disabling and deleting end all sessions of the user. Deleting or
       disabling a user revokes their tokens; a new role revokes the tokens beyond it.
    5. A refresh token is valid once. A second use ends its whole family.
    6. A ticket is valid once, for its address, until it expires or its token or user becomes invalid.
    7. `used_at` of a token is written at most once a minute.
    8. Names of valid tokens are unique; a second one raises `Conflict`. A token that acts for a user
       requires that the user is enabled, and its role is not beyond theirs. Revoking a token that acts for
       itself revokes all that act for it.
    9. The session of a browser is valid any number of times, until it expires or is ended, or its token or
       user becomes invalid.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def add_user(self, name: str, password: str, role: Role, *, actor: str) -> UserRecord:
        """Add a user."""
        return await self._db.write(lambda db: _add(db, self._db.now(), name, password, role, actor=actor))

    async def add_first_admin(
        self, name: str, password: str, token: NewToken | None = None
    ) -> UserRecord | None:
        """Add the first admin and a token for them. Return None if there is any user."""

        def work(connection: Connection) -> UserRecord | None:
            if row(connection, SQL.any_user) is not None:
                return None
            user = _add(connection, self._db.now(), name, password, "admin", actor=SYSTEM)
            if token is not None:
                tokens.add(connection, self._db.now(), token, actor=SYSTEM)
            return user

        return await self._db.write(work)

    async def get_user(self, user: int | str) -> UserRecord:
        """Return a user by id or name."""
        return await self._db.read(lambda connection: _get(connection, user))

    async def find_users(self, *, after: int = 0, limit: int = 100) -> list[UserRecord]:
        """Return users in the order they were added."""
        return await self._db.read(
            lambda connection: [UserRecord(*found) for found in rows(connection, SQL.after, (after, limit))]
        )

    async def change_user(
        self,
        user_id: int,
        *,
        actor: str,
        password: str | None = None,
        role: Role | None = None,
        is_enabled: bool | None = None,
    ) -> UserRecord:
        """Change the given properties of a user."""

        def work(connection: Connection) -> UserRecord:
            now = self._db.now()
            before = _get(connection, user_id)
            disabled_at = before.disabled_at
            if is_enabled is not None:
                disabled_at = None if is_enabled else (disabled_at or now)
            after = msgspec.structs.replace(
                before,
                password=before.password if password is None else password,
                role=role or before.role,
                disabled_at=disabled_at,
            )
            _change(connection, now, before, after, actor)
            return _get(connection, user_id)

        return await self._db.write(work)

    async def delete_user(self, user_id: int, *, actor: str) -> None:
        """Delete a user."""

        def work(connection: Connection) -> None:
            now = self._db.now()
            user = _get(connection, user_id)
            _refuse_last_admin(connection, user)
            _end_sessions(connection, user_id)
            tokens.revoke_of(connection, now, user.name, actor=actor)
            connection.execute(SQL.delete, (user_id,))
            audit.write(connection, now, actor, "user.deleted", f"user:{user_id}", name=user.name)

        await self._db.write(work)

    async def add_token(self, token: NewToken, *, actor: str) -> TokenRecord:
        """Store a token."""

        def work(connection: Connection) -> TokenRecord:
            if not token.actor.startswith(STANDALONE_PREFIX):
                _check_user_of(connection, token)
            return tokens.add(connection, self._db.now(), token, actor=actor)

        return await self._db.write(work)

    async def find_token(self, hash_: bytes) -> TokenRecord | None:
        """Return the token with this hash, also if it is revoked or has expired."""
        return await self._db.read(lambda connection: tokens.find(connection, hash_))

    async def find_tokens(
        self, *, actor: str | None = None, after: int = 0, limit: int = 100
    ) -> list[TokenRecord]:
        """Return tokens in the order they were created, optionally those of one actor."""
        return await self._db.read(lambda connection: tokens.after(connection, actor, after, limit))

    async def get_token(self, token_id: int) -> TokenRecord:
        """Return a token by id."""
        return await self._db.read(lambda connection: tokens.get(connection, token_id))

    async def revoke_token(self, token_id: int, *, actor: str) -> TokenRecord:
        """Revoke a token."""
        return await self._db.write(lambda db: tokens.revoke(db, self._db.now(), token_id, actor=actor))

    async def record_token_use(self, token_id: int) -> None:
        """Record that a token was used."""
        await self._db.write(
            lambda db: db.execute(tokens.SQL.used, (self._db.now(), token_id, tokens.USED_EVERY_S))
        )

    async def add_refresh(self, hash_: bytes, user: UserRecord, family: str, expires_at: float) -> bool:
        """Store a refresh token. Return False if the sessions of the user were ended
        since `user` was read.
        """
        return await self._db.write(lambda db: sessions.add(db, hash_, user, family, expires_at))

    async def use_refresh(
        self, hash_: bytes, next_hash: bytes, expires_at: float
    ) -> tuple[UserRecord, str] | None:
        """Replace a valid refresh token by the next one. Return its user and family, or None."""
        return await self._db.write(lambda db: sessions.use(db, self._db.now(), hash_, next_hash, expires_at))

    async def find_session(self, user_id: int, session: int, family: str) -> UserRecord | None:
        """Return the user of a session that was not ended."""
        return await self._db.read(lambda connection: sessions.find(connection, user_id, session, family))

    async def end_family(self, family: str) -> None:
        """End all sessions of a family (sign out)."""
        await self._db.write(lambda connection: sessions.end_family(connection, family))

    async def end_sessions(self, user_id: int) -> None:
        """End all sessions of a user."""

        def work(connection: Connection) -> None:
            connection.execute(SQL.number_session, (user_id,))
            _end_sessions(connection, user_id)

        await self._db.write(work)

    async def add_browser_session(self, new: NewBrowserSession) -> bool:
        """Store a session of a browser. Return False if its token or the sessions of its user have ended."""
        return await self._db.write(lambda db: sessions.add_browser(db, self._db.now(), new))

    async def find_browser_session(
        self, *, hash_: bytes | None = None, family: str = ""
    ) -> tuple[Principal, UserRecord | None] | None:
        """Return the principal of a browser's session, and its user if it has one; by cookie or by family."""
        return await self._db.read(
            lambda db: sessions.find_browser(db, self._db.now(), hash_=hash_, family=family)
        )

    async def find_first_admin(self) -> UserRecord | None:
        """Return the first admin who is enabled."""
        found = await self._db.read(lambda connection: row(connection, SQL.first_admin))
        return None if found is None else UserRecord(*found)

    async def add_ticket(
        self, hash_: bytes, principal: Principal, expires_at: float, address: str = ""
    ) -> None:
        """Store a ticket for an address; without one it opens any WebSocket."""
        values = (hash_, msgspec.json.encode(principal).decode(), address, expires_at)
        await self._db.write(lambda connection: connection.execute(sessions.SQL.add_ticket, values))

    async def use_ticket(
        self, hash_: bytes, address: str = "", *, is_socket: bool = True
    ) -> Principal | None:
        """Use up a ticket and return its principal; None if it is not valid here."""
        return await self._db.write(
            lambda db: sessions.use_ticket(db, self._db.now(), hash_, address, is_socket=is_socket)
        )

    async def sweep(self) -> int:
        """Delete some expired sessions and tickets. Return the number, 0 when none are left."""
        expired = await self._db.read(lambda connection: sessions.expired(connection, self._db.now()))
        if any(expired):  # an empty write transaction would wake everything that watches the file
            await self._db.write(lambda connection: sessions.delete(connection, expired))
        return sum(len(one) for one in expired)


def _add(
    connection: Connection, now: float, name: str, password: str, role: Role, *, actor: str
) -> UserRecord:
    if row(connection, SQL.by_name, (name,)) is not None:
        raise Conflict(f"a user {name!r} already exists", hint="choose another name")
    (user_id,) = row(connection, SQL.add, (name, password, role, now)) or (0,)
    audit.write(connection, now, actor, "user.created", f"user:{user_id}", name=name, role=role)
    return _get(connection, user_id)


def _get(connection: Connection, user: int | str) -> UserRecord:
    found = row(connection, SQL.by_name if isinstance(user, str) else SQL.by_id, (user,))
    if found is None:
        raise NotFound(f"there is no user {user!r}", hint="`smartspider user list` shows all users")
    return UserRecord(*found)


def _change(connection: Connection, now: float, before: UserRecord, after: UserRecord, actor: str) -> None:
    """Write the changes, end sessions and tokens accordingly, and audit it."""
    if before == after:
        return
    is_disabled = after.disabled_at is not None
    if after.role != "admin" or is_disabled:
        _refuse_last_admin(connection, before)
    values = (after.password, after.role, after.disabled_at)
    connection.execute(SQL.change, (*values, 1, before.id))
    _end_sessions(connection, before.id)
    if is_disabled:
        tokens.revoke_of(connection, now, before.name, actor=actor)
    elif after.role != before.role:
        tokens.revoke_of(connection, now, before.name, actor=actor, beyond=after.role)
    changes: dict[str, object] = {"name": before.name}
    if after.password != before.password:
        changes["has_new_password"] = True
    if after.role != before.role:
        changes["role"] = {"from": before.role, "to": after.role}
    if after.disabled_at != before.disabled_at:
        changes["enabled"] = not is_disabled
    audit.write(connection, now, actor, "user.changed", f"user:{before.id}", **changes)


def _end_sessions(connection: Connection, user_id: int) -> None:
    connection.execute(SQL.end_sessions, (user_id,))
    connection.execute(SQL.end_browser_sessions, (user_id,))


def _refuse_last_admin(connection: Connection, user: UserRecord) -> None:
    """Raise `NotAllowed` if no other enabled admin exists."""
    is_admin = user.role == "admin" and user.disabled_at is None
    if is_admin and row(connection, SQL.other_admin, (user.id,)) is None:
        raise NotAllowed(f"{user.name} is the last enabled admin", hint="make another user an admin first")


def _check_user_of(connection: Connection, token: NewToken) -> None:
    user = _get(connection, token.actor)
    if user.disabled_at is not None:
        raise NotAllowed(f"the user {user.name} is disabled", hint="enable them first")
    if not is_within(token.role, user.role):
        raise NotAllowed(
            f"{user.name} has role {user.role}, so their tokens cannot have role {token.role}",
            hint="choose a role with no more permissions than the user's",
        )
