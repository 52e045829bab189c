"""Users, their sessions, and the tokens of programs. Only hashes of secrets are kept."""

from __future__ import annotations

from typing import Protocol

import msgspec

from smartspider.core.access import Principal, Role


class UserRecord(msgspec.Struct, frozen=True):
    """A user. `password` is an argon2 hash; empty: cannot sign in. `session` is raised to end sessions."""

    id: int
    name: str
    password: str
    role: Role
    created_at: float
    disabled_at: float | None
    session: int


class TokenRecord(msgspec.Struct, frozen=True):
    """A token of a program. `actor` is whom it acts for."""

    id: int
    name: str
    actor: str
    role: Role
    scopes: tuple[str, ...]
    created_by: str
    created_at: float
    expires_at: float | None
    used_at: float | None
    revoked_at: float | None


class NewToken(msgspec.Struct, frozen=True):
    """A token to be kept, by its hash."""

    name: str
    hash: bytes
    actor: str
    role: Role
    scopes: tuple[str, ...] = ()
    expires_at: float | None = None


class UserStore(Protocol):
    """1. Names of users are unique; a second is a `Conflict`.
    2. Every write and its audit entry are one transaction; no secret and no hash is in the audit.
    3. The last enabled admin is neither disabled, deleted nor given another role.
    4. Changing a password or a role, disabling and deleting ends all sessions of the user; deleting or
       disabling a user revokes their tokens, and another role those that go beyond it.
    5. A refresh is good once. A second use of it ends its whole family.
    6. A ticket is good once and not after its time, nor when its token or user is good no more.
    7. `used_at` of a token is written at most once a minute.
    8. Names of tokens that are good are unique; a second is a `Conflict`. A token that acts for a user needs
       one who is enabled, and goes not beyond their role. With a token that acts for itself all that act for
       it are revoked.
    """

    async def add_user(self, name: str, password: str, role: Role, *, actor: str) -> UserRecord:
        """A new user."""

    async def add_first_admin(
        self, name: str, password: str, token: NewToken | None = None
    ) -> UserRecord | None:
        """The first admin and a token for them, when there is no user at all; None when there is."""

    async def get_user(self, user: int | str) -> UserRecord:
        """A user by id or name."""

    async def find_users(self, *, after: int = 0, limit: int = 100) -> list[UserRecord]:
        """Users in the order they were added."""

    async def change_user(
        self,
        user_id: int,
        *,
        actor: str,
        password: str | None = None,
        role: Role | None = None,
        is_enabled: bool | None = None,
    ) -> UserRecord:
        """Change what is given."""

    async def delete_user(self, user_id: int, *, actor: str) -> None:
        """Forget a user."""

    async def add_token(self, token: NewToken, *, actor: str) -> TokenRecord:
        """Keep a token."""

    async def find_token(self, hash_: bytes) -> TokenRecord | None:
        """The token with this hash, also one that is revoked or over."""

    async def find_tokens(
        self, *, actor: str | None = None, after: int = 0, limit: int = 100
    ) -> list[TokenRecord]:
        """Tokens in the order they were made; those that act for somebody."""

    async def get_token(self, token_id: int) -> TokenRecord:
        """A token by id."""

    async def revoke_token(self, token_id: int, *, actor: str) -> TokenRecord:
        """From now on it is good for nothing."""

    async def token_used(self, token_id: int) -> None:
        """Somebody came with it."""

    async def add_refresh(self, hash_: bytes, user: UserRecord, family: str, expires_at: float) -> bool:
        """Keep what a session can be prolonged with; not if the user's sessions were ended since."""

    async def use_refresh(
        self, hash_: bytes, next_hash: bytes, expires_at: float
    ) -> tuple[UserRecord, str] | None:
        """The user and family of a refresh that is good; from then on the next one is, in its place."""

    async def find_session(self, user_id: int, session: int, family: str) -> UserRecord | None:
        """The user of a session that nobody has ended."""

    async def end_family(self, family: str) -> None:
        """Sign out."""

    async def add_ticket(self, hash_: bytes, principal: Principal, expires_at: float) -> None:
        """Keep a ticket."""

    async def use_ticket(self, hash_: bytes) -> Principal | None:
        """Whose ticket it is, if it is good; it then is no more."""

    async def sweep(self) -> int:
        """Forget some refreshes and tickets whose time is over; how many, 0 when there are no more."""
