"""What a store can tell: about URLs, gates, politeness and itself."""

from __future__ import annotations

import msgspec
import pytest

from smartspider.core.verdict import Send
from smartspider.core.workers import WorkerCard
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider_testing.contracts.acts import (
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
from smartspider_testing.contracts.ground import Ground, OnGround


class TellingContract(OnGround):
    """Questions have answers."""

    async def test_a_url_can_be_asked_about(self, ground: Ground) -> None:
        """What `why` tells: where it was found, where it is, what went wrong; newest run first."""
        old = await begin(ground, "one")
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("alice"))
        child = msgspec.structs.replace(url("child"), depth=1, page="detail")
        await settle(ground, done(await take_one(ground, worker, run), child))
        lease = await take_one(ground, worker, run)
        assert (await record(ground, run, "child")).place == "leased by alice"
        await settle(ground, failed(lease, delay_s=9.0))
        found = await record(ground, run, "child")
        assert (found.parent, found.depth, found.page) == (f"http://{HOST}/one", 1, "detail")
        assert found.place.startswith("waiting until")
        assert [(failure.reason, failure.at) for failure in found.failures] == [
            ("timeout", ground.clock.now())
        ]
        assert [entry.run_id for entry in await ground.store.find_urls(url("one").fingerprint)] == [
            run.id,
            old.id,
        ]
        assert await ground.store.find_urls(url("nowhere").fingerprint) == []

    async def test_only_the_last_few_failures_are_kept(self, ground: Ground) -> None:
        """A URL that fails for ever does not fill the store."""
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        for _ in range(30):
            await settle(ground, failed(await take_one(ground, worker, run), delay_s=0.0))
        assert 0 < len((await record(ground, run, "one")).failures) <= 10
        assert (await record(ground, run, "one")).attempts == 30

    async def test_gates_of_a_run_are_shown_with_who_set_the_delay(self, ground: Ground) -> None:
        """Rule 16: explain-stall names who set it."""
        run = await begin(ground, "one", "two", delay_s=0.5)
        assert [
            (host.host, host.queued, host.delay_s, host.set_by) for host in await ground.store.hosts(run.id)
        ] == [(HOST, 2, 0.5, "task")]
        answer = RobotsAnswer(f"http://{HOST}", 200, b"", 1.0, 2.0)
        await ground.robots.put_robots(answer, host=HOST, crawl_delay_s=7.0)
        await ground.frontier.hold_host(HOST, 30.0, "Retry-After")
        (host,) = await ground.store.hosts(run.id)
        assert (host.delay_s, host.set_by, host.hold_reason) == (7.0, "robots.txt", "Retry-After")
        assert host.held_until == pytest.approx(ground.clock.now() + 30.0)

    async def test_robots_answers_are_kept_until_replaced(self, ground: Ground) -> None:
        """Robots cache 1 and 2."""
        assert await ground.robots.get_robots(f"http://{HOST}") is None
        for body in (b"User-agent: *", None):
            answer = RobotsAnswer(f"http://{HOST}", 200, body, 1.0, 2.0)
            await ground.robots.put_robots(answer, host=HOST, crawl_delay_s=None)
            await ground.reopen()
            assert await ground.robots.get_robots(f"http://{HOST}") == answer

    async def test_the_longest_crawl_delay_of_a_hosts_origins_counts(self, ground: Ground) -> None:
        """Robots cache 2: one origin without a Crawl-delay does not lift another's."""
        run = await begin(ground, *urls(2), delay_s=0.0)
        for scheme, delay_s in (("https", 10.0), ("http", None)):
            answer = RobotsAnswer(f"{scheme}://{HOST}", 200, b"", 0.0, 1.0)
            await ground.robots.put_robots(answer, host=HOST, crawl_delay_s=delay_s)
        assert (await ground.store.hosts(run.id))[0].delay_s == 10.0

    async def test_a_receipt_tells_gaps_refusals_and_violations(self, ground: Ground) -> None:
        """The politeness receipt, from the moments requests left.

        Another run's requests are not this one's, and a page that was settled again was not sent again.
        """
        run = await begin(ground, *urls(3), delay_s=1.0)
        other = await begin(ground, *urls(3), delay_s=1.0)
        worker = await ground.frontier.join(WorkerCard("w"))
        start = ground.clock.monotonic()
        for number, (which, at) in enumerate([(run, 0.0), (other, 1.5), (run, 3.0), (run, 3.4)]):
            lease = await take_one(ground, worker, which)
            page = done(lease, sends=(Send(HOST, start + at, 1.0),))
            await settle(ground, page)
            await settle(ground, page)
            await ground.clock.advance(1.1 + number)
        (receipt,) = await ground.store.receipt(run.id)
        assert (receipt.host, receipt.requests, receipt.violations, receipt.refusals) == (HOST, 3, 1, 0)
        assert receipt.smallest_gap_s == pytest.approx(0.4)
        assert receipt.asked_delay_s == 1.0

    async def test_a_receipt_tells_the_delay_of_its_own_run(self, ground: Ground) -> None:
        """A run that was told to be quicker was there before; its delay only says what is no violation."""
        slow, quick = await begin(ground, *urls(3), delay_s=2.0), await begin(ground, *urls(3), delay_s=2.0)
        worker = await ground.frontier.join(WorkerCard("w"))
        start = ground.clock.monotonic()
        for which, at, delay_s in ((quick, 0.0, 0.5), (slow, 0.6, 2.0), (slow, 2.6, 2.0)):
            lease = await take_one(ground, worker, which)
            await settle(ground, done(lease, sends=(Send(HOST, start + at, delay_s),)))
            await ground.clock.advance(2.1)
        (receipt,) = await ground.store.receipt(slow.id)
        assert (receipt.asked_delay_s, receipt.violations) == (2.0, 0)

    async def test_the_store_tells_how_big_it_is(self, ground: Ground) -> None:
        """By what it holds."""
        run = await begin(ground)
        sizes = await ground.store.sizes()
        assert min(sizes["requests"], sizes["items"], sizes["file"]) > 0
        assert await states(ground, run, "") == ["open"]
