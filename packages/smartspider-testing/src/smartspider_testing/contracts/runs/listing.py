"""RunStore 1 and 8: runs, pages and failures are listed by cursor; a task may have one run at a time."""

from __future__ import annotations

import asyncio

import pytest

from smartspider.core.errors import Conflict
from smartspider.core.frontier.verdict import UrlState
from smartspider.core.runs.run import Run, RunState
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.runs.listing import PageFilter, UrlRow
from smartspider_testing.contracts.actions import begin, closed, done, plan_of, settle, take, url, urls
from smartspider_testing.contracts.backend import Backend, BackendContract

STATES: tuple[UrlState, ...] = ("done", "dead", "broken", "missing", "skipped", "dead", "done")


async def some_runs(backend: Backend) -> list[Run]:
    """Return runs of two tasks in several states, oldest first."""
    runs = []
    for number, state in enumerate(("queued", "paused", "cancelled", "running", "paused", "cancelled")):
        run = await backend.store.create_run(plan_of("one", name="ab"[number % 2]))
        if state in ("running", "paused", "cancelled"):
            run = await backend.store.set_state(run.id, state)  # type: ignore[arg-type] # one of three words
        runs.append(run)
    return runs


class ListingContract(BackendContract):
    """Pages of a listing add up to the whole."""

    @pytest.mark.parametrize("task", [None, "a", "b"])
    @pytest.mark.parametrize("states", [(), ("paused",), ("cancelled", "paused", "paused"), ("failed",)])
    async def test_runs_are_listed_newest_first_by_a_cursor(
        self, backend: Backend, task: str | None, states: tuple[RunState, ...]
    ) -> None:
        """RunStore 8: of a task, in some states, or all."""
        runs = (await some_runs(backend))[::-1]
        wanted = [
            run for run in runs if (not states or run.state in states) and task in (None, run.task_name)
        ]
        task_id = None if task is None else (await backend.tasks.get(task)).id
        for limit in (1, 2, 100):
            seen: list[Run] = []
            while page := await backend.store.list_runs(
                task_id=task_id, states=states, before=seen[-1].id if seen else None, limit=limit
            ):
                assert len(page) <= limit
                seen += page
            assert seen == wanted

    async def test_the_newest_run_is_found_alone(self, backend: Backend) -> None:
        """RunStore 8: without reading the others."""
        runs = await some_runs(backend)
        assert await backend.store.find_runs(limit=1) == [runs[-1]]
        assert await backend.store.find_runs("a", limit=2) == [runs[4], runs[2]]

    async def test_the_history_of_tasks_is_read_together(self, backend: Backend) -> None:
        """RunStore 8: the newest runs of each, and the number of unfinished ones by state."""
        runs = await some_runs(backend)
        ids = {name: (await backend.tasks.get(name)).id for name in "ab"}
        found = await backend.store.recent_runs([*ids.values(), 99], 2)
        assert [one.id for one in found[ids["a"]]] == [runs[4].id, runs[2].id]
        assert [(one.id, one.state) for one in found[ids["b"]]] == [
            (runs[5].id, "cancelled"),
            (runs[3].id, "running"),
        ]
        assert found[99] == []
        assert await backend.store.count_unfinished() == {"queued": 1, "paused": 2, "running": 1}

    async def test_live_runs_are_those_to_work_on_oldest_first(self, backend: Backend) -> None:
        """RunStore 8: queued, running and stopping."""
        runs = await some_runs(backend)
        await backend.store.set_state(runs[3].id, "stopping")
        last = await backend.store.create_run(plan_of("one"))
        await backend.store.set_state(last.id, "running")
        assert [run.id for run in await backend.store.live_runs()] == [runs[0].id, runs[3].id, last.id]

    @pytest.mark.parametrize("state", [None, "open", *dict.fromkeys(STATES)])
    async def test_pages_are_listed_as_they_were_found_by_a_cursor(
        self, backend: Backend, state: UrlState | None
    ) -> None:
        """RunStore 8: in one state, or all of them; of no other run."""
        run, other = await begin(backend, *urls(9)), await begin(backend, *urls(9))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        for of in (run, other):
            leases = sorted(await take(backend, worker, of), key=lambda lease: lease.url_id)
            await settle(
                backend,
                *(closed(lease, end, f"was {end}") for lease, end in zip(leases, STATES, strict=False)),
            )
        ends = [*STATES, "open", "open"]
        wanted = [f"http://a.example/p{n}" for n, end in enumerate(ends) if state in (None, end)]
        for limit in (1, 2, 100):
            seen: list[UrlRow] = []
            after: int | None = 0
            while after is not None:
                page = await backend.store.pages(run.id, PageFilter(state), after=after, limit=limit)
                assert len(page.rows) <= limit
                seen += page.rows
                after = page.next
            assert [row.url for row in seen] == wanted
            assert all(row.reason == ("" if row.state == "open" else f"was {row.state}") for row in seen)

    async def test_failures_are_listed_by_a_cursor(self, backend: Backend) -> None:
        """RunStore 8: dead and broken ones in the order they were found."""
        run = await begin(backend, *urls(len(STATES)))
        leases = await take(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        leases = sorted(leases, key=lambda lease: lease.url_id)
        for lease, end in reversed(list(zip(leases, STATES, strict=True))):
            await settle(backend, closed(lease, end, f"was {end}"))
        found = await backend.store.failures(run.id)
        assert [(one.url[-2:], one.state, one.reason) for one in found] == [
            ("p1", "dead", "was dead"),
            ("p2", "broken", "was broken"),
            ("p5", "dead", "was dead"),
        ]
        first = await backend.store.failures(run.id, 1)
        assert [*first, *await backend.store.failures(run.id, after=first[0].id)] == found

    async def test_a_page_tells_what_came_of_it(self, backend: Backend) -> None:
        """RunStore 8."""
        run = await begin(backend, "one")
        (lease,) = await take(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        await backend.clock.advance(5.0)
        await settle(backend, done(lease, url("two"), items=[{"n": 1}, {"n": 2}]))
        one, two = (await backend.store.pages(run.id)).rows
        assert (one.id, one.state, one.status, one.items, one.page) == (
            lease.url_id,
            "done",
            200,
            2,
            "default",
        )
        assert (one.closed_at, one.found_at) == (backend.clock.now(), backend.clock.now() - 5.0)
        assert (two.state, two.closed_at, two.found_at) == ("open", None, backend.clock.now())

    @pytest.mark.parametrize("state", ["queued", "running", "paused", "stopping", "stopped"])
    async def test_a_task_has_one_run_at_a_time_if_that_is_asked_for(
        self, backend: Backend, state: RunState
    ) -> None:
        """RunStore 1: the refusal names the run that is in the way, and nothing is made."""
        run = await backend.store.create_run(plan_of("one", name="shop"), is_only=True)
        if state != "queued":
            await backend.store.set_state(run.id, "running")
            run = await backend.store.set_state(run.id, state)
        entries = await backend.audit.entries()
        with pytest.raises(Conflict, match=f"run {run.id} of the task 'shop' is {state}"):
            await backend.store.create_run(plan_of("one", name="shop"), is_only=True)
        assert (await backend.store.find_runs(), await backend.audit.entries()) == ([run], entries)
        await backend.store.create_run(plan_of("one", name="other"), is_only=True)
        beside = await backend.store.create_run(plan_of("one", name="shop"))
        for one in (run, beside):
            await backend.store.set_state(one.id, "cancelled")
        await backend.store.create_run(plan_of("one", name="shop"), is_only=True)

    async def test_of_two_that_start_at_once_one_starts(self, backend: Backend) -> None:
        """RunStore 1: over processes."""
        views = [backend, await backend.another(), await backend.another()]
        made = await asyncio.gather(
            *(view.store.create_run(plan_of("one"), is_only=True) for view in views for _ in range(3)),
            return_exceptions=True,
        )
        assert sum(isinstance(one, Run) for one in made) == 1
        assert sum(isinstance(one, Conflict) for one in made) == 8

    async def test_a_run_says_what_made_it(self, backend: Backend) -> None:
        """RunStore 1: its actor, where nothing else did."""
        by_hand = await backend.store.create_run(plan_of("one"), actor="ann")
        by_time = await backend.store.create_run(plan_of("one"), actor="ann", started_by="schedule:3")
        assert (by_hand.started_by, by_time.started_by) == ("ann", "schedule:3")

    async def test_a_state_is_only_changed_from_the_one_it_was(self, backend: Backend) -> None:
        """RunStore 2: where that is asked for."""
        run = await backend.store.create_run(plan_of("one"))
        with pytest.raises(Conflict, match="queued"):
            await backend.store.set_state(run.id, "running", was="paused")
        assert await backend.store.get_run(run.id) == run
        assert (await backend.store.set_state(run.id, "running", was="queued")).state == "running"
