"""What becomes of schedules that are due."""

from __future__ import annotations

import pytest
from tests.unit.keeper.conftest import START, Desk

from smartspider.core.errors import LeadershipLost
from smartspider.core.schedules import Firing
from smartspider.keeper.scheduling import FireSchedules, FollowTasks
from smartspider.services.runs.start import newest_plan
from smartspider.services.schedules.firing import fire_due, retry_failed

HOUR_S = 3600.0


async def fire_all(desk: Desk) -> None:
    term = await desk.backend.leadership.current()
    assert term is not None
    await FireSchedules(desk.installation).do(term)


async def history(desk: Desk, schedule_id: int = 1) -> list[Firing]:
    return (await desk.backend.schedules.firings(schedule_id))[::-1]


async def test_a_schedule_starts_a_run_when_it_is_due(desk: Desk) -> None:
    await desk.schedule(await desk.task())
    await fire_all(desk)
    assert await history(desk) == []
    await desk.pass_time(HOUR_S)
    await fire_all(desk)
    await fire_all(desk)
    (firing,) = await history(desk)
    assert (firing.fire_at, firing.outcome, firing.reason) == (START + HOUR_S, "started", "")
    (run,) = await desk.backend.store.find_runs()
    assert (run.state, run.started_by, run.task_version) == ("queued", "schedule:1", 1)
    assert (await desk.backend.schedules.get(1)).next_fire_at == START + 2 * HOUR_S


async def test_a_day_of_schedules_fires_each_hour_once_through_the_spring_gap(desk: Desk) -> None:
    """Berlin's 29 March 2026 has 23 hours; a daily time within the gap comes when that is over."""
    desk.clock.wind(87 * 86_400.0)  # 29 March 00:00 UTC
    await desk.lead()
    task = await desk.task()
    hourly = await desk.schedule(task, cron="0 * * * *", timezone="Europe/Berlin", overlap="allow")
    daily = await desk.schedule(task, cron="30 2 * * *", timezone="Europe/Berlin", overlap="allow")
    begin = desk.clock.now()
    for _ in range(24 * 6):
        await desk.pass_time(600.0)
        await fire_all(desk)
    fired = [one.fire_at - begin for one in await history(desk, hourly.id)]
    assert fired == [HOUR_S * number for number in range(1, 25)]
    assert [one.fire_at - begin for one in await history(desk, daily.id)] == [HOUR_S]
    assert {one.outcome for one in await history(desk, hourly.id)} == {"started"}


async def test_what_is_too_late_is_missed(desk: Desk) -> None:
    await desk.schedule(await desk.task(), misfire_s=60)
    await desk.pass_time(HOUR_S + 61)
    await fire_all(desk)
    (firing,) = await history(desk)
    assert firing.outcome == "missed"
    assert "61 s late" in firing.reason
    assert await desk.states() == []
    assert (await desk.backend.schedules.get(1)).next_fire_at == START + 2 * HOUR_S


async def test_of_several_missed_times_the_last_is_made_up_for(desk: Desk) -> None:
    await desk.schedule(await desk.task())
    await desk.pass_time(5 * HOUR_S + 100)
    await fire_all(desk)
    (firing,) = await history(desk)
    assert (firing.fire_at, firing.outcome) == (START + 5 * HOUR_S, "started")
    assert firing.reason == "4 earlier times were skipped"


async def test_without_coalescing_all_that_are_in_time_are(desk: Desk) -> None:
    await desk.schedule(await desk.task(), coalesce=False, misfire_s=2.5 * HOUR_S, overlap="allow")
    await desk.pass_time(5 * HOUR_S + 100)
    await fire_all(desk)
    fired = [(one.fire_at - START) / HOUR_S for one in await history(desk)]
    assert fired == [3.0, 4.0, 5.0]
    assert await desk.states() == ["queued"] * 3


@pytest.mark.parametrize(
    ("overlap", "outcomes", "states"),
    [
        ("skip", ["started", "skipped"], ["queued"]),
        ("allow", ["started", "started"], ["queued", "queued"]),
        ("cancel", ["started", "started"], ["cancelled", "queued"]),
        ("queue", ["started"], ["queued"]),
    ],
)
async def test_a_run_that_is_not_over_is_treated_as_the_policy_says(
    desk: Desk, overlap: str, outcomes: list[str], states: list[str]
) -> None:
    await desk.schedule(await desk.task(), overlap=overlap)
    for _ in range(2):
        await desk.pass_time(HOUR_S)
        await fire_all(desk)
    assert [one.outcome for one in await history(desk)] == outcomes
    assert await desk.states() == states
    if overlap == "skip":
        assert (await history(desk))[1].reason == "run 1 is queued"


async def test_a_queued_time_starts_when_the_run_before_is_over_however_long_that_takes(desk: Desk) -> None:
    await desk.schedule(await desk.task(), overlap="queue")
    await desk.pass_time(HOUR_S)
    await fire_all(desk)
    for _ in range(11):
        await desk.pass_time(600.0)
        await fire_all(desk)
    assert len(await history(desk)) == 1
    await desk.end_run(1)
    await desk.pass_time(6.0)
    await fire_all(desk)
    second = (await history(desk))[1]
    assert (second.outcome, second.fire_at) == ("started", START + 2 * HOUR_S)
    assert await desk.states() == ["completed", "queued"]


async def test_a_stopped_run_is_waited_for_by_nobody(desk: Desk) -> None:
    await desk.schedule(await desk.task())
    await desk.pass_time(HOUR_S)
    await fire_all(desk)
    await desk.backend.store.set_state(1, "running")
    await desk.backend.store.set_state(1, "stopped", "by hand")
    await desk.pass_time(HOUR_S)
    await fire_all(desk)
    assert [one.outcome for one in await history(desk)] == ["started", "started"]


async def test_a_task_that_cannot_be_run_is_told_in_the_history(desk: Desk) -> None:
    task = await desk.task()
    await desk.schedule(task)
    await desk.change(task, use_cookie=True)
    await desk.pass_time(HOUR_S)
    await fire_all(desk)
    (firing,) = await history(desk)
    assert firing.outcome == "failed"
    assert "use_cookie" in firing.reason


async def test_a_run_started_by_hand_between_looking_and_firing_is_not_overlapped(desk: Desk) -> None:
    """The store checks once more, and the decision is taken anew."""
    task = await desk.task()
    await desk.schedule(task)
    await desk.pass_time(HOUR_S)
    (due,) = await desk.backend.schedules.due()
    fire, plan = desk.backend.schedules.fire, await newest_plan(desk.installation, task)

    async def fire_after_a_start(*args: object, **more: object) -> object:
        if await desk.states() == []:
            await desk.backend.store.create_run(plan, version=1)
        return await fire(*args, **more)  # type: ignore[arg-type]

    desk.backend.schedules.fire = fire_after_a_start  # type: ignore[method-assign,assignment]
    firing = await fire_due(desk.installation, due, epoch=desk.epoch)
    assert firing is not None
    assert (firing.outcome, firing.reason) == ("skipped", "run 1 is queued")
    assert await desk.states() == ["queued"]


async def test_an_old_leader_fires_nothing(desk: Desk) -> None:
    await desk.schedule(await desk.task())
    await desk.pass_time(HOUR_S)
    (due,) = await desk.backend.schedules.due()
    old = desk.epoch
    await desk.backend.leadership.resign("tests")
    await desk.backend.leadership.take("another", 10.0)
    with pytest.raises(LeadershipLost):
        await fire_due(desk.installation, due, epoch=old)
    assert await desk.states() == []
    assert await history(desk) == []


async def test_a_run_of_which_some_pages_failed_tries_those_again(desk: Desk) -> None:
    await desk.schedule(await desk.task(), retries=2, retry_delay_s=60)
    await desk.pass_time(HOUR_S)
    await fire_all(desk)
    await desk.end_run(1, failed=1)
    assert await retry_failed(desk.installation, epoch=desk.epoch) == 0  # not before its time
    for number in (1, 2):
        await desk.pass_time(61.0)
        assert await retry_failed(desk.installation, epoch=desk.epoch) == 1
        assert await desk.states() == ["queued"]
        (firing,) = await history(desk)
        assert (firing.tries, firing.run_id) == (number, 1)
        assert firing.reason.startswith(f"attempt {number + 1} of 3: 1 requests of run 1 failed")
        await desk.end_run(1, failed=1)
    await desk.pass_time(61.0)
    assert await retry_failed(desk.installation, epoch=desk.epoch) == 0
    assert await desk.backend.schedules.watched() == []
    assert await desk.states() == ["completed"]


async def test_a_run_that_failed_as_a_whole_is_followed_by_another(desk: Desk) -> None:
    await desk.schedule(await desk.task(), retries=1, retry_delay_s=60)
    await desk.pass_time(HOUR_S)
    await fire_all(desk)
    await desk.end_run(1, failed=2)
    await desk.pass_time(61.0)
    assert await retry_failed(desk.installation, epoch=desk.epoch) == 1
    assert await desk.states() == ["failed", "queued"]
    (firing,) = await history(desk)
    assert (firing.tries, firing.run_id) == (1, 2)
    await desk.end_run(2)
    assert await retry_failed(desk.installation, epoch=desk.epoch) == 0
    assert await desk.backend.schedules.watched() == []


async def test_what_ended_well_or_was_cancelled_is_not_tried_again(desk: Desk) -> None:
    await desk.schedule(await desk.task(), retries=5, retry_delay_s=0)
    for end in ("well", "cancelled"):
        await desk.pass_time(HOUR_S)
        await fire_all(desk)
        run = (await desk.backend.store.find_runs())[0]
        if end == "well":
            await desk.end_run(run.id)
        else:
            await desk.backend.store.set_state(run.id, "cancelled")
        assert await retry_failed(desk.installation, epoch=desk.epoch) == 0
    assert await desk.backend.schedules.watched() == []


async def test_a_schedule_in_a_task_follows_it(desk: Desk) -> None:
    task = await desk.task(schedule="0 6 * * *")
    own = await desk.backend.schedules.of_task(task.id)
    assert own is not None
    assert (own.rule.cron, own.is_enabled, own.next_fire_at) == ("0 6 * * *", True, START + 6 * HOUR_S)
    await desk.change(task, schedule={"cron": "0 7 * * *", "timezone": "Asia/Tokyo", "overlap": True})
    changed = await desk.backend.schedules.of_task(task.id)
    assert changed is not None
    assert (changed.id, changed.rule.overlap, changed.next_fire_at) == (own.id, "allow", START + 22 * HOUR_S)
    await desk.change(
        task, concurrency=3, schedule={"cron": "0 7 * * *", "timezone": "Asia/Tokyo", "overlap": True}
    )
    assert await desk.backend.schedules.of_task(task.id) == changed
    await desk.change(task)
    assert await desk.backend.schedules.of_task(task.id) is None


async def test_the_keeper_finds_what_a_killed_process_left_undone(desk: Desk) -> None:
    task = await desk.task(schedule="0 6 * * *")
    own = await desk.backend.schedules.of_task(task.id)
    assert own is not None
    await desk.backend.schedules.delete(own.id, actor="ann")
    term = await desk.backend.leadership.current()
    assert term is not None
    await FollowTasks(desk.installation).do(term)
    assert await desk.backend.schedules.of_task(task.id) is not None
