"""The proxy of the test kit, in front of a real server."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from smartspider_testing.servers import RedisServer, ServerFailed, TcpProxy
from smartspider_testing.servers.redis.client import RedisClient
from smartspider_testing.waiting import WAIT_S


@pytest.fixture
def proxy(empty_redis: RedisServer) -> Iterator[TcpProxy]:
    with TcpProxy("127.0.0.1", empty_redis.port) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: TcpProxy) -> Iterator[RedisClient]:
    with RedisClient(proxy.url_port) as connection:
        yield connection


def test_bytes_pass_both_ways(client: RedisClient, proxy: TcpProxy) -> None:
    block = bytes(range(256)) * 20_000
    assert client("SET", "a", block) == b"OK"
    assert client("GET", "a") == block
    assert proxy.connections == 1


def test_a_cut_ends_connections_and_refuses_new_ones_until_restored(
    client: RedisClient, proxy: TcpProxy
) -> None:
    client("PING")
    proxy.cut()
    assert proxy.connections == 0
    with pytest.raises(OSError, match=r"reset|closed|pipe"):
        client("PING")
    with pytest.raises(ConnectionRefusedError):
        RedisClient(proxy.url_port)
    proxy.restore()
    proxy.restore()
    with RedisClient(proxy.url_port) as again:
        assert again("PING") == b"PONG"


def test_a_frozen_network_accepts_and_closes_nothing_and_delivers_late(
    client: RedisClient, proxy: TcpProxy, empty_redis: RedisServer
) -> None:
    client("SET", "n", 0)
    with RedisClient(proxy.url_port, timeout_s=0.05) as open_before:
        open_before("PING")
        proxy.freeze()
        with RedisClient(proxy.url_port, timeout_s=0.05) as opened_then:
            for late in (open_before, opened_then):
                with pytest.raises(TimeoutError):
                    late("INCR", "n")
            assert empty_redis.command("GET", "n") == b"0"
            assert proxy.connections == 3
            proxy.resume()
            empty_redis.wait_until("get both commands", lambda: empty_redis.command("GET", "n") == b"2")
    assert client("PING") == b"PONG"


def test_a_cut_ends_frozen_connections_undelivered(proxy: TcpProxy, empty_redis: RedisServer) -> None:
    proxy.freeze()
    with RedisClient(proxy.url_port, timeout_s=0.05) as late, pytest.raises(TimeoutError):
        late("SET", "n", 1)
    proxy.cut()
    proxy.resume()
    proxy.restore()
    with RedisClient(proxy.url_port) as again:
        assert again("PING") == b"PONG"
    assert empty_redis.command("EXISTS", "n") == 0


def test_latency_is_that_of_each_direction(client: RedisClient, proxy: TcpProxy) -> None:
    client("PING")
    proxy.latency_s = 0.05
    began = time.monotonic()
    client("PING")
    assert 0.1 <= time.monotonic() - began < 1


def test_the_answer_to_one_request_is_lost_and_the_request_is_carried_out(
    client: RedisClient, proxy: TcpProxy, empty_redis: RedisServer
) -> None:
    dropped = proxy.drop_answer_once(b"needle")
    assert client("SET", "a", 1) == b"OK"
    assert not dropped.is_set()
    with pytest.raises(OSError, match=r"reset|closed"):
        client("SET", "needle", 1)
    assert dropped.is_set()
    assert empty_redis.command("GET", "needle") == b"1"
    with RedisClient(proxy.url_port) as again:
        assert again("SET", "needle", 2) == b"OK"


def test_a_pattern_is_found_across_packets(client: RedisClient, proxy: TcpProxy) -> None:
    dropped = proxy.drop_answer_once(b"x" * 100_000 + b"needle")
    with pytest.raises(OSError, match=r"reset|closed"):
        client("SET", "a", b"x" * 300_000 + b"needle")
    assert dropped.wait(WAIT_S)


def test_a_server_that_is_down_ends_the_connection() -> None:
    with (
        TcpProxy("127.0.0.1", 1) as nowhere,
        pytest.raises(OSError, match=r"reset|closed|pipe"),
        RedisClient(nowhere.url_port) as connection,
    ):
        connection("PING")


def test_a_stopped_proxy_refuses_orders() -> None:
    with pytest.raises(ServerFailed, match="not running"):
        TcpProxy("127.0.0.1", 1).cut()
