"""The contract of `store/metrics.py`; tests name the promise they check."""

from __future__ import annotations

import asyncio

from smartspider.core.frontier.verdict import HostNews
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.metrics import MetricKey
from smartspider_testing.contracts.actions import begin, done, failed, settle, take, urls
from smartspider_testing.contracts.backend import Backend, BackendContract

PAGES: MetricKey = ("pages_total", (("outcome", "done"),))
OTHERS: MetricKey = ("pages_total", (("outcome", "dead"), ("status", "5xx")))
BYTES: MetricKey = ("bytes_total", ())


class MetricStoreContract(BackendContract):
    """Metrics equal the sums of what was stored."""

    async def test_what_is_added_is_summed(self, backend: Backend) -> None:
        """Metric store 1."""
        assert await backend.metrics.sums() == {}
        await backend.metrics.add({PAGES: 2.0, BYTES: 0.5})
        await backend.metrics.add({PAGES: 3.0, OTHERS: 1.0})
        await backend.metrics.add({})
        await backend.reopen()
        assert await backend.metrics.sums() == {PAGES: 5.0, BYTES: 0.5, OTHERS: 1.0}

    async def test_several_processes_add_at_once(self, backend: Backend) -> None:
        """Metric store 1."""
        processes = [backend, await backend.another(), await backend.another()]
        await asyncio.gather(*(each.metrics.add({PAGES: 1.0}) for each in processes * 10))
        assert await backend.metrics.sums() == {PAGES: 30.0}

    async def test_the_order_of_labels_does_not_matter(self, backend: Backend) -> None:
        """Metric store 1."""
        name, labels = OTHERS
        await backend.metrics.add({(name, labels[::-1]): 1.0})
        await backend.metrics.add({OTHERS: 1.0})
        assert await backend.metrics.sums() == {OTHERS: 2.0}

    async def test_there_are_only_so_many_keys(self, backend: Backend) -> None:
        """Metric store 2: those that are there go on."""
        await backend.metrics.add({PAGES: 1.0})
        await backend.metrics.add({("many", (("n", str(number)),)): 1.0 for number in range(3000)})
        await backend.metrics.add({PAGES: 1.0, BYTES: 1.0})
        sums = await backend.metrics.sums()
        assert len(sums) == 2000
        assert sums[PAGES] == 2.0
        assert BYTES not in sums

    async def test_gauges_show_current_numbers(self, backend: Backend) -> None:
        """Runs by state, what is open in them, leases, hosts held, workers."""
        empty = await backend.metrics.gauges()
        assert {empty["smartspider_runs", (("state", state),)] for state in ("queued", "running")} == {0.0}
        run = await begin(backend, *urls(5))
        worker = await backend.frontier.join(WorkerRegistration("w", slots=7))
        first, second, *_ = await take(backend, worker, run, want=3)
        news = (HostNews(hold_s=120.0, reason="429"),)
        await settle(backend, done(first), failed(second, news=news))
        gauges = await backend.metrics.gauges()
        assert gauges["smartspider_runs", (("state", "running"),)] == 1.0
        assert gauges["smartspider_requests_open", (("run_state", "running"),)] == 4.0
        assert gauges["smartspider_leases", ()] == 1.0
        assert gauges["smartspider_hosts_held", ()] == 1.0
        assert gauges["smartspider_workers", ()] == 1.0
        assert gauges["smartspider_worker_slots", ()] == 7.0
        assert gauges["smartspider_store_bytes", ()] > 0.0
        await backend.clock.advance(121.0)
        assert (await backend.metrics.gauges())["smartspider_hosts_held", ()] == 0.0
