"""Who comes with a token, as time goes by."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from smartspider.core.access import Principal
from smartspider.core.errors import NotSignedIn, StoreUnavailable
from smartspider.interfaces.user_store import NewToken
from smartspider.services import passwords
from smartspider.services.access import Access, build_access, first_admin
from smartspider.services.access_tokens import LEEWAY_S, LIFE_S
from smartspider.services.bearers import MOST_REMEMBERED, REMEMBERED_S
from smartspider.services.keys import Keys
from smartspider.services.secret_texts import hash_of
from smartspider_testing.clock import ManualClock
from smartspider_testing.sqlite import SqliteGround


class Ground(SqliteGround):
    """Counts how often the store is asked who somebody is."""

    looks = 0


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    ground = Ground(tmp_path, ManualClock())
    yield ground
    await ground.close()


@pytest.fixture(autouse=True)
def _quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", lambda: hasher)


@pytest.fixture
def access(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Access:
    find_token = ground.users.find_token

    async def counted(hash_: bytes) -> object:
        ground.looks += 1
        return await find_token(hash_)

    monkeypatch.setattr(ground.users, "find_token", counted)
    return build_access(ground.users, Keys(b"master"), ground.clock, "ädmin's token ")


async def kept(ground: Ground, name: str = "ci", **more: float) -> bytes:
    secret = f"secret of {name}".encode()
    token = NewToken(name, hash_of(secret), f"token:{name}", "viewer", ("runs:read",), **more)
    await ground.users.add_token(token, actor="test")
    return secret


async def refused(access: Access, secret: bytes) -> str:
    with pytest.raises(NotSignedIn) as error:
        await access.bearers.principal(secret)
    return error.value.message


async def test_a_token_is_looked_up_once_in_a_while(ground: Ground, access: Access) -> None:
    secret = await kept(ground)
    for _ in range(50):
        assert await access.bearers.principal(secret) == Principal("token:ci", "viewer", ("runs:read",), 1)
    assert ground.looks == 1
    await ground.clock.advance(REMEMBERED_S)
    await access.bearers.principal(secret)
    assert ground.looks == 2


async def test_what_another_process_revokes_bites_within_two_seconds(ground: Ground, access: Access) -> None:
    assert REMEMBERED_S <= 2.0
    secret = await kept(ground)
    await access.bearers.principal(secret)
    await ground.users.revoke_token(1, actor="another process")
    await ground.clock.advance(REMEMBERED_S)
    assert "revoked" in await refused(access, secret)


async def test_what_is_revoked_here_bites_at_once(ground: Ground, access: Access) -> None:
    secret = await kept(ground)
    await access.bearers.principal(secret)
    await ground.users.revoke_token(1, actor="test")
    access.bearers.forget()
    assert "revoked" in await refused(access, secret)


async def test_a_token_is_over_to_the_moment(ground: Ground, access: Access) -> None:
    """It is not remembered beyond its time."""
    secret = await kept(ground, expires_at=ground.clock.now() + 0.5)
    await access.bearers.principal(secret)
    await ground.clock.advance(0.49)
    await access.bearers.principal(secret)
    await ground.clock.advance(0.01)
    assert "over" in await refused(access, secret)


async def test_use_is_noted_and_a_store_that_cannot_be_written_keeps_nobody_out(
    ground: Ground, access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = await kept(ground)
    await access.bearers.principal(secret)
    noted = (await ground.users.get_token(1)).used_at
    assert noted == ground.clock.now()
    await ground.clock.advance(61.0)

    async def full(_id: int) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(ground.users, "token_used", full)
    await access.bearers.principal(secret)
    assert (await ground.users.get_token(1)).used_at == noted


async def test_the_token_of_the_settings_is_taken_as_it_is(access: Access) -> None:
    principal = await access.bearers.principal("ädmin's token".encode())
    assert (principal.name, principal.role, principal.kind) == ("admin", "admin", "installation")
    for other in (b"", b"admin's token", "ädmin's toke".encode(), b"x" * 10_000):
        await refused(access, other)


async def test_without_such_a_setting_an_empty_token_is_nobody(ground: Ground) -> None:
    for setting in ("", "  "):
        access = build_access(ground.users, Keys(b"master"), ground.clock, setting)
        for token in (b"", b" ", b"  "):
            await refused(access, token)


async def test_only_so_many_are_remembered(
    ground: Ground, access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smartspider.services.bearers.MOST_REMEMBERED", 2)
    secrets = [await kept(ground, f"t{number}") for number in range(3)]
    for _ in range(2):
        for secret in secrets:
            await access.bearers.principal(secret)
    assert ground.looks == 6
    assert len(access.bearers._known) == 2 < MOST_REMEMBERED


async def test_strangers_are_not_remembered(access: Access) -> None:
    for number in range(20):
        await refused(access, f"forged {number}".encode())
    assert access.bearers._known == {}


async def test_a_session_lasts_minutes_and_goes_on_with_its_refresh(ground: Ground, access: Access) -> None:
    hashed = await access.passwords.hashed("four random words")
    user = await ground.users.add_user("bob", hashed, "operator", actor="test")
    session = await access.sign_in.with_password("bob", "four random words", "::1")
    for _ in range(3):
        token = session.access_token.encode()
        assert (await access.bearers.principal(token)).user_id == user.id
        await ground.clock.advance(LIFE_S + LEEWAY_S - 1)
        await access.bearers.principal(token)
        await ground.clock.advance(1)
        assert "over" in await refused(access, token)
        session = await access.sign_in.with_refresh(session.refresh_token, "::1")
    await ground.clock.advance(15 * 86_400.0)
    with pytest.raises(NotSignedIn):
        await access.sign_in.with_refresh(session.refresh_token, "::1")


async def test_attempts_are_forgiven_with_time(ground: Ground, access: Access) -> None:
    hashed = await access.passwords.hashed("four random words")
    await ground.users.add_user("bob", hashed, "operator", actor="test")
    messages = []
    for number in range(12):
        with pytest.raises(Exception, match=r"wrong|too many") as error:
            await access.sign_in.with_password("bob", "wrong", f"10.0.0.{number}")
        messages.append(type(error.value).__name__)
    assert messages == ["NotSignedIn"] * 10 + ["TooMany"] * 2
    await ground.clock.advance(6.0)
    await access.sign_in.with_password("bob", "four random words", "::1")


async def test_what_stays_open_is_asked_again(ground: Ground, access: Access) -> None:
    """As a WebSocket does now and then."""
    await kept(ground, expires_at=ground.clock.now() + 60.0)
    token = Principal("token:ci", "viewer", token_id=1)
    hashed = await access.passwords.hashed("four random words")
    await ground.users.add_user("bob", hashed, "operator", actor="test")
    session = await access.sign_in.with_password("bob", "four random words", "::1")
    user = await access.bearers.principal(session.access_token.encode())
    everybody = (token, user, Principal("admin", "admin"), Principal("x", "viewer", token_id=9))
    assert [await access.is_still_good(one) for one in everybody] == [True, True, True, False]
    await access.sign_in.out(user)
    await ground.clock.advance(60.0)
    assert [await access.is_still_good(one) for one in everybody] == [False, False, True, False]


async def test_the_first_admin_comes_once(ground: Ground, access: Access) -> None:
    secret = await first_admin(ground.users)
    assert secret is not None
    assert (await access.bearers.principal(secret.encode())).role == "admin"
    assert await first_admin(ground.users) is None
