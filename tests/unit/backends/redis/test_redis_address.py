"""From a URL to a server that can be trusted with queues, with the library on it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.exceptions import ResponseError

from smartspider.backends.redis import library
from smartspider.backends.redis.address import RedisAddress, SentinelOptions, TlsOptions, read_url
from smartspider.backends.redis.server_check import check
from smartspider.backends.redis.servers import RedisNode, open_servers
from smartspider.backends.redis.shards import Shards
from smartspider.core.errors import FrontierUnavailable, NotArmed, SettingInvalid
from smartspider_testing.servers import RedisServer

URLS = {
    "redis://h": RedisAddress("single", (("h", 6379),)),
    "redis://:pa%40ss@h:1/2": RedisAddress("single", (("h", 1),), password="pa@ss", db=2),
    "redis://[::1]:7": RedisAddress("single", (("::1", 7),)),
    "rediss://u:p@h?persistence=none": RedisAddress(
        "single", (("h", 6379),), username="u", password="p", is_tls=True, is_durable=False
    ),
    "redis+sentinel://a,b:5,c/main?db=3": RedisAddress(
        "sentinel", (("a", 26379), ("b", 5), ("c", 26379)), service="main", db=3
    ),
    "redis+sentinel://:p@a/main?tls=1&ssl_ca_certs=/c"
    "&sentinel_username=w&sentinel_password=a+b%26c": RedisAddress(
        "sentinel",
        (("a", 26379),),
        service="main",
        password="p",
        is_tls=True,
        tls=TlsOptions(ca_certs="/c"),
        sentinel=SentinelOptions("w", "a+b&c", is_tls=True),
    ),
    "rediss://h?ssl_certfile=c&ssl_keyfile=k&ssl_cert_reqs=none&ssl_check_hostname=false": RedisAddress(
        "single",
        (("h", 6379),),
        is_tls=True,
        tls=TlsOptions("", "c", "k", is_verified=False, is_name_checked=False),
    ),
    "redis+cluster://a:1,b:2?namespace=team": RedisAddress("cluster", (("a", 1), ("b", 2)), namespace="team"),
}


@pytest.mark.parametrize("url", URLS)
def test_a_url_says_where_the_servers_are(url: str) -> None:
    assert read_url(url) == URLS[url]


@pytest.mark.parametrize(
    "url",
    [
        "http://h",
        "redis://",
        "redis://h:x",
        "redis://h/x",
        "redis+sentinel://a,b",
        "redis://h?dbb=1",
        "redis://h?persistence=some",
        "redis://a,,b",
        "redis://h?ssl_ca_certs=/ca.pem",
        "rediss://h?ssl_ca_certs=",
        "rediss://h?ssl_keyfile=k",
        "rediss://h?ssl_cert_reqs=optional",
        "rediss://h?ssl_check_hostname=0",
        "rediss://h?sentinel_password=p",
    ],
)
def test_a_url_that_means_nothing_is_refused(url: str) -> None:
    with pytest.raises(SettingInvalid, match="SMARTSPIDER_FRONTIER_URL"):
        read_url(url)


async def test_no_password_is_in_any_message() -> None:
    address = read_url("redis://user:secret@127.0.0.1:1")
    assert "secret" not in repr(address)
    shards = Shards(address)
    with pytest.raises(FrontierUnavailable, match=r"127\.0\.0\.1:1 cannot be used") as caught:
        await shards.call(0, "look")
    assert "secret" not in str(caught.value)
    await shards.close()


class Told:
    """A server that says of itself what it is told to."""

    def __init__(self, version: str = "7.0.15", **settings: str) -> None:
        self._version = version
        self._settings = {"maxmemory-policy": "noeviction", "appendonly": "yes"} | {
            name.replace("_", "-"): value for name, value in settings.items()
        }

    async def execute_command(self, *args: Any) -> Any:
        if args[0] == "INFO":
            return {"redis_version": self._version}
        if "forbidden" in self._settings:
            raise ResponseError("unknown command 'CONFIG'")
        return [part for pair in self._settings.items() for part in pair]


ADDRESS = read_url("redis://u:secret@h")


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (Told(version="6.2.14"), "6.2.14"),
        (Told(maxmemory_policy="allkeys-lru"), "allkeys-lru"),
        (Told(appendonly="no"), "appendonly"),
    ],
)
async def test_a_server_that_loses_queues_is_refused(server: Told, said: str) -> None:
    with pytest.raises(FrontierUnavailable, match=said) as caught:
        await check(server, ADDRESS)
    assert caught.value.hint


async def test_a_server_without_persistence_is_taken_when_that_is_asked_for() -> None:
    await check(Told(appendonly="no"), read_url("redis://h?persistence=none"))
    await check(Told(maxmemory_policy="volatile-lru"), ADDRESS)


async def test_a_server_that_hides_its_settings_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await check(Told(forbidden="yes"), ADDRESS)
    assert "does not show its settings" in caplog.text


@pytest.fixture
async def server(empty_redis: RedisServer) -> AsyncIterator[RedisNode]:
    """A connection to an empty server."""
    servers = open_servers(read_url(empty_redis.url))
    yield (await servers.primaries())[0]
    await servers.close()


async def version(server: RedisNode) -> int:
    return int(await server.execute_command("FCALL_RO", "smartspider_version", 0))


async def test_the_library_is_loaded_where_it_is_missing_or_older(server: RedisNode) -> None:
    await library.load(server, library.source())
    assert await version(server) == library.VERSION
    older = library.source().replace(f"VERSION = {library.VERSION}", "VERSION = 0", 1)
    await server.execute_command("FUNCTION", "LOAD", "REPLACE", older)
    await library.load(server, library.source())
    assert await version(server) == library.VERSION


async def test_the_library_that_is_there_is_left_alone(server: RedisNode) -> None:
    """Loading it would disarm the server."""
    await library.load(server, library.source() + "-- mine")
    await library.load(server, library.source())
    code = await server.execute_command("FUNCTION", "LIST", "WITHCODE")
    assert b"-- mine" in str(code).encode()


async def test_a_newer_library_is_never_replaced(server: RedisNode) -> None:
    newer = library.source().replace(f"LAPSE_S = {library.VERSION},", "LAPSE_S = 99,", 1)
    await server.execute_command("FUNCTION", "LOAD", newer)
    with pytest.raises(FrontierUnavailable, match="version 99"):
        await library.load(server, library.source())
    assert await version(server) == 99


async def test_a_server_that_lost_the_library_gets_it_again(empty_redis: RedisServer) -> None:
    shards = Shards(read_url(empty_redis.url))
    await shards.call(0, "look")
    empty_redis.command("FUNCTION", "FLUSH")
    with pytest.raises(NotArmed, match="lost the library"):
        await shards.call(0, "look")
    assert (await shards.call(0, "look"))[1:3] == [0, 0]
    await shards.close()


@pytest.mark.parametrize(
    "url",
    [
        "redis://h:6380",
        "rediss://h:6379?db=3&persistence=none&namespace=second+one",
        "redis+sentinel://h1:26379,h2:26379/mymaster?tls=1",
        "redis+sentinel://h1:26379/m?tls=1&sentinel_tls=0&ssl_ca_certs=/a%20b/ca+1.pem&ssl_cert_reqs=none",
        "redis+cluster://[::1]:7000,h2:7001?namespace=b",
    ],
)
def test_an_address_is_told_as_it_is_written_without_user_and_password(url: str) -> None:
    assert read_url(url).url == url
    secret = read_url(url.replace("://", "://ann:geheim@", 1))
    assert secret.url == url
    assert secret.password == "geheim"
