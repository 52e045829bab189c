"""Ledger 7, rule 11: redirects on the same host."""

from __future__ import annotations

import msgspec
import pytest

from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    closed,
    crawl,
    done,
    failed,
    items,
    landed,
    record,
    redirected,
    settle,
    states,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.backend import Backend, BackendContract

ONE, TWO = [{"n": 1}], [{"n": 2}]


class RedirectContract(BackendContract):
    """A redirect closes both rows at once and stores the landing page once."""

    async def test_a_landing_nobody_knew_is_stored_with_its_source(self, backend: Backend) -> None:
        """Ledger 7: items and children belong to the landing page."""
        run = await begin(backend, "a")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        report = await settle(
            backend, landed(await take_one(backend, worker, run), url("b"), url("c"), items=ONE)
        )
        assert (report.items, report.late) == (1, 0)
        source, target = await record(backend, run, "a"), await record(backend, run, "b")
        assert (source.state, source.target, source.items) == ("redirect", target.url, 0)
        assert (target.state, target.items, target.parent) == ("done", 1, source.url)
        assert (await record(backend, run, "c")).parent == target.url
        assert await crawl(backend, worker, run) == {f"http://{HOST}/c": 1}
        counters = (await backend.store.finish(run.id)).counters
        assert (counters.total, counters.done, counters.redirect, counters.open) == (3, 2, 1, 0)

    @pytest.mark.parametrize("place", ["queued", "waiting", "leased"])
    async def test_a_landing_that_is_live_is_closed_where_it_is(self, backend: Backend, place: str) -> None:
        """Ledger 7: it is handed out no more, and its holder adds nothing."""
        run = await begin(backend, "a", "b", per_host=2)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        a, b = await take(backend, worker, run)
        if place == "waiting":
            await settle(backend, failed(b, delay_s=5.0))
        elif place == "queued":
            await backend.frontier.release([b])
        await settle(backend, landed(a, url("b"), items=ONE))
        assert await states(backend, run, "a", "b") == ["redirect", "done"]
        await backend.clock.advance(10.0)
        assert await take(backend, worker, run) == []
        assert (await backend.store.finish(run.id)).state == "completed"
        await settle(backend, done(b, url("late"), items=TWO))
        assert await items(backend, run) == ONE
        assert (await backend.store.get_run(run.id)).in_flight == 0

    async def test_a_landing_known_as_a_page_of_another_type_is_a_loss(self, backend: Backend) -> None:
        """Ledger 7, rule 64: its items are not those that were wanted, also on another host."""
        home, elsewhere = url("home"), url("home", host="b.example")
        thing, other = (msgspec.structs.replace(url(path), page="thing") for path in ("thing", "other"))
        run = await begin(backend, home, elsewhere, thing, other)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = {lease.request.url: lease for lease in await take(backend, worker, run)}
        await settle(backend, done(leases[home.url], items=ONE), done(leases[elsewhere.url], items=ONE))
        await settle(
            backend,
            landed(leases[thing.url], msgspec.structs.replace(home, page="thing"), items=TWO),
            redirected(leases[other.url], msgspec.structs.replace(elsewhere, page="thing")),
        )
        assert await states(backend, run, "thing", "other") == ["dead", "dead"]
        assert await items(backend, run) == [*ONE, *ONE]
        run = await backend.store.finish(run.id)
        assert (run.state, run.counters.dead, run.counters.redirect) == ("completed", 2, 0)
        report = await backend.insight.left_out(run.id)
        assert [one.cause for one in report.lost_next_pages] == ["known_page", "known_page"]
        assert (report.lost_count, report.lost_next_page_count) == (2, 2)
        assert await backend.store.retry(run.id) == 2

    @pytest.mark.parametrize("at_once", [1, 2, 5])
    async def test_a_page_for_whatever_is_gone_is_no_other_name_of_a_page(
        self, backend: Backend, at_once: int
    ) -> None:
        """Rule 64: two requests may have another name, and so may any number that differ by their query."""
        paths = ["a", "a?x=1", "b", "c", "d"]
        run = await begin(backend, *paths)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = {lease.request.url: lease for lease in await take(backend, worker, run)}
        settlements = [landed(leases[url(path).url], url("gone"), items=ONE) for path in paths]
        for start in range(0, len(paths), at_once):
            await settle(backend, *settlements[start : start + at_once])
        assert await states(backend, run, *paths) == ["redirect", "redirect", "redirect", "dead", "dead"]
        assert await items(backend, run) == ONE

    async def test_many_names_of_a_page_that_was_requested_are_no_loss(self, backend: Backend) -> None:
        """Rule 64."""
        run = await begin(backend, "there", "a", "b", "c", "d")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        there, *others = await take(backend, worker, run)
        await settle(backend, done(there, items=ONE))
        for lease in others:
            await settle(backend, landed(lease, url("there"), items=ONE))
        assert await states(backend, run, "a", "b", "c", "d") == ["redirect"] * 4
        assert (await backend.insight.left_out(run.id)).lost_count == 0

    async def test_a_landing_that_was_settled_already_gets_nothing_more(self, backend: Backend) -> None:
        """Ledger 7: if B was settled, nothing is added."""
        run = await begin(backend, "a", "b")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        a, b = await take(backend, worker, run)
        await settle(backend, done(b, items=ONE))
        report = await settle(backend, landed(a, url("b"), url("child"), items=TWO))
        assert (report.items, report.new_urls) == (0, 0)
        assert await states(backend, run, "a", "b") == ["redirect", "done"]
        assert await items(backend, run) == ONE

    @pytest.mark.parametrize("target_first", [True, False])
    async def test_source_and_target_in_one_batch_are_stored_once(
        self, backend: Backend, target_first: bool
    ) -> None:
        """Ledger 7: whichever comes first in it wins."""
        run = await begin(backend, "a", "b")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        a, b = await take(backend, worker, run)
        batch = [done(b, items=ONE), landed(a, url("b"), items=TWO)]
        await settle(backend, *(batch if target_first else batch[::-1]))
        assert await states(backend, run, "a", "b") == ["redirect", "done"]
        assert await items(backend, run) == (ONE if target_first else TWO)
        assert (await backend.store.finish(run.id)).state == "completed"

    async def test_many_sources_of_one_landing_store_it_once(self, backend: Backend) -> None:
        """Ledger 7: in one batch and over batches, also when a page of the batch has just found it."""
        run = await begin(backend, *urls(4), "finder")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        *sources, finder = await take(backend, worker, run)
        await settle(
            backend, done(finder, url("x")), *(landed(lease, url("x"), items=ONE) for lease in sources[:2])
        )
        await settle(backend, *(landed(lease, url("x"), items=TWO) for lease in sources[2:]))
        assert await items(backend, run) == ONE
        assert await take(backend, worker, run) == []
        assert (await backend.store.finish(run.id)).counters.redirect == 4

    async def test_a_landing_on_itself_is_the_page(self, backend: Backend) -> None:
        """Ledger 7: a redirect that only adds a tracking parameter, or sets a cookie and comes back."""
        run = await begin(backend, "a?id=1")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(
            backend,
            landed(await take_one(backend, worker, run), url("a?id=1&utm_source=x"), url("b"), items=ONE),
        )
        assert (await record(backend, run, "a?id=1")).state == "done"
        assert await items(backend, run) == ONE
        assert len(await take(backend, worker, run)) == 1

    async def test_a_landing_replaces_a_dead_target_but_not_a_done_one(self, backend: Backend) -> None:
        """Ledger 4 and 7."""
        run = await begin(backend, "a", "b")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        a, b = await take(backend, worker, run)
        await settle(backend, closed(b, "dead", "timeout"))
        await settle(backend, landed(a, url("b"), items=ONE))
        assert await states(backend, run, "a", "b") == ["redirect", "done"]
        counters = (await backend.store.finish(run.id)).counters
        assert (counters.dead, counters.done, counters.redirect) == (0, 1, 1)

    async def test_a_late_landing_adds_nothing(self, backend: Backend) -> None:
        """Ledger 2 and 7: the source was closed by someone else."""
        run = await begin(backend, "a")
        slow, fast = [await backend.frontier.join(WorkerRegistration(name)) for name in ("slow", "fast")]
        old = await take_one(backend, slow, run)
        await backend.clock.advance(3600.0)
        await backend.frontier.reclaim()
        await settle(backend, done(await take_one(backend, fast, run), items=ONE))
        report = await settle(backend, landed(old, url("b"), url("c"), items=TWO))
        assert (report.late, report.items, report.new_urls) == (1, 0, 0)
        assert await backend.store.find_urls(url("b").fingerprint) == []

    async def test_an_entry_that_landed_was_fetched(self, backend: Backend) -> None:
        """RunStore 3: although the landing page is no entry itself."""
        run = await begin(backend, "a")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, landed(await take_one(backend, worker, run), url("b")))
        assert (await backend.store.finish(run.id)).state == "completed"

    async def test_an_entry_that_landed_on_a_dead_end_was_not(self, backend: Backend) -> None:
        """RunStore 3."""
        run = await begin(backend, "a")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        moved = closed(await take_one(backend, worker, run), "redirect")
        await settle(backend, moved)
        assert (await backend.store.finish(run.id)).state == "failed"
