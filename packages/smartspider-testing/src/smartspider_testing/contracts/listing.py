"""Store 1 and 8: runs, pages and failures are listed by cursors; a task may have one run at a time."""

from __future__ import annotations

import asyncio

import pytest

from smartspider.core.errors import Conflict
from smartspider.core.runs import Run, RunState
from smartspider.core.verdict import UrlState
from smartspider.core.workers import WorkerCard
from smartspider.interfaces.store import UrlRow
from smartspider_testing.contracts.acts import begin, closed, done, plan_of, settle, take, url, urls
from smartspider_testing.contracts.ground import Ground, OnGround

STATES: tuple[UrlState, ...] = ("done", "dead", "broken", "missing", "skipped", "dead", "done")


async def some_runs(ground: Ground) -> list[Run]:
    """Runs of two tasks in some states, oldest first."""
    runs = []
    for number, state in enumerate(("queued", "paused", "cancelled", "running", "paused", "cancelled")):
        run = await ground.store.create_run(plan_of("one", name="ab"[number % 2]))
        if state in ("running", "paused", "cancelled"):
            run = await ground.store.set_state(run.id, state)  # type: ignore[arg-type] # one of three words
        runs.append(run)
    return runs


class ListingContract(OnGround):
    """What is listed is listed whole, piece by piece."""

    @pytest.mark.parametrize("task", [None, "a", "b"])
    @pytest.mark.parametrize("states", [(), ("paused",), ("cancelled", "paused", "paused"), ("failed",)])
    async def test_runs_are_listed_newest_first_by_a_cursor(
        self, ground: Ground, task: str | None, states: tuple[RunState, ...]
    ) -> None:
        """Store 8: of a task, in some states, or all."""
        runs = (await some_runs(ground))[::-1]
        wanted = [
            run for run in runs if (not states or run.state in states) and task in (None, run.task_name)
        ]
        task_id = None if task is None else (await ground.tasks.get(task)).id
        for limit in (1, 2, 100):
            seen: list[Run] = []
            while page := await ground.store.list_runs(
                task_id=task_id, states=states, before=seen[-1].id if seen else None, limit=limit
            ):
                assert len(page) <= limit
                seen += page
            assert seen == wanted

    async def test_the_newest_run_is_found_alone(self, ground: Ground) -> None:
        """Store 8: without reading the others."""
        runs = await some_runs(ground)
        assert await ground.store.find_runs(limit=1) == [runs[-1]]
        assert await ground.store.find_runs("a", limit=2) == [runs[4], runs[2]]

    async def test_live_runs_are_those_to_work_on_oldest_first(self, ground: Ground) -> None:
        """Store 8: queued, running and stopping."""
        runs = await some_runs(ground)
        await ground.store.set_state(runs[3].id, "stopping")
        last = await ground.store.create_run(plan_of("one"))
        await ground.store.set_state(last.id, "running")
        assert [run.id for run in await ground.store.live_runs()] == [runs[0].id, runs[3].id, last.id]

    @pytest.mark.parametrize("state", [None, "open", *dict.fromkeys(STATES)])
    async def test_pages_are_listed_as_they_were_found_by_a_cursor(
        self, ground: Ground, state: UrlState | None
    ) -> None:
        """Store 8: in one state, or all of them; of no other run."""
        run, other = await begin(ground, *urls(9)), await begin(ground, *urls(9))
        worker = await ground.frontier.join(WorkerCard("w"))
        for of in (run, other):
            leases = sorted(await take(ground, worker, of), key=lambda lease: lease.url_id)
            await settle(
                ground,
                *(closed(lease, end, f"was {end}") for lease, end in zip(leases, STATES, strict=False)),
            )
        ends = [*STATES, "open", "open"]
        wanted = [f"http://a.example/p{n}" for n, end in enumerate(ends) if state in (None, end)]
        for limit in (1, 2, 100):
            seen: list[UrlRow] = []
            while page := await ground.store.pages(
                run.id, state=state, after=seen[-1].id if seen else 0, limit=limit
            ):
                assert len(page) <= limit
                seen += page
            assert [row.url for row in seen] == wanted
            assert all(row.reason == ("" if row.state == "open" else f"was {row.state}") for row in seen)

    async def test_failures_are_listed_by_a_cursor(self, ground: Ground) -> None:
        """Store 8: dead and broken ones in the order they were found."""
        run = await begin(ground, *urls(len(STATES)))
        leases = await take(ground, await ground.frontier.join(WorkerCard("w")), run)
        leases = sorted(leases, key=lambda lease: lease.url_id)
        for lease, end in reversed(list(zip(leases, STATES, strict=True))):
            await settle(ground, closed(lease, end, f"was {end}"))
        found = await ground.store.failures(run.id)
        assert [(one.url[-2:], one.state, one.reason) for one in found] == [
            ("p1", "dead", "was dead"),
            ("p2", "broken", "was broken"),
            ("p5", "dead", "was dead"),
        ]
        first = await ground.store.failures(run.id, 1)
        assert [*first, *await ground.store.failures(run.id, after=first[0].id)] == found

    async def test_a_page_tells_what_came_of_it(self, ground: Ground) -> None:
        """Store 8."""
        run = await begin(ground, "one")
        (lease,) = await take(ground, await ground.frontier.join(WorkerCard("w")), run)
        await ground.clock.advance(5.0)
        await settle(ground, done(lease, url("two"), items=[{"n": 1}, {"n": 2}]))
        one, two = await ground.store.pages(run.id)
        assert (one.id, one.state, one.status, one.items, one.page) == (
            lease.url_id,
            "done",
            200,
            2,
            "default",
        )
        assert (one.closed_at, one.found_at) == (ground.clock.now(), ground.clock.now() - 5.0)
        assert (two.state, two.closed_at, two.found_at) == ("open", None, ground.clock.now())

    @pytest.mark.parametrize("state", ["queued", "running", "paused", "stopping", "stopped"])
    async def test_a_task_has_one_run_at_a_time_if_that_is_asked_for(
        self, ground: Ground, state: RunState
    ) -> None:
        """Store 1: the refusal names the run that is in the way, and nothing is made."""
        run = await ground.store.create_run(plan_of("one", name="shop"), is_only=True)
        if state != "queued":
            await ground.store.set_state(run.id, "running")
            run = await ground.store.set_state(run.id, state)
        entries = await ground.audit.entries()
        with pytest.raises(Conflict, match=f"run {run.id} of the task 'shop' is {state}"):
            await ground.store.create_run(plan_of("one", name="shop"), is_only=True)
        assert (await ground.store.find_runs(), await ground.audit.entries()) == ([run], entries)
        await ground.store.create_run(plan_of("one", name="other"), is_only=True)
        beside = await ground.store.create_run(plan_of("one", name="shop"))
        for one in (run, beside):
            await ground.store.set_state(one.id, "cancelled")
        await ground.store.create_run(plan_of("one", name="shop"), is_only=True)

    async def test_of_two_that_start_at_once_one_starts(self, ground: Ground) -> None:
        """Store 1: over processes."""
        views = [ground, await ground.another(), await ground.another()]
        made = await asyncio.gather(
            *(view.store.create_run(plan_of("one"), is_only=True) for view in views for _ in range(3)),
            return_exceptions=True,
        )
        assert sum(isinstance(one, Run) for one in made) == 1
        assert sum(isinstance(one, Conflict) for one in made) == 8

    async def test_a_run_says_what_made_it(self, ground: Ground) -> None:
        """Store 1: its actor, where nothing else did."""
        by_hand = await ground.store.create_run(plan_of("one"), actor="ann")
        by_time = await ground.store.create_run(plan_of("one"), actor="ann", started_by="schedule:3")
        assert (by_hand.started_by, by_time.started_by) == ("ann", "schedule:3")

    async def test_a_state_is_only_changed_from_the_one_it_was(self, ground: Ground) -> None:
        """Store 2: where that is asked for."""
        run = await ground.store.create_run(plan_of("one"))
        with pytest.raises(Conflict, match="queued"):
            await ground.store.set_state(run.id, "running", was="paused")
        assert await ground.store.get_run(run.id) == run
        assert (await ground.store.set_state(run.id, "running", was="queued")).state == "running"
