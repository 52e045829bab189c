"""Redis servers of the test kit, on real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smartspider_testing.servers import RedisCluster, RedisServer, SentinelGroup, ServerFailed, process_stats
from smartspider_testing.servers.ports import free_port
from smartspider_testing.servers.process import wait_until_gone
from smartspider_testing.servers.redis.client import RedisClient, RedisRefused
from smartspider_testing.waiting import running

pytestmark = pytest.mark.servers


def clock_of(server: RedisServer) -> float:
    told = server.command("TIME")
    assert isinstance(told, list)
    return int(told[0]) + int(told[1]) / 1e6


def test_a_server_is_as_persistent_as_one_in_production(redis_server: RedisServer) -> None:
    for name, value in {"appendonly": b"yes", "appendfsync": b"everysec", "save": b""}.items():
        assert redis_server.command("CONFIG", "GET", name) == [name.encode(), value]
    assert redis_server.command("CONFIG", "GET", "maxmemory-policy") == [b"maxmemory-policy", b"noeviction"]
    assert redis_server.url == f"redis://127.0.0.1:{redis_server.port}"


def test_what_was_written_survives_a_kill_and_a_stop(tmp_path: Path) -> None:
    with RedisServer(tmp_path, options={"maxmemory": "50mb"}) as server:
        first = server.pid
        server.command("SET", "one", "1")
        server.kill()
        assert not server.is_running
        assert server.restart().command("GET", "one") == b"1"
        server.command("SET", "two", "2")
        server.restart()
        assert server.command("MGET", "one", "two") == [b"1", b"2"]
        assert server.command("CONFIG", "GET", "maxmemory") == [b"maxmemory", b"52428800"]
        assert server.pid != first


def test_a_frozen_server_is_silent_until_it_thaws_and_can_be_stopped(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        server.freeze()
        with RedisClient(server.port, timeout_s=0.05) as connection, pytest.raises(TimeoutError):
            connection("PING")
        server.resume()
        assert server.command("PING") == b"PONG"
        server.freeze()
        server.stop()
        assert not server.is_running


def test_the_last_moments_of_the_file_are_lost_as_in_a_power_cut(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        server.remember_aof()
        server.command("SET", "early", "1")
        began = time.monotonic()
        file = next((tmp_path / "appendonlydir").glob("*.incr.aof"))
        server.wait_until("be older than the cut", lambda: time.monotonic() - began > 2.0)
        server.command("SET", "late", "x" * 100)
        size = file.stat().st_size
        server.kill()
        assert 100 < server.cut_aof(1.5) < size
        server.start()
        assert server.command("KEYS", "*") == [b"early"]


def test_only_a_server_that_is_down_and_watched_can_lose_its_last_moments(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        with pytest.raises(ServerFailed, match="remember_aof"):
            server.cut_aof(1)
        server.remember_aof()
        with pytest.raises(ServerFailed, match="killed or stopped"):
            server.cut_aof(1)


def test_the_clock_of_a_server_is_set_from_outside_while_it_runs(tmp_path: Path) -> None:
    with RedisServer(tmp_path, clock_offset_s=3600) as server:
        assert clock_of(server) - time.time() == pytest.approx(3600, abs=5)
        server.set_clock(-3600)
        assert clock_of(server) - time.time() == pytest.approx(-3600, abs=5)
        server.set_clock(0.5)
        server.restart()
        assert clock_of(server) - time.time() == pytest.approx(0.5, abs=0.4)


def test_a_server_with_the_true_clock_refuses_another(redis_server: RedisServer) -> None:
    with pytest.raises(ServerFailed, match="clock_offset_s"):
        redis_server.set_clock(1)


def test_cpu_and_memory_are_those_of_the_server(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        used, spent = server.memory_bytes(), server.cpu_s()
        server.command("SET", "block", b"x" * 5_000_000)
        server.command("DEBUG", "SLEEP", "0")
        assert server.memory_bytes() - used > 5_000_000
        for _ in range(20):
            server.command("EVAL", "local n = 0 for i = 1, 1e6 do n = n + i end return n", "0")
        busy = server.cpu_s()
        assert busy - spent > 0.01
        server.kill()
        assert server.cpu_s() == pytest.approx(busy, abs=0.1)
        assert server.start().cpu_s() >= busy - 0.1


def test_emptying_removes_data_and_functions(empty_redis: RedisServer) -> None:
    empty_redis.command("SET", "a", "1")
    empty_redis.command(
        "FUNCTION", "LOAD", "#!lua name=x\nredis.register_function('f', function() return 1 end)"
    )
    empty_redis.empty()
    assert empty_redis.command("DBSIZE") == 0
    assert empty_redis.command("FUNCTION", "LIST") == []


def test_errors_of_the_server_and_a_lost_connection_are_told_apart(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server, RedisClient(server.port) as connection:
        with pytest.raises(RedisRefused, match="unknown command"):
            connection("NONSENSE")
        assert connection("MGET", "none") == [None]
        server.kill()
        with pytest.raises(OSError, match=r"closed|reset|pipe"):
            connection("PING")


def test_a_server_that_cannot_start_says_why_with_its_log(tmp_path: Path) -> None:
    with pytest.raises(ServerFailed, match=r"did not answer, it has ended(.|\n)*no-such-option"):
        RedisServer(tmp_path, options={"no-such-option": "1"}).start()


def test_what_does_not_happen_in_time_is_said(redis_server: RedisServer) -> None:
    with pytest.raises(ServerFailed, match=r"did not turn blue within 0\.01 s\n  \| "):
        redis_server.wait_until("turn blue", lambda: False, within_s=0.01)


def test_a_server_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    program = (
        "import sys, threading, pathlib\n"
        "from smartspider_testing.servers import RedisServer\n"
        "server = RedisServer(pathlib.Path(sys.argv[1]))\n"
        "starter = threading.Thread(target=server.start)\n"
        "starter.start(); starter.join()\n"  # the end of that thread is not the end of the process
        "print(server.command('PING').decode(), server.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with running(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        word, pid = process.stdout.readline().split()
        assert word == "PONG"
        assert process_stats.is_alive(int(pid))
        os.kill(process.pid, signal.SIGKILL)
        wait_until_gone([int(pid)])


def test_ports_are_not_those_that_outgoing_connections_get() -> None:
    ports = [free_port() for _ in range(50)]
    assert len(set(ports)) == 50
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert max(ports) < lowest


@pytest.mark.thorough
def test_sentinels_replace_a_killed_master_with_its_replica(tmp_path: Path) -> None:
    with SentinelGroup(tmp_path) as group:
        assert group.url.startswith("redis+sentinel://127.0.0.1:")
        assert group.url.count(",") == 2
        old = group.master()
        assert old is group.servers[0]
        old.command("SET", "a", "1")
        group.servers[1].wait_until("get the write", lambda: group.servers[1].command("GET", "a") == b"1")
        old.kill()
        new = group.wait_for_new_master(old)
        assert new is group.servers[1]
        assert new.command("MGET", "a") == [b"1"]
        assert new.command("SET", "b", "2") == b"OK"


@pytest.mark.thorough
def test_a_cluster_shares_the_slots_and_a_lost_shard_leaves_the_others(tmp_path: Path) -> None:
    with RedisCluster(tmp_path, replicas=1) as cluster:
        assert cluster.url.startswith("redis+cluster://127.0.0.1:")
        assert cluster.url.count(",") == 5
        first, second, _ = cluster.masters
        assert first.command("SET", "{b}", "1") == b"OK"  # slot 3300
        with pytest.raises(RedisRefused, match=rf"MOVED 15495 127\.0\.0\.1:{cluster.masters[2].port}"):
            first.command("SET", "{a}", "1")
        assert cluster.replicas[0][0].info("replication")["master_port"] == str(first.port)
        second.kill()
        assert first.command("GET", "{b}") == b"1"
