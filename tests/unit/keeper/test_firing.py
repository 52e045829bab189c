"""What becomes of schedules that are due."""

from __future__ import annotations

import pytest
from tests.unit.keeper.conftest import START, Harness, installation_of

from smartspider.core.errors import LeadershipLost
from smartspider.core.limits.quotas import Quotas
from smartspider.core.schedules import Firing
from smartspider.installation.settings import Settings
from smartspider.keeper.scheduling import FireSchedules, FollowTasks
from smartspider.services.runs.start import newest_plan
from smartspider.services.schedules.firing import correct_times, fire_due, retry_failed

HOUR_S = 3600.0


async def fire_all(harness: Harness) -> None:
    term = await harness.backend.leadership.current()
    assert term is not None
    await FireSchedules(harness.installation).do(term)


async def history(harness: Harness, schedule_id: int = 1) -> list[Firing]:
    return (await harness.backend.schedules.firings(schedule_id))[::-1]


async def test_a_schedule_starts_a_run_when_it_is_due(harness: Harness) -> None:
    await harness.schedule(await harness.task())
    await fire_all(harness)
    assert await history(harness) == []
    await harness.pass_time(HOUR_S)
    await fire_all(harness)
    await fire_all(harness)
    (firing,) = await history(harness)
    assert (firing.fire_at, firing.outcome, firing.reason) == (START + HOUR_S, "started", "")
    (run,) = await harness.backend.store.find_runs()
    assert (run.state, run.started_by, run.task_version) == ("queued", "schedule:1", 1)
    assert (await harness.backend.schedules.get(1)).next_fire_at == START + 2 * HOUR_S


async def test_a_day_of_schedules_fires_each_hour_once_through_the_spring_gap(harness: Harness) -> None:
    """Berlin's 29 March 2026 has 23 hours; a daily time within the gap comes when that is over."""
    harness.clock.suspend(87 * 86_400.0)  # 29 March 00:00 UTC
    await harness.lead()
    task = await harness.task()
    hourly = await harness.schedule(task, cron="0 * * * *", timezone="Europe/Berlin", overlap="allow")
    daily = await harness.schedule(task, cron="30 2 * * *", timezone="Europe/Berlin", overlap="allow")
    begin = harness.clock.now()
    for _ in range(24 * 6):
        await harness.pass_time(600.0)
        await fire_all(harness)
    fired = [one.fire_at - begin for one in await history(harness, hourly.id)]
    assert fired == [HOUR_S * number for number in range(1, 25)]
    assert [one.fire_at - begin for one in await history(harness, daily.id)] == [HOUR_S]
    assert {one.outcome for one in await history(harness, hourly.id)} == {"started"}


async def test_what_is_too_late_is_missed(harness: Harness) -> None:
    await harness.schedule(await harness.task(), misfire_s=60)
    await harness.pass_time(HOUR_S + 61)
    await fire_all(harness)
    (firing,) = await history(harness)
    assert firing.outcome == "missed"
    assert "61 s late" in firing.reason
    assert await harness.states() == []
    assert (await harness.backend.schedules.get(1)).next_fire_at == START + 2 * HOUR_S


async def test_of_several_missed_times_the_last_is_made_up_for(harness: Harness) -> None:
    await harness.schedule(await harness.task())
    await harness.pass_time(5 * HOUR_S + 100)
    await fire_all(harness)
    (firing,) = await history(harness)
    assert (firing.fire_at, firing.outcome) == (START + 5 * HOUR_S, "started")
    assert firing.reason == "4 earlier times were skipped"


async def test_without_coalescing_all_that_are_in_time_are(harness: Harness) -> None:
    await harness.schedule(await harness.task(), coalesce=False, misfire_s=2.5 * HOUR_S, overlap="allow")
    await harness.pass_time(5 * HOUR_S + 100)
    await fire_all(harness)
    fired = [(one.fire_at - START) / HOUR_S for one in await history(harness)]
    assert fired == [3.0, 4.0, 5.0]
    assert await harness.states() == ["queued"] * 3


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
    harness: Harness, overlap: str, outcomes: list[str], states: list[str]
) -> None:
    await harness.schedule(await harness.task(), overlap=overlap)
    for _ in range(2):
        await harness.pass_time(HOUR_S)
        await fire_all(harness)
    assert [one.outcome for one in await history(harness)] == outcomes
    assert await harness.states() == states
    if overlap == "skip":
        assert (await history(harness))[1].reason == "run 1 is queued"


async def test_a_queued_time_starts_when_the_run_before_is_over_however_long_that_takes(
    harness: Harness,
) -> None:
    await harness.schedule(await harness.task(), overlap="queue")
    await harness.pass_time(HOUR_S)
    await fire_all(harness)
    for _ in range(11):
        await harness.pass_time(600.0)
        await fire_all(harness)
    assert len(await history(harness)) == 1
    await harness.end_run(1)
    await harness.pass_time(6.0)
    await fire_all(harness)
    second = (await history(harness))[1]
    assert (second.outcome, second.fire_at) == ("started", START + 2 * HOUR_S)
    assert await harness.states() == ["completed", "queued"]


async def test_a_stopped_run_is_waited_for_by_nobody(harness: Harness) -> None:
    await harness.schedule(await harness.task())
    await harness.pass_time(HOUR_S)
    await fire_all(harness)
    await harness.backend.store.set_state(1, "running")
    await harness.backend.store.set_state(1, "stopped", "by hand")
    await harness.pass_time(HOUR_S)
    await fire_all(harness)
    assert [one.outcome for one in await history(harness)] == ["started", "started"]


async def test_a_task_that_cannot_be_run_is_told_in_the_history(harness: Harness) -> None:
    task = await harness.task()
    await harness.schedule(task)
    await harness.change(task, account_pool="a")
    await harness.pass_time(HOUR_S)
    await fire_all(harness)
    (firing,) = await history(harness)
    assert firing.outcome == "failed"
    assert "account_pool" in firing.reason


async def test_a_run_started_by_hand_between_looking_and_firing_is_not_overlapped(harness: Harness) -> None:
    """The store checks once more, and the decision is taken anew."""
    task = await harness.task()
    await harness.schedule(task)
    await harness.pass_time(HOUR_S)
    (due,) = await harness.backend.schedules.due()
    fire, plan = harness.installation.schedules.fire, await newest_plan(harness.installation, task)

    async def fire_after_a_start(*args: object, **more: object) -> object:
        if await harness.states() == []:
            await harness.backend.store.create_run(plan, version=1)
        return await fire(*args, **more)  # type: ignore[arg-type]

    harness.installation.schedules.fire = fire_after_a_start  # type: ignore[method-assign,assignment]
    firing = await fire_due(harness.installation, due, epoch=harness.epoch)
    assert firing is not None
    assert (firing.outcome, firing.reason) == ("skipped", "run 1 is queued")
    assert await harness.states() == ["queued"]


async def test_an_old_leader_fires_nothing(harness: Harness) -> None:
    await harness.schedule(await harness.task())
    await harness.pass_time(HOUR_S)
    (due,) = await harness.backend.schedules.due()
    old = harness.epoch
    await harness.backend.leadership.resign("tests")
    await harness.backend.leadership.take("another", 10.0)
    with pytest.raises(LeadershipLost):
        await fire_due(harness.installation, due, epoch=old)
    assert await harness.states() == []
    assert await history(harness) == []


async def test_a_run_of_which_some_pages_failed_tries_those_again(harness: Harness) -> None:
    await harness.schedule(await harness.task(), retries=2, retry_delay_s=60)
    await harness.pass_time(HOUR_S)
    await fire_all(harness)
    await harness.end_run(1, failed=1)
    assert await retry_failed(harness.installation, epoch=harness.epoch) == 0  # not before its time
    for number in (1, 2):
        await harness.pass_time(61.0)
        assert await retry_failed(harness.installation, epoch=harness.epoch) == 1
        assert await harness.states() == ["queued"]
        (firing,) = await history(harness)
        assert (firing.tries, firing.run_id) == (number, 1)
        assert firing.reason.startswith(f"attempt {number + 1} of 3: 1 request of run 1 failed")
        await harness.end_run(1, failed=1)
    await harness.pass_time(61.0)
    assert await retry_failed(harness.installation, epoch=harness.epoch) == 0
    assert await harness.backend.schedules.watched() == []
    assert await harness.states() == ["completed"]


async def test_a_run_that_failed_as_a_whole_is_followed_by_another(harness: Harness) -> None:
    await harness.schedule(await harness.task(), retries=1, retry_delay_s=60)
    await harness.pass_time(HOUR_S)
    await fire_all(harness)
    await harness.end_run(1, failed=2)
    await harness.pass_time(61.0)
    assert await retry_failed(harness.installation, epoch=harness.epoch) == 1
    assert await harness.states() == ["failed", "queued"]
    (firing,) = await history(harness)
    assert (firing.tries, firing.run_id) == (1, 2)
    await harness.end_run(2)
    assert await retry_failed(harness.installation, epoch=harness.epoch) == 0
    assert await harness.backend.schedules.watched() == []


async def test_what_ended_well_or_was_cancelled_is_not_tried_again(harness: Harness) -> None:
    await harness.schedule(await harness.task(), retries=5, retry_delay_s=0)
    for end in ("well", "cancelled"):
        await harness.pass_time(HOUR_S)
        await fire_all(harness)
        run = (await harness.backend.store.find_runs())[0]
        if end == "well":
            await harness.end_run(run.id)
        else:
            await harness.backend.store.set_state(run.id, "cancelled")
        assert await retry_failed(harness.installation, epoch=harness.epoch) == 0
    assert await harness.backend.schedules.watched() == []


async def test_a_schedule_in_a_task_follows_it(harness: Harness) -> None:
    task = await harness.task(schedule="0 6 * * *")
    own = await harness.backend.schedules.of_task(task.id)
    assert own is not None
    assert (own.rule.cron, own.is_enabled, own.next_fire_at) == ("0 6 * * *", True, START + 6 * HOUR_S)
    await harness.change(task, schedule={"cron": "0 7 * * *", "timezone": "Asia/Tokyo", "overlap": True})
    changed = await harness.backend.schedules.of_task(task.id)
    assert changed is not None
    assert (changed.id, changed.rule.overlap, changed.next_fire_at) == (own.id, "allow", START + 22 * HOUR_S)
    await harness.change(
        task, concurrency=3, schedule={"cron": "0 7 * * *", "timezone": "Asia/Tokyo", "overlap": True}
    )
    assert await harness.backend.schedules.of_task(task.id) == changed
    await harness.change(task)
    assert await harness.backend.schedules.of_task(task.id) is None


async def test_the_keeper_finds_what_a_killed_process_left_undone(harness: Harness) -> None:
    task = await harness.task(schedule="0 6 * * *")
    own = await harness.backend.schedules.of_task(task.id)
    assert own is not None
    await harness.backend.schedules.delete(own.id, actor="ann")
    term = await harness.backend.leadership.current()
    assert term is not None
    await FollowTasks(harness.installation).do(term)
    assert await harness.backend.schedules.of_task(task.id) is not None


async def test_a_clock_that_jumps_moves_no_due_time(harness: Harness) -> None:
    """Neither of a daily schedule nor of a short interval, and what is due meanwhile is fired."""
    task = await harness.task()
    daily = await harness.schedule(task, cron="0 6 * * *", overlap="allow")
    often = await harness.schedule(task, every_s=5.0, overlap="allow")
    harness.clock.wind(300 * 86_400.0)
    for _ in range(40):
        await harness.pass_time(1.0)
        await fire_all(harness)
    harness.clock.wind(-300 * 86_400.0)
    await harness.pass_time(10.0)
    await fire_all(harness)
    fired = [one.fire_at - START for one in await history(harness, often.id)]
    assert fired == [*(5.0 * number for number in range(1, 9)), 50.0]
    assert await history(harness, daily.id) == []
    assert (await harness.backend.schedules.get(daily.id)).next_fire_at == START + 6 * HOUR_S
    assert all(run.created_at <= START + 50.0 for run in await harness.backend.store.find_runs())


@pytest.mark.parametrize("knobs", [{"cron": "0 6 * * *"}, {"every_s": 3600.0}])
async def test_due_times_of_a_wrong_clock_are_computed_anew(
    harness: Harness, knobs: dict[str, object]
) -> None:
    """The installation was started with a clock that was ahead, and store time came home."""
    made = await harness.schedule(await harness.task(), **knobs)
    right = made.next_fire_at
    assert right is not None
    schedules = harness.backend.schedules
    assert await correct_times(harness.installation, epoch=harness.epoch) == 0
    await schedules.correct(made.id, made.rule, right + 300 * 86_400.0, epoch=harness.epoch)
    assert await correct_times(harness.installation, epoch=harness.epoch) == 1
    assert (await schedules.get(made.id)).next_fire_at == right
    await schedules.postpone(made.id, right + 300 * 86_400.0, epoch=harness.epoch)
    assert await correct_times(harness.installation, epoch=harness.epoch) == 1
    assert (await schedules.get(made.id)).run_at == right


async def test_a_schedule_of_a_user_with_as_many_runs_as_allowed_skips_its_time(harness: Harness) -> None:
    """An operator is limited, an admin is not."""
    quotas = Quotas(runs=2)
    harness.installation = installation_of(harness.backend, Settings(allow_private="1", quotas=quotas))
    user = await harness.backend.users.add_user("ann", "x", "operator", actor="root")
    await harness.schedule(await harness.task(), overlap="allow")
    for _ in range(3):
        await harness.pass_time(HOUR_S)
        await fire_all(harness)
    assert [one.outcome for one in await history(harness)] == ["started", "started", "skipped"]
    assert "ann has 2 active runs" in (await history(harness))[-1].reason
    await harness.backend.users.change_user(user.id, role="admin", actor="root")
    await harness.pass_time(HOUR_S)
    await fire_all(harness)
    assert [one.outcome for one in await history(harness)][-1] == "started"
