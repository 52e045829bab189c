"""Live events of runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from smartspider.operations.operation import Operations
from smartspider.services.inputs import parse_id
from smartspider.views.runs import LiveEvent


class LiveOperations(Operations):
    """Events of runs, numbered 1, 2, 3, ... in each run. They stream, so each caller has its
    own transport.
    """

    async def follow_run(
        self, run_id: str, *, after: int | None = None, follow: bool = False, snapshot: bool = False
    ) -> AsyncGenerator[LiveEvent]:
        """Yield the events of a run after a number, past and future, until the run ends.

        With `follow` the stream continues then: the run may be resumed. With `snapshot` it starts with the
        status of the run (`run.status`). `stream.reset` says that events before `first` are no longer kept.
        """
        from smartspider.services.live.streams import END, follow_run, stream_options

        options = stream_options(
            self.installation, self.principal.name, after, follow=follow, snapshot=snapshot
        )
        run = parse_id(run_id, "run")
        stream = follow_run(self.installation, self.services.hub, run, options)
        async with aclosing(stream) as messages:
            async for message in messages:
                if message.name == END:
                    return
                if message.text:
                    yield message.event()

    async def watch_task(
        self,
        task_id: str,
        *,
        run_id: str | None = None,
        after: int | None = None,
        follow: bool = True,
        snapshot: bool = False,
    ) -> AsyncGenerator[LiveEvent]:
        """Yield the events of the newest run of a task, or of `run_id`, and then of later runs."""
        from smartspider.services.live.streams import END, follow_task, stream_options
        from smartspider.services.tasks.tasks import find_task

        task = await find_task(self.installation, task_id)
        options = stream_options(
            self.installation, self.principal.name, after, follow=follow, snapshot=snapshot
        )
        run = None if run_id is None else parse_id(run_id, "run")
        stream = follow_task(self.installation, self.services.hub, task.id, options, run)
        async with aclosing(stream) as messages:
            async for message in messages:
                if message.text and message.name != END:
                    yield message.event()
