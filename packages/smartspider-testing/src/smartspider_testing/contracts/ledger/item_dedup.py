"""Ledger 11 to 13: which of two equal items is kept, and where pagination ends without new items."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core import failpoints
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.pages.extraction import Item
from smartspider.core.requests.request import Request
from smartspider.core.runs.plan import RunLimits
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import (
    begin,
    done,
    items,
    numbers,
    record,
    settle,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.backend import Backend, BackendContract

BY_ID = ItemDedup(keys=(("id",),))
LAST = ItemDedup(keys=(("id",),), keep="last")
FOR_TASK = ItemDedup(keys=(("id",),), scope="task")
LAST_FOR_TASK = ItemDedup(keys=(("id",),), scope="task", keep="last")
LIKES = ItemDedup(keys=(("id",),), update=("likes",))
REACHED = tuple(name for name in failpoints.NAMES if name.startswith("settle.") and name != "settle.retried")
LIKES_FOR_TASK = ItemDedup(keys=(("id",),), scope="task", update=("likes",))


def gave(
    lease: Lease, dedup: ItemDedup, *found: Item, then: tuple[Request, ...] = (), **more: Any
) -> Settlement:
    """Settle a page with these items and their dedup keys; `then` are its next pages."""
    keys = [dedup.keys_of(item) for item in found]
    verdict = Close("done", status=200, items=list(found), keys=keys, next_pages=list(then), **more)
    return Settlement(lease, verdict)


async def pages(backend: Backend, dedup: ItemDedup, count: int, **options: Any) -> tuple[Run, list[Lease]]:
    """Start a run and lease `count` pages to a worker."""
    run = await begin(backend, *urls(count), dedup=dedup, **options)
    return run, await take(backend, await backend.frontier.join(WorkerRegistration("w")), run)


class ItemDedupContract(BackendContract):
    """No item is stored twice."""

    @pytest.mark.parametrize("batch", [1, 2, 3])
    async def test_the_first_of_equal_items_stays(self, backend: Backend, batch: int) -> None:
        """Ledger 11 and 12: within a page, within a settle, and over settles."""
        run, leases = await pages(backend, BY_ID, 3)
        found = [
            gave(leases[0], BY_ID, {"id": 1, "n": 1}, {"id": 2, "n": 2}, {"id": 1, "n": 3}),
            gave(leases[1], BY_ID, {"id": 2, "n": 4}, {"id": 3, "n": 5}),
            gave(leases[2], BY_ID, {"id": 3, "n": 6}),
        ]
        reports = [await settle(backend, *found[start : start + batch]) for start in range(0, 3, batch)]
        assert [item["n"] for item in await items(backend, run)] == [1, 2, 5]
        assert await numbers(backend, run) == (3, 3, 0)
        assert sum(report.items for report in reports) == 3
        assert [(await record(backend, run, path)).items for path in ("p0", "p1", "p2")] == [2, 1, 0]

    @pytest.mark.parametrize("batch", [1, 2, 3])
    async def test_the_last_of_equal_items_stays(self, backend: Backend, batch: int) -> None:
        """Ledger 11 and 12: the earlier row makes way, also on its own page; other content is an update."""
        run, leases = await pages(backend, LAST, 3)
        found = [
            gave(leases[0], LAST, {"id": 1, "n": 1}, {"id": 2, "n": 2}, {"id": 1, "n": 3}),
            gave(leases[1], LAST, {"id": 2, "n": 4}, {"id": 3, "n": 5}),
            gave(leases[2], LAST, {"id": 3, "n": 5}),
        ]
        for start in range(0, 3, batch):
            await settle(backend, *found[start : start + batch])
        assert await items(backend, run) == [{"id": 1, "n": 3}, {"id": 2, "n": 4}, {"id": 3, "n": 5}]
        assert await numbers(backend, run) == (3, 3, 2)
        assert [(await record(backend, run, path)).items for path in ("p0", "p1", "p2")] == [1, 1, 1]

    async def test_content_is_compared_whole(self, backend: Backend) -> None:
        """Ledger 11: an empty tuple of fields means all of the content, in whatever order."""
        dedup = ItemDedup(keys=((),))
        run, (lease,) = await pages(backend, dedup, 1)
        await settle(backend, gave(lease, dedup, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": None}))
        assert await items(backend, run) == [{"a": 1, "b": 2}, {"a": 1, "b": None}]

    async def test_any_key_in_common_makes_a_duplicate(self, backend: Backend) -> None:
        """Ledger 11: and a key of one kind is never one of another."""
        dedup = ItemDedup(keys=(("id",), ("link",)))
        run, (lease,) = await pages(backend, dedup, 1)
        first, other = {"id": 1, "link": "x"}, {"id": "x", "link": 1}
        same: list[Item] = [{"id": 1, "link": "y"}, {"id": 2, "link": "x"}, {"id": None, "link": "x"}]
        await settle(backend, gave(lease, dedup, first, other, *same))
        assert await items(backend, run) == [first, other]
        assert await numbers(backend, run) == (2, 3, 0)

    @pytest.mark.parametrize("batch", [1, 2])
    async def test_a_later_item_takes_the_place_of_all_it_equals(self, backend: Backend, batch: int) -> None:
        """Ledger 11 and 12: one row goes in for two; a key of what is gone recognises nothing any more."""
        dedup = ItemDedup(keys=(("id",), ("link",)), keep="last")
        run, (one, two) = await pages(backend, dedup, 2)
        both, freed = {"id": 1, "link": "y"}, {"id": 2, "link": "z"}
        found = [
            gave(one, dedup, {"id": 1, "link": "x"}, {"id": 2, "link": "y"}),
            gave(two, dedup, both, freed),
        ]
        for start in range(0, 2, batch):
            await settle(backend, *found[start : start + batch])
        assert await items(backend, run) == [both, freed]
        assert await numbers(backend, run) == (2, 2, 1)

    async def test_nothing_is_recognised_by_nothing(self, backend: Backend) -> None:
        """Ledger 11: items whose fields are all null are never equal."""
        run, (lease,) = await pages(backend, BY_ID, 1)
        await settle(backend, gave(lease, BY_ID, {"id": None}, {"id": None}, {}))
        assert await numbers(backend, run) == (3, 0, 0)

    async def test_runs_are_compared_only_where_the_task_says_so(self, backend: Backend) -> None:
        """Ledger 11: scope run knows its own items, scope task those of all its runs, not of other tasks."""
        for dedup, name, wanted in (
            (BY_ID, "a", 1),
            (FOR_TASK, "b", 1),
            (FOR_TASK, "b", 0),
            (FOR_TASK, "c", 1),
        ):
            run, (lease,) = await pages(backend, dedup, 1, name=name)
            await settle(backend, gave(lease, dedup, {"id": 1}))
            assert await numbers(backend, run) == (wanted, 1 - wanted, 0)
        run, (lease,) = await pages(backend, BY_ID, 1, name="b")
        await settle(backend, gave(lease, BY_ID, {"id": 1}))
        assert await numbers(backend, run) == (1, 0, 0)

    async def test_update_fields_go_to_the_item_that_stays(self, backend: Backend) -> None:
        """Ledger 11 and 12: counted when something changed; what the later one does not know stays."""
        run, leases = await pages(backend, LIKES, 4)
        await settle(
            backend, gave(leases[0], LIKES, {"id": 1, "likes": 3, "text": "a"}, {"id": 1, "likes": 4})
        )
        assert await items(backend, run) == [{"id": 1, "likes": 4, "text": "a"}]
        await settle(backend, gave(leases[1], LIKES, {"id": 1, "likes": 9, "text": "other"}))
        await settle(backend, gave(leases[2], LIKES, {"id": 1, "likes": 9}))
        await settle(backend, gave(leases[3], LIKES, {"id": 1, "likes": None}, {"id": 1}))
        (item,) = await items(backend, run)
        assert list(item.items()) == [("id", 1), ("likes", 9), ("text", "a")]
        assert await numbers(backend, run) == (1, 5, 2)

    async def test_updates_of_one_settle_add_up(self, backend: Backend) -> None:
        """Ledger 11: a field that only the first of them knows, and one that only the second knows."""
        dedup = ItemDedup(keys=(("id",),), update=("likes", "views"))
        run, leases = await pages(backend, dedup, 3)
        await settle(backend, gave(leases[0], dedup, {"id": 1, "likes": 1, "views": 1}))
        later: list[Item] = [{"id": 1, "likes": 2}, {"id": 1, "views": 2}]
        await settle(
            backend, *(gave(lease, dedup, item) for lease, item in zip(leases[1:], later, strict=True))
        )
        assert await items(backend, run) == [{"id": 1, "likes": 2, "views": 2}]
        assert await numbers(backend, run) == (1, 2, 2)

    async def test_an_item_of_an_older_run_is_updated_where_it_is(self, backend: Backend) -> None:
        """Ledger 11: twice in one settle, the last value counts; the update is counted by the newer run."""
        old, (lease,) = await pages(backend, LIKES_FOR_TASK, 1)
        await settle(backend, gave(lease, LIKES_FOR_TASK, {"id": 1, "likes": 3}, {"id": 2, "likes": 5}))
        new, leases = await pages(backend, LIKES_FOR_TASK, 2)
        later = [
            gave(lease, LIKES_FOR_TASK, {"id": 1, "likes": likes})
            for lease, likes in zip(leases, (7, 8), strict=True)
        ]
        await settle(backend, *later)
        assert await items(backend, old) == [{"id": 1, "likes": 8}, {"id": 2, "likes": 5}]
        assert await items(backend, new) == []
        assert await numbers(backend, old) == (2, 0, 0)
        assert await numbers(backend, new) == (0, 2, 2)

    async def test_the_last_of_a_task_leaves_older_runs_as_they_are(self, backend: Backend) -> None:
        """Ledger 11 and 12: their rows stay, the newer item is recognised from then on."""
        old, (lease,) = await pages(backend, LAST_FOR_TASK, 1)
        await settle(backend, gave(lease, LAST_FOR_TASK, {"id": 1, "n": 1}, {"id": 2, "n": 1}))
        new, leases = await pages(backend, LAST_FOR_TASK, 2)
        await settle(backend, gave(leases[0], LAST_FOR_TASK, {"id": 1, "n": 2}, {"id": 2, "n": 1}))
        assert await numbers(backend, new) == (2, 0, 1)
        await settle(backend, gave(leases[1], LAST_FOR_TASK, {"id": 1, "n": 3}))
        assert await items(backend, new) == [{"id": 2, "n": 1}, {"id": 1, "n": 3}]
        assert await items(backend, old) == [{"id": 1, "n": 1}, {"id": 2, "n": 1}]
        assert await numbers(backend, new) == (2, 1, 2)
        assert await numbers(backend, old) == (2, 0, 0)

    async def test_runs_of_a_task_side_by_side_each_have_an_item_once(self, backend: Backend) -> None:
        """Ledger 11: keep last, when another run was last in between."""
        runs = [await pages(backend, LAST_FOR_TASK, 2) for _ in range(2)]
        for turn in range(2):
            for _, leases in runs:
                await settle(backend, gave(leases[turn], LAST_FOR_TASK, {"id": 1, "n": turn}))
        for run, _ in runs:
            assert await items(backend, run) == [{"id": 1, "n": 1}]

    @pytest.mark.parametrize("dedup", [BY_ID, LAST, LIKES], ids=["first", "last", "update"])
    async def test_a_late_page_changes_nothing(self, backend: Backend, dedup: ItemDedup) -> None:
        """Ledger 2 and 11: neither items, nor counters, nor what is known."""
        run, (lease,) = await pages(backend, dedup, 1)
        await settle(backend, gave(lease, dedup, {"id": 1, "likes": 1}))
        before = await backend.store.get_run(run.id)
        late = gave(lease, dedup, {"id": 1, "likes": 2}, {"id": 2, "likes": 2}, then=(url("next"),))
        report = await settle(backend, late)
        assert (report.late, report.items, report.new_urls, report.continued) == (1, 0, 0, [])
        after = await backend.store.get_run(run.id)
        assert (after.counters.items, after.counters.duplicates, after.counters.updated) == (1, 0, 0)
        assert after.counters.done == before.counters.done
        assert await items(backend, run) == [{"id": 1, "likes": 1}]

    @pytest.mark.parametrize("name", REACHED)
    async def test_a_killed_settle_leaves_no_key_behind(self, backend: Backend, name: str) -> None:
        """Ledger 1 and 11: the same settle then stores every item, once."""
        run, (one, two) = await pages(backend, LAST, 2)
        await settle(backend, gave(one, LAST, {"id": 1, "n": 1}))
        page = gave(two, LAST, {"id": 1, "n": 2}, {"id": 2, "n": 2}, children=[url("child")])

        def end(reached: str) -> None:
            if reached == name:
                raise InterruptedError(name)

        failpoints.arm(end)
        try:
            await settle(backend, page)
        except InterruptedError:
            pass
        finally:
            failpoints.arm(None)
        await settle(backend, page)
        assert await items(backend, run) == [{"id": 1, "n": 2}, {"id": 2, "n": 2}]
        assert await numbers(backend, run) == (2, 1, 1)

    @pytest.mark.parametrize("dedup", [BY_ID, LAST], ids=["first", "last"])
    async def test_a_page_that_cannot_be_stored_leaves_no_key_behind(
        self, backend: Backend, dedup: ItemDedup
    ) -> None:
        """Ledger 9 and 11: the same item of the next page is new."""
        run, leases = await pages(backend, dedup, 3)
        await settle(
            backend,
            gave(leases[0], dedup, {"id": 1, "n": 1}),
            gave(leases[1], dedup, {"id": 1, "n": 2}, {"id": 2, "n": 2}, {"id": 3, "bad": "\ud800"}),
            gave(leases[2], dedup, {"id": 2, "n": 3}, {"id": 3, "n": 3}),
        )
        assert (await record(backend, run, leases[1].request)).state == "broken"
        assert [(item["id"], item["n"]) for item in await items(backend, run)] == [(1, 1), (2, 3), (3, 3)]
        assert await numbers(backend, run) == (3, 0, 0)

    @pytest.mark.parametrize("batch", [1, 2, 5])
    @pytest.mark.parametrize("dedup", [BY_ID, LAST], ids=["first", "last"])
    async def test_a_duplicate_uses_up_no_limit(self, backend: Backend, dedup: ItemDedup, batch: int) -> None:
        """Ledger 6 and 12: max_items is exact on what is stored."""
        run, leases = await pages(backend, dedup, 5, limits=RunLimits(max_items=4))
        for start in range(0, 5, batch):
            await settle(
                backend,
                *(
                    gave(lease, dedup, {"id": 0}, *({"id": place * 2 + more} for more in (1, 2)))
                    for place, lease in list(enumerate(leases))[start : start + batch]
                ),
            )
        run = await backend.store.finish(run.id)
        assert sorted(item["id"] for item in await items(backend, run)) == [0, 1, 2, 3]
        assert await numbers(backend, run) == (4, 1, 0)
        assert (run.counters.done, run.counters.skipped, run.reason) == (2, 3, "limit: max_items 4 reached")

    async def test_next_pages_are_added_while_something_is_new(self, backend: Backend) -> None:
        """Ledger 13: the report says for which rows; other children are added all the same."""
        run, leases = await pages(backend, BY_ID, 4)
        report = await settle(
            backend,
            gave(leases[0], BY_ID, {"id": 1}, then=(url("n0"),)),
            gave(leases[1], BY_ID, {"id": 1}, {"id": 2}, then=(url("n1"),)),
            gave(leases[2], BY_ID, {"id": 1}, {"id": 2}, then=(url("n2"),), children=[url("child")]),
            gave(leases[3], BY_ID, then=(url("n3"),)),
        )
        assert report.continued == [leases[0].url_id, leases[1].url_id]
        assert report.stored == [lease.url_id for lease in leases]
        assert report.new_urls == 3
        known = [bool(await backend.store.find_urls(url(f"n{n}").fingerprint, run.id)) for n in range(4)]
        assert known == [True, True, False, False]
        assert (await record(backend, run, "child")).state == "open"

    async def test_an_item_that_only_replaces_is_not_new(self, backend: Backend) -> None:
        """Ledger 13: keep last; what an earlier run of the task has is not new either."""
        _, (lease,) = await pages(backend, LAST_FOR_TASK, 1)
        await settle(backend, gave(lease, LAST_FOR_TASK, {"id": 1}))
        run, (one, two) = await pages(backend, LAST_FOR_TASK, 2)
        report = await settle(
            backend,
            gave(one, LAST_FOR_TASK, {"id": 1, "n": 1}, then=(url("n0"),)),
            gave(two, LAST_FOR_TASK, {"id": 2}, then=(url("n1"),)),
        )
        assert (report.continued, report.new_urls) == ([two.url_id], 1)
        assert (await record(backend, run, "n1")).parent == two.request.url

    async def test_next_pages_are_added_where_nothing_is_compared(self, backend: Backend) -> None:
        """Ledger 13: by the run, or by the page; not beyond a limit."""
        plain = await begin(backend, "a", "b", limits=RunLimits(max_pages=1))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        a, b = await take(backend, worker, plain)
        pages_of_plain = [gave(lease, ItemDedup(), then=(url(f"n{lease.url_id}"),)) for lease in (a, b)]
        report = await settle(backend, *pages_of_plain)
        assert (report.continued, report.stored, report.new_urls) == ([a.url_id], [a.url_id], 1)
        compared = await begin(backend, "a", dedup=BY_ID)
        lease = await take_one(backend, worker, compared)
        page = Settlement(lease, Close("done", items=[{"id": 1}, {"id": 1}], next_pages=[url("n")]))
        report = await settle(backend, page)
        assert (report.continued, report.items) == ([lease.url_id], 2)

    async def test_a_deleted_run_recognises_nothing(self, backend: Backend) -> None:
        """RunStore 5 and 13, ledger 11: with its items their keys are gone."""
        for _ in range(2):
            run, (lease,) = await pages(backend, FOR_TASK, 1)
            await settle(backend, gave(lease, FOR_TASK, {"id": 1}, {"id": 2}))
            assert await numbers(backend, run) == (2, 0, 0)
            assert await backend.store.is_compared_with(run.id)
            await backend.store.set_state(run.id, "cancelled")
            await backend.store.delete_run(run.id)
        kept, (lease,) = await pages(backend, LAST_FOR_TASK, 1)
        await settle(backend, gave(lease, LAST_FOR_TASK, {"id": 1}))
        newer, (lease,) = await pages(backend, LAST_FOR_TASK, 1)
        assert [await backend.store.is_compared_with(run.id) for run in (kept, newer)] == [True, False]
        await settle(backend, gave(lease, LAST_FOR_TASK, {"id": 1}))
        assert [await backend.store.is_compared_with(run.id) for run in (kept, newer)] == [False, True]
        await backend.store.set_state(kept.id, "cancelled")
        await backend.store.delete_run(kept.id)
        last, (lease,) = await pages(backend, FOR_TASK, 1)
        await settle(backend, gave(lease, FOR_TASK, {"id": 1}))
        assert await numbers(backend, last) == (0, 1, 0)
        assert await items(backend, newer) == [{"id": 1}]

    async def test_what_is_known_survives_the_process(self, backend: Backend) -> None:
        """Ledger 11: another process, and the same after a kill, know the same items."""
        run, (one, two) = await pages(backend, BY_ID, 2)
        await settle(backend, gave(one, BY_ID, {"id": 1}))
        await settle(await backend.another(), gave(two, BY_ID, {"id": 1}, then=(url("n"),)))
        assert await numbers(backend, run) == (1, 1, 0)
        await backend.reopen()
        run, (lease,) = await pages(backend, BY_ID, 1)
        assert (await settle(backend, done(lease))).continued == []
