"""Opens the runs of workers that need no network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from smartspider.core.pages.page import Page
from smartspider.core.runs.run import Run
from smartspider.engine.in_flight import Job
from smartspider.engine.session import Session
from smartspider.interfaces.fetcher import Exchange


class NoTransport:
    """The jobs of these workers bring their own fetchers."""

    async def fetch(self, exchange: Exchange) -> Page:
        raise NotImplementedError(exchange)


class JobOpener:
    """Opens jobs by a function, and sessions without connections and cookies; owners by run."""

    def __init__(
        self, open_job: Callable[[Run], AbstractAsyncContextManager[Job]], owners: Mapping[int, str] = {}
    ) -> None:
        self._open_job = open_job
        self._owners = owners

    async def owner(self, run: Run) -> str:
        return self._owners.get(run.id, "")

    @asynccontextmanager
    async def open_session(self, _run: Run) -> AsyncIterator[Session]:
        yield Session(transport=NoTransport())

    def open_job(self, run: Run, _session: Session) -> AbstractAsyncContextManager[Job]:
        return self._open_job(run)
