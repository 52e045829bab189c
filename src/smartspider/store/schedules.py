"""The store of schedules. Functions with a connection run inside a transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from smartspider.core import failpoints
from smartspider.core.errors import Conflict, NotAllowed, NotFound
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import RunState
from smartspider.core.schedules import Firing, Outcome, ScheduleRecord, ScheduleRule, starts_at
from smartspider.store import audit, statements, tasks
from smartspider.store.database import Connection, Database, one, row, rows
from smartspider.store.nodes import leadership
from smartspider.store.runs import creation, lifecycle

SQL = statements.load("schedules.sql", __package__)

PAST_ALL = 1e18
_rule = msgspec.json.Decoder(ScheduleRule)
_encode = msgspec.json.Encoder(order="sorted").encode


ACTIVE: tuple[RunState, ...] = ("created", "queued", "running", "paused", "stopping")
"""States in which a run overlaps with another one. A stopped run does not."""


MAX_PER_TASK = 100
"""Maximum number of schedules of a task."""


KEPT_FIRINGS = 1000
"""Firings of a schedule that are kept, the newest ones."""


class DueFiring(msgspec.Struct, frozen=True):
    """The firing of a due schedule, and its next due time.

    With a `plan`, a run of that version is created in the same transaction, and the runs in `cancels` are
    cancelled for it. With `is_only`, another active run of the task raises `Conflict`.
    """

    schedule_id: int
    fire_at: float
    outcome: Outcome
    reason: str = ""
    plan: Plan | None = None
    version: int | None = None
    cancels: Sequence[int] = ()
    is_only: bool = False
    next_fire_at: float | None = None


def get(connection: Connection, schedule_id: int) -> ScheduleRecord:
    """Return a schedule."""
    found = row(connection, SQL.get, (schedule_id,))
    if found is None:
        raise NotFound(
            f"there is no schedule {schedule_id}", hint="`smartspider schedule list` shows all schedules"
        )
    return _schedule(found)


def _schedule(found: tuple[Any, ...]) -> ScheduleRecord:
    number, task_id, rule, is_enabled, is_of_task, *rest = found
    return ScheduleRecord(number, task_id, _rule.decode(rule), bool(is_enabled), bool(is_of_task), *rest)


def _set_times(connection: Connection, schedule_id: int, rule: ScheduleRule, at: float | None) -> None:
    run_at = None if at is None else starts_at(schedule_id, at, rule.jitter_s)
    connection.execute(SQL.set_times, (at, run_at, schedule_id))


def _audited(rule: ScheduleRule, *, is_enabled: bool) -> dict[str, Any]:
    return {"rule": msgspec.to_builtins(rule), "enabled": is_enabled}


def _require_alone(connection: Connection, task_id: int) -> None:
    active = row(connection, SQL.active, (task_id,))
    if active is not None:
        raise Conflict(
            f"run {active[0]} of the task is {active[1]}",
            hint='wait until it ends, cancel it, or set "overlap": "allow" in the schedule',
        )


class ScheduledRun(msgspec.Struct, frozen=True):
    """A run to be created by a schedule."""

    schedule: ScheduleRecord
    plan: Plan
    version: int | None
    actor: str

    def create(self, connection: Connection, now: float, *, is_only: bool) -> int:
        """Create the run. Raise `Conflict` if it must be the only active one of its task and is not."""
        if is_only:
            _require_alone(connection, self.schedule.task_id)
        made_by = f"schedule:{self.schedule.id}"
        return creation.create_run(connection, self.plan, now, self.actor, self.version, started_by=made_by)


class ScheduleStore:
    """1. A schedule fires at most once for each due time: (schedule, time) is unique, also with several
       keepers, and the run is created in the same transaction.
    2. A write of a keeper that no longer leads (`epoch`) is refused and changes nothing.
    3. Every change by a person and its audit entry are one transaction; so are a firing and its run.
    4. Due schedules are found by index.
    5. Deleting a task deletes its schedules.
    6. The part of the jitter by which a run starts late is always the same for one due time.
    7. A firing whose rule has retries is watched until its run succeeds or its retries are used up.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def add(
        self,
        task_id: int,
        rule: ScheduleRule,
        *,
        actor: str,
        next_fire_at: float | None,
        is_enabled: bool = True,
        is_of_task: bool = False,
    ) -> ScheduleRecord:
        """Add a schedule."""

        def work(connection: Connection) -> ScheduleRecord:
            task, now = tasks.get_live(connection, task_id), self._db.now()
            if one(connection, SQL.count_of_task, (task_id,)) >= MAX_PER_TASK:
                raise NotAllowed(
                    f"the task {task.name!r} has {MAX_PER_TASK} schedules, the maximum",
                    hint="delete one of them",
                )
            if is_of_task and row(connection, SQL.of_task, (task_id,)) is not None:
                raise Conflict(
                    f"the task {task.name!r} already has a schedule of its own",
                    hint="change `schedule` in the task",
                )
            values = (task_id, _encode(rule).decode(), is_enabled, is_of_task, actor, now)
            schedule_id = one(connection, SQL.add, values)
            _set_times(connection, schedule_id, rule, next_fire_at)
            detail = {"task": f"task:{task_id}", **_audited(rule, is_enabled=is_enabled)}
            audit.write(connection, now, actor, "schedule.created", f"schedule:{schedule_id}", **detail)
            return get(connection, schedule_id)

        return await self._db.write(work)

    async def change(
        self,
        schedule_id: int,
        rule: ScheduleRule,
        *,
        actor: str,
        is_enabled: bool,
        next_fire_at: float | None,
    ) -> ScheduleRecord:
        """Change the rule of a schedule, or enable or disable it."""

        def work(connection: Connection) -> ScheduleRecord:
            before, now = get(connection, schedule_id), self._db.now()
            if (before.rule, before.is_enabled) == (rule, is_enabled):
                return before
            connection.execute(SQL.change, (_encode(rule).decode(), is_enabled, now, schedule_id))
            _set_times(connection, schedule_id, rule, next_fire_at)
            detail = {
                "from": _audited(before.rule, is_enabled=before.is_enabled),
                "to": _audited(rule, is_enabled=is_enabled),
            }
            audit.write(connection, now, actor, "schedule.changed", f"schedule:{schedule_id}", **detail)
            return get(connection, schedule_id)

        return await self._db.write(work)

    async def get(self, schedule_id: int) -> ScheduleRecord:
        """Return a schedule."""
        return await self._db.read(lambda connection: get(connection, schedule_id))

    async def of_task(self, task_id: int) -> ScheduleRecord | None:
        """Return the schedule given in the task itself."""
        found = await self._db.read(lambda connection: row(connection, SQL.of_task, (task_id,)))
        return _schedule(found) if found else None

    async def find(
        self, *, task_id: int | None = None, after: int = 0, limit: int = 100
    ) -> list[ScheduleRecord]:
        """Return schedules in the order they were created."""
        if task_id is None:
            return await self._listed(SQL.after, (after, limit))
        return await self._listed(SQL.after_of_task, (task_id, after, limit))

    async def due(self, *, limit: int = 100) -> list[ScheduleRecord]:
        """Return enabled schedules whose `run_at` has passed, the longest due first."""
        return await self._listed(SQL.due, (self._db.now(), limit))

    async def next_due(self, *, limit: int = 10) -> list[ScheduleRecord]:
        """Return the enabled schedules that are due next, the earliest first."""
        return await self._listed(SQL.next, (limit,))

    async def next_times(self, task_ids: Sequence[int]) -> dict[int, float]:
        """Return when tasks are due next, by task; none for a task without a due time."""

        def work(connection: Connection) -> dict[int, float]:
            found = connection.executemany(SQL.next_of_task, [(task_id,) for task_id in task_ids])
            return {task_id: at for task_id, at in found if at is not None}

        return await self._db.read(work)

    async def troubled(self, since: float, *, limit: int = 20) -> list[Firing]:
        """Return firings since a moment that started no run although they should have, newest first."""
        return [Firing(*found) for found in await self._db.fetch(SQL.troubled, (since, limit))]

    async def _listed(self, sql: str, values: tuple[Any, ...]) -> list[ScheduleRecord]:
        return [_schedule(found) for found in await self._db.fetch(sql, values)]

    async def delete(self, schedule_id: int, *, actor: str) -> None:
        """Delete a schedule and its history."""

        def work(connection: Connection) -> None:
            gone, now = get(connection, schedule_id), self._db.now()
            connection.execute(SQL.delete_firings, (schedule_id,))
            connection.execute(SQL.delete, (schedule_id,))
            detail = {"task": f"task:{gone.task_id}", **_audited(gone.rule, is_enabled=gone.is_enabled)}
            audit.write(connection, now, actor, "schedule.deleted", f"schedule:{schedule_id}", **detail)

        await self._db.write(work)

    async def fire(self, due: DueFiring, *, epoch: int) -> Firing | None:
        """Fire a due schedule. Return None if it already fired for that time."""

        def work(connection: Connection) -> Firing | None:
            leadership.check(connection, epoch)
            found, now = row(connection, SQL.get, (due.schedule_id,)), self._db.now()
            if found is None:
                return None
            schedule, key = _schedule(found), (due.schedule_id, due.fire_at)
            connection.execute(SQL.add_firing, (*key, now, due.outcome, due.reason))
            if not connection.changes():
                return None
            failpoints.reach("schedule.fired")
            _set_times(connection, schedule.id, schedule.rule, due.next_fire_at)
            self._cancel(connection, schedule, due)
            if due.plan is not None:
                run = ScheduledRun(schedule, due.plan, due.version, f"schedule:{schedule.id}")
                run_id = run.create(connection, now, is_only=due.is_only)
                connection.execute(SQL.set_run, (run_id, schedule.rule.retries > 0, *key))
            connection.execute(SQL.old_firings, (schedule.id, KEPT_FIRINGS))
            return _firing(connection, key)

        firing = await self._db.write(work)
        for run_id in due.cancels if firing is not None else ():
            while await self._db.write(self._closing(run_id)):
                pass
        return firing

    def _cancel(self, connection: Connection, schedule: ScheduleRecord, due: DueFiring) -> None:
        found = [
            lifecycle.read_run(connection, run_id) for run_id in sorted(due.cancels)
        ]  # locked before any event
        for run in found:
            if run.state in ("completed", "failed", "cancelled"):
                continue
            reason = "replaced by the next run of its schedule"
            lifecycle.set_state(
                connection, run.id, "cancelled", reason, self._db.now(), actor=f"schedule:{schedule.id}"
            )

    def _closing(self, run_id: int) -> Callable[[Connection], bool]:
        """Return a step that closes open rows of a cancelled run in short transactions."""
        return lambda connection: lifecycle.close_rest(
            connection, run_id, "cancelled", self._db.now(), also_leased=True
        )

    async def fire_now(
        self, schedule_id: int, plan: Plan, *, version: int, actor: str, is_only: bool
    ) -> Firing:
        """Start a run now. The times of the schedule stay as they are."""

        def work(connection: Connection) -> Firing:
            schedule, now = get(connection, schedule_id), round(self._db.now(), 3)
            key = (schedule_id, now)
            connection.execute(SQL.add_firing, (*key, now, "started", f"by {actor}"))
            if not connection.changes():
                raise Conflict("the schedule fires at this moment", hint="look at its newest run")
            run_id = ScheduledRun(schedule, plan, version, actor).create(connection, now, is_only=is_only)
            connection.execute(SQL.set_run, (run_id, schedule.rule.retries > 0, *key))
            connection.execute(SQL.old_firings, (schedule_id, KEPT_FIRINGS))
            audit.write(
                connection, now, actor, "schedule.fired", f"schedule:{schedule_id}", run=f"run:{run_id}"
            )
            return _firing(connection, key)

        return await self._db.write(work)

    async def correct(self, schedule_id: int, rule: ScheduleRule, at: float, *, epoch: int) -> None:
        """Set the next due time of a schedule, computed anew."""

        def work(connection: Connection) -> None:
            leadership.check(connection, epoch)
            _set_times(connection, schedule_id, rule, at)

        await self._db.write(work)

    async def postpone(self, schedule_id: int, until: float, *, epoch: int) -> None:
        """Consider a due schedule again at `until`."""

        def work(connection: Connection) -> None:
            leadership.check(connection, epoch)
            connection.execute(SQL.postpone, (until, schedule_id))

        await self._db.write(work)

    async def firings(
        self, schedule_id: int, *, before: float | None = None, limit: int = 100
    ) -> list[Firing]:
        """Return past firings, newest first."""
        values = (schedule_id, PAST_ALL if before is None else before, limit)

        def work(connection: Connection) -> list[Firing]:
            get(connection, schedule_id)
            return [Firing(*found) for found in rows(connection, SQL.firings, values)]

        return await self._db.read(work)

    async def watched(self, *, limit: int = 100) -> list[Firing]:
        """Return watched firings whose run has ended or was deleted."""
        return [Firing(*found) for found in await self._db.fetch(SQL.watched, (limit,))]

    async def retry(
        self, firing: Firing, *, epoch: int, reason: str, plan: Plan | None = None, version: int | None = None
    ) -> Firing | None:
        """Record a retry of a firing, with a new run if there is a plan. Return None if it was recorded
        before.
        """
        key = (firing.schedule_id, firing.fire_at)

        def work(connection: Connection) -> Firing | None:
            leadership.check(connection, epoch)
            connection.execute(SQL.try_again, (reason, *key, firing.tries))
            if not connection.changes():
                return None
            if plan is not None:
                schedule = get(connection, firing.schedule_id)
                run = ScheduledRun(schedule, plan, version, f"schedule:{schedule.id}")
                run_id = run.create(connection, self._db.now(), is_only=True)
                connection.execute(SQL.set_run, (run_id, True, *key))
            return _firing(connection, key)

        return await self._db.write(work)

    async def unwatch(self, firing: Firing, *, epoch: int) -> None:
        """Stop watching a firing."""

        def work(connection: Connection) -> None:
            leadership.check(connection, epoch)
            connection.execute(SQL.let_be, (firing.schedule_id, firing.fire_at, firing.run_id))

        await self._db.write(work)


def _firing(connection: Connection, key: tuple[int, float]) -> Firing:
    found = row(connection, SQL.firing, key)
    assert found is not None  # noqa: S101 - it was written in this transaction
    return Firing(*found)
