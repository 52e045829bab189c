"""Store 9: knobs of a run are turned while it runs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.errors import NotAllowed, NotFound, RequestInvalid
from smartspider.core.limits import Limits
from smartspider.core.runs import OVER, Run
from smartspider.core.tuning import LimitTuning, Tuning
from smartspider.core.workers import WorkerCard
from smartspider_testing.contracts.acts import begin, closed, done, plan_of, settle, take, take_one, urls
from smartspider_testing.contracts.audit import told
from smartspider_testing.contracts.ground import Ground, OnGround


async def told_of(ground: Ground, run: Run, action: str) -> list[tuple[str, Any]]:
    """Who did something to a run, and the detail of it."""
    subject = f"run:{run.id}"
    return [
        (actor, detail) for actor, did, whom, detail in await told(ground) if (did, whom) == (action, subject)
    ]


class TurningContract(OnGround):
    """What is turned holds at once."""

    async def test_more_at_a_time_holds_at_the_next_lease(self, ground: Ground) -> None:
        """Store 9: concurrency and per_host, up and down."""
        run = await begin(ground, *urls(30), concurrency=2, per_host=2)
        worker = await ground.frontier.join(WorkerCard("w"))
        assert len(await take(ground, worker, run)) == 2
        await ground.store.tune(run.id, Tuning(concurrency=8))
        assert await take(ground, worker, run) == []
        await ground.store.tune(run.id, Tuning(per_host=5))
        held = await take(ground, worker, run)
        assert len(held) == 3
        await ground.store.tune(run.id, Tuning(per_host=64))
        held += await take(ground, worker, run)
        assert len(held) == 6
        await ground.store.tune(run.id, Tuning(concurrency=1))
        await settle(ground, *(done(lease) for lease in held))
        assert await take(ground, worker, run) == []

    async def test_a_shorter_delay_holds_at_the_next_lease(self, ground: Ground) -> None:
        """Store 9: also where the host was to be asked much later."""
        run = await begin(ground, *urls(9), delay_s=100.0)
        worker = await ground.frontier.join(WorkerCard("w"))
        await settle(ground, done(await take_one(ground, worker, run)))
        await ground.clock.advance(3.0)
        assert await take(ground, worker, run) == []
        await ground.store.tune(run.id, Tuning(delay_s=2.0))
        assert (await take_one(ground, worker, run)).window.delay_s == 2.0
        await ground.store.tune(run.id, Tuning(delay_s=50.0))
        await ground.clock.advance(3.0)
        assert await take(ground, worker, run) == []

    async def test_the_slower_of_delay_and_rate_holds(self, ground: Ground) -> None:
        """Store 9: each stays as it was when the other one is turned, and a rate can be taken away."""
        run = await begin(ground, *urls(9), delay_s=1.0, rate_per_s=0.25)
        worker = await ground.frontier.join(WorkerCard("w"))
        spacings = []
        for turned in (
            *(Tuning(delay_s=2.0), Tuning(rate_per_s=0.1), Tuning(delay_s=20.0), Tuning(rate_per_s=None)),
            Tuning(delay_s=0.5, rate_per_s=1.0),
        ):
            await ground.store.tune(run.id, turned)
            await ground.clock.advance(100.0)
            spacings.append((await take_one(ground, worker, run)).window.delay_s)
        assert spacings == [4.0, 10.0, 20.0, 20.0, 1.0]

    async def test_what_is_turned_is_merged_and_counted(self, ground: Ground) -> None:
        """Store 9: the run tells what was turned, all in all, and how often."""
        run = await begin(ground, "one", limits=Limits(max_pages=10, max_depth=3))
        assert (run.tuning, run.revision) == (None, 0)
        await ground.store.tune(run.id, Tuning(priority=4, limits=LimitTuning(max_pages=None)))
        await ground.store.tune(run.id, Tuning(concurrency=3, limits=LimitTuning(max_depth=9)))
        await ground.reopen()
        run = await ground.store.get_run(run.id)
        wanted = {"concurrency": 3, "priority": 4, "limits": {"max_pages": None, "max_depth": 9}}
        assert run.tuning is not None
        assert (msgspec.json.decode(run.tuning), run.revision) == (wanted, 2)

    async def test_what_was_turned_is_told_with_what_it_replaced(self, ground: Ground) -> None:
        """Store 9, 11: in the audit and to watchers, of what changed and nothing else."""
        run = await begin(ground, "one", delay_s=2.0, concurrency=7, limits=Limits(max_pages=10))
        turned = Tuning(delay_s=3.0, concurrency=7, limits=LimitTuning(max_pages=None, max_errors=5))
        changed = {
            "delay_s": {"from": 2.0, "to": 3.0},
            "max_pages": {"from": 10, "to": None},
            "max_errors": {"from": None, "to": 5},
        }
        await ground.store.tune(run.id, turned, actor="ann")
        assert await told_of(ground, run, "run.tuned") == [("ann", changed)]
        last = (await ground.events.of_run(run.id))[-1]
        assert (last.name, msgspec.json.decode(last.data)) == (
            "run.tuned",
            {"changed": changed, "revision": 1},
        )
        await ground.store.tune(run.id, Tuning(delay_s=4.0))
        assert (await told_of(ground, run, "run.tuned"))[-1][1] == {"delay_s": {"from": 3.0, "to": 4.0}}

    async def test_a_knob_that_stands_there_already_is_not_turned(self, ground: Ground) -> None:
        """Store 9: nothing is told, nothing is counted."""
        run = await begin(ground, "one", delay_s=2.0)
        before, events = await told(ground), await ground.events.of_run(run.id)
        assert await ground.store.tune(run.id, Tuning(delay_s=2.0, rate_per_s=None)) == run
        assert (await told(ground), await ground.events.of_run(run.id)) == (before, events)

    @pytest.mark.parametrize(
        ("turned", "words"),
        [
            (Tuning(delay_s=0.5), "0.5 s apart instead of 2 s"),
            (Tuning(per_host=9), "9 requests to a host at a time instead of 4"),
            (Tuning(delay_s=5.0), ""),
            (Tuning(per_host=1, concurrency=99), ""),
        ],
    )
    async def test_to_be_less_polite_than_the_task_is_an_override(
        self, ground: Ground, turned: Tuning, words: str
    ) -> None:
        """Store 11: it is in the audit as one, with who did it; to be more polite is none."""
        run = await begin(ground, "one", delay_s=2.0, per_host=4)
        await ground.store.tune(run.id, turned, actor="ann")
        found = await told_of(ground, run, "politeness.overridden")
        assert len(found) == bool(words)
        assert all(actor == "ann" and words in detail["what"] for actor, detail in found)

    @pytest.mark.parametrize(
        "limits", [LimitTuning(max_pages=2), LimitTuning(max_items=1), LimitTuning(max_errors=1)]
    )
    async def test_a_limit_below_what_is_there_ends_the_run(
        self, ground: Ground, limits: LimitTuning
    ) -> None:
        """Store 9: as the limit does that is reached by crawling; what is left is skipped."""
        run = await begin(ground, *urls(9))
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = await take(ground, worker, run, want=4)
        await settle(
            ground, *(done(lease, items=[{"n": 1}]) for lease in leases[:3]), closed(leases[3], "dead")
        )
        run = await ground.store.tune(run.id, Tuning(limits=limits))
        assert run.state == "stopping"
        assert await take(ground, worker, run) == []
        run = await ground.store.finish(run.id)
        assert (run.state, run.counters.done, run.counters.skipped) == ("completed", 3, 5)
        assert run.reason.startswith("limit: max_")

    async def test_a_limit_turned_while_the_run_rests_holds_when_it_goes_on(self, ground: Ground) -> None:
        """Store 9: nothing more is stored."""
        run = await begin(ground, *urls(9))
        worker = await ground.frontier.join(WorkerCard("w"))
        await settle(ground, *(done(lease) for lease in await take(ground, worker, run, want=3)))
        await ground.store.set_state(run.id, "paused")
        assert (await ground.store.tune(run.id, Tuning(limits=LimitTuning(max_pages=3)))).state == "paused"
        await ground.store.set_state(run.id, "running")
        run = await ground.store.finish(run.id)
        assert (run.state, run.counters.done, run.reason) == ("completed", 3, "limit: max_pages 3 reached")

    async def test_a_limit_that_is_raised_lets_the_run_go_further(self, ground: Ground) -> None:
        """Store 9: settling uses the new one."""
        run = await begin(ground, *urls(9), limits=Limits(max_pages=2))
        worker = await ground.frontier.join(WorkerCard("w"))
        await settle(ground, done(await take_one(ground, worker, run)))
        await ground.store.tune(run.id, Tuning(limits=LimitTuning(max_pages=5)))
        await settle(ground, *(done(lease) for lease in await take(ground, worker, run)))
        assert (await ground.store.finish(run.id)).counters.done == 5

    @pytest.mark.parametrize("state", sorted(OVER))
    async def test_knobs_of_a_run_that_is_over_are_not_turned(self, ground: Ground, state: Any) -> None:
        """Store 9: refused, and nothing changes."""
        run = await begin(ground, "one")
        run = await ground.store.set_state(run.id, state)
        with pytest.raises(NotAllowed, match=state):
            await ground.store.tune(run.id, Tuning(concurrency=2))
        assert await ground.store.get_run(run.id) == run

    async def test_to_turn_nothing_is_a_mistake(self, ground: Ground) -> None:
        """Store 9: and so is a run that is not there."""
        run = await ground.store.create_run(plan_of())
        with pytest.raises(RequestInvalid, match="no knob"):
            await ground.store.tune(run.id, Tuning())
        with pytest.raises(NotFound):
            await ground.store.tune(run.id + 1, Tuning(concurrency=2))
        assert await ground.store.get_run(run.id) == run
