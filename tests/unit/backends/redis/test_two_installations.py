"""Index 8: a place in Redis is of one installation, and another one is told so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from tests.unit.backends.redis.scenes import HandClock

from smartspider.backends.redis import library
from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.frontier_index import RedisIndex
from smartspider.backends.redis.shards import Shards
from smartspider.core.errors import FrontierTaken, NotArmed
from smartspider.core.frontier.updates import QueuePosition, RunControl
from smartspider.core.runs.run import first_id
from smartspider_testing.servers import RedisServer

RUN = RunControl(run_id=1, state="running", weight=1, concurrency=8, delay_s=0.0, per_host=2, per_domain=None)


class Installation:
    """The keeper and the workers of one, by a clock turned by hand."""

    def __init__(self, url: str, name: str, clock: HandClock) -> None:
        self.shards = Shards(read_url(url), code=library.source(is_settable=True), installation=name)
        self.index = RedisIndex(self.shards)
        self.clock = clock
        self.epoch = 1

    async def turn(self) -> None:
        """Set the clock of the server."""
        primary = (await self.shards.servers.primaries())[0]
        await primary.execute_command("SET", f"{self.shards.tag(0)}:wall", repr(self.clock.store_now()))

    async def start(self) -> None:
        """Load and arm the shard."""
        await self.turn()
        await self.index.begin(0, self.epoch, self.clock.store_now())
        await self.index.set_controls(0, self.epoch, [RUN])
        await self.index.replay(
            0, self.epoch, 1, [QueuePosition(first_id(1) + self.epoch, "a.example", 0, 0.0, False)]
        )
        await self.index.arm(0, self.epoch, self.clock.store_now())

    async def renew(self) -> None:
        await self.turn()
        await self.index.arm(0, self.epoch, self.clock.store_now())

    async def queued(self) -> int:
        return (await self.index.counts(0, [1]))[1].queued

    async def offer(self) -> None:
        """As a worker does."""
        await self.shards.call(0, "offer", 1, 100)

    async def state(self) -> tuple[int, bool, bool]:
        (found,) = await self.index.shard_states()
        assert found is not None
        return found.epoch, found.is_armed, found.is_taken


Make = Callable[..., Installation]


@pytest.fixture
async def make(empty_redis: RedisServer) -> AsyncIterator[Make]:
    made: list[Installation] = []
    clock = HandClock()

    def one(name: str, suffix: str = "") -> Installation:
        made.append(Installation(f"{empty_redis.url.rstrip('/')}{suffix}", name, clock))
        return made[-1]

    yield one
    for installation in made:
        await installation.shards.close()


def leading(other: Installation, epoch: int) -> list[Awaitable[object]]:
    """What a keeper may ask."""
    now = other.clock.store_now()
    return [
        other.index.begin(0, epoch, now),
        other.index.arm(0, epoch, now),
        other.index.disarm(0, epoch, forgets=True),
        other.index.set_controls(0, epoch, []),
    ]


@pytest.mark.parametrize("epoch", [1, 2, 900])
async def test_another_installation_is_refused_and_told_the_way_out(make: Make, epoch: int) -> None:
    first, second = make("first"), make("second")
    await first.start()
    for call in [*leading(second, epoch), second.offer()]:
        with pytest.raises(FrontierTaken, match="another installation") as caught:
            await call
        assert "?namespace=NAME" in caught.value.hint
    assert await second.state() == (0, False, True)
    assert await first.state() == (1, True, False)
    assert await first.queued() == 1
    await first.offer()


async def test_a_keeper_that_is_away_for_less_than_a_minute_keeps_its_place(make: Make) -> None:
    first, second = make("first"), make("second")
    await first.start()
    await first.clock.advance(59.0)
    await first.turn()
    with pytest.raises(FrontierTaken):
        await second.start()
    await first.renew()
    assert await first.state() == (1, True, False)
    await first.clock.advance(59.0)
    await first.turn()
    with pytest.raises(FrontierTaken):
        await second.start()


async def test_the_place_of_one_that_is_gone_is_taken_without_what_it_left(make: Make) -> None:
    """Its store was emptied, so its terms were counted further than those of the new one."""
    first, second = make("first"), make("second")
    first.epoch = 40
    await first.start()
    await first.clock.advance(60.1)
    await first.turn()
    assert await second.state() == (0, False, False)
    await second.index.disarm(0, 1, forgets=True)
    await second.start()
    assert await second.state() == (1, True, False)
    assert await second.queued() == 1
    await second.offer()
    for call in [*leading(first, 41), first.offer()]:
        with pytest.raises(FrontierTaken):
            await call


async def test_who_serves_goes_on_after_all_keys_were_removed(make: Make, empty_redis: RedisServer) -> None:
    first, second = make("first"), make("second")
    await first.start()
    empty_redis.command("FLUSHALL")
    await first.turn()
    for call in leading(second, 900):
        with pytest.raises(FrontierTaken):
            await call
    with pytest.raises(NotArmed):
        await first.offer()
    await first.start()
    assert await first.state() == (1, True, False)


async def test_who_serves_no_more_loses_a_place_whose_keys_were_removed(
    make: Make, empty_redis: RedisServer
) -> None:
    first, second = make("first"), make("second")
    first.epoch = 40
    await first.start()
    empty_redis.command("FLUSHALL")
    await first.clock.advance(4.1)
    await second.start()
    assert await second.state() == (1, True, False)


async def test_a_restarted_server_remembers_whose_it_is(make: Make, empty_redis: RedisServer) -> None:
    first, second = make("first"), make("second")
    await first.start()
    empty_redis.command("FUNCTION", "FLUSH")  # what a server forgets with its process
    with pytest.raises(FrontierTaken):
        await second.start()


@pytest.mark.parametrize(
    ("one", "other"), [("/0", "/1"), ("?namespace=a", "?namespace=b"), ("", "/3?namespace=a")]
)
async def test_databases_and_namespaces_set_installations_apart(make: Make, one: str, other: str) -> None:
    first, second = make("first", one), make("second", other)
    await first.start()
    await second.start()
    assert await first.state() == await second.state() == (1, True, False)
    await second.index.disarm(0, 1)
    assert await first.state() == (1, True, False)
    await first.offer()


async def test_a_call_of_nobody_may_look(make: Make) -> None:
    first, nobody = make("first"), make("")
    await first.start()
    assert await nobody.state() == (1, True, False)
