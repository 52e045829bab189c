"""Diagnostics 5 and 6: groups of what went wrong in a run, and all about one of its requests."""

from __future__ import annotations

import msgspec

from smartspider.core.frontier.cause import CauseCode
from smartspider.core.frontier.verdict import Close, RetryLater, Settlement
from smartspider.core.pages.extraction import RejectedItem, ValueChange
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.diagnostics.problems import ProblemExample
from smartspider_testing.contracts.actions import HOST, begin, done, settle, take, take_one, url, urls
from smartspider_testing.contracts.backend import Backend, BackendContract
from smartspider_testing.contracts.runs.causes import OTHER, troubled

USUAL = frozenset({"failed", "lost", "rejected"})
Group = tuple[str, str, str, int, bool]


async def groups(backend: Backend, run: Run, kinds: frozenset[str] = USUAL) -> list[Group]:
    """Return kind, cause, host, number and whether a retry is possible of each group."""
    found = await backend.insight.problems(run.id, kinds)  # type: ignore[arg-type] # some of the kinds
    return [(one.kind, one.cause, example.host, one.count, one.can_retry) for one, example in found]


class ProblemContract(BackendContract):
    """Problems are found without reading every request."""

    async def test_what_failed_is_grouped_by_cause_and_host(self, backend: Backend) -> None:
        """5: not what is missing, nor what was skipped unless it is asked for."""
        run = await troubled(backend)
        await troubled(backend)
        failed = {
            ("failed", cause, host, 1, True)
            for cause in ("timeout", "forbidden", "not_readable")
            for host in (HOST, OTHER)
        }
        skipped = {("skipped", "robots", host, 1, False) for host in (HOST, OTHER)}
        assert set(await groups(backend, run)) == failed
        assert set(await groups(backend, run, USUAL | {"skipped"})) == failed | skipped
        assert set(await groups(backend, run, frozenset({"skipped"}))) == skipped
        assert await groups(backend, run, frozenset({"rejected"})) == []

    async def test_a_run_in_which_all_went_well_has_no_problems(self, backend: Backend) -> None:
        """5."""
        run = await begin(backend, *urls(3))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, *(done(lease) for lease in await take(backend, worker, run)))
        assert await groups(backend, run, USUAL | {"skipped"}) == []

    async def test_a_group_tells_when_where_and_how_often_the_largest_first(self, backend: Backend) -> None:
        """5: with the first request as an example; what was retried is no problem any more."""
        run = await begin(backend, *urls(4), *urls(1, host=OTHER))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = sorted(await take(backend, worker, run), key=lambda lease: lease.url_id)
        start = backend.clock.now()
        for place, lease in enumerate(leases):
            cause: CauseCode = "dns" if lease.request.host == OTHER else "forbidden"
            await settle(backend, Settlement(lease, Close("dead", f"no {place}", cause=cause)))
            await backend.clock.advance(1.0)
        (first, example), (second, _) = await backend.insight.problems(run.id, USUAL)  # type: ignore[arg-type]
        assert (first.cause, first.count, first.is_cut) == ("forbidden", 4, False)
        assert (first.first_at, first.last_at) == (start, start + 3.0)
        assert example == ProblemExample(leases[0].url_id, f"http://{HOST}/p0", "no 0", HOST)
        assert (second.cause, second.count) == ("dns", 1)
        (rest,) = await backend.insight.problems(run.id, USUAL, after=1, limit=5)  # type: ignore[arg-type]
        assert rest[0] == second
        await backend.store.finish(run.id)
        await backend.store.retry(run.id)
        assert await groups(backend, run) == []

    async def test_rejected_items_are_grouped_by_field_and_step(self, backend: Backend) -> None:
        """5: counted as items, with the first reason."""
        run = await begin(backend, *urls(2))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        for number, lease in enumerate(await take(backend, worker, run)):
            rejected = [
                RejectedItem(f"name {number} is missing", {}, field="name"),
                RejectedItem("name is missing again", {}, field="name"),
                RejectedItem("price is under 0", {}, "pipeline[2] range", "price", -1),
            ]
            await settle(backend, Settlement(lease, Close("done", rejected=rejected)))
        found = await backend.insight.problems(run.id, frozenset({"rejected"}))
        assert [(one.cause, one.step, one.field, one.count, one.can_retry) for one, _ in found] == [
            ("missing_field", "", "name", 4, False),
            ("refused_value", "pipeline[2] range", "price", 2, False),
        ]
        assert (found[0][1].reason, found[0][1].host) == ("name 0 is missing", HOST)

    async def test_pages_that_brought_something_else_are_lost(self, backend: Backend) -> None:
        """5: a stored page without items only if its list goes on after it."""
        run = await begin(backend, "list", "gone")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = sorted(await take(backend, worker, run), key=lambda lease: lease.url_id)
        further = [msgspec.structs.replace(url(f"list/{n}"), is_next_page=True) for n in (2, 3, 4)]
        gone = Close("dead", "to a form", cause="signed_out")
        await settle(backend, done(leases[0], *further, items=[{"n": 1}]), Settlement(leases[1], gone))
        empty = Close("done", "no items", cause="no_items")
        for lease in sorted(await take(backend, worker, run), key=lambda lease: lease.url_id):
            is_middle = lease.request.url.endswith("3")
            page = done(lease, items=[{"n": 2}]) if is_middle else Settlement(lease, empty)
            await settle(backend, page)
        assert sorted(await groups(backend, run)) == [
            ("lost", "no_items", HOST, 1, False),
            ("lost", "signed_out", HOST, 1, True),
        ]

    async def test_a_request_is_shown_with_all_it_brought(self, backend: Backend) -> None:
        """6: its items, rejects, changes and children, of no other page, up to a limit."""
        run = await begin(backend, *urls(3))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        later = RetryLater(0.0, "http 503", 503, cause="http_server_error")
        await settle(backend, Settlement(await take_one(backend, worker, run), later))
        leases = []
        for number in range(3):
            lease = await take_one(backend, worker, run)
            leases.append(lease)
            page = Close(
                "done",
                status=200,
                items=[{"page": number, "item": item} for item in range(3)],
                children=urls(number, f"child{number}-"),
                rejected=[RejectedItem(f"why {number}", {"n": number}, "required")] * 3,
                changes=[ValueChange(0, "strip", f"field{number}", " a", "a")] * 3,
            )
            await settle(backend, Settlement(lease, page))
            await backend.clock.advance(1.0)
        for number, lease in enumerate(leases):
            shown = await backend.insight.page(run.id, lease.url_id, 2)
            assert shown is not None
            assert shown.details.record.url == lease.request.url
            assert [item.data for item in shown.items] == [
                b'{"page":%d,"item":%d}' % (number, item) for item in range(2)
            ]
            assert [one.reason for one in shown.rejects] == [f"why {number}"] * 2
            assert [one.field for one in shown.changes] == [f"field{number}"] * 2
            changes = await backend.insight.changes(lease.url_id)
            assert changes[:2] == shown.changes
            assert await backend.insight.changes(lease.url_id, after=changes[1].id) == changes[2:]
            assert shown.children == number
        failures = [
            one.cause
            for lease in leases
            if (shown := await backend.insight.page(run.id, lease.url_id)) is not None
            for one in shown.details.record.failures
        ]
        assert failures == ["http_server_error"]

    async def test_a_request_is_one_of_its_run(self, backend: Backend) -> None:
        """6: an open one has brought nothing; one of another run is not found."""
        run, other = await begin(backend, "one"), await begin(backend, "one")
        (page,) = (await backend.store.pages(run.id)).rows
        shown = await backend.insight.page(run.id, page.id)
        assert shown is not None
        assert (shown.items, shown.rejects, shown.changes, shown.children) == ([], [], [], 0)
        assert shown.details.record.state == "open"
        assert await backend.insight.page(other.id, page.id) is None
        assert await backend.insight.page(run.id, page.id + 1) is None
        assert await backend.insight.page(run.id, 0) is None
        assert await backend.insight.changes(page.id) == await backend.insight.changes(0) == []
