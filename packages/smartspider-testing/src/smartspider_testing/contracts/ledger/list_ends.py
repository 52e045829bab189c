"""Ledger 22: a list ends where a page brings what an earlier page of it brought."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.requests.request import Request
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import begin, landed, record, settle, take, take_one, url
from smartspider_testing.contracts.backend import Backend, BackendContract

ONE, TWO = b"1" * 16, b"2" * 16


def further(path: str) -> Request:
    """Return a request that was found by pagination."""
    return msgspec.structs.replace(url(path), is_next_page=True)


def listed(lease: Lease, digest: bytes, *children: Request, **more: Any) -> Settlement:
    """Settle a page of a list."""
    items = [{"from": digest.decode()}]
    verdict = Close("done", status=200, items=items, children=list(children), list_digest=digest, **more)
    return Settlement(lease, verdict)


async def repeated(backend: Backend, run: Run) -> dict[str, str]:
    """Return the next pages behind the ends of lists, with the reason."""
    reasons = (await backend.insight.left_out(run.id)).reasons
    return {
        example.url.rpartition("/")[2]: example.detail
        for reason in reasons
        if (reason.code, reason.is_next_page) == ("repeated", True)
        for example in reason.examples
    }


class ListEndContract(BackendContract):
    """A page that repeats an earlier one of its list adds no item, and leads to no further page."""

    @pytest.fixture
    async def worker(self, backend: Backend) -> int:
        """A worker that has joined."""
        return await backend.frontier.join(WorkerRegistration("w"))

    async def test_a_list_ends_where_it_repeats(self, backend: Backend, worker: int) -> None:
        """Ledger 22: with the page that has its items; other links of the page are followed."""
        run = await begin(backend, "p1")
        await settle(backend, listed(await take_one(backend, worker, run), ONE, further("p2")))
        await settle(backend, listed(await take_one(backend, worker, run), TWO, further("p3")))
        third = await take_one(backend, worker, run)
        report = await settle(backend, listed(third, ONE, further("p4"), url("detail")))
        assert (report.closed, report.items, report.new_urls) == (1, 0, 1)
        assert report.stored == []
        page = await record(backend, run, "p3")
        assert (page.state, page.items) == ("done", 0)
        ends = await repeated(backend, run)
        assert ends == {"p4": f"repeated: the page has the items of {url('p1').url}, so the list ends here"}
        assert (await take_one(backend, worker, run)).request.url == url("detail").url
        counters = (await backend.store.get_run(run.id)).counters
        assert (counters.items, counters.duplicates) == (2, 1)

    async def test_pages_that_were_added_before_the_end_was_seen_are_fetched(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 22: within a settle as well; only the items that repeat are dropped."""
        run = await begin(backend, "p1")
        pages = [further(f"p{number}") for number in range(2, 6)]
        await settle(backend, listed(await take_one(backend, worker, run), ONE, *pages))
        p2, p3, p4, p5 = await take(backend, worker, run)
        report = await settle(
            backend, listed(p2, TWO, *pages), listed(p3, TWO, *pages), listed(p4, ONE, *pages)
        )
        assert (report.closed, report.items) == (3, 1)
        assert (await settle(backend, listed(p5, b"5" * 16))).items == 1
        assert await repeated(backend, run) == {}

    async def test_lists_with_an_equal_page_are_whole(self, backend: Backend, worker: int) -> None:
        """Ledger 22: each page that no pagination led to begins a list; runs have lists of their own."""
        run, other = await begin(backend, "a", "b"), await begin(backend, "a", name="other")
        for each in await take(backend, worker, run, other):
            path = each.request.url.rpartition("/")[2]
            await settle(backend, listed(each, ONE, further(f"{path}2")))
        leases = await take(backend, worker, run, other)
        assert len(leases) == 3
        for each in leases:
            assert (await settle(backend, listed(each, TWO))).items == 1

    async def test_a_page_that_is_fetched_again_does_not_repeat_itself(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 22 and 2."""
        run = await begin(backend, "p1")
        await settle(backend, listed(await take_one(backend, worker, run), ONE, further("p2")))
        lease = await take_one(backend, worker, run)
        await settle(backend, listed(lease, TWO, further("p3")))
        assert (await settle(backend, listed(lease, TWO, further("p3")))).late == 1
        await settle(
            backend, Settlement(await take_one(backend, worker, run), Close("dead", "http 500", 500))
        )
        await backend.store.finish(run.id)
        await backend.store.retry(run.id)
        await backend.store.set_state(run.id, "running")
        third = await take_one(backend, worker, run)
        assert (await settle(backend, listed(third, b"3" * 16, further("p4")))).new_urls == 1
        assert await repeated(backend, run) == {}

    async def test_a_redirect_stays_in_its_list(self, backend: Backend, worker: int) -> None:
        """Ledger 22 and 7: the landing page is the page of the list."""
        run = await begin(backend, "p1")
        await settle(backend, listed(await take_one(backend, worker, run), ONE, further("p2")))
        on = landed(await take_one(backend, worker, run), url("two"), further("p3"), items=[{"n": 2}])
        verdict = msgspec.structs.replace(on.verdict, list_digest=TWO)
        await settle(backend, Settlement(on.lease, verdict))
        assert (
            await settle(backend, listed(await take_one(backend, worker, run), TWO, further("p4")))
        ).items == 0
        (detail,) = (await repeated(backend, run)).values()
        assert url("two").url in detail
