"""The session and ticket promises of `store/access/users.py`; tests name the promise they check."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from smartspider.core.access import NewBrowserSession, NewToken, Principal, UserRecord
from smartspider_testing.contracts.backend import Backend

LONG_S = 1000.0


async def signed_in(backend: Backend, family: str = "f", name: str = "bob") -> UserRecord:
    """Create a user with a session whose first refresh token is named after the family."""
    known = {one.name: one for one in await backend.users.find_users()}
    user = known.get(name) or await backend.users.add_user(name, "x", "operator", actor="ann")
    assert await backend.users.add_refresh(family.encode(), user, family, backend.clock.now() + LONG_S)
    return user


async def used(backend: Backend, hash_: bytes, next_hash: bytes) -> bool:
    """Use a refresh token. Return True if it was accepted."""
    return (await backend.users.use_refresh(hash_, next_hash, backend.clock.now() + LONG_S)) is not None


class SessionContract:
    """Sessions expire and end as promised."""

    @pytest.mark.parametrize("change", [{"password": "y"}, {"role": "viewer"}, {"is_enabled": False}, {}])
    async def test_changes_end_all_sessions_of_the_user(
        self, backend: Backend, change: dict[str, Any]
    ) -> None:
        """User store 4: and no other sessions; a sign-in in progress is refused."""
        await backend.users.add_user("root", "x", "admin", actor="ann")
        user = await signed_in(backend)
        other = await signed_in(backend, "g", "eve")
        assert await backend.users.find_session(user.id, user.session, "f") == user
        if change:
            await backend.users.change_user(user.id, actor="ann", **change)
        else:
            await backend.users.delete_user(user.id, actor="ann")
        assert await backend.users.find_session(user.id, user.session, "f") is None
        assert not await used(backend, b"f", b"f2")
        assert not await backend.users.add_refresh(b"late", user, "h", backend.clock.now() + LONG_S)
        assert await backend.users.find_session(other.id, other.session, "g") == other
        assert await used(backend, b"g", b"g2")

    async def test_nothing_changed_ends_nothing(self, backend: Backend) -> None:
        """User store 4."""
        user = await signed_in(backend)
        await backend.users.change_user(user.id, actor="ann", role=user.role, is_enabled=True)
        assert await backend.users.find_session(user.id, user.session, "f") == user

    async def test_a_refresh_is_good_once(self, backend: Backend) -> None:
        """User store 5: the next one is good in its place."""
        user = await signed_in(backend)
        at = backend.clock.now() + LONG_S
        assert await backend.users.use_refresh(b"f", b"2", at) == (user, "f")
        await backend.reopen()
        assert await backend.users.use_refresh(b"2", b"3", at) == (user, "f")
        assert await backend.users.find_session(user.id, user.session, "f") == user
        assert not await used(backend, b"unknown", b"4")

    async def test_a_second_use_ends_the_family(self, backend: Backend) -> None:
        """User store 5: and no other."""
        user = await signed_in(backend)
        await signed_in(backend, "g")
        assert await used(backend, b"f", b"2")
        assert not await used(backend, b"f", b"stolen")
        assert not await used(backend, b"2", b"3")
        assert await backend.users.find_session(user.id, user.session, "f") is None
        assert await used(backend, b"g", b"4")

    async def test_of_two_who_use_it_at_once_at_most_one_succeeds(self, backend: Backend) -> None:
        """User store 5: also from two processes."""
        await signed_in(backend)
        other = await backend.another()
        tried = await asyncio.gather(used(backend, b"f", b"2"), used(other, b"f", b"3"))
        assert sorted(tried) == [False, True]
        assert not await used(backend, b"2", b"4")
        assert not await used(backend, b"3", b"5")

    async def test_a_refresh_is_over_after_its_time(self, backend: Backend) -> None:
        """User store 5."""
        await signed_in(backend)
        await backend.clock.advance(LONG_S)
        assert not await used(backend, b"f", b"2")

    async def test_signing_out_ends_the_family(self, backend: Backend) -> None:
        """And no other of the same user; once more does nothing."""
        user = await signed_in(backend)
        await signed_in(backend, "g")
        for _ in range(2):
            await backend.users.end_family("f")
        assert await backend.users.find_session(user.id, user.session, "f") is None
        assert not await used(backend, b"f", b"2")
        assert await backend.users.find_session(user.id, user.session, "g") == user

    async def test_a_session_is_its_users(self, backend: Backend) -> None:
        """Neither another's family nor another session number will do."""
        user = await signed_in(backend)
        other = await signed_in(backend, "g", "eve")
        for session in (
            (user.id, user.session, "g"),
            (other.id, other.session, "f"),
            (user.id, user.session + 1, "f"),
            (user.id, user.session, "none"),
        ):
            assert await backend.users.find_session(*session) is None

    async def test_a_ticket_is_good_once_and_for_its_time(self, backend: Backend) -> None:
        """User store 6."""
        user = await signed_in(backend)
        principal = Principal("bob", "operator", ("runs:read",), user_id=user.id, family="f")
        for name in (b"a", b"b"):
            await backend.users.add_ticket(name, principal, backend.clock.now() + 30.0)
        other = await backend.another()
        found = await asyncio.gather(backend.users.use_ticket(b"a"), other.users.use_ticket(b"a"))
        assert sorted(found, key=bool) == [None, principal]
        await backend.clock.advance(30.0)
        assert await backend.users.use_ticket(b"b") is None

    async def test_a_ticket_is_no_better_than_what_it_was_got_with(self, backend: Backend) -> None:
        """User store 6: of a token, of a sign-in, of a user."""
        user = await signed_in(backend)
        await signed_in(backend, "g")
        new = NewToken("ci", b"h", "token:ci", "viewer", expires_at=backend.clock.now() + 5.0)
        kept = [
            await backend.users.add_token(token, actor="ann")
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
            await backend.users.add_ticket(hash_, principal, backend.clock.now() + 30.0)
        await backend.users.end_family("f")
        assert await backend.users.use_ticket(b"out") is None
        await backend.users.revoke_token(kept[1].id, actor="ann")
        await backend.users.change_user(user.id, actor="ann", is_enabled=False)
        await backend.clock.advance(5.0)
        for hash_ in (b"over", b"revoked", b"disabled"):
            assert await backend.users.use_ticket(hash_) is None, hash_
        assert await backend.users.use_ticket(b"setting") == Principal("admin", "admin")

    async def test_what_is_over_is_swept(self, backend: Backend) -> None:
        """And nothing else is."""
        user = await signed_in(backend)
        assert await used(backend, b"f", b"2")
        await backend.users.add_ticket(b"t", Principal("admin", "admin"), backend.clock.now() + 30.0)
        assert await backend.users.sweep() == 0
        await backend.clock.advance(30.0)
        assert await backend.users.sweep() == 1
        await backend.clock.advance(LONG_S)
        assert [await backend.users.sweep(), await backend.users.sweep()] == [2, 0]
        assert await backend.users.find_session(user.id, user.session, "f") is None

    async def test_a_ticket_opens_its_address_and_no_other(self, backend: Backend) -> None:
        """User store 6: another address leaves it as it is."""
        principal = Principal("admin", "admin")
        for name, address in ((b"a", "/api/runs?"), (b"b", "")):
            await backend.users.add_ticket(name, principal, backend.clock.now() + 30.0, address)
        for address in ("/api/tasks?", "", "/api/runs"):
            assert await backend.users.use_ticket(b"a", address) is None
            assert await backend.users.use_ticket(b"b", "/api/runs?", is_socket=False) is None
        assert await backend.users.use_ticket(b"a", "/api/runs?", is_socket=False) == principal
        assert await backend.users.use_ticket(b"b", "/api/logs/tail?") == principal

    async def test_the_session_of_a_browser_lasts_until_its_time(self, backend: Backend) -> None:
        """User store 9: it is used any number of times."""
        user = await signed_in(backend)
        principal = Principal("bob", "operator", user_id=user.id, family="b")
        new = NewBrowserSession(b"c", principal, user.session, backend.clock.now() + LONG_S)
        assert await backend.users.add_browser_session(new)
        await backend.reopen()
        for _ in range(2):
            assert await backend.users.find_browser_session(hash_=b"c") == (principal, user)
        assert await backend.users.find_browser_session(family="b") == (principal, user)
        assert await backend.users.find_session(user.id, user.session, "b") == user
        assert await backend.users.find_browser_session(hash_=b"other") is None
        assert await backend.users.find_browser_session(family="f") is None
        await backend.clock.advance(LONG_S)
        assert await backend.users.find_browser_session(hash_=b"c") is None
        assert await backend.users.sweep() == 2
        assert await backend.users.sweep() == 0

    @pytest.mark.parametrize("end", ["family", "everywhere", "change", "delete"])
    async def test_the_session_of_a_browser_ends_with_those_of_its_user(
        self, backend: Backend, end: str
    ) -> None:
        """User store 4 and 9: a sign-in in progress is refused."""
        user = await signed_in(backend)
        principal = Principal("bob", "operator", user_id=user.id, family="b")
        new = NewBrowserSession(b"c", principal, user.session, backend.clock.now() + LONG_S)
        assert await backend.users.add_browser_session(new)
        if end == "family":
            await backend.users.end_family("b")
        elif end == "everywhere":
            await backend.users.end_sessions(user.id)
        elif end == "change":
            await backend.users.change_user(user.id, actor="ann", role="viewer")
        else:
            await backend.users.delete_user(user.id, actor="ann")
        assert await backend.users.find_browser_session(hash_=b"c") is None
        assert await backend.users.find_session(user.id, user.session, "b") is None
        late = NewBrowserSession(b"d", principal, user.session, backend.clock.now() + LONG_S)
        assert await backend.users.add_browser_session(late) is (end == "family")
        assert await used(backend, b"f", b"2") is (end == "family")

    async def test_the_session_of_a_token_ends_with_it(self, backend: Backend) -> None:
        """User store 9."""
        token = await backend.users.add_token(NewToken("ci", b"h", "token:ci", "viewer"), actor="ann")
        principal = Principal("token:ci", "viewer", token_id=token.id, family="b")
        new = NewBrowserSession(b"c", principal, 0, backend.clock.now() + LONG_S)
        assert await backend.users.add_browser_session(new)
        assert await backend.users.find_browser_session(family="b") == (principal, None)
        await backend.users.revoke_token(token.id, actor="ann")
        assert await backend.users.find_browser_session(family="b") is None
        late = NewBrowserSession(b"d", principal, 0, backend.clock.now() + LONG_S)
        assert not await backend.users.add_browser_session(late)

    async def test_the_first_admin_is_an_enabled_one(self, backend: Backend) -> None:
        """For links that sign in."""
        assert await backend.users.find_first_admin() is None
        await backend.users.add_user("bob", "x", "operator", actor="ann")
        first, second = [await backend.users.add_user(name, "x", "admin", actor="ann") for name in ("r", "s")]
        assert await backend.users.find_first_admin() == first
        await backend.users.change_user(first.id, actor="ann", is_enabled=False)
        assert await backend.users.find_first_admin() == second
