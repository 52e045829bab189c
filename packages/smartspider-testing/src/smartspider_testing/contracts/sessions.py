"""What `interfaces/user_store.py` promises about sessions and tickets, tested by its numbers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from smartspider.core.access import Principal
from smartspider.interfaces.user_store import NewToken, UserRecord
from smartspider_testing.contracts.ground import Ground

LONG_S = 1000.0


async def signed_in(ground: Ground, family: str = "f", name: str = "bob") -> UserRecord:
    """A user with a session that its first refresh, called as the family, prolongs."""
    known = {one.name: one for one in await ground.users.find_users()}
    user = known.get(name) or await ground.users.add_user(name, "x", "operator", actor="ann")
    assert await ground.users.add_refresh(family.encode(), user, family, ground.clock.now() + LONG_S)
    return user


async def used(ground: Ground, hash_: bytes, next_hash: bytes) -> bool:
    """Whether a refresh was good."""
    return (await ground.users.use_refresh(hash_, next_hash, ground.clock.now() + LONG_S)) is not None


class SessionContract:
    """Sessions last as long as they should."""

    @pytest.mark.parametrize("change", [{"password": "y"}, {"role": "viewer"}, {"is_enabled": False}, {}])
    async def test_changes_end_all_sessions_of_the_user(self, ground: Ground, change: dict[str, Any]) -> None:
        """User store 4: and of nobody else; a sign-in that was on its way comes to nothing."""
        await ground.users.add_user("root", "x", "admin", actor="ann")
        user = await signed_in(ground)
        other = await signed_in(ground, "g", "eve")
        assert await ground.users.find_session(user.id, user.session, "f") == user
        if change:
            await ground.users.change_user(user.id, actor="ann", **change)
        else:
            await ground.users.delete_user(user.id, actor="ann")
        assert await ground.users.find_session(user.id, user.session, "f") is None
        assert not await used(ground, b"f", b"f2")
        assert not await ground.users.add_refresh(b"late", user, "h", ground.clock.now() + LONG_S)
        assert await ground.users.find_session(other.id, other.session, "g") == other
        assert await used(ground, b"g", b"g2")

    async def test_nothing_changed_ends_nothing(self, ground: Ground) -> None:
        """User store 4."""
        user = await signed_in(ground)
        await ground.users.change_user(user.id, actor="ann", role=user.role, is_enabled=True)
        assert await ground.users.find_session(user.id, user.session, "f") == user

    async def test_a_refresh_is_good_once(self, ground: Ground) -> None:
        """User store 5: the next one is good in its place."""
        user = await signed_in(ground)
        at = ground.clock.now() + LONG_S
        assert await ground.users.use_refresh(b"f", b"2", at) == (user, "f")
        await ground.reopen()
        assert await ground.users.use_refresh(b"2", b"3", at) == (user, "f")
        assert await ground.users.find_session(user.id, user.session, "f") == user
        assert not await used(ground, b"unknown", b"4")

    async def test_a_second_use_ends_the_family(self, ground: Ground) -> None:
        """User store 5: and no other."""
        user = await signed_in(ground)
        await signed_in(ground, "g")
        assert await used(ground, b"f", b"2")
        assert not await used(ground, b"f", b"stolen")
        assert not await used(ground, b"2", b"3")
        assert await ground.users.find_session(user.id, user.session, "f") is None
        assert await used(ground, b"g", b"4")

    async def test_of_two_who_use_it_at_once_at_most_one_succeeds(self, ground: Ground) -> None:
        """User store 5: also from two processes."""
        await signed_in(ground)
        other = await ground.another()
        tried = await asyncio.gather(used(ground, b"f", b"2"), used(other, b"f", b"3"))
        assert sorted(tried) == [False, True]
        assert not await used(ground, b"2", b"4")
        assert not await used(ground, b"3", b"5")

    async def test_a_refresh_is_over_after_its_time(self, ground: Ground) -> None:
        """User store 5."""
        await signed_in(ground)
        await ground.clock.advance(LONG_S)
        assert not await used(ground, b"f", b"2")

    async def test_signing_out_ends_the_family(self, ground: Ground) -> None:
        """And no other of the same user; once more does nothing."""
        user = await signed_in(ground)
        await signed_in(ground, "g")
        for _ in range(2):
            await ground.users.end_family("f")
        assert await ground.users.find_session(user.id, user.session, "f") is None
        assert not await used(ground, b"f", b"2")
        assert await ground.users.find_session(user.id, user.session, "g") == user

    async def test_a_session_is_its_users(self, ground: Ground) -> None:
        """Neither another's family nor another session number will do."""
        user = await signed_in(ground)
        other = await signed_in(ground, "g", "eve")
        for session in (
            (user.id, user.session, "g"),
            (other.id, other.session, "f"),
            (user.id, user.session + 1, "f"),
            (user.id, user.session, "none"),
        ):
            assert await ground.users.find_session(*session) is None

    async def test_a_ticket_is_good_once_and_for_its_time(self, ground: Ground) -> None:
        """User store 6."""
        user = await signed_in(ground)
        principal = Principal("bob", "operator", ("runs:read",), user_id=user.id, family="f")
        for name in (b"a", b"b"):
            await ground.users.add_ticket(name, principal, ground.clock.now() + 30.0)
        other = await ground.another()
        found = await asyncio.gather(ground.users.use_ticket(b"a"), other.users.use_ticket(b"a"))
        assert sorted(found, key=bool) == [None, principal]
        await ground.clock.advance(30.0)
        assert await ground.users.use_ticket(b"b") is None

    async def test_a_ticket_is_no_better_than_what_it_was_got_with(self, ground: Ground) -> None:
        """User store 6: of a token, of a sign-in, of a user."""
        user = await signed_in(ground)
        await signed_in(ground, "g")
        new = NewToken("ci", b"h", "token:ci", "viewer", expires_at=ground.clock.now() + 5.0)
        kept = [
            await ground.users.add_token(token, actor="ann")
            for token in (new, NewToken("no", b"i", "token:no", "viewer"))
        ]
        tickets = {
            b"over": Principal("token:ci", "viewer", token_id=kept[0].id),
            b"revoked": Principal("token:no", "viewer", token_id=kept[1].id),
            b"out": Principal("bob", "operator", user_id=user.id, family="f"),
            b"disabled": Principal("bob", "operator", user_id=user.id, family="g"),
            b"setting": Principal("admin", "admin"),
        }
        for hash_, principal in tickets.items():
            await ground.users.add_ticket(hash_, principal, ground.clock.now() + 30.0)
        await ground.users.end_family("f")
        assert await ground.users.use_ticket(b"out") is None
        await ground.users.revoke_token(kept[1].id, actor="ann")
        await ground.users.change_user(user.id, actor="ann", is_enabled=False)
        await ground.clock.advance(5.0)
        for hash_ in (b"over", b"revoked", b"disabled"):
            assert await ground.users.use_ticket(hash_) is None, hash_
        assert await ground.users.use_ticket(b"setting") == Principal("admin", "admin")

    async def test_what_is_over_is_swept(self, ground: Ground) -> None:
        """And nothing else is."""
        user = await signed_in(ground)
        assert await used(ground, b"f", b"2")
        await ground.users.add_ticket(b"t", Principal("admin", "admin"), ground.clock.now() + 30.0)
        assert await ground.users.sweep() == 0
        await ground.clock.advance(30.0)
        assert await ground.users.sweep() == 1
        await ground.clock.advance(LONG_S)
        assert [await ground.users.sweep(), await ground.users.sweep()] == [2, 0]
        assert await ground.users.find_session(user.id, user.session, "f") is None
