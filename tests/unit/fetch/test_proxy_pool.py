"""Choosing proxies of a pool, and whom a failure is blamed on."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from smartspider.core.errors import (
    ConnectFailed,
    NoProxy,
    PoolFailed,
    ProxyFailed,
    ProxyRefused,
    ProxyRetry,
    TimedOut,
)
from smartspider.core.proxies import ProxyRecord, parse_proxy_url
from smartspider.core.requests.request import Request, make_request
from smartspider.fetch.proxies import FRESH_S, ProxyPool
from smartspider.installation.installation import Installation
from smartspider.interfaces.fetcher import Proxy
from smartspider.wiring.opening import open_folder
from smartspider_testing.clock import ManualClock

CANARY = "canary-9ab2"
A, B = make_request("http://a.example/"), make_request("http://b.example/")


class Pool:
    """A pool of proxies in a folder, used by one worker and another one."""

    def __init__(self, folder: Installation) -> None:
        self.folder, self.clock = folder, ManualClock(folder.clock.now())
        self.redacted: list[str] = []
        self.one, self.other = self.worker(), self.worker()

    def worker(self) -> ProxyPool:
        """Return the pool as another worker sees it."""
        open_urls = partial(self.folder.vault.open_proxies, opened_by="run:1")
        store, redact = self.folder.vault.proxies, lambda *texts: self.redacted.extend(texts)
        return ProxyPool("dc", store, open_urls, self.clock, redact=redact)

    async def add(self, *, weight: float = 1.0) -> int:
        """Add a proxy."""
        url = parse_proxy_url(f"http://ann:{CANARY}@proxy.example:3128")
        made = await self.folder.vault.add_proxy("dc", url, weight, actor="ann")
        return made.id

    async def record(self, id_: int) -> ProxyRecord:
        """Return what is stored about a proxy."""
        return await self.folder.vault.proxies.get(id_)

    async def fail(self, request: Request, error: ProxyFailed) -> tuple[Proxy, Exception]:
        """Send a request that fails."""
        chosen = await self.one.choose(request)
        return chosen, await self.one.failed(request, chosen, error)


@asynccontextmanager
async def pool_of(path: Path, size: int) -> AsyncIterator[Pool]:
    with open_folder(path, shares_gates=False) as folder:
        pool = Pool(folder)
        for _ in range(size):
            await pool.add()
        yield pool


async def test_a_proxy_that_fails_is_banned_for_all_workers_and_another_is_tried(tmp_path: Path) -> None:
    async with pool_of(tmp_path, 2) as pool:
        await pool.other.choose(A)
        failed, error = await pool.fail(A, ProxyFailed("http://a.example/: the proxy failed (refused)"))
        assert isinstance(error, ProxyRetry)
        assert f"proxy {failed.id}: " in error.message
        assert (await pool.record(failed.id)).banned_until > pool.clock.now()
        await pool.clock.advance(FRESH_S)
        for worker in (pool.one, pool.other):
            chosen = {(await worker.choose(each)).id for each in (A, B) for _ in range(20)}
            assert chosen == {1, 2} - {failed.id}
        await pool.one.flush()
        assert (await pool.record(failed.id)).failures == 1


async def test_a_url_that_each_proxy_failed_names_them_all(tmp_path: Path) -> None:
    async with pool_of(tmp_path, 2) as pool:
        _, first = await pool.fail(A, ProxyFailed("http://a.example/: no"))
        _, last = await pool.fail(A, ProxyFailed("http://a.example/: never"))
        assert isinstance(first, ProxyRetry)
        assert isinstance(last, PoolFailed)
        assert "proxy 1: " in last.message
        assert "proxy 2: " in last.message
        with pytest.raises(NoProxy, match="banned") as caught:
            await pool.one.choose(B)
        assert 5 < caught.value.wait_s <= 11


async def test_a_host_that_two_proxies_do_not_reach_is_to_blame(tmp_path: Path) -> None:
    async with pool_of(tmp_path, 3) as pool:
        _, first = await pool.fail(A, ProxyRefused("http://a.example/: 502"))
        _, second = await pool.fail(A, ProxyRefused("http://a.example/: 502"))
        assert isinstance(first, ProxyRetry)
        assert type(second) is ConnectFailed
        assert [one.banned_until for one in await pool.folder.vault.proxies.find()] == [0, 0, 0]


async def test_the_only_proxy_that_does_not_reach_a_host_is_not_banned(tmp_path: Path) -> None:
    async with pool_of(tmp_path, 1) as pool:
        chosen, error = await pool.fail(A, ProxyRefused("http://a.example/: 502"))
        assert type(error) is ConnectFailed
        assert (await pool.record(chosen.id)).banned_until == 0


async def test_a_proxy_that_refuses_what_another_reaches_is_banned(tmp_path: Path) -> None:
    async with pool_of(tmp_path, 2) as pool:
        refusing, _ = await pool.fail(A, ProxyRefused("http://a.example/: 502"))
        chosen = await pool.one.choose(A)
        assert chosen.id != refusing.id
        await pool.one.worked(A, chosen, 0.1)
        assert (await pool.record(refusing.id)).banned_until > pool.clock.now()


async def test_a_url_does_not_wait_for_proxies_that_were_removed(tmp_path: Path) -> None:
    async with pool_of(tmp_path, 2) as pool:
        failed, _ = await pool.fail(A, ProxyFailed("http://a.example/: no"))
        await pool.folder.vault.proxies.delete(3 - failed.id, actor="ann")
        await pool.folder.vault.proxies.ban(failed.id, 0.0, actor="ann")
        await pool.clock.advance(FRESH_S)
        assert (await pool.one.choose(A)).id == failed.id


async def test_a_failure_of_the_host_is_none_of_its_proxy(tmp_path: Path) -> None:
    async with pool_of(tmp_path, 1) as pool:
        chosen, timeout = await pool.one.choose(A), TimedOut("late")
        assert await pool.one.failed(A, chosen, timeout) is timeout
        await pool.one.flush()
        assert (await pool.record(chosen.id)).failures == 0


async def test_good_and_fast_proxies_get_most_requests(tmp_path: Path) -> None:
    async with pool_of(tmp_path, 3) as pool:
        for _ in range(10):
            await pool.one.worked(A, Proxy("", 1), 0.05)
            await pool.one.worked(A, Proxy("", 2), 1.0)
        await pool.one.flush()
        await pool.clock.advance(FRESH_S)
        chosen = Counter([(await pool.other.choose(A)).id for _ in range(500)])
        assert chosen[1] > 5 * chosen[2] > 0


async def test_the_pool_follows_what_is_added_and_removed(tmp_path: Path) -> None:
    async with pool_of(tmp_path, 0) as pool:
        with pytest.raises(NoProxy, match="no proxy"):
            await pool.one.choose(A)
        await pool.add()
        await pool.clock.advance(FRESH_S)
        assert (await pool.one.choose(A)).url == f"http://ann:{CANARY}@proxy.example:3128"
        assert set(pool.redacted) == {f"ann:{CANARY}", CANARY}
        await pool.folder.vault.proxies.delete(1, actor="ann")
        await pool.clock.advance(FRESH_S)
        with pytest.raises(NoProxy):
            await pool.one.choose(A)
        opened = [one for one in await pool.folder.audit.entries(limit=100) if one.action == "proxies.opened"]
        assert len(opened) == 1
