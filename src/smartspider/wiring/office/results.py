"""Rows, log lines and the audit of a data folder."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Unpack

import msgspec

from smartspider.interfaces.log_store import LogFilter
from smartspider.services import audit, logs, results
from smartspider.services.audit import AuditQuestion
from smartspider.services.logs import LogQuestion
from smartspider.services.paging import number
from smartspider.services.results import Asked, Choice
from smartspider.views.asked import LogWords, RunWords
from smartspider.views.audit import AuditCheckView, AuditView
from smartspider.views.listed import Listed
from smartspider.views.logs import LogView
from smartspider.views.results import CleaningView, CoverageView, RejectView, ResultCountView, ResultView
from smartspider.wiring.office.runs import RunOffice


class ResultOffice(RunOffice):
    """What runs found and what happened. Words and answers are those of the API."""

    async def list_results(
        self,
        *,
        where: Sequence[str] = (),
        fields: str | None = None,
        sort: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        **of: Unpack[RunWords],
    ) -> Listed[ResultView]:
        """A page of rows. With a filter it may be short, even empty, and still have a `next`."""
        choice = Choice(where, fields, sort)
        return await results.rows(self.premises, Asked(**of), choice, cursor=cursor, limit=limit)

    async def count_results(
        self, *, where: Sequence[str] = (), at_most: int = 100_000, **of: Unpack[RunWords]
    ) -> ResultCountView:
        """How many rows there are; with a filter, among as many as `at_most`."""
        return await results.count(self.premises, Asked(**of), where, at_most=at_most)

    async def get_coverage(
        self, *, fields: str | None = None, sample: int = 1_000, **of: Unpack[RunWords]
    ) -> CoverageView:
        """How full the fields are, over the newest rows."""
        return await results.coverage(self.premises, Asked(**of), fields, sample=sample)

    async def list_rejects(
        self, *, limit: int = 100, cursor: str | None = None, **of: Unpack[RunWords]
    ) -> Listed[RejectView]:
        """Items that were not kept, with the reason."""
        return await results.rejects(self.premises, Asked(**of), cursor=cursor, limit=limit)

    async def list_cleaning(
        self,
        *,
        field: str | None = None,
        step: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        **of: Unpack[RunWords],
    ) -> Listed[CleaningView]:
        """What steps made of values, where the task has `cleaning_log`."""
        return await results.cleaning(self.premises, Asked(**of), (field, step), cursor=cursor, limit=limit)

    async def list_logs(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        **only: Unpack[LogWords],
    ) -> Listed[LogView]:
        """Lines of everything, or of what is asked for, newest first. A page may be short."""
        wanted = await self._lines(task_id, run_id, only)
        return await logs.search(self.premises.logs, wanted, cursor=cursor, limit=limit)

    async def tail_logs(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        after: str | None = None,
        **only: Unpack[LogWords],
    ) -> AsyncGenerator[LogView]:
        """Lines as they come, each once; with `after` those since that id."""
        wanted = await self._lines(task_id, run_id, only)
        since = None if after is None else number(after, "log line")
        async with aclosing(logs.tail(self.premises.logs, self.hub, wanted, since)) as lines:
            async for line in lines:
                if line is not None:
                    yield line

    async def list_audit(
        self,
        *,
        action: str | None = None,
        subject: str | None = None,
        actor: str | None = None,
        since: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Listed[AuditView]:
        """What was done, newest first."""
        asked = AuditQuestion(action, subject, actor, since)
        return await audit.entries(self.premises.audit, asked, cursor=cursor, limit=limit)

    async def verify_audit(self) -> AuditCheckView:
        """Whether the audit is what was written."""
        return await audit.verify(self.premises.audit)

    async def _lines(self, task_id: str | None, run_id: str | None, only: LogWords) -> LogFilter:
        task = None if task_id is None else str((await self._task(task_id, or_deleted=True)).id)
        asked = msgspec.convert({**only, "task_id": task, "run_id": run_id}, LogQuestion)
        return await logs.filter_of(self.premises.tasks, asked)
