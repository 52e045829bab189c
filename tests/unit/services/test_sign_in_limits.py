"""Failed sign-ins: limited where they come from, and no way to lock somebody out from elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from smartspider.core.errors import NotSignedIn, SettingInvalid, TooMany
from smartspider.installation.settings import Settings
from smartspider.services.access.access import create_first_admin
from smartspider.services.access.secrets import check_admin_token
from smartspider.services.access.sign_in_limits import (
    FORGIVEN_EVERY_S,
    MAX_DELAY_S,
    OF_ADDRESS,
    OF_NAME,
    SignInLimits,
    delay_s,
    network_of,
)
from smartspider.wiring.opening import open_installation
from smartspider_testing.clock import ManualClock

HOME, OTHER = "192.0.2.1", "198.51.100.7"


def check(*, succeeds: bool) -> None:
    if not succeeds:
        raise NotSignedIn("wrong")


class Door:
    """A client that signs in; each attempt fails or succeeds."""

    def __init__(self, **limits: int) -> None:
        self.clock = ManualClock()
        self.limits = SignInLimits(self.clock, **limits)

    async def tries(self, address: str, *, succeeds: bool = False, name: str = "ann") -> str:
        """Return how an attempt ended; time passes as far as it waits."""
        task = asyncio.create_task(self.attempt_now(address, name, succeeds=succeeds))
        for _ in range(10):
            await asyncio.sleep(0)
            if task.done():
                break
            await self.clock.advance(MAX_DELAY_S / 4)
        return await task

    async def attempt_now(self, address: str, name: str, *, succeeds: bool) -> str:
        try:
            async with self.limits.attempt(address, name):
                check(succeeds=succeeds)
        except NotSignedIn:
            return "wrong"
        except TooMany as error:
            return "refused" if error.retry_after_s > 0 else "refused without saying until when"
        return "in"


async def test_failed_attempts_are_limited_by_name_and_address() -> None:
    door = Door()
    await door.tries(HOME, succeeds=True)
    tried = [await door.tries(HOME) for _ in range(int(OF_NAME.burst) + 1)]
    assert tried == ["wrong"] * int(OF_NAME.burst) + ["refused"]
    assert await door.tries(HOME, succeeds=True) == "refused"
    assert await door.tries(HOME, succeeds=True, name="bob") == "in"
    await door.clock.advance(1 / OF_NAME.per_s)
    assert await door.tries(HOME, succeeds=True) == "in"


async def test_an_address_that_tries_many_names_is_refused() -> None:
    door = Door()
    tried = [await door.tries(HOME, name=f"n{number}") for number in range(int(OF_ADDRESS.burst) + 1)]
    assert tried == ["wrong"] * int(OF_ADDRESS.burst) + ["refused"]


async def test_nobody_is_locked_out_from_elsewhere() -> None:
    """A bad attempt every 3 s from many addresses, for a quarter of an hour."""
    door = Door()
    assert await door.tries(HOME, succeeds=True) == "in"
    for number in range(300):
        await door.tries(f"203.0.{number % 200}.{number % 7}")
        await door.clock.advance(3.0)
    before = door.clock.monotonic()
    assert await door.tries(HOME, succeeds=True) == "in"
    assert door.clock.monotonic() == before  # without any delay, since it signed in from here before
    assert await door.tries(OTHER, succeeds=True) == "in"
    waited_s = door.clock.monotonic() - before
    assert 1.0 < waited_s <= 1.1 * MAX_DELAY_S


async def test_the_delay_grows_with_failures_and_goes_away() -> None:
    assert [delay_s(count) for count in (0, 4)] == [0.0, 0.0]
    delays = [delay_s(count) for count in range(5, 30)]
    assert delays == sorted(delays)
    assert delays[-1] == delay_s(10**9) == MAX_DELAY_S
    door = Door()
    for number in range(12):
        await door.tries(f"203.0.113.{number}")
    await door.clock.advance(12 * FORGIVEN_EVERY_S)
    before = door.clock.monotonic()
    assert await door.tries(OTHER, succeeds=True) == "in"
    assert door.clock.monotonic() == before


async def test_an_address_waits_once_at_a_time() -> None:
    door = Door()
    for number in range(12):
        await door.tries(f"203.0.113.{number}")
    first = asyncio.create_task(door.tries(OTHER))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(TooMany):
        async with door.limits.attempt(OTHER, "ann"):
            pass
    assert await first == "wrong"


async def test_memory_is_bounded() -> None:
    door = Door(max_kept=50)
    for number in range(200):
        await door.attempt_now(
            f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", f"n{number}", succeeds=False
        )
        await door.attempt_now(HOME, f"n{number}", succeeds=True)
    held = (value for value in vars(door.limits).values() if hasattr(value, "__len__"))
    assert all(len(value) <= 50 for value in held)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_a_network_of_one_customer_counts_as_one_address(address: str, network: str) -> None:
    assert network_of(address) == network


def test_a_short_admin_token_is_refused_without_being_told() -> None:
    check_admin_token("12345678")
    with pytest.raises(SettingInvalid, match="SMARTSPIDER_ADMIN_TOKEN has fewer than 8") as refused:
        check_admin_token("s3cret")
    assert "s3cret" not in refused.value.line


async def test_a_server_with_a_short_admin_token_does_not_start(tmp_path: Path) -> None:
    async with open_installation(tmp_path, Settings(admin_token="short "), "api") as installation:
        with pytest.raises(SettingInvalid):
            await create_first_admin(installation)
