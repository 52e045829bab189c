"""The contract of `store/proxies.py`; tests name the promise they check."""

from __future__ import annotations

import pytest

from smartspider.core.errors import NotFound
from smartspider.core.proxies import ProxyRecord, parse_proxy_url
from smartspider.store.proxies import LONGEST_BAN_S, ProxyReport
from smartspider_testing.contracts.access.audit import audit_rows
from smartspider_testing.contracts.access.vault import Sealer
from smartspider_testing.contracts.backend import Backend, BackendContract

URL = parse_proxy_url("http://ann:canary@proxy.example:3128")


async def add(backend: Backend, pool: str = "dc", sealer: Sealer | None = None) -> ProxyRecord:
    """Add a proxy to a pool."""
    return await backend.proxies.add(pool, URL, 2.0, sealer or Sealer(), actor="ann")


class ProxyStoreContract(BackendContract):
    """A proxy store keeps pools of proxies."""

    async def test_a_proxy_is_stored_with_its_url_sealed_and_leaves_with_it(self, backend: Backend) -> None:
        """Proxy store 1, 2: what is read is bound to the same as what was sealed; the audit has no URL."""
        sealer = Sealer(b"sealed")
        made = await add(backend, sealer=sealer)
        assert (made.pool, made.url, made.weight) == ("dc", "http://proxy.example:3128", 2.0)
        assert (made.owner, made.success, made.latency_s, made.error) == ("ann", 1.0, None, "")
        ((context, sealed),) = await backend.proxies.open([made.id, made.id + 1], opened_by="run:7")
        assert (context, sealed.value) == (sealer.contexts[0], b"sealed")
        await backend.proxies.delete(made.id, actor="ann")
        assert await backend.proxies.open([made.id], opened_by="run:7") == []
        assert await backend.vault.read_sealed() == []
        for missing in (backend.proxies.get(made.id), backend.proxies.delete(made.id, actor="ann")):
            with pytest.raises(NotFound, match=str(made.id)):
                await missing
        entries = await audit_rows(backend)
        assert [(actor, action) for actor, action, *_ in entries] == [
            ("ann", "proxy.added"),
            ("run:7", "proxies.opened"),
            ("ann", "proxy.removed"),
        ]
        assert "canary" not in str(entries)

    async def test_an_id_is_never_given_twice(self, backend: Backend) -> None:
        """Proxy store 1: a sealed URL of a removed proxy opens for no other."""
        first = await add(backend)
        await backend.proxies.delete(first.id, actor="ann")
        assert (await add(backend)).id > first.id

    async def test_a_pool_is_listed_alone(self, backend: Backend) -> None:
        """Proxy store 1, 5."""
        made = [await add(backend, pool) for pool in ("dc", "home", "dc")]
        assert await backend.proxies.find(pool="dc") == [made[0], made[2]]
        assert await backend.proxies.find(pool="dc", after=made[0].id) == [made[2]]
        assert await backend.proxies.find(limit=2) == made[:2]
        assert await backend.proxies.find(pool="none") == []

    async def test_bans_double_until_a_request_works(self, backend: Backend) -> None:
        """Proxy store 3."""
        id_, lengths = (await add(backend)).id, []
        for _ in range(11):
            await backend.proxies.ban_failed(id_, "refused")
            found = await backend.proxies.get(id_)
            lengths.append(found.banned_until - backend.clock.now())
            await backend.proxies.ban_failed(id_, "another")  # of a request that was sent before
            assert await backend.proxies.get(id_) == found
            await backend.proxies.report([ProxyReport(id_, 1, 0, 0.5)])  # as well
            assert (await backend.proxies.get(id_)).ban_s == found.ban_s
            await backend.clock.advance(found.ban_s + 1)
        wanted = [min(10.0 * 2**number, LONGEST_BAN_S) for number in range(11)]
        assert lengths == [pytest.approx(each, abs=0.01) for each in wanted]
        await backend.proxies.report([ProxyReport(id_, 1, 0, 0.5)])
        found = await backend.proxies.get(id_)
        assert (found.ban_s, found.error) == (0.0, "")

    async def test_a_person_bans_and_ends_a_ban(self, backend: Backend) -> None:
        """Proxy store 3."""
        id_ = (await add(backend)).id
        banned = await backend.proxies.ban(id_, 60.0, actor="ann")
        assert banned.banned_until == pytest.approx(backend.clock.now() + 60, abs=0.01)
        assert banned.error == "banned by ann"
        free = await backend.proxies.ban(id_, 0.0, actor="ann")
        assert (free.banned_until, free.error) == (0.0, "")

    async def test_reports_of_workers_add_up(self, backend: Backend) -> None:
        """Proxy store 4: many requests weigh as much in one report as in several; a ban is no use."""
        one, other = await add(backend), await add(backend)
        assert one.used_at is None
        await backend.proxies.report([ProxyReport(one.id, 10, 10, None), ProxyReport(other.id, 10, 0, 2.0)])
        for _ in range(10):
            await backend.proxies.report([ProxyReport(one.id, 1, 0, 0.5)])
        used_at = (await backend.proxies.get(other.id)).used_at
        assert used_at == pytest.approx(backend.clock.now(), abs=0.01)
        await backend.clock.advance(5)
        await backend.proxies.ban(other.id, 60.0, actor="ann")
        assert await backend.proxies.totals() == (1, 1, 20, 10)
        first, second = await backend.proxies.find()
        assert second.used_at == used_at
        assert (first.requests, first.failures) == (20, 10)
        assert first.latency_s == pytest.approx(0.5)
        assert first.success == pytest.approx(1 - 0.9**10 * (1 - 0.9**10))
        assert [second.requests, second.success, second.latency_s] == [10, pytest.approx(1), pytest.approx(2)]
