"""Queries of a run store about URLs, gates, politeness and its own consistency."""

from __future__ import annotations

import msgspec
import pytest

from smartspider.core.frontier.verdict import PreviousSend, SentRequest
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    done,
    failed,
    record,
    settle,
    states,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.backend import Backend, BackendContract


class RunInspectionContract(BackendContract):
    """A run store answers queries about its content."""

    async def test_a_url_can_be_asked_about(self, backend: Backend) -> None:
        """The data of `why`: parent, position, failures; newest run first."""
        old = await begin(backend, "one")
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("alice"))
        child = msgspec.structs.replace(url("child"), depth=1, page="detail")
        await settle(backend, done(await take_one(backend, worker, run), child))
        lease = await take_one(backend, worker, run)
        assert (await record(backend, run, "child")).place == "leased by alice"
        await settle(backend, failed(lease, delay_s=9.0))
        found = await record(backend, run, "child")
        assert (found.parent, found.depth, found.page) == (f"http://{HOST}/one", 1, "detail")
        assert found.place.startswith("waiting until")
        assert [(failure.reason, failure.at) for failure in found.failures] == [
            ("timeout", backend.clock.now())
        ]
        assert [entry.run_id for entry in await backend.store.find_urls(url("one").fingerprint)] == [
            run.id,
            old.id,
        ]
        assert await backend.store.find_urls(url("nowhere").fingerprint) == []

    async def test_only_the_last_few_failures_are_kept(self, backend: Backend) -> None:
        """A URL that fails for ever does not fill the store."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        for _ in range(30):
            await settle(backend, failed(await take_one(backend, worker, run), delay_s=0.0))
        assert 0 < len((await record(backend, run, "one")).failures) <= 10
        assert (await record(backend, run, "one")).attempts == 30

    async def test_gates_of_a_run_are_shown_with_who_set_the_delay(self, backend: Backend) -> None:
        """Rule 16: explain-stall names who set it."""
        run = await begin(backend, "one", "two", delay_s=0.5)
        assert [
            (host.host, host.queued, host.delay_s, host.set_by) for host in await backend.store.hosts(run.id)
        ] == [(HOST, 2, 0.5, "task")]
        answer = RobotsAnswer(f"http://{HOST}", 200, b"", 1.0, 2.0)
        await backend.robots.put_robots(answer, host=HOST, crawl_delay_s=7.0)
        await backend.frontier.hold_host(HOST, 30.0, "Retry-After")
        (host,) = await backend.store.hosts(run.id)
        assert (host.delay_s, host.set_by, host.hold_reason) == (7.0, "robots.txt", "Retry-After")
        assert host.held_until == pytest.approx(backend.clock.now() + 30.0)

    async def test_robots_answers_are_kept_until_replaced(self, backend: Backend) -> None:
        """Robots cache 1 and 2."""
        assert await backend.robots.get_robots(f"http://{HOST}") is None
        for body in (b"User-agent: *", None):
            answer = RobotsAnswer(f"http://{HOST}", 200, body, 1.0, 2.0)
            await backend.robots.put_robots(answer, host=HOST, crawl_delay_s=None)
            await backend.reopen()
            assert await backend.robots.get_robots(f"http://{HOST}") == answer

    async def test_the_longest_crawl_delay_of_a_hosts_origins_counts(self, backend: Backend) -> None:
        """Robots cache 2: one origin without a Crawl-delay does not lift another's."""
        run = await begin(backend, *urls(2), delay_s=0.0)
        for scheme, delay_s in (("https", 10.0), ("http", None)):
            answer = RobotsAnswer(f"{scheme}://{HOST}", 200, b"", 0.0, 1.0)
            await backend.robots.put_robots(answer, host=HOST, crawl_delay_s=delay_s)
        assert (await backend.store.hosts(run.id))[0].delay_s == 10.0

    async def test_a_receipt_tells_gaps_refusals_and_violations(self, backend: Backend) -> None:
        """The politeness receipt, from the moments requests left.

        Another run's requests are not this one's, and a page that was settled again was not sent again.
        """
        run = await begin(backend, *urls(3), delay_s=1.0)
        other = await begin(backend, *urls(3), delay_s=1.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        start = backend.clock.monotonic()
        for number, (which, at) in enumerate([(run, 0.0), (other, 1.5), (run, 3.0), (run, 3.4)]):
            lease = await take_one(backend, worker, which)
            page = done(lease, sends=(SentRequest(HOST, start + at, 1.0),))
            await settle(backend, page)
            await settle(backend, page)
            await backend.clock.advance(1.1 + number)
        (receipt,) = await backend.store.receipt(run.id)
        assert (receipt.host, receipt.requests, receipt.violations, receipt.refusals) == (HOST, 3, 1, 0)
        assert receipt.smallest_gap_s == pytest.approx(0.4)
        assert receipt.asked_delay_s == 1.0

    async def test_a_receipt_counts_from_what_another_crawl_sent_before(self, backend: Backend) -> None:
        """A crawl of the same machine with a store of its own; its requests are not this run's."""
        run = await begin(backend, *urls(3), delay_s=1.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        start = backend.clock.monotonic()
        for at, before in ((0.0, None), (3.0, 2.9), (5.0, 3.5)):
            previous = None if before is None else PreviousSend(start + before, 1.0)
            lease = await take_one(backend, worker, run)
            page = done(lease, sends=(SentRequest(HOST, start + at, 1.0, previous),))
            await settle(backend, page)
            await settle(backend, page)
            await backend.clock.advance(1.1)
        (receipt,) = await backend.store.receipt(run.id)
        assert (receipt.requests, receipt.violations) == (3, 1)
        assert receipt.smallest_gap_s == pytest.approx(0.1)
        again = await begin(backend, *urls(3), delay_s=1.0)
        await backend.store.set_state(run.id, "cancelled")
        await backend.store.delete_run(run.id)
        lease = await take_one(backend, worker, again)
        await settle(backend, done(lease, sends=(SentRequest(HOST, start + 3.6, 1.0),)))
        (receipt,) = await backend.store.receipt(again.id)
        assert receipt.smallest_gap_s is None

    async def test_the_rate_of_a_receipt_is_that_of_the_requests_it_counts(self, backend: Backend) -> None:
        """robots.txt is a request too: it begins the time in which the requests were sent."""
        run = await begin(backend, *urls(2), delay_s=1.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        start = backend.clock.monotonic()
        for sent in ((0.0, 1.0), (2.0,)):
            lease = await take_one(backend, worker, run)
            await backend.clock.advance(5.0)
            await settle(backend, done(lease, sends=tuple(SentRequest(HOST, start + at, 1.0) for at in sent)))
        (receipt,) = await backend.store.receipt(run.id)
        assert receipt.requests == 3
        assert receipt.requests_per_s == pytest.approx(1.0)

    async def test_a_receipt_shows_the_delay_of_its_own_run(self, backend: Backend) -> None:
        """An earlier run had a shorter delay; violations are counted by the run's own delay."""
        slow, quick = await begin(backend, *urls(3), delay_s=2.0), await begin(backend, *urls(3), delay_s=2.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        start = backend.clock.monotonic()
        for which, at, delay_s in ((quick, 0.0, 0.5), (slow, 0.6, 2.0), (slow, 2.6, 2.0)):
            lease = await take_one(backend, worker, which)
            await settle(backend, done(lease, sends=(SentRequest(HOST, start + at, delay_s),)))
            await backend.clock.advance(2.1)
        (receipt,) = await backend.store.receipt(slow.id)
        assert (receipt.asked_delay_s, receipt.violations) == (2.0, 0)

    async def test_the_store_tells_how_big_it_is(self, backend: Backend) -> None:
        """By what it holds."""
        run = await begin(backend)
        sizes = await backend.store.sizes()
        assert min(sizes["requests"], sizes["items"], sizes["file"]) > 0
        assert await states(backend, run, "") == ["open"]
