"""The contract of `store/access/users.py`; tests name the promise they check."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from smartspider.core.access import NewToken, Principal, TokenRecord, UserRecord
from smartspider.core.errors import Conflict, NotAllowed, NotFound
from smartspider_testing.contracts.access.audit import audit_rows
from smartspider_testing.contracts.access.quotas import QuotaContract
from smartspider_testing.contracts.access.sessions import SessionContract
from smartspider_testing.contracts.backend import Backend, BackendContract

HASH = "$argon2id$canary"
DAY_S = 86_400.0


async def added(backend: Backend, name: str = "bob", role: Any = "operator") -> UserRecord:
    """Add a user."""
    return await backend.users.add_user(name, HASH, role, actor="ann")


async def given(backend: Backend, name: str, acts_for: str | None = None, **more: Any) -> TokenRecord:
    """Create a token; it acts for itself unless `acts_for` is given."""
    token = NewToken(
        name, f"hash of {name}".encode(), acts_for or f"token:{name}", more.pop("role", "viewer"), **more
    )
    return await backend.users.add_token(token, actor="ann")


async def revoked(backend: Backend) -> list[str]:
    """Return the names of revoked tokens."""
    return [one.name for one in await backend.users.find_tokens() if one.revoked_at is not None]


class UserStoreContract(SessionContract, QuotaContract, BackendContract):
    """Only known users and valid tokens are accepted."""

    async def test_a_user_is_found_by_id_and_by_name(self, backend: Backend) -> None:
        """User store 1."""
        user = await added(backend)
        assert user == UserRecord(user.id, "bob", HASH, "operator", backend.clock.now(), None, 1)
        await backend.reopen()
        assert await backend.users.get_user(user.id) == await backend.users.get_user("bob") == user
        for unknown in (user.id + 1, "eve", str(user.id)):
            with pytest.raises(NotFound, match="no user"):
                await backend.users.get_user(unknown)

    async def test_a_name_is_taken_once(self, backend: Backend) -> None:
        """User store 1, 2: also from two processes; who comes late leaves no trace."""
        other = await backend.another()
        made = await asyncio.gather(
            *(added(place) for place in (backend, other, backend)), return_exceptions=True
        )
        assert sorted(type(one).__name__ for one in made) == ["Conflict", "Conflict", "UserRecord"]
        assert len(await backend.users.find_users()) == len(await backend.audit.entries()) == 1

    async def test_users_and_tokens_are_listed_by_a_cursor(self, backend: Backend) -> None:
        """In the order they came; tokens also of one actor."""
        users = [await added(backend, f"u{n}") for n in range(5)]
        assert await backend.users.find_users(limit=2) == users[:2]
        assert await backend.users.find_users(after=users[1].id) == users[2:]
        tokens = [await given(backend, f"t{n}", f"u{n % 2}") for n in range(5)]
        assert await backend.users.find_tokens(after=tokens[0].id, limit=3) == tokens[1:4]
        assert await backend.users.find_tokens(actor="u0", limit=2) == [tokens[0], tokens[2]]
        assert await backend.users.find_tokens(actor="u0", after=tokens[2].id) == [tokens[4]]

    async def test_the_first_admin_comes_when_there_is_nobody(self, backend: Backend) -> None:
        """One of many who try at once, with one token."""
        other = await backend.another()
        firsts = await asyncio.gather(
            *(
                place.users.add_first_admin("admin", "", NewToken("first", b"%d" % n, "admin", "admin"))
                for n, place in enumerate((backend, other, backend, other))
            )
        )
        assert [one.role for one in firsts if one is not None] == ["admin"]
        assert [(one.name, one.actor) for one in await backend.users.find_tokens()] == [("first", "admin")]

    async def test_every_change_is_told_and_no_secret_is(self, backend: Backend) -> None:
        """User store 2."""
        await added(backend, "root", "admin")
        user = await added(backend)
        token = await given(backend, "ci", scopes=("runs:read",), expires_at=backend.clock.now() + DAY_S)
        await backend.users.change_user(user.id, actor="ann", password=f"{HASH}2")
        await backend.users.change_user(user.id, actor="ann", role="viewer", is_enabled=False)
        await backend.users.change_user(user.id, actor="ann", role="viewer")
        await backend.users.revoke_token(token.id, actor="bea")
        await backend.users.revoke_token(token.id, actor="bea")
        await backend.users.delete_user(user.id, actor="ann")
        entries = [
            (actor, action, subject, detail) for actor, action, subject, detail in await audit_rows(backend)
        ]
        who = {"name": "bob"}
        assert entries[1:] == [
            ("ann", "user.created", f"user:{user.id}", {**who, "role": "operator"}),
            ("ann", "token.created", f"token:{token.id}", {
                "name": "ci", "acts_for": "token:ci", "role": "viewer", "scopes": ["runs:read"],
                "expires_at": token.expires_at,
            }),
            ("ann", "user.changed", f"user:{user.id}", {**who, "has_new_password": True}),
            ("ann", "user.changed", f"user:{user.id}",
             {**who, "role": {"from": "operator", "to": "viewer"}, "enabled": False}),
            ("bea", "token.revoked", f"token:{token.id}", {}),
            ("ann", "user.deleted", f"user:{user.id}", who),
        ]  # fmt: skip
        everything = b"".join(msgspec.json.encode(one) for one in await backend.audit.entries())
        assert b"canary" not in everything
        assert b"hash of" not in everything

    async def test_the_last_admin_stays(self, backend: Backend) -> None:
        """User store 3."""
        first, second = await added(backend, "first", "admin"), await added(backend, "second", "admin")
        await added(backend, "bob", "operator")
        await backend.users.change_user(second.id, actor="ann", is_enabled=False)
        entries = len(await backend.audit.entries())
        for change in ({"role": "operator"}, {"is_enabled": False}):
            with pytest.raises(NotAllowed, match="last enabled admin"):
                await backend.users.change_user(first.id, actor="ann", **change)
        with pytest.raises(NotAllowed, match="last enabled admin"):
            await backend.users.delete_user(first.id, actor="ann")
        assert await backend.users.get_user("first") == first
        assert len(await backend.audit.entries()) == entries
        await backend.users.change_user(first.id, actor="ann", password=f"{HASH}2")
        await backend.users.change_user(second.id, actor="ann", is_enabled=True)
        await backend.users.delete_user(first.id, actor="ann")
        with pytest.raises(NotAllowed):
            await backend.users.delete_user(second.id, actor="ann")

    async def test_tokens_go_with_their_user(self, backend: Backend) -> None:
        """User store 4: with a role those that go beyond it; other tokens stay."""
        await added(backend, "root", "admin")
        for name in ("bob", "eve", "dan"):
            await added(backend, name)
            await given(backend, f"{name} works", name, role="operator")
            await given(backend, f"{name} looks", name, role="viewer")
        await given(backend, "own")
        ids = {one.name: one.id for one in await backend.users.find_users()}
        await backend.users.change_user(ids["bob"], actor="ann", role="viewer")
        assert await revoked(backend) == ["bob works"]
        await backend.users.change_user(ids["eve"], actor="ann", is_enabled=False)
        await backend.users.delete_user(ids["dan"], actor="ann")
        assert await revoked(backend) == ["bob works", "eve works", "eve looks", "dan works", "dan looks"]
        await backend.users.change_user(ids["eve"], actor="ann", is_enabled=True)
        assert "eve looks" in await revoked(backend)

    async def test_use_of_a_token_is_written_once_a_minute(self, backend: Backend) -> None:
        """User store 7."""
        token = await given(backend, "ci")
        moments = []
        for _ in range(5):
            await backend.users.record_token_use(token.id)
            moments.append((await backend.users.get_token(token.id)).used_at)
            await backend.clock.advance(25.0)
        begun = moments[0]
        assert begun is not None
        assert moments == [begun, begun, begun, begun + 75.0, begun + 75.0]

    async def test_names_of_good_tokens_are_unique(self, backend: Backend) -> None:
        """User store 8: a name is free again once its token is revoked or over."""
        token = await given(backend, "ci")
        short = await given(backend, "short", expires_at=backend.clock.now() + 60.0)
        for name in ("ci", "short"):
            with pytest.raises(Conflict, match="already"):
                await given(backend, name, role="admin")
        assert len(await backend.users.find_tokens()) == 2
        await backend.users.revoke_token(token.id, actor="ann")
        await backend.clock.advance(60.0)
        for name in ("ci", "short"):
            again = NewToken(name, f"other {name}".encode(), f"token:{name}", "viewer")
            await backend.users.add_token(again, actor="ann")
        assert await backend.users.find_token(b"hash of short") == short
        assert await backend.users.find_token(b"nothing") is None

    async def test_a_token_goes_not_beyond_its_user(self, backend: Backend) -> None:
        """User store 8."""
        user = await added(backend)
        with pytest.raises(NotAllowed, match=r"\bbob\b.*\boperator\b.*\badmin\b"):
            await given(backend, "high", "bob", role="admin")
        with pytest.raises(NotFound):
            await given(backend, "lost", "nobody")
        await backend.users.change_user(user.id, actor="ann", is_enabled=False)
        with pytest.raises(NotAllowed, match="disabled"):
            await given(backend, "late", "bob")
        assert await backend.users.find_tokens() == []

    async def test_what_acts_for_a_token_goes_with_it(self, backend: Backend) -> None:
        """User store 8."""
        await added(backend)
        token = await given(backend, "ci")
        await given(backend, "child", "token:ci")
        other = await given(backend, "other", "bob")
        await given(backend, "more", "bob")
        gone = await backend.users.revoke_token(token.id, actor="ann")
        assert gone.revoked_at == backend.clock.now()
        await backend.users.revoke_token(other.id, actor="ann")
        assert await revoked(backend) == ["ci", "child", "other"]
        with pytest.raises(NotFound):
            await backend.users.revoke_token(999, actor="ann")

    async def test_what_is_not_there_cannot_be_changed(self, backend: Backend) -> None:
        """Nothing is created or written to the audit log."""
        with pytest.raises(NotFound):
            await backend.users.change_user(7, actor="ann", role="viewer")
        with pytest.raises(NotFound):
            await backend.users.delete_user(7, actor="ann")
        with pytest.raises(NotFound):
            await backend.users.get_token(7)
        assert await backend.users.use_ticket(b"none") is None
        assert await backend.users.find_session(7, 1, "f") is None
        await backend.users.add_ticket(b"t", Principal("x", "viewer", token_id=7), backend.clock.now() + 1)
        assert await backend.users.use_ticket(b"t") is None
        assert await backend.audit.entries() == []
