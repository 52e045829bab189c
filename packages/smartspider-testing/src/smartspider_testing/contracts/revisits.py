"""Ledger 15: when a page that an earlier run has seen is looked at again."""

from __future__ import annotations

import msgspec
import pytest

from smartspider.core.limits import Limits
from smartspider.core.recrawl import Recrawl
from smartspider.core.verdict import Close, Settlement
from smartspider_testing.contracts.acts import (
    HOST,
    closed,
    record,
    settle,
    states,
    take,
    take_one,
    url,
)
from smartspider_testing.contracts.ground import Ground, OnGround
from smartspider_testing.contracts.revisit_acts import (
    DAY,
    ROWS,
    finish,
    first_run,
    read,
    start,
    versions,
)

WINDOW = Recrawl(window_s=7 * DAY)
ADAPTIVE = Recrawl(min_s=DAY, max_s=8 * DAY)


class RevisitContract(OnGround):
    """A page is left alone for as long as the task says, and never without a reason."""

    async def test_a_page_within_the_window_is_left_alone_with_its_reason(self, ground: Ground) -> None:
        """Ledger 15."""
        before = await first_run(ground, WINDOW, url("p"))
        await ground.clock.advance(2 * DAY)
        run, worker = await start(ground, WINDOW, "e")
        await settle(ground, read(await take_one(ground, worker, run), url("p"), url("q")))
        skipped = await record(ground, run, "p")
        assert (skipped.state, skipped.closed_at) == ("skipped", ground.clock.now())
        assert skipped.reason == f"window: fetched 2 days ago in run {before.id}"
        (lease,) = await take(ground, worker, run)
        assert lease.request.url == f"http://{HOST}/q"
        await settle(ground, read(lease))
        counters = (await finish(ground, run)).counters
        assert (counters.total, counters.done, counters.skipped, counters.open) == (3, 2, 1, 0)

    async def test_a_page_is_fetched_again_when_the_window_is_over(self, ground: Ground) -> None:
        """Ledger 15."""
        await first_run(ground, WINDOW, url("p"))
        await ground.clock.advance(7 * DAY)
        run, worker = await start(ground, WINDOW, "e")
        await settle(ground, read(await take_one(ground, worker, run), url("p")))
        assert await states(ground, run, "p") == ["open"]

    async def test_entries_and_further_pages_are_always_fetched(self, ground: Ground) -> None:
        """Ledger 15."""
        further = msgspec.structs.replace(url("p2"), is_next_page=True)
        await first_run(ground, WINDOW, further)
        run, worker = await start(ground, WINDOW, "e")
        await settle(ground, read(await take_one(ground, worker, run), further))
        assert await states(ground, run, "e", "p2") == ["done", "open"]

    async def test_a_further_page_that_was_left_alone_as_a_link_is_fetched_after_all(
        self, ground: Ground
    ) -> None:
        """Ledger 15: whichever way it is found first."""
        await first_run(ground, WINDOW, url("p2"), url("p3"))
        run, worker = await start(ground, WINDOW, "e")
        lease = await take_one(ground, worker, run)
        await settle(ground, read(lease, url("p2"), url("p3"), url("new")))
        assert await states(ground, run, "p2", "p3") == ["skipped", "skipped"]
        lease = await take_one(ground, worker, run)
        await settle(ground, read(lease, msgspec.structs.replace(url("p2"), is_next_page=True)))
        assert await states(ground, run, "p2", "p3") == ["open", "skipped"]
        await settle(ground, read(await take_one(ground, worker, run)))
        counters = (await finish(ground, run)).counters
        assert (counters.total, counters.done, counters.skipped) == (4, 3, 1)

    async def test_a_page_that_a_redirect_leads_to_is_fetched(self, ground: Ground) -> None:
        """Ledger 15: what was asked for must not end nowhere."""
        await first_run(ground, WINDOW, url("p"))
        run, worker = await start(ground, WINDOW, "e")
        lease = await take_one(ground, worker, run)
        await settle(ground, Settlement(lease, Close("redirect", "to p", 302, children=[url("p")])))
        assert await states(ground, run, "e", "p") == ["redirect", "open"]

    @pytest.mark.parametrize(
        ("state", "then"),
        [("missing", "skipped"), ("redirect", "skipped"), ("dead", "open"), ("broken", "open")],
    )
    async def test_only_pages_that_gave_an_answer_count_as_lookedat_depth(
        self, ground: Ground, state: str, then: str
    ) -> None:
        """Ledger 15: a failure is tried again by the next run."""
        run, worker = await start(ground, WINDOW, "e")
        await settle(ground, read(await take_one(ground, worker, run), url("p")))
        await settle(ground, closed(await take_one(ground, worker, run), state, "so it is"))
        await finish(ground, run)
        run, worker = await start(ground, WINDOW, "e")
        await settle(ground, read(await take_one(ground, worker, run), url("p")))
        assert await states(ground, run, "p") == [then]

    async def test_both_ends_of_a_redirect_count_as_lookedat_depth(self, ground: Ground) -> None:
        """Ledger 15 and 7."""
        run, worker = await start(ground, WINDOW, "e")
        await settle(ground, read(await take_one(ground, worker, run), url("a")))
        lease = await take_one(ground, worker, run)
        await settle(ground, Settlement(lease, Close("redirect", status=200, items=ROWS, landed=url("b"))))
        await finish(ground, run)
        run, worker = await start(ground, WINDOW, "e")
        await settle(ground, read(await take_one(ground, worker, run), url("a"), url("b")))
        assert await states(ground, run, "a", "b") == ["skipped", "skipped"]

    async def test_tasks_do_not_look_at_each_other(self, ground: Ground) -> None:
        """Ledger 15."""
        await first_run(ground, WINDOW, url("p"))
        run, worker = await start(ground, WINDOW, "e", name="other")
        await settle(ground, read(await take_one(ground, worker, run), url("p")))
        assert await states(ground, run, "p") == ["open"]

    async def test_a_run_that_was_thrown_away_holds_nothing_back(self, ground: Ground) -> None:
        """Ledger 15: starting anew means anew."""
        run, worker = await start(ground, WINDOW, "e")
        await settle(ground, read(await take_one(ground, worker, run), url("p")))
        await settle(ground, read(await take_one(ground, worker, run), url("child")))
        await ground.store.set_state(run.id, "cancelled")
        run, worker = await start(ground, WINDOW, "e")
        await settle(ground, read(await take_one(ground, worker, run), url("p")))
        assert await states(ground, run, "p") == ["open"]

    async def test_a_page_beyond_a_limit_was_not_lookedat_depth(self, ground: Ground) -> None:
        """Ledger 15 and 6."""
        run, worker = await start(ground, WINDOW, "e", limits=Limits(max_pages=2))
        await settle(ground, read(await take_one(ground, worker, run), url("p"), url("q")))
        p, q = await take(ground, worker, run)
        await settle(ground, read(p), read(q))
        assert await states(ground, run, "p", "q") == ["done", "skipped"]
        await finish(ground, run)
        run, worker = await start(ground, WINDOW, "e")
        await settle(ground, read(await take_one(ground, worker, run), url("p"), url("q")))
        assert await states(ground, run, "p", "q") == ["skipped", "open"]

    async def test_a_page_is_visited_as_often_as_it_changes(self, ground: Ground) -> None:
        """Ledger 15: the interval grows while a page stays as it is, and shrinks when it changes."""
        due_after: list[float] = []
        for content in ("a", "a", "a", "a", "a", "a", "b", "c"):
            waited = 0.0
            while True:
                run, worker = await start(ground, ADAPTIVE, "e")
                await settle(ground, read(await take_one(ground, worker, run), url("p")))
                found = await record(ground, run, "p")
                if found.state == "open":
                    await settle(ground, read(await take_one(ground, worker, run), rows=[{"is": content}]))
                    await finish(ground, run)
                    break
                assert found.reason.startswith("recrawl: not due until 20")
                await finish(ground, run)
                await ground.clock.advance(DAY / 4)
                waited += 0.25
            due_after.append(waited)
        assert due_after == [0.0, 1.0, 1.5, 2.25, 3.5, 5.25, 7.75, 4.0]

    async def test_a_run_that_does_not_look_back_fetches_everything(self, ground: Ground) -> None:
        """Ledger 15."""
        await first_run(ground, Recrawl(), url("p"))
        await first_run(ground, WINDOW, url("p"))
        run, worker = await start(ground, Recrawl(), "e")
        await settle(ground, read(await take_one(ground, worker, run), url("p")))
        assert await versions(ground, worker, run) == {"p": None}
