"""The promises of `interfaces/user_store.py`, tested by their numbers."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from smartspider.core.access import Principal
from smartspider.core.errors import Conflict, NotAllowed, NotFound
from smartspider.interfaces.user_store import NewToken, TokenRecord, UserRecord
from smartspider_testing.contracts.audit import told
from smartspider_testing.contracts.ground import Ground, OnGround
from smartspider_testing.contracts.sessions import SessionContract

HASH = "$argon2id$canary"
DAY_S = 86_400.0


async def added(ground: Ground, name: str = "bob", role: Any = "operator") -> UserRecord:
    """A user."""
    return await ground.users.add_user(name, HASH, role, actor="ann")


async def given(ground: Ground, name: str, acts_for: str | None = None, **more: Any) -> TokenRecord:
    """A token by its name; it acts for itself unless for somebody."""
    token = NewToken(
        name, f"hash of {name}".encode(), acts_for or f"token:{name}", more.pop("role", "viewer"), **more
    )
    return await ground.users.add_token(token, actor="ann")


async def revoked(ground: Ground) -> list[str]:
    """Names of tokens that are good for nothing."""
    return [one.name for one in await ground.users.find_tokens() if one.revoked_at is not None]


class UserStoreContract(SessionContract, OnGround):
    """A user store lets in those it knows."""

    async def test_a_user_is_found_by_id_and_by_name(self, ground: Ground) -> None:
        """User store 1."""
        user = await added(ground)
        assert user == UserRecord(user.id, "bob", HASH, "operator", ground.clock.now(), None, 1)
        await ground.reopen()
        assert await ground.users.get_user(user.id) == await ground.users.get_user("bob") == user
        for unknown in (user.id + 1, "eve", str(user.id)):
            with pytest.raises(NotFound, match="no user"):
                await ground.users.get_user(unknown)

    async def test_a_name_is_taken_once(self, ground: Ground) -> None:
        """User store 1, 2: also from two processes; who comes late leaves no trace."""
        other = await ground.another()
        made = await asyncio.gather(
            *(added(place) for place in (ground, other, ground)), return_exceptions=True
        )
        assert sorted(type(one).__name__ for one in made) == ["Conflict", "Conflict", "UserRecord"]
        assert len(await ground.users.find_users()) == len(await ground.audit.entries()) == 1

    async def test_users_and_tokens_are_listed_by_a_cursor(self, ground: Ground) -> None:
        """In the order they came; tokens also of one actor."""
        users = [await added(ground, f"u{n}") for n in range(5)]
        assert await ground.users.find_users(limit=2) == users[:2]
        assert await ground.users.find_users(after=users[1].id) == users[2:]
        tokens = [await given(ground, f"t{n}", f"u{n % 2}") for n in range(5)]
        assert await ground.users.find_tokens(after=tokens[0].id, limit=3) == tokens[1:4]
        assert await ground.users.find_tokens(actor="u0", limit=2) == [tokens[0], tokens[2]]
        assert await ground.users.find_tokens(actor="u0", after=tokens[2].id) == [tokens[4]]

    async def test_the_first_admin_comes_when_there_is_nobody(self, ground: Ground) -> None:
        """One of many who try at once, with one token."""
        other = await ground.another()
        firsts = await asyncio.gather(
            *(
                place.users.add_first_admin("admin", "", NewToken("first", b"%d" % n, "admin", "admin"))
                for n, place in enumerate((ground, other, ground, other))
            )
        )
        assert [one.role for one in firsts if one is not None] == ["admin"]
        assert [(one.name, one.actor) for one in await ground.users.find_tokens()] == [("first", "admin")]

    async def test_every_change_is_told_and_no_secret_is(self, ground: Ground) -> None:
        """User store 2."""
        await added(ground, "root", "admin")
        user = await added(ground)
        token = await given(ground, "ci", scopes=("runs:read",), expires_at=ground.clock.now() + DAY_S)
        await ground.users.change_user(user.id, actor="ann", password=f"{HASH}2")
        await ground.users.change_user(user.id, actor="ann", role="viewer", is_enabled=False)
        await ground.users.change_user(user.id, actor="ann", role="viewer")
        await ground.users.revoke_token(token.id, actor="bea")
        await ground.users.revoke_token(token.id, actor="bea")
        await ground.users.delete_user(user.id, actor="ann")
        entries = [(actor, action, subject, detail) for actor, action, subject, detail in await told(ground)]
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
        everything = b"".join(msgspec.json.encode(one) for one in await ground.audit.entries())
        assert b"canary" not in everything
        assert b"hash of" not in everything

    async def test_the_last_admin_stays(self, ground: Ground) -> None:
        """User store 3."""
        first, second = await added(ground, "first", "admin"), await added(ground, "second", "admin")
        await added(ground, "bob", "operator")
        await ground.users.change_user(second.id, actor="ann", is_enabled=False)
        entries = len(await ground.audit.entries())
        for change in ({"role": "operator"}, {"is_enabled": False}):
            with pytest.raises(NotAllowed, match="last admin"):
                await ground.users.change_user(first.id, actor="ann", **change)
        with pytest.raises(NotAllowed, match="last admin"):
            await ground.users.delete_user(first.id, actor="ann")
        assert await ground.users.get_user("first") == first
        assert len(await ground.audit.entries()) == entries
        await ground.users.change_user(first.id, actor="ann", password=f"{HASH}2")
        await ground.users.change_user(second.id, actor="ann", is_enabled=True)
        await ground.users.delete_user(first.id, actor="ann")
        with pytest.raises(NotAllowed):
            await ground.users.delete_user(second.id, actor="ann")

    async def test_tokens_go_with_their_user(self, ground: Ground) -> None:
        """User store 4: with a role those that go beyond it; other tokens stay."""
        await added(ground, "root", "admin")
        for name in ("bob", "eve", "dan"):
            await added(ground, name)
            await given(ground, f"{name} works", name, role="operator")
            await given(ground, f"{name} looks", name, role="viewer")
        await given(ground, "own")
        ids = {one.name: one.id for one in await ground.users.find_users()}
        await ground.users.change_user(ids["bob"], actor="ann", role="viewer")
        assert await revoked(ground) == ["bob works"]
        await ground.users.change_user(ids["eve"], actor="ann", is_enabled=False)
        await ground.users.delete_user(ids["dan"], actor="ann")
        assert await revoked(ground) == ["bob works", "eve works", "eve looks", "dan works", "dan looks"]
        await ground.users.change_user(ids["eve"], actor="ann", is_enabled=True)
        assert "eve looks" in await revoked(ground)

    async def test_use_of_a_token_is_written_once_a_minute(self, ground: Ground) -> None:
        """User store 7."""
        token = await given(ground, "ci")
        moments = []
        for _ in range(5):
            await ground.users.token_used(token.id)
            moments.append((await ground.users.get_token(token.id)).used_at)
            await ground.clock.advance(25.0)
        begun = moments[0]
        assert begun is not None
        assert moments == [begun, begun, begun, begun + 75.0, begun + 75.0]

    async def test_names_of_good_tokens_are_unique(self, ground: Ground) -> None:
        """User store 8: a name is free again once its token is revoked or over."""
        token = await given(ground, "ci")
        short = await given(ground, "short", expires_at=ground.clock.now() + 60.0)
        for name in ("ci", "short"):
            with pytest.raises(Conflict, match="already"):
                await given(ground, name, role="admin")
        assert len(await ground.users.find_tokens()) == 2
        await ground.users.revoke_token(token.id, actor="ann")
        await ground.clock.advance(60.0)
        for name in ("ci", "short"):
            again = NewToken(name, f"other {name}".encode(), f"token:{name}", "viewer")
            await ground.users.add_token(again, actor="ann")
        assert await ground.users.find_token(b"hash of short") == short
        assert await ground.users.find_token(b"nothing") is None

    async def test_a_token_goes_not_beyond_its_user(self, ground: Ground) -> None:
        """User store 8."""
        user = await added(ground)
        with pytest.raises(NotAllowed, match="cannot be admin"):
            await given(ground, "high", "bob", role="admin")
        with pytest.raises(NotFound):
            await given(ground, "lost", "nobody")
        await ground.users.change_user(user.id, actor="ann", is_enabled=False)
        with pytest.raises(NotAllowed, match="disabled"):
            await given(ground, "late", "bob")
        assert await ground.users.find_tokens() == []

    async def test_what_acts_for_a_token_goes_with_it(self, ground: Ground) -> None:
        """User store 8."""
        await added(ground)
        token = await given(ground, "ci")
        await given(ground, "child", "token:ci")
        other = await given(ground, "other", "bob")
        await given(ground, "more", "bob")
        gone = await ground.users.revoke_token(token.id, actor="ann")
        assert gone.revoked_at == ground.clock.now()
        await ground.users.revoke_token(other.id, actor="ann")
        assert await revoked(ground) == ["ci", "child", "other"]
        with pytest.raises(NotFound):
            await ground.users.revoke_token(999, actor="ann")

    async def test_what_is_not_there_cannot_be_changed(self, ground: Ground) -> None:
        """Nothing is made or told."""
        with pytest.raises(NotFound):
            await ground.users.change_user(7, actor="ann", role="viewer")
        with pytest.raises(NotFound):
            await ground.users.delete_user(7, actor="ann")
        with pytest.raises(NotFound):
            await ground.users.get_token(7)
        assert await ground.users.use_ticket(b"none") is None
        assert await ground.users.find_session(7, 1, "f") is None
        await ground.users.add_ticket(b"t", Principal("x", "viewer", token_id=7), ground.clock.now() + 1)
        assert await ground.users.use_ticket(b"t") is None
        assert await ground.audit.entries() == []
