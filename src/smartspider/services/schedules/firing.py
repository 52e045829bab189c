"""Fire schedules that are due, and retry failed runs of schedules. Called by the keeper only."""

from __future__ import annotations

from smartspider.core.errors import (
    Conflict,
    LeadershipLost,
    NotAllowed,
    NotFound,
    QuotaReached,
    SmartSpiderError,
)
from smartspider.core.plurals import count
from smartspider.core.runs.run import Run
from smartspider.core.schedules import Firing, ScheduleRecord, starts_at
from smartspider.installation.installation import Installation
from smartspider.services.quotas import check_owner
from smartspider.services.runs.lookup import newest_run
from smartspider.services.runs.start import newest_plan
from smartspider.store.schedules import ACTIVE, DueFiring
from smartspider.taskfile.timing import Backlog, backlog, latest_next

POLL_S = 5.0
"""Interval of the check whether the active run that a queued firing waits for has ended."""
TOLERANCE_S = 1.0
_ATTEMPTS = 5


async def fire_due(installation: Installation, schedule: ScheduleRecord, *, epoch: int) -> Firing | None:
    """Fire a schedule that is due; return None if it waits or another process fired it."""
    for _ in range(_ATTEMPTS):
        due = await _decide(installation, schedule)
        if due is None:
            await installation.schedules.postpone(schedule.id, installation.clock.now() + POLL_S, epoch=epoch)
            return None
        try:
            return await installation.schedules.fire(due, epoch=epoch)
        except LeadershipLost:
            raise
        except Conflict:  # a run was started or the task was changed meanwhile: decide again
            continue
    return None


async def correct_times(installation: Installation, *, epoch: int) -> int:
    """Compute due times anew that are later than their rule allows, and return their number. The clock was
    ahead when they were computed.
    """
    corrected, after = 0, 0
    while page := await installation.schedules.find(after=after):
        for schedule in page:
            at = _corrected(schedule, installation.clock.now())
            if at is not None:
                await installation.schedules.correct(schedule.id, schedule.rule, at, epoch=epoch)
                corrected += 1
        after = page[-1].id
    return corrected


def _corrected(schedule: ScheduleRecord, now: float) -> float | None:
    """Return the right due time of a schedule that waits for too late a time; None if it is right."""
    if not schedule.is_enabled or schedule.next_fire_at is None:
        return None
    latest = latest_next(schedule.rule, now)
    if latest is None:
        return None
    if schedule.next_fire_at > latest + TOLERANCE_S:
        return latest
    waits_until = max(schedule.next_fire_at + schedule.rule.jitter_s, now + POLL_S) + TOLERANCE_S
    return schedule.next_fire_at if (schedule.run_at or 0.0) > waits_until else None


async def _decide(installation: Installation, schedule: ScheduleRecord) -> DueFiring | None:
    """Decide the outcome of the due times; None: wait for the active run."""
    rule = schedule.rule
    now = max(installation.clock.now(), schedule.run_at or 0.0)
    times = backlog(schedule.id, rule, schedule.next_fire_at or now, now)
    active = await installation.store.list_runs(task_id=schedule.task_id, states=ACTIVE, limit=100)
    if active and rule.overlap == "queue":
        return None
    due_at = starts_at(schedule.id, times.fire_at, rule.jitter_s)
    if rule.overlap == "queue":
        due_at = max(due_at, await _free_since(installation, schedule.task_id))
    late_s = now - due_at
    if late_s > rule.misfire_s:
        return _without_run(
            schedule, times, "missed", f"it was {late_s:.0f} s late, more than its misfire time allows"
        )
    if active and rule.overlap == "skip":
        return _without_run(schedule, times, "skipped", f"run {active[0].id} is {active[0].state}")
    return await _start(installation, schedule, times, active if rule.overlap == "cancel" else [])


async def _start(
    installation: Installation, schedule: ScheduleRecord, times: Backlog, cancels: list[Run]
) -> DueFiring:
    try:
        task = await installation.tasks.get(schedule.task_id)
        plan = await newest_plan(installation, task)
        if not cancels and await installation.quotas.is_limited(task.owner):
            await check_owner(installation, task.owner, "runs")
    except QuotaReached as reached:
        return _without_run(schedule, times, "skipped", reached.message)
    except SmartSpiderError as error:
        return _without_run(schedule, times, "failed", error.message)
    return DueFiring(
        *(schedule.id, times.fire_at, "started", _passed_text(times)),
        plan=plan,
        version=task.version,
        cancels=[run.id for run in cancels],
        is_only=schedule.rule.overlap != "allow",
        next_fire_at=times.next_at,
    )


def _without_run(schedule: ScheduleRecord, times: Backlog, outcome: str, reason: str) -> DueFiring:
    text = "; ".join(filter(None, (reason, _passed_text(times))))
    return DueFiring(schedule.id, times.fire_at, outcome, text, next_fire_at=times.next_at)  # type: ignore[arg-type]  # one of the outcomes


def _passed_text(times: Backlog) -> str:
    if not times.passed:
        return ""
    return f"{times.passed} earlier time{'s were' if times.passed > 1 else ' was'} skipped"


async def _free_since(installation: Installation, task_id: int) -> float:
    """Return when the newest run of a task ended: a queued firing is not late before that."""
    newest = await newest_run(installation.store, task_id)
    return 0.0 if newest is None else newest.finished_at or 0.0


async def retry_failed(installation: Installation, *, epoch: int) -> int:
    """Retry failed runs of watched firings that are due; return their number."""
    tried = 0
    for firing in await installation.schedules.watched(limit=1000):
        tried += await _retry_firing(installation, firing, epoch)
    return tried


async def _retry_firing(installation: Installation, firing: Firing, epoch: int) -> bool:
    try:
        schedule = await installation.schedules.get(firing.schedule_id)
        run = await installation.store.get_run(firing.run_id or 0)
    except NotFound:
        await installation.schedules.unwatch(firing, epoch=epoch)
        return False
    has_failed = run.state == "failed" or (run.state == "completed" and run.counters.failed > 0)
    if not has_failed or firing.tries >= schedule.rule.retries:
        await installation.schedules.unwatch(firing, epoch=epoch)
        return False
    if (run.finished_at or 0.0) + schedule.rule.retry_delay_s > installation.clock.now():
        return False
    return await _start_retry(installation, schedule, firing, run, epoch)


async def _start_retry(
    installation: Installation, schedule: ScheduleRecord, firing: Firing, run: Run, epoch: int
) -> bool:
    attempt = f"attempt {firing.tries + 2} of {schedule.rule.retries + 1}"
    if run.state == "completed":
        reason = f"{attempt}: {count(run.counters.failed, 'request')} of run {run.id} failed"
        if await installation.schedules.retry(firing, epoch=epoch, reason=reason) is None:
            return False
        try:
            await installation.store.retry(run.id, actor=f"schedule:{schedule.id}")
        except NotAllowed:  # none of its requests can be retried
            await installation.schedules.unwatch(firing, epoch=epoch)
        return True
    try:
        task = await installation.tasks.get(schedule.task_id)
        plan = await newest_plan(installation, task)
    except SmartSpiderError:
        await installation.schedules.unwatch(firing, epoch=epoch)
        return False
    reason = f"{attempt}: run {run.id} failed: {run.reason}"[:500]
    try:
        again = await installation.schedules.retry(
            firing, epoch=epoch, reason=reason, plan=plan, version=task.version
        )
    except LeadershipLost:
        raise
    except Conflict:  # another run of the task is active: retry later
        return False
    return again is not None
