"""RunStore 9: settings of a run change while it runs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.errors import NotAllowed, NotFound, RequestInvalid
from smartspider.core.runs.plan import RunLimits
from smartspider.core.runs.run import FINISHED, Run
from smartspider.core.runs.tuning import LimitTuning, Tuning
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.access.audit import audit_rows
from smartspider_testing.contracts.actions import begin, closed, done, plan_of, settle, take, take_one, urls
from smartspider_testing.contracts.backend import Backend, BackendContract


async def audit_entries(backend: Backend, run: Run, action: str) -> list[tuple[str, Any]]:
    """Return actor and detail of the audit entries of an action on a run."""
    subject = f"run:{run.id}"
    return [
        (actor, detail)
        for actor, did, whom, detail in await audit_rows(backend)
        if (did, whom) == (action, subject)
    ]


class RunSettingsContract(BackendContract):
    """A changed setting takes effect at once."""

    async def test_more_at_a_time_holds_at_the_next_lease(self, backend: Backend) -> None:
        """RunStore 9: concurrency and per_host, up and down."""
        run = await begin(backend, *urls(30), concurrency=2, per_host=2)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert len(await take(backend, worker, run)) == 2
        await backend.store.tune(run.id, Tuning(concurrency=8))
        assert await take(backend, worker, run) == []
        await backend.store.tune(run.id, Tuning(per_host=5))
        held = await take(backend, worker, run)
        assert len(held) == 3
        await backend.store.tune(run.id, Tuning(per_host=64))
        held += await take(backend, worker, run)
        assert len(held) == 6
        await backend.store.tune(run.id, Tuning(concurrency=1))
        await settle(backend, *(done(lease) for lease in held))
        assert await take(backend, worker, run) == []

    async def test_a_shorter_delay_holds_at_the_next_lease(self, backend: Backend) -> None:
        """RunStore 9: also where the host was to be asked much later."""
        run = await begin(backend, *urls(9), delay_s=100.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, done(await take_one(backend, worker, run)))
        await backend.clock.advance(3.0)
        assert await take(backend, worker, run) == []
        await backend.store.tune(run.id, Tuning(delay_s=2.0))
        assert (await take_one(backend, worker, run)).window.delay_s == 2.0
        await backend.store.tune(run.id, Tuning(delay_s=50.0))
        await backend.clock.advance(3.0)
        assert await take(backend, worker, run) == []

    async def test_the_slower_of_delay_and_rate_holds(self, backend: Backend) -> None:
        """RunStore 9: each stays as it was when the other one is turned, and a rate can be taken away."""
        run = await begin(backend, *urls(9), delay_s=1.0, rate_per_s=0.25)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        spacings = []
        for turned in (
            *(Tuning(delay_s=2.0), Tuning(rate_per_s=0.1), Tuning(delay_s=20.0), Tuning(rate_per_s=None)),
            Tuning(delay_s=0.5, rate_per_s=1.0),
        ):
            await backend.store.tune(run.id, turned)
            await backend.clock.advance(100.0)
            spacings.append((await take_one(backend, worker, run)).window.delay_s)
        assert spacings == [4.0, 10.0, 20.0, 20.0, 1.0]

    async def test_what_is_turned_is_merged_and_counted(self, backend: Backend) -> None:
        """RunStore 9: the run tells what was turned, all in all, and how often."""
        run = await begin(backend, "one", limits=RunLimits(max_pages=10, max_depth=3))
        assert (run.tuning, run.revision) == (None, 0)
        await backend.store.tune(run.id, Tuning(priority=4, limits=LimitTuning(max_pages=None)))
        await backend.store.tune(run.id, Tuning(concurrency=3, limits=LimitTuning(max_depth=9)))
        await backend.reopen()
        run = await backend.store.get_run(run.id)
        wanted = {"concurrency": 3, "priority": 4, "limits": {"max_pages": None, "max_depth": 9}}
        assert run.tuning is not None
        assert (msgspec.json.decode(run.tuning), run.revision) == (wanted, 2)

    async def test_what_was_turned_is_told_with_what_it_replaced(self, backend: Backend) -> None:
        """RunStore 9, 11: in the audit and to watchers, of what changed and nothing else."""
        run = await begin(backend, "one", delay_s=2.0, concurrency=7, limits=RunLimits(max_pages=10))
        turned = Tuning(delay_s=3.0, concurrency=7, limits=LimitTuning(max_pages=None, max_errors=5))
        changed = {
            "delay_s": {"from": 2.0, "to": 3.0},
            "max_pages": {"from": 10, "to": None},
            "max_errors": {"from": None, "to": 5},
        }
        await backend.store.tune(run.id, turned, actor="ann")
        assert await audit_entries(backend, run, "run.tuned") == [("ann", changed)]
        last = (await backend.events.of_run(run.id))[-1]
        assert (last.name, msgspec.json.decode(last.data)) == (
            "run.tuned",
            {"changed": changed, "revision": 1},
        )
        await backend.store.tune(run.id, Tuning(delay_s=4.0))
        assert (await audit_entries(backend, run, "run.tuned"))[-1][1] == {
            "delay_s": {"from": 3.0, "to": 4.0}
        }

    async def test_an_equal_setting_is_not_changed(self, backend: Backend) -> None:
        """RunStore 9: no event, no count."""
        run = await begin(backend, "one", delay_s=2.0)
        before, events = await audit_rows(backend), await backend.events.of_run(run.id)
        assert await backend.store.tune(run.id, Tuning(delay_s=2.0, rate_per_s=None)) == run
        assert (await audit_rows(backend), await backend.events.of_run(run.id)) == (before, events)

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
        self, backend: Backend, turned: Tuning, words: str
    ) -> None:
        """RunStore 11: it is in the audit as one, with who did it; to be more polite is none."""
        run = await begin(backend, "one", delay_s=2.0, per_host=4)
        await backend.store.tune(run.id, turned, actor="ann")
        found = await audit_entries(backend, run, "politeness.overridden")
        assert len(found) == bool(words)
        assert all(actor == "ann" and words in detail["what"] for actor, detail in found)

    @pytest.mark.parametrize(
        "limits", [LimitTuning(max_pages=2), LimitTuning(max_items=1), LimitTuning(max_errors=1)]
    )
    async def test_a_limit_below_what_is_there_ends_the_run(
        self, backend: Backend, limits: LimitTuning
    ) -> None:
        """RunStore 9: as the limit does that is reached by crawling; what is left is skipped."""
        run = await begin(backend, *urls(9))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run, want=4)
        await settle(
            backend, *(done(lease, items=[{"n": 1}]) for lease in leases[:3]), closed(leases[3], "dead")
        )
        run = await backend.store.tune(run.id, Tuning(limits=limits))
        assert run.state == "stopping"
        assert await take(backend, worker, run) == []
        run = await backend.store.finish(run.id)
        assert (run.state, run.counters.done, run.counters.skipped) == ("completed", 3, 5)
        assert run.reason.startswith("limit: max_")

    async def test_a_limit_turned_while_the_run_rests_holds_when_it_goes_on(self, backend: Backend) -> None:
        """RunStore 9: nothing more is stored."""
        run = await begin(backend, *urls(9))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, *(done(lease) for lease in await take(backend, worker, run, want=3)))
        await backend.store.set_state(run.id, "paused")
        assert (await backend.store.tune(run.id, Tuning(limits=LimitTuning(max_pages=3)))).state == "paused"
        await backend.store.set_state(run.id, "running")
        run = await backend.store.finish(run.id)
        assert (run.state, run.counters.done, run.reason) == ("completed", 3, "limit: max_pages 3 reached")

    async def test_a_limit_that_is_raised_lets_the_run_go_further(self, backend: Backend) -> None:
        """RunStore 9: settling uses the new one."""
        run = await begin(backend, *urls(9), limits=RunLimits(max_pages=2))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, done(await take_one(backend, worker, run)))
        await backend.store.tune(run.id, Tuning(limits=LimitTuning(max_pages=5)))
        await settle(backend, *(done(lease) for lease in await take(backend, worker, run)))
        assert (await backend.store.finish(run.id)).counters.done == 5

    @pytest.mark.parametrize("state", sorted(FINISHED))
    async def test_settings_of_an_ended_run_do_not_change(self, backend: Backend, state: Any) -> None:
        """RunStore 9: refused, and nothing changes."""
        run = await begin(backend, "one")
        run = await backend.store.set_state(run.id, state)
        with pytest.raises(NotAllowed, match=state):
            await backend.store.tune(run.id, Tuning(concurrency=2))
        assert await backend.store.get_run(run.id) == run

    async def test_to_turn_nothing_is_a_mistake(self, backend: Backend) -> None:
        """RunStore 9: and so is a run that is not there."""
        run = await backend.store.create_run(plan_of())
        with pytest.raises(RequestInvalid):
            await backend.store.tune(run.id, Tuning())
        with pytest.raises(NotFound):
            await backend.store.tune(run.id + 1, Tuning(concurrency=2))
        assert await backend.store.get_run(run.id) == run
