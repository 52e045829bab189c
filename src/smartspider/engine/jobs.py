"""The jobs a worker has opened: one per run, closed when no request uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import msgspec

from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.processor import Processor


class Job(msgspec.Struct, frozen=True):
    """The plan of a run when the job was opened, and the objects that process it."""

    plan: Plan
    processor: Processor
    links: LinkFilter


OpenJob = Callable[[Run], AbstractAsyncContextManager[Job]]


class OpenedJob:
    """A job and the number of requests that use it."""

    def __init__(self, job: Job, revision: int, stack: AsyncExitStack) -> None:
        self.job = job
        self.revision = revision
        self.users = 0
        self._stack = stack

    async def close(self) -> None:
        """Close the resources of the job."""
        await self._stack.aclose()


class JobCache:
    """The open jobs of a worker. A replaced or finished one stays open while it has users."""

    def __init__(self, open_job: OpenJob) -> None:
        self._open = open_job
        self._current: dict[int, OpenedJob] = {}
        self._retired: list[OpenedJob] = []

    async def get(self, run: Run) -> OpenedJob:
        """Return the job of a run with its current tuning, opened if needed."""
        opened = self._current.get(run.id)
        if opened is None or opened.revision != run.revision:
            stack = AsyncExitStack()
            job = await stack.enter_async_context(self._open(run))
            self._retire(run.id)
            opened = self._current[run.id] = OpenedJob(job, run.revision, stack)
        return opened

    async def retain(self, runs: Iterable[int]) -> None:
        """Close the jobs of all other runs and replaced ones once they have no users."""
        for run_id in self._current.keys() - set(runs):
            self._retire(run_id)
        free = [opened for opened in self._retired if not opened.users]
        self._retired = [opened for opened in self._retired if opened.users]
        for opened in free:
            await opened.close()

    async def close(self) -> None:
        """Close all jobs."""
        for run_id in list(self._current):
            self._retire(run_id)
        retired, self._retired = self._retired, []
        async with AsyncExitStack() as stack:
            for opened in retired:
                stack.push_async_callback(opened.close)

    def _retire(self, run_id: int) -> None:
        opened = self._current.pop(run_id, None)
        if opened is not None:
            self._retired.append(opened)
