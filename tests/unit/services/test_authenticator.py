"""Authentication by tokens and sessions over time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.unit.quick_passwords import quick_passwords

from smartspider.core.access import NewToken, Principal, TokenRecord
from smartspider.core.errors import NotSignedIn, StoreUnavailable
from smartspider.installation.installation import Installation
from smartspider.services.access.access import Access, build_access, create_first_admin
from smartspider.services.access.authenticator import CACHE_S, Authenticator
from smartspider.services.access.secrets import hash_secret
from smartspider.services.access.session_tokens import LEEWAY_S, LIFETIME_S, SessionTokens
from smartspider.store.access.users import UserStore
from smartspider.wiring.opening import open_folder
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock


class Users(UserStore):
    """Counts token lookups; its disk can be full."""

    lookups = 0
    is_full = False

    async def find_token(self, hash_: bytes) -> TokenRecord | None:
        self.lookups += 1
        return await super().find_token(hash_)

    async def record_token_use(self, token_id: int) -> None:
        if self.is_full:
            raise StoreUnavailable("the disk is full")
        await super().record_token_use(token_id)


class CountingBackend(SqliteBackend):
    users: Users

    def open(self) -> None:
        super().open()
        self.users = Users(self.database)


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[CountingBackend]:
    backend = CountingBackend(tmp_path, ManualClock())
    yield backend
    await backend.close()


@pytest.fixture
def installation(backend: CountingBackend, tmp_path: Path) -> Iterator[Installation]:
    with open_folder(tmp_path) as folder:
        installation = msgspec.structs.replace(folder, clock=backend.clock)
        vars(installation)["users"] = backend.users  # counts what is asked
        yield installation


@pytest.fixture
def access(installation: Installation) -> Access:
    return build_access(installation, "ädmin's token ", quick_passwords())


async def kept(backend: CountingBackend, name: str = "ci", **more: float) -> bytes:
    secret = f"secret of {name}".encode()
    token = NewToken(name, hash_secret(secret), f"token:{name}", "viewer", ("runs:read",), **more)
    await backend.users.add_token(token, actor="test")
    return secret


async def refused(access: Access, secret: bytes) -> str:
    with pytest.raises(NotSignedIn) as error:
        await access.authenticator.principal(secret)
    return error.value.message


async def test_a_token_is_looked_up_once_in_a_while(backend: CountingBackend, access: Access) -> None:
    secret = await kept(backend)
    for _ in range(50):
        assert await access.authenticator.principal(secret) == Principal(
            "token:ci", "viewer", ("runs:read",), 1
        )
    assert backend.users.lookups == 1
    await backend.clock.advance(CACHE_S)
    await access.authenticator.principal(secret)
    assert backend.users.lookups == 2


async def test_what_another_process_revokes_bites_within_two_seconds(
    backend: CountingBackend, access: Access
) -> None:
    assert CACHE_S <= 2.0
    secret = await kept(backend)
    await access.authenticator.principal(secret)
    await backend.users.revoke_token(1, actor="another process")
    await backend.clock.advance(CACHE_S)
    assert "revoked" in await refused(access, secret)


async def test_what_is_revoked_here_bites_at_once(backend: CountingBackend, access: Access) -> None:
    secret = await kept(backend)
    await access.authenticator.principal(secret)
    await backend.users.revoke_token(1, actor="test")
    access.authenticator.clear_cache()
    assert "revoked" in await refused(access, secret)


async def test_a_token_is_over_to_the_moment(backend: CountingBackend, access: Access) -> None:
    """It is not remembered beyond its time."""
    secret = await kept(backend, expires_at=backend.clock.now() + 0.5)
    await access.authenticator.principal(secret)
    await backend.clock.advance(0.49)
    await access.authenticator.principal(secret)
    await backend.clock.advance(0.01)
    assert "expired" in await refused(access, secret)


async def test_use_is_noted_and_a_store_that_cannot_be_written_keeps_nobody_out(
    backend: CountingBackend, access: Access
) -> None:
    secret = await kept(backend)
    await access.authenticator.principal(secret)
    noted = (await backend.users.get_token(1)).used_at
    assert noted == backend.clock.now()
    await backend.clock.advance(61.0)
    backend.users.is_full = True
    await access.authenticator.principal(secret)
    assert (await backend.users.get_token(1)).used_at == noted


async def test_the_token_of_the_settings_is_taken_as_it_is(access: Access) -> None:
    principal = await access.authenticator.principal("ädmin's token".encode())
    assert (principal.name, principal.role, principal.kind) == ("admin", "admin", "installation")
    for other in (b"", b"admin's token", "ädmin's toke".encode(), b"x" * 10_000):
        await refused(access, other)


async def test_without_such_a_setting_an_empty_token_is_nobody(installation: Installation) -> None:
    for setting in ("", "  "):
        access = build_access(installation, setting, quick_passwords())
        for token in (b"", b" ", b"  "):
            await refused(access, token)


@pytest.mark.usefixtures("access")
async def test_the_cache_is_bounded(backend: CountingBackend, installation: Installation) -> None:
    tokens = SessionTokens(installation.keys, backend.clock)
    authenticator = Authenticator(backend.users, tokens, backend.clock, cache_size=2)
    secrets = [await kept(backend, f"t{number}") for number in range(3)]
    for _ in range(2):
        for secret in secrets:
            await authenticator.principal(secret)
    assert backend.users.lookups == 6
    for secret in secrets[1:]:
        await authenticator.principal(secret)
    assert backend.users.lookups == 6


async def test_refusals_are_not_cached(backend: CountingBackend, access: Access) -> None:
    for _ in range(2):
        for number in range(20):
            await refused(access, f"forged {number}".encode())
    assert backend.users.lookups == 40


async def test_a_session_lasts_minutes_and_goes_on_with_its_refresh(
    backend: CountingBackend, access: Access
) -> None:
    hashed = await access.passwords.hash("four random words")
    user = await backend.users.add_user("bob", hashed, "operator", actor="test")
    session = await access.sign_in.with_password("bob", "four random words", "::1")
    for _ in range(3):
        token = session.access_token.encode()
        assert (await access.authenticator.principal(token)).user_id == user.id
        await backend.clock.advance(LIFETIME_S + LEEWAY_S - 1)
        await access.authenticator.principal(token)
        await backend.clock.advance(1)
        assert "expired" in await refused(access, token)
        session = await access.sign_in.with_refresh(session.refresh_token, "::1")
    await backend.clock.advance(15 * 86_400.0)
    with pytest.raises(NotSignedIn):
        await access.sign_in.with_refresh(session.refresh_token, "::1")


async def test_what_stays_open_is_asked_again(backend: CountingBackend, access: Access) -> None:
    """As a WebSocket does now and then."""
    await kept(backend, expires_at=backend.clock.now() + 60.0)
    token = Principal("token:ci", "viewer", token_id=1)
    hashed = await access.passwords.hash("four random words")
    await backend.users.add_user("bob", hashed, "operator", actor="test")
    session = await access.sign_in.with_password("bob", "four random words", "::1")
    user = await access.authenticator.principal(session.access_token.encode())
    everybody = (token, user, Principal("admin", "admin"), Principal("x", "viewer", token_id=9))
    assert [await access.is_still_valid(one) for one in everybody] == [True, True, True, False]
    await access.sign_in.sign_out(user)
    await backend.clock.advance(60.0)
    assert [await access.is_still_valid(one) for one in everybody] == [False, False, True, False]


async def test_the_first_admin_is_created_once(installation: Installation, access: Access) -> None:
    secret = await create_first_admin(installation)
    assert secret is not None
    assert (await access.authenticator.principal(secret.encode())).role == "admin"
    assert await create_first_admin(installation) is None
