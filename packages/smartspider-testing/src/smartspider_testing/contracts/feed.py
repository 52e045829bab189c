"""The promises of `interfaces/event_feed.py`, tested by their numbers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.events import GuardTripped, HostHeld
from smartspider.core.limits import Guards, Limits
from smartspider.core.live import PROGRESS, PROGRESS_EVERY_S, RunEvent
from smartspider.core.politeness import MAX_HOLD_S
from smartspider.core.runs import Counters, Run
from smartspider.core.verdict import HostNews, Retry, Settlement
from smartspider.core.workers import WorkerCard
from smartspider.views.runs import counted
from smartspider_testing.contracts.acts import (
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
from smartspider_testing.contracts.ground import Ground, OnGround


async def told_to(ground: Ground, run: Run, name: str) -> list[dict[str, Any]]:
    """What watchers of a run were told under a name."""
    return [msgspec.json.decode(one.data) for one in await ground.events.of_run(run.id) if one.name == name]


def changes(states: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """States as they followed each other."""
    return [(one["from"], one["to"], one["reason"]) for one in states]


class EventFeedContract(OnGround):
    """Nobody misses anything."""

    async def test_a_run_tells_its_life(self, ground: Ground) -> None:
        """Event feed 1, 2: from the first word to the last, numbered without a gap."""
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        await ground.store.set_state(run.id, "paused", "lunch")
        await ground.store.set_state(run.id, "running")
        await settle(ground, done(await take_one(ground, worker, run), items=[{"n": 1}]))
        await ground.store.finish(run.id)
        found = await ground.events.of_run(run.id)
        assert [one.number for one in found] == list(range(1, len(found) + 1))
        assert [one.name for one in found] == [
            *("run.created", "run.state", "run.state", "run.state", PROGRESS, PROGRESS, "run.state")
        ]
        told = {"task_id": str(run.task_id), "task": run.task_name, "version": 1, "total": 1}
        assert msgspec.json.decode(found[0].data) == told
        assert changes(await told_to(ground, run, "run.state")) == [
            ("queued", "running", ""),
            ("running", "paused", "lunch"),
            ("paused", "running", ""),
            ("running", "completed", ""),
        ]

    async def test_what_is_refused_or_changes_nothing_is_not_told(self, ground: Ground) -> None:
        """Event feed 2: a run that could not be made, a state that could not be had or was there."""
        run = await begin(ground, "one")
        before = await ground.events.since(0)
        await ground.store.set_state(run.id, "running")
        with pytest.raises(Exception, match="cannot become"):
            await ground.store.set_state(run.id, "queued")
        bad = msgspec.structs.replace(url("bad"), page="\ud800")
        with pytest.raises(UnicodeEncodeError):
            await ground.store.create_run(plan_of(bad))
        assert await ground.events.since(0) == before

    async def test_a_settle_that_cannot_be_stored_tells_once(self, ground: Ground) -> None:
        """Event feed 1, 2: a batch that is halved because of one bad row leaves no gap."""
        run = await begin(ground, *urls(8), limits=Limits(max_pages=3))
        leases = await take(ground, await ground.frontier.join(WorkerCard("w")), run)
        bad = msgspec.structs.replace(url("bad"), page="\ud800")
        await settle(ground, *(done(lease, *([bad] if n == 5 else [])) for n, lease in enumerate(leases)))
        found = await ground.events.of_run(run.id)
        assert [one.number for one in found] == list(range(1, len(found) + 1))
        assert changes(await told_to(ground, run, "run.state"))[1:] == [
            ("running", "stopping", "limit: max_pages 3 reached")
        ]

    async def test_trouble_is_told_at_once(self, ground: Ground) -> None:
        """Event feed 2: a held host, a host given up, a guard and the pause it leads to."""
        run = await begin(ground, *urls(9), guards=Guards(consecutive_failures=3))
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = await take(ground, worker, run)
        await settle(ground, refused(leases[0], hold_s=7.0))
        assert await told_to(ground, run, HostHeld.name) == [{"host": HOST, "hold_s": 7.0, "reason": "429"}]
        await settle(ground, *(closed(lease, "dead") for lease in leases[1:4]))
        reason = "guard: 3 failures in a row"
        assert await told_to(ground, run, GuardTripped.name) == [{"reason": reason}]
        assert changes(await told_to(ground, run, "run.state"))[-1] == ("running", "paused", reason)
        news = HostNews(slow_down=True, hold_s=MAX_HOLD_S + 1.0, reason="429")
        await settle(ground, Settlement(leases[4], Retry(1.0, "429", 429), news))
        (gone,) = await told_to(ground, run, "host.abandoned")
        assert gone["host"] == HOST

    async def test_progress_is_told_when_something_changed_and_not_too_often(self, ground: Ground) -> None:
        """Event feed 3: many settles in a moment are one word, and the last of them is not forgotten."""
        run = await begin(ground, *urls(9))
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = await take(ground, worker, run)
        for lease in leases[:5]:
            await settle(ground, done(lease, items=[{"n": 1}]))
        (first,) = await told_to(ground, run, PROGRESS)
        counters = Counters(total=9, done=1, items=1)
        assert first == counted(counters, in_flight=8) | {"state": "running"}
        await ground.clock.advance(PROGRESS_EVERY_S)
        await ground.store.finish(run.id)
        assert [one["success_count"] for one in await told_to(ground, run, PROGRESS)] == [1, 5]
        for _ in range(3):
            await ground.clock.advance(10.0)
            await ground.store.finish(run.id)
        assert len(await told_to(ground, run, PROGRESS)) == 2, "nothing changed"
        await settle(ground, done(leases[5]))
        assert [one["success_count"] for one in await told_to(ground, run, PROGRESS)] == [1, 5, 6]

    @pytest.mark.parametrize("end", ["completed", "failed", "cancelled", "finish", "limit"])
    async def test_the_final_counters_come_before_the_end(self, ground: Ground, end: str) -> None:
        """Event feed 3: exactly those that the run then has, however it ends."""
        limits = Limits(max_pages=2) if end == "limit" else Limits()
        run = await begin(ground, *urls(9), limits=limits)
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = await take(ground, worker, run, want=9 if end == "finish" else 5)
        for lease in leases[:9]:
            await settle(ground, done(lease))
        if end in ("finish", "limit"):
            run = await ground.store.finish(run.id)
        else:
            run = await ground.store.set_state(run.id, end)  # type: ignore[arg-type] # one of three words
        *_, progress, state = await ground.events.of_run(run.id)
        assert (progress.name, state.name) == (PROGRESS, "run.state")
        final = msgspec.json.decode(progress.data)
        assert final == counted(run.counters, final["in_flight"]) | {"state": run.state}
        assert final["queued"] == 0
        assert msgspec.json.decode(state.data)["to"] == run.state

    async def test_events_of_all_runs_are_read_by_their_ids(self, ground: Ground) -> None:
        """Event feed 1, 5: in pieces, none twice, none left out."""
        assert (await ground.events.last_id(), await ground.events.since(0)) == (0, [])
        one, two = await begin(ground, "one"), await begin(ground, "two")
        await ground.store.set_state(one.id, "paused")
        seen: list[RunEvent] = []
        while page := await ground.events.since(seen[-1].id if seen else 0, limit=2):
            seen += page
        assert [(event.run_id, event.number) for event in seen] == [
            *((one.id, 1), (one.id, 2), (two.id, 1), (two.id, 2)),
            (one.id, 3),
        ]
        assert await ground.events.last_id() == seen[-1].id
        assert await ground.events.of_run(one.id, after=1, limit=1) == [seen[1]]
        assert await ground.events.of_run(one.id, after=3) == []

    async def test_only_the_oldest_events_are_forgotten(self, ground: Ground) -> None:
        """Event feed 4: it is known up to which, and numbers go on."""
        run, other = await begin(ground, "one"), await begin(ground, "one")
        for state in ("paused", "running", "paused"):
            await ground.store.set_state(run.id, state)
        found, others = await ground.events.of_run(run.id), await ground.events.of_run(other.id)
        assert await ground.events.first_number(run.id) == 1
        assert await ground.events.trim(run.id, 2) == 3
        assert await ground.events.trim(run.id, 2) == 0
        assert await ground.events.of_run(run.id) == found[3:]
        assert await ground.events.of_run(other.id) == others
        assert (await ground.events.first_number(run.id), await ground.events.first_number(other.id)) == (
            4,
            1,
        )
        assert await ground.events.trim(run.id, 0) == 2
        assert await ground.events.first_number(run.id) == 6
        await ground.store.set_state(run.id, "running")
        (last,) = await ground.events.of_run(run.id)
        assert last.number == 6
        assert last.id > max(event.id for event in found)

    async def test_events_go_with_their_run(self, ground: Ground) -> None:
        """Event feed 4: those of others stay, and no id is used again."""
        run, other = await begin(ground, "one"), await begin(ground, "one")
        await ground.store.set_state(run.id, "cancelled")
        last = await ground.events.last_id()
        await ground.store.delete_run(run.id)
        assert await ground.events.of_run(run.id) == []
        await ground.store.set_state(other.id, "paused")
        (new,) = await ground.events.since(last)
        assert new.run_id == other.id
        assert len(await ground.events.of_run(other.id)) == 3

    async def test_two_processes_number_as_one(self, ground: Ground) -> None:
        """Event feed 1."""
        run = await begin(ground, "one")
        views = [ground, await ground.another()]
        for number in range(6):
            await views[number % 2].store.set_state(run.id, "running" if number % 2 else "paused")
        assert [one.number for one in await views[1].events.of_run(run.id)] == list(range(1, 9))
