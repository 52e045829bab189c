"""Ledger 15: when a page of an earlier run is fetched again."""

from __future__ import annotations

import msgspec
import pytest

from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.requests.recrawl import RecrawlPolicy
from smartspider.core.runs.plan import RunLimits
from smartspider_testing.contracts.actions import (
    HOST,
    closed,
    record,
    settle,
    states,
    take,
    take_one,
    url,
)
from smartspider_testing.contracts.backend import Backend, BackendContract
from smartspider_testing.contracts.ledger.revisit_actions import (
    DAY,
    ROWS,
    finish,
    first_run,
    read,
    start,
    versions,
)

WINDOW = RecrawlPolicy(window_s=7 * DAY)
ADAPTIVE = RecrawlPolicy(min_s=DAY, max_s=8 * DAY)


class RevisitContract(BackendContract):
    """A page is not fetched again before its recrawl time, and never skipped without a reason."""

    async def test_a_page_within_the_window_is_left_alone_with_its_reason(self, backend: Backend) -> None:
        """Ledger 15."""
        before = await first_run(backend, WINDOW, url("p"))
        await backend.clock.advance(2 * DAY)
        run, worker = await start(backend, WINDOW, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p"), url("q")))
        skipped = await record(backend, run, "p")
        assert (skipped.state, skipped.closed_at) == ("skipped", backend.clock.now())
        assert skipped.reason == f"window: fetched 2 days ago in run {before.id}"
        (lease,) = await take(backend, worker, run)
        assert lease.request.url == f"http://{HOST}/q"
        await settle(backend, read(lease))
        counters = (await finish(backend, run)).counters
        assert (counters.total, counters.done, counters.skipped, counters.open) == (3, 2, 1, 0)

    async def test_a_page_is_fetched_again_when_the_window_is_over(self, backend: Backend) -> None:
        """Ledger 15."""
        await first_run(backend, WINDOW, url("p"))
        await backend.clock.advance(7 * DAY)
        run, worker = await start(backend, WINDOW, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p")))
        assert await states(backend, run, "p") == ["open"]

    async def test_entries_and_further_pages_are_always_fetched(self, backend: Backend) -> None:
        """Ledger 15."""
        further = msgspec.structs.replace(url("p2"), is_next_page=True)
        await first_run(backend, WINDOW, further)
        run, worker = await start(backend, WINDOW, "e")
        await settle(backend, read(await take_one(backend, worker, run), further))
        assert await states(backend, run, "e", "p2") == ["done", "open"]

    async def test_a_further_page_that_was_left_alone_as_a_link_is_fetched_after_all(
        self, backend: Backend
    ) -> None:
        """Ledger 15: whichever way it is found first."""
        await first_run(backend, WINDOW, url("p2"), url("p3"))
        run, worker = await start(backend, WINDOW, "e")
        lease = await take_one(backend, worker, run)
        await settle(backend, read(lease, url("p2"), url("p3"), url("new")))
        assert await states(backend, run, "p2", "p3") == ["skipped", "skipped"]
        lease = await take_one(backend, worker, run)
        await settle(backend, read(lease, msgspec.structs.replace(url("p2"), is_next_page=True)))
        assert await states(backend, run, "p2", "p3") == ["open", "skipped"]
        await settle(backend, read(await take_one(backend, worker, run)))
        counters = (await finish(backend, run)).counters
        assert (counters.total, counters.done, counters.skipped) == (4, 3, 1)

    async def test_a_page_that_a_redirect_leads_to_is_fetched(self, backend: Backend) -> None:
        """Ledger 15: what was asked for must not end nowhere."""
        await first_run(backend, WINDOW, url("p"))
        run, worker = await start(backend, WINDOW, "e")
        lease = await take_one(backend, worker, run)
        await settle(backend, Settlement(lease, Close("redirect", "to p", 302, children=[url("p")])))
        assert await states(backend, run, "e", "p") == ["redirect", "open"]

    @pytest.mark.parametrize(
        ("state", "then"),
        [("missing", "skipped"), ("redirect", "skipped"), ("dead", "open"), ("broken", "open")],
    )
    async def test_only_pages_that_gave_an_answer_count_as_lookedat_depth(
        self, backend: Backend, state: str, then: str
    ) -> None:
        """Ledger 15: a failure is tried again by the next run."""
        run, worker = await start(backend, WINDOW, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p")))
        await settle(backend, closed(await take_one(backend, worker, run), state, "so it is"))
        await finish(backend, run)
        run, worker = await start(backend, WINDOW, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p")))
        assert await states(backend, run, "p") == [then]

    async def test_both_ends_of_a_redirect_count_as_lookedat_depth(self, backend: Backend) -> None:
        """Ledger 15 and 7."""
        run, worker = await start(backend, WINDOW, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("a")))
        lease = await take_one(backend, worker, run)
        await settle(backend, Settlement(lease, Close("redirect", status=200, items=ROWS, landed=url("b"))))
        await finish(backend, run)
        run, worker = await start(backend, WINDOW, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("a"), url("b")))
        assert await states(backend, run, "a", "b") == ["skipped", "skipped"]

    async def test_tasks_do_not_look_at_each_other(self, backend: Backend) -> None:
        """Ledger 15."""
        await first_run(backend, WINDOW, url("p"))
        run, worker = await start(backend, WINDOW, "e", name="other")
        await settle(backend, read(await take_one(backend, worker, run), url("p")))
        assert await states(backend, run, "p") == ["open"]

    async def test_a_run_that_was_thrown_away_holds_nothing_back(self, backend: Backend) -> None:
        """Ledger 15: starting anew means anew."""
        run, worker = await start(backend, WINDOW, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p")))
        await settle(backend, read(await take_one(backend, worker, run), url("child")))
        await backend.store.set_state(run.id, "cancelled")
        run, worker = await start(backend, WINDOW, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p")))
        assert await states(backend, run, "p") == ["open"]

    async def test_a_page_beyond_a_limit_was_not_lookedat_depth(self, backend: Backend) -> None:
        """Ledger 15 and 6."""
        run, worker = await start(backend, WINDOW, "e", limits=RunLimits(max_pages=2))
        await settle(backend, read(await take_one(backend, worker, run), url("p"), url("q")))
        p, q = await take(backend, worker, run)
        await settle(backend, read(p), read(q))
        assert await states(backend, run, "p", "q") == ["done", "skipped"]
        await finish(backend, run)
        run, worker = await start(backend, WINDOW, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p"), url("q")))
        assert await states(backend, run, "p", "q") == ["skipped", "open"]

    async def test_a_page_is_visited_as_often_as_it_changes(self, backend: Backend) -> None:
        """Ledger 15: the interval grows while a page stays as it is, and shrinks when it changes."""
        due_after: list[float] = []
        for content in ("a", "a", "a", "a", "a", "a", "b", "c"):
            waited = 0.0
            while True:
                run, worker = await start(backend, ADAPTIVE, "e")
                await settle(backend, read(await take_one(backend, worker, run), url("p")))
                found = await record(backend, run, "p")
                if found.state == "open":
                    await settle(backend, read(await take_one(backend, worker, run), rows=[{"is": content}]))
                    await finish(backend, run)
                    break
                assert found.reason.startswith("recrawl: not due until 20")
                await finish(backend, run)
                await backend.clock.advance(DAY / 4)
                waited += 0.25
            due_after.append(waited)
        assert due_after == [0.0, 1.0, 1.5, 2.25, 3.5, 5.25, 7.75, 4.0]

    async def test_a_run_that_does_not_look_back_fetches_everything(self, backend: Backend) -> None:
        """Ledger 15."""
        await first_run(backend, RecrawlPolicy(), url("p"))
        await first_run(backend, WINDOW, url("p"))
        run, worker = await start(backend, RecrawlPolicy(), "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p")))
        assert await versions(backend, worker, run) == {"p": None}
