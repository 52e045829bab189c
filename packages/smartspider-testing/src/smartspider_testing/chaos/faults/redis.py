"""A single Redis that dies, forgets, is emptied or is full."""

from __future__ import annotations

import time
from functools import partial

from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.judge import visited_early
from smartspider_testing.chaos.scene import Scene
from smartspider_testing.chaos.setup import Setup
from smartspider_testing.chaos.staff import until
from smartspider_testing.chaos.task import site_politeness

HOLD_S = 12
FULL_S = 4.0


def kill_and_cut(scene: Scene, cut_s: float) -> None:
    """Killed at once; what the last second wrote is lost, as in a power cut."""
    redis = scene.yard.redis
    scene.until_share(0.3)
    scene.breaks()
    redis.kill()
    lost = redis.cut_aof(cut_s) if cut_s else 0
    redis.start()
    scene.notes.append(f"{lost} bytes of its log lost")
    scene.until_more(5)


def roll_back_before_ack(scene: Scene) -> None:
    """A worker has offered and not acked; Redis forgets the offer; the worker acks."""
    redis, old = scene.yard.redis, scene.workers[0]
    scene.until_share(0.1)
    old.kill()
    worker = scene.replace(old, SMARTSPIDER_FREEZE_AT="ledger.offered:3")
    until(worker.is_frozen, "the worker is between offer and ack", 30.0)
    scene.breaks()
    redis.kill()
    lost = redis.cut_aof(3.0)
    redis.start()
    scene.until_more(3)
    worker.thaw()
    scene.notes.append(f"{lost} bytes of its log lost")


def flush(scene: Scene) -> None:
    """FLUSHALL, three times, and the functions with it once."""
    for share in (0.2, 0.35, 0.5):
        scene.until_share(share)
        scene.breaks()
        scene.yard.redis.command("FLUSHALL")
        if share == 0.35:
            scene.yard.redis.command("FUNCTION", "FLUSH")
        scene.until_more(3)


def flush_while_held(scene: Scene) -> None:
    """FLUSHALL while a host has asked to be left alone for long."""
    host = scene.layout.names[1]
    scene.until_share(0.2)
    scene.site.behave(holding=host, retry_after=HOLD_S)
    until(
        lambda: any(visit.status == 429 for visit in scene.site.visits()), "the host asks for a pause", 30.0
    )
    asked_at = next(visit.at for visit in scene.site.visits() if visit.status == 429)
    until(lambda: scene.truth.number("SELECT count(*) FROM host WHERE held_until > 0") > 0, "a hold", 15.0)
    scene.breaks()
    scene.yard.redis.command("FLUSHALL")
    until(lambda: time.monotonic() > asked_at + HOLD_S, "the hold is over", 2 * HOLD_S)
    # One request at a time, so that none was on its way when the answer came.
    scene.problems += visited_early(scene.site.visits(), host, asked_at, HOLD_S + scene.setup.latency_s)
    scene.notes.append(f"held for {HOLD_S} s")


def fill_memory(scene: Scene) -> None:
    """There is no memory left, and later there is."""
    redis = scene.yard.redis
    scene.until_share(0.2)
    scene.breaks()
    redis.command("CONFIG", "SET", "maxmemory", "1mb")
    until(lambda: _errors(scene) > 0, "Redis refuses for want of memory", 20.0)
    full_until = time.monotonic() + FULL_S
    until(lambda: time.monotonic() > full_until, "a while without memory", 2 * FULL_S)
    redis.command("CONFIG", "SET", "maxmemory", "0")
    scene.notes.append(f"{_errors(scene)} calls refused")
    scene.until_more(3)


def _errors(scene: Scene) -> int:
    stats = scene.yard.redis.info("errorstats")
    return sum(int(value.partition("=")[2]) for name, value in stats.items() if name == "errorstat_OOM")


FAULTS = (
    Fault(
        name="redis-killed",
        row="Redis kill -9, last second of its AOF cut",
        expected="0 lost, 0 doubled",
        act=partial(kill_and_cut, cut_s=1.0),
        setup=Setup(pages=150),
        is_short=True,
    ),
    Fault(
        name="redis-rolled-back",
        row="offer, rollback of Redis, then the retried ack",
        expected="0 lost, 0 doubled",
        act=roll_back_before_ack,
        setup=Setup(pages=300),
    ),
    Fault(
        name="flushall",
        row="FLUSHALL, three times",
        expected="0 lost, 0 doubled",
        act=flush,
        setup=Setup(pages=150),
        is_short=True,
    ),
    Fault(
        name="flushall-held",
        row="FLUSHALL during a long Retry-After",
        expected="0 lost, 0 doubled, the hold is still honoured",
        act=flush_while_held,
        setup=Setup(delay_s=0.2, pages=120, task=site_politeness(0.2, per_host=1)),
    ),
    Fault(
        name="redis-full",
        row="maxmemory reached, then raised",
        expected="recovers, 0 lost, 0 doubled",
        act=fill_memory,
    ),
)
