"""Fire schedules, retry failed firings, and apply the schedules in tasks."""

from __future__ import annotations

import logging

from smartspider.core.errors import LeadershipLost, SmartSpiderError
from smartspider.installation.installation import Installation
from smartspider.interfaces.leadership import Term
from smartspider.services.schedules.firing import correct_times, fire_due, retry_failed
from smartspider.services.schedules.schedules import sync_task_schedule

log = logging.getLogger("smartspider.keeper")


class FireSchedules:
    """Fires schedules that are due."""

    name, every_s = "schedules", 1.0

    def __init__(self, installation: Installation) -> None:
        self._installation = installation

    async def do(self, term: Term) -> None:
        """Fire all due schedules; one that fails does not delay the others."""
        while due := await self._installation.schedules.due():
            is_stuck = False
            for schedule in due:
                try:
                    firing = await fire_due(self._installation, schedule, epoch=term.epoch)
                except LeadershipLost:
                    raise
                except SmartSpiderError as error:
                    log.warning("schedule %d: %s", schedule.id, error.message)
                    is_stuck = True
                    continue
                if firing is not None:
                    log.info(
                        "schedule %d: %s%s",
                        schedule.id,
                        firing.outcome,
                        firing.reason and f", {firing.reason}",
                    )
            if is_stuck:
                return


class CorrectSchedules:
    """Corrects due times that were computed from a wrong clock. A step of store time ends the leader's term,
    so this looks once in each.
    """

    name, every_s = "due times", 15.0

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._done_in = 0

    async def do(self, term: Term) -> None:
        """Look at all schedules."""
        if term.epoch == self._done_in:
            return
        if corrected := await correct_times(self._installation, epoch=term.epoch):
            log.warning("%d schedules were due at times of a wrong clock and are corrected", corrected)
        self._done_in = term.epoch


class RetryFirings:
    """Retries failed runs of schedules."""

    name, every_s = "retries", 5.0

    def __init__(self, installation: Installation) -> None:
        self._installation = installation

    async def do(self, term: Term) -> None:
        """Retry those that are due."""
        await retry_failed(self._installation, epoch=term.epoch)


class FollowTasks:
    """Applies the schedules of all tasks, one page at a time, in case a process died between saving a task
    and doing so.
    """

    name, every_s = "tasks", 10.0
    page = 50

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._after = 0

    async def do(self, term: Term) -> None:  # noqa: ARG002 - idempotent
        """Process one page of tasks."""
        page = await self._installation.tasks.find(after=self._after, limit=self.page)
        for task in page:
            await sync_task_schedule(self._installation, task.id, actor=task.owner)
        self._after = page[-1].id if len(page) == self.page else 0
