"""URL filters in Redis that all workers share: they may lose fingerprints, and never invent any."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.dedup.bloom import RedisBloomFilter
from smartspider.backends.redis.dedup.estimates import RedisDistinctEstimates
from smartspider.backends.redis.dedup.exact import RedisUrlFilter
from smartspider.backends.redis.dedup.functions import VERSION, FilterFunctions
from smartspider.backends.redis.servers import RedisServers, open_servers
from smartspider.core.errors import FrontierUnavailable
from smartspider.dedup.url_filter import ExactUrlFilter, FilterKey, UrlFilter
from smartspider_testing.contracts import ExactUrlFilterContract, UrlFilterContract
from smartspider_testing.contracts.url_filter import RUN, TASK, Make, fingerprints
from smartspider_testing.servers import RedisServer


@pytest.fixture
async def servers(empty_redis: RedisServer) -> AsyncIterator[RedisServers]:
    opened = open_servers(read_url(empty_redis.url))
    yield opened
    await opened.close()


class TestRedisSeen(ExactUrlFilterContract):
    @pytest.fixture
    def make(self, servers: RedisServers) -> Make[ExactUrlFilter]:
        async def make(max_bytes: int) -> ExactUrlFilter:
            return RedisUrlFilter(FilterFunctions(servers), max_bytes=max_bytes)

        return make


class TestRedisSeenInParts(ExactUrlFilterContract):
    @pytest.fixture
    def make(self, servers: RedisServers) -> Make[ExactUrlFilter]:
        async def make(max_bytes: int) -> ExactUrlFilter:
            return RedisUrlFilter(FilterFunctions(servers, parts=4), max_bytes=max_bytes)

        return make


class TestRedisBloom(UrlFilterContract[UrlFilter]):
    @pytest.fixture
    def make(self, servers: RedisServers) -> Make[UrlFilter]:
        async def make(max_bytes: int) -> UrlFilter:
            return RedisBloomFilter(FilterFunctions(servers, parts=2), max_bytes=max_bytes)

        return make


@pytest.fixture
def functions(servers: RedisServers) -> FilterFunctions:
    return FilterFunctions(servers)


async def test_buckets_stay_small_while_a_set_grows(
    functions: FilterFunctions, empty_redis: RedisServer
) -> None:
    await RedisUrlFilter(functions).add(RUN, fingerprints(0, 30_000))
    buckets = empty_redis.command("KEYS", f"{functions.tag(0)}:????????????:*")
    assert isinstance(buckets, list)
    assert len(buckets) == 150
    for bucket in buckets:
        assert empty_redis.command("OBJECT", "ENCODING", bucket) == b"listpack"


async def test_a_small_run_takes_one_small_hash(functions: FilterFunctions, empty_redis: RedisServer) -> None:
    await RedisUrlFilter(functions).add(RUN, fingerprints(0, 100))
    names = empty_redis.command("KEYS", "*")
    assert isinstance(names, list)
    assert sum(int(str(empty_redis.command("MEMORY", "USAGE", name))) for name in names) < 4500


async def test_buckets_fit_a_server_with_smaller_listpacks(
    functions: FilterFunctions, empty_redis: RedisServer
) -> None:
    before = empty_redis.command("CONFIG", "GET", "hash-max-listpack-entries")
    assert isinstance(before, list)
    empty_redis.command("CONFIG", "SET", "hash-max-listpack-entries", "128")
    try:
        await RedisUrlFilter(functions).add(RUN, fingerprints(0, 5000))
        buckets = empty_redis.command("KEYS", f"{functions.tag(0)}:????????????:*")
        assert isinstance(buckets, list)
        assert {empty_redis.command("OBJECT", "ENCODING", bucket) for bucket in buckets} == {b"listpack"}
    finally:
        empty_redis.command("CONFIG", "SET", "hash-max-listpack-entries", before[1])


async def test_dropping_frees_every_key(functions: FilterFunctions, empty_redis: RedisServer) -> None:
    exact, bloom = RedisUrlFilter(functions), RedisBloomFilter(functions)
    for layer in (exact, bloom):
        await layer.add(RUN, fingerprints(0, 110_000 if layer is exact else 100))
        await layer.drop(RUN)
    left = empty_redis.command("KEYS", "*")
    assert isinstance(left, list)
    assert sorted(name.rpartition(b":")[2] for name in left) == [b"bits", b"entries"]


async def test_half_dropped_sets_never_answer_for_a_new_one(functions: FilterFunctions) -> None:
    """Whoever drops may be killed before the memory is free."""
    exact = RedisUrlFilter(functions)
    await exact.add(RUN, fingerprints(0, 3000))
    await functions.round([functions.function(0, "drop", str(RUN))])
    await exact.add(RUN, fingerprints(5000, 5001))
    assert await exact.find_known(RUN, fingerprints(0, 3000)) == set()
    await exact.drop(TASK)
    assert await exact.find_known(RUN, fingerprints(5000, 5001)) == set(fingerprints(5000, 5001))


async def test_a_wiped_server_knows_nothing_and_learns_anew(
    functions: FilterFunctions, empty_redis: RedisServer
) -> None:
    exact, bloom = RedisUrlFilter(functions), RedisBloomFilter(functions)
    for layer in (exact, bloom):
        await layer.add(RUN, fingerprints(0, 1000))
    empty_redis.empty()
    for layer in (exact, bloom):
        assert await layer.find_known(RUN, fingerprints(0, 1000)) == set()
        assert (await layer.add(RUN, fingerprints(0, 10))).new == 10
        assert await layer.find_known(RUN, fingerprints(0, 1000)) == set(fingerprints(0, 10))


async def test_lost_buckets_are_lost_knowledge_and_no_more(
    functions: FilterFunctions, empty_redis: RedisServer
) -> None:
    exact = RedisUrlFilter(functions)
    await exact.add(RUN, fingerprints(0, 3000))
    buckets = empty_redis.command("KEYS", f"{functions.tag(0)}:????????????:*")
    assert isinstance(buckets, list)
    empty_redis.command("DEL", *buckets[::2])
    known = await exact.find_known(RUN, fingerprints(0, 6000))
    assert known < set(fingerprints(0, 3000))
    assert known
    await exact.add(RUN, fingerprints(0, 6000))
    assert await exact.find_known(RUN, fingerprints(0, 6000)) == set(fingerprints(0, 6000))


async def test_workers_that_add_the_same_at_once_add_it_once(functions: FilterFunctions) -> None:
    exact = RedisUrlFilter(functions)
    answers = await asyncio.gather(*(exact.add(RUN, fingerprints(0, 2000)) for _ in range(8)))
    assert sum(answer.new for answer in answers) == 2000
    assert (await exact.size()).entries == 2000


async def test_a_full_server_refuses_to_learn_and_still_drops(
    functions: FilterFunctions, empty_redis: RedisServer
) -> None:
    exact = RedisUrlFilter(functions)
    await exact.add(RUN, fingerprints(0, 1000))
    empty_redis.command("CONFIG", "SET", "maxmemory", "1")
    try:
        with pytest.raises(FrontierUnavailable):
            await exact.add(RUN, fingerprints(1000, 1100))
        assert await exact.find_known(RUN, fingerprints(0, 1100)) == set(fingerprints(0, 1000))
        await exact.drop(RUN)
        assert await exact.find_known(RUN, fingerprints(0, 1000)) == set()
    finally:
        empty_redis.command("CONFIG", "SET", "maxmemory", "0")


async def test_a_server_that_is_not_there_is_said_without_its_password() -> None:
    servers = open_servers(read_url("redis://user:hunter2@127.0.0.1:1"))
    with pytest.raises(FrontierUnavailable, match="URL filter") as raised:
        await RedisUrlFilter(FilterFunctions(servers)).find_known(RUN, fingerprints(0, 1))
    assert "hunter2" not in str(raised.value)
    await servers.close()


async def test_an_answer_that_came_too_late_is_never_taken_for_that_of_another_question(
    functions: FilterFunctions, empty_redis: RedisServer
) -> None:
    exact = RedisUrlFilter(functions)
    await exact.add(RUN, fingerprints(0, 100))
    empty_redis.freeze()
    try:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await exact.find_known(RUN, fingerprints(0, 100))
    finally:
        empty_redis.resume()
    for _ in range(8):
        assert await exact.find_known(RUN, fingerprints(1000, 1100)) == set()
        assert await exact.find_known(RUN, fingerprints(50, 150)) == set(fingerprints(50, 100))


async def test_namespaces_are_apart(servers: RedisServers) -> None:
    one, other = (RedisUrlFilter(FilterFunctions(servers, namespace=name)) for name in ("one", "two"))
    await one.add(RUN, fingerprints(0, 10))
    assert await other.find_known(RUN, fingerprints(0, 10)) == set()
    assert await other.keys() == []


def _keys(server: RedisServer, pattern: str) -> list[bytes]:
    found = server.command("KEYS", pattern)
    assert isinstance(found, list)
    return found


async def test_filters_take_no_more_than_they_count(
    functions: FilterFunctions, empty_redis: RedisServer
) -> None:
    bloom = RedisBloomFilter(functions)
    counted = (await bloom.add(RUN, fingerprints(0, 20_000))).size.bytes_used
    names = _keys(empty_redis, f"{functions.tag(0)}:*:f?")
    assert len(names) == 2
    assert sum(int(str(empty_redis.command("MEMORY", "USAGE", name))) for name in names) < 1.01 * counted


async def test_a_full_filter_errs_less_than_it_promises_and_grows_fourfold(
    functions: FilterFunctions, empty_redis: RedisServer
) -> None:
    bloom, full = RedisBloomFilter(functions, capacity=1024), 1024 + 4096 + 16_384
    assert (await bloom.add(RUN, fingerprints(0, full))).refused == 0
    assert len(await bloom.find_known(RUN, fingerprints(full, full + 100_000))) < 10
    sizes = [int(str(empty_redis.command("STRLEN", name))) for name in _keys(empty_redis, "*:f?")]
    assert sorted(sizes) == [4096, 16_384, 65_536]


async def test_estimates_are_near_and_small(functions: FilterFunctions, empty_redis: RedisServer) -> None:
    estimates = RedisDistinctEstimates(functions)
    other = FilterKey("run", 8)
    await estimates.add([RUN, TASK], fingerprints(0, 20_000))
    await estimates.add([other, TASK], fingerprints(10_000, 30_000))
    await estimates.add([RUN], [])
    about = await estimates.estimate([RUN, other, TASK, FilterKey("task", 99)])
    assert about[RUN] == pytest.approx(20_000, rel=0.03)
    assert about[other] == pytest.approx(20_000, rel=0.03)
    assert about[TASK] == pytest.approx(30_000, rel=0.03)
    assert about[FilterKey("task", 99)] == 0
    assert int(str(empty_redis.command("MEMORY", "USAGE", f"{functions.tag(0)}:about:{TASK}"))) < 16_000


async def test_an_older_library_is_replaced_and_a_newer_one_is_kept(
    servers: RedisServers, empty_redis: RedisServer
) -> None:
    for version, is_kept in ((0, False), (99, True)):
        empty_redis.empty()
        code = (
            "#!lua name=smartspider_dedup\nredis.register_function{function_name='smartspider_dedup_version',"
            f" callback=function() return {version} end, flags={{'no-writes'}}}}"
        )
        empty_redis.command("FUNCTION", "LOAD", code)
        fresh = FilterFunctions(servers)
        await fresh.prepare()
        there = empty_redis.command("FCALL_RO", "smartspider_dedup_version", "0")
        assert there == (version if is_kept else VERSION)
