"""The contract of `store/events.py`; tests name the promise they check."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.events import PROGRESS, PROGRESS_EVERY_S, GuardTripped, HostHeld, RunEvent
from smartspider.core.frontier.verdict import HostNews, RetryLater, Settlement
from smartspider.core.requests.politeness import MAX_HOLD_S
from smartspider.core.runs.plan import Guards, RunLimits
from smartspider.core.runs.run import Counters, Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.events import MAX_POINTS
from smartspider.views.runs import counted
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    closed,
    done,
    plan_of,
    refused,
    settle,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.backend import Backend, BackendContract


async def events_of(backend: Backend, run: Run, name: str) -> list[dict[str, Any]]:
    """Return the data of a run's events with this name."""
    return [msgspec.json.decode(one.data) for one in await backend.events.of_run(run.id) if one.name == name]


def changes(states: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return consecutive states as transitions."""
    return [(one["from"], one["to"], one["reason"]) for one in states]


class EventFeedContract(BackendContract):
    """Readers of the feed miss no event."""

    async def test_a_run_tells_its_life(self, backend: Backend) -> None:
        """Event feed 1, 2: from the first word to the last, numbered without a gap."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await backend.store.set_state(run.id, "paused", "lunch")
        await backend.store.set_state(run.id, "running")
        await settle(backend, done(await take_one(backend, worker, run), items=[{"n": 1}]))
        await backend.store.finish(run.id)
        found = await backend.events.of_run(run.id)
        assert [one.number for one in found] == list(range(1, len(found) + 1))
        assert [one.name for one in found] == [
            *("run.created", "run.state", "run.state", "run.state", PROGRESS, PROGRESS, "run.state")
        ]
        told = {"task_id": str(run.task_id), "task": run.task_name, "version": 1, "total": 1}
        assert msgspec.json.decode(found[0].data) == told
        assert changes(await events_of(backend, run, "run.state")) == [
            ("queued", "running", ""),
            ("running", "paused", "lunch"),
            ("paused", "running", ""),
            ("running", "completed", ""),
        ]

    async def test_what_is_refused_or_changes_nothing_is_not_told(self, backend: Backend) -> None:
        """Event feed 2: a run that could not be made, a state that could not be had or was there."""
        run = await begin(backend, "one")
        before = await backend.events.since(0)
        await backend.store.set_state(run.id, "running")
        with pytest.raises(Exception, match="cannot become"):
            await backend.store.set_state(run.id, "queued")
        bad = msgspec.structs.replace(url("bad"), page="\ud800")
        with pytest.raises(UnicodeEncodeError):
            await backend.store.create_run(plan_of(bad))
        assert await backend.events.since(0) == before

    async def test_a_settle_that_cannot_be_stored_tells_once(self, backend: Backend) -> None:
        """Event feed 1, 2: a batch that is halved because of one bad row leaves no gap."""
        run = await begin(backend, *urls(8), limits=RunLimits(max_pages=3))
        leases = await take(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        bad = msgspec.structs.replace(url("bad"), page="\ud800")
        await settle(backend, *(done(lease, *([bad] if n == 5 else [])) for n, lease in enumerate(leases)))
        found = await backend.events.of_run(run.id)
        assert [one.number for one in found] == list(range(1, len(found) + 1))
        assert changes(await events_of(backend, run, "run.state"))[1:] == [
            ("running", "stopping", "limit: max_pages 3 reached")
        ]

    async def test_trouble_is_told_at_once(self, backend: Backend) -> None:
        """Event feed 2: a held host, a host given up, a guard and the pause it leads to."""
        run = await begin(backend, *urls(9), guards=Guards(consecutive_failures=3))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run)
        await settle(backend, refused(leases[0], hold_s=7.0))
        assert await events_of(backend, run, HostHeld.name) == [
            {"host": HOST, "hold_s": 7.0, "reason": "429"}
        ]
        await settle(backend, *(closed(lease, "dead") for lease in leases[1:4]))
        reason = "guard: 3 failures in a row"
        assert await events_of(backend, run, GuardTripped.name) == [{"reason": reason}]
        assert changes(await events_of(backend, run, "run.state"))[-1] == ("running", "paused", reason)
        news = (HostNews(slow_down=True, hold_s=MAX_HOLD_S + 1.0, reason="429"),)
        await settle(backend, Settlement(leases[4], RetryLater(1.0, "429", 429), news))
        (gone,) = await events_of(backend, run, "host.abandoned")
        assert gone["host"] == HOST

    async def test_progress_is_told_when_something_changed_and_not_too_often(self, backend: Backend) -> None:
        """Event feed 3: many settles in a moment are one word, and the last of them is not forgotten."""
        run = await begin(backend, *urls(9))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run)
        for lease in leases[:5]:
            await settle(backend, done(lease, items=[{"n": 1}]))
        (first,) = await events_of(backend, run, PROGRESS)
        counters = Counters(total=9, done=1, items=1)
        assert first == counted(counters, in_flight=8) | {"state": "running"}
        await backend.clock.advance(PROGRESS_EVERY_S)
        await backend.store.finish(run.id)
        assert [one["success_count"] for one in await events_of(backend, run, PROGRESS)] == [1, 5]
        for _ in range(3):
            await backend.clock.advance(10.0)
            await backend.store.finish(run.id)
        assert len(await events_of(backend, run, PROGRESS)) == 2, "nothing changed"
        await settle(backend, done(leases[5]))
        assert [one["success_count"] for one in await events_of(backend, run, PROGRESS)] == [1, 5, 6]

    @pytest.mark.parametrize("end", ["completed", "failed", "cancelled", "finish", "limit"])
    async def test_the_final_counters_come_before_the_end(self, backend: Backend, end: str) -> None:
        """Event feed 3: exactly those that the run then has, however it ends."""
        limits = RunLimits(max_pages=2) if end == "limit" else RunLimits()
        run = await begin(backend, *urls(9), limits=limits)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run, want=9 if end == "finish" else 5)
        for lease in leases[:9]:
            await settle(backend, done(lease))
        if end in ("finish", "limit"):
            run = await backend.store.finish(run.id)
        else:
            run = await backend.store.set_state(run.id, end)  # type: ignore[arg-type] # one of three words
        *_, progress, state = await backend.events.of_run(run.id)
        assert (progress.name, state.name) == (PROGRESS, "run.state")
        final = msgspec.json.decode(progress.data)
        assert final == counted(run.counters, final["in_flight"]) | {"state": run.state}
        assert final["queued"] == 0
        assert msgspec.json.decode(state.data)["to"] == run.state

    async def test_events_of_all_runs_are_read_by_their_ids(self, backend: Backend) -> None:
        """Event feed 1, 5: in pieces, none twice, none left out."""
        assert (await backend.events.last_id(), await backend.events.since(0)) == (0, [])
        one, two = await begin(backend, "one"), await begin(backend, "two")
        await backend.store.set_state(one.id, "paused")
        seen: list[RunEvent] = []
        while page := await backend.events.since(seen[-1].id if seen else 0, limit=2):
            seen += page
        assert [(event.run_id, event.number) for event in seen] == [
            *((one.id, 1), (one.id, 2), (two.id, 1), (two.id, 2)),
            (one.id, 3),
        ]
        assert await backend.events.last_id() == seen[-1].id
        assert await backend.events.of_run(one.id, after=1, limit=1) == [seen[1]]
        assert await backend.events.of_run(one.id, after=3) == []

    async def test_only_the_oldest_events_are_forgotten(self, backend: Backend) -> None:
        """Event feed 4: it is known up to which, and numbers go on."""
        run, other = await begin(backend, "one"), await begin(backend, "one")
        for state in ("paused", "running", "paused"):
            await backend.store.set_state(run.id, state)
        found, others = await backend.events.of_run(run.id), await backend.events.of_run(other.id)
        assert await backend.events.first_number(run.id) == 1
        assert await backend.events.trim(run.id, 2) == 3
        assert await backend.events.trim(run.id, 2) == 0
        assert await backend.events.of_run(run.id) == found[3:]
        assert await backend.events.of_run(other.id) == others
        assert (await backend.events.first_number(run.id), await backend.events.first_number(other.id)) == (
            4,
            1,
        )
        assert await backend.events.trim(run.id, 0) == 2
        assert await backend.events.first_number(run.id) == 6
        await backend.store.set_state(run.id, "running")
        (last,) = await backend.events.of_run(run.id)
        assert last.number == 6
        assert last.id > max(event.id for event in found)

    async def test_events_go_with_their_run(self, backend: Backend) -> None:
        """Event feed 4: those of others stay, and no id is used again."""
        run, other = await begin(backend, "one"), await begin(backend, "one")
        await backend.store.set_state(run.id, "cancelled")
        last = await backend.events.last_id()
        await backend.store.delete_run(run.id)
        assert await backend.events.of_run(run.id) == []
        await backend.store.set_state(other.id, "paused")
        (new,) = await backend.events.since(last)
        assert new.run_id == other.id
        assert len(await backend.events.of_run(other.id)) == 3

    async def test_two_processes_number_as_one(self, backend: Backend) -> None:
        """Event feed 1."""
        run = await begin(backend, "one")
        views = [backend, await backend.another()]
        for number in range(6):
            await views[number % 2].store.set_state(run.id, "running" if number % 2 else "paused")
        assert [one.number for one in await views[1].events.of_run(run.id)] == list(range(1, 9))

    async def test_a_series_ends_with_the_final_counters(self, backend: Backend) -> None:
        """Event feed 6: progress a second apart, each change of state with it."""
        run = await begin(backend, *urls(9))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        for lease in await take(backend, worker, run):
            await settle(backend, done(lease, items=[{"n": 1}]))
            await backend.clock.advance(0.5)
        await backend.store.finish(run.id)
        found = await backend.events.series(run.id)
        progress = [one for one in found if one.name == PROGRESS]
        assert [one.at for one in found] == sorted(one.at for one in found)
        assert 5 <= len(progress) <= 7
        last = msgspec.json.decode(progress[-1].data)
        assert (last["state"], last["success_count"], last["items"]) == ("completed", 9, 9)
        assert [one.name for one in found if one.name != PROGRESS] == ["run.state", "run.state"]

    async def test_a_long_series_is_thinned(self, backend: Backend) -> None:
        """Event feed 6: it covers all of the run, its points lie further apart, and marks stay."""
        count = MAX_POINTS + 20
        run = await begin(backend, *urls(count))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        began_at = backend.clock.now()
        while leases := await take(backend, worker, run, want=30):
            for lease in leases:
                await settle(backend, done(lease))
                await backend.clock.advance(1.0)
        found = await backend.events.series(run.id)
        progress = [one.at - began_at for one in found if one.name == PROGRESS]
        assert MAX_POINTS / 2 <= len(progress) < MAX_POINTS / 2 + 20
        assert progress[0] < 3.0
        assert progress[-1] > count - 3.0
        assert [one.name for one in found if one.name != PROGRESS] == ["run.state"]
        await backend.store.set_state(run.id, "cancelled")
        await backend.store.delete_run(run.id)
        assert await backend.events.series(run.id) == []
