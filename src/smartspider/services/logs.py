"""Looking for log lines, and following them as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import msgspec

from smartspider.core.errors import Problem, RequestInvalid
from smartspider.core.logs import LEVELS
from smartspider.interfaces.log_store import LogFilter, LogStore
from smartspider.interfaces.task_store import TaskStore
from smartspider.services.following import BEAT_S, Watching
from smartspider.services.moments import read_moment
from smartspider.services.paging import number, place_of
from smartspider.services.tasks import find_task
from smartspider.views.listed import Listed
from smartspider.views.logs import LogView, log_view

TAIL_PIECE = 200


class LogQuestion(msgspec.Struct, frozen=True):
    """What lines are wanted, as people ask for them."""

    task_id: str | None = None
    """The id or the name of a task, which may be deleted."""
    run_id: str | None = None
    level: str | None = None
    since: str | None = None
    until: str | None = None
    host: str | None = None
    error: str | None = None
    worker: str | None = None
    text: str | None = None


async def filter_of(tasks: TaskStore, asked: LogQuestion) -> LogFilter:
    """A question as a filter; raises `RequestInvalid` where it makes no sense."""
    if asked.level is not None and asked.level not in LEVELS:
        raise _wrong("level", f"{asked.level[:40]!r} is not a level", f"one of {', '.join(LEVELS)}")
    if asked.text is not None and not any(character.isalnum() for character in asked.text):
        raise _wrong("text", "there is no word to look for", "write one or more words")
    task = None if asked.task_id is None else await find_task(tasks, asked.task_id, or_deleted=True)
    return LogFilter(
        task_id=None if task is None else task.id,
        run_id=None if asked.run_id is None else number(asked.run_id, "run"),
        level=None if asked.level is None else LEVELS[asked.level],
        since=read_moment("since", asked.since),
        until=read_moment("until", asked.until),
        host=asked.host,
        error=asked.error,
        worker=asked.worker,
        text=asked.text,
    )


async def search(logs: LogStore, only: LogFilter, *, cursor: str | None, limit: int) -> Listed[LogView]:
    """Lines, newest first. A page may have fewer than `limit` although there are more: `next` says so."""
    page = await logs.before(only, before=place_of(cursor), limit=limit)
    return Listed([log_view(line) for line in page.lines], None if page.next is None else str(page.next))


async def tail(
    logs: LogStore, watching: Watching, only: LogFilter, after: int | None = None
) -> AsyncGenerator[LogView | None]:
    """Lines as they come, those after a number or from now on; None when none came for a while."""
    with watching.of_logs() as watch:
        last = await logs.last_id() if after is None else after
        while True:
            page = await logs.after(only, after=last, limit=TAIL_PIECE)
            for line in page.lines:
                yield log_view(line)
            if page.next is not None and page.next > last:
                last = page.next
                continue
            watch.take()
            if not await watch.wait(BEAT_S):
                yield None


def _wrong(path: str, message: str, hint: str = "") -> RequestInvalid:
    return RequestInvalid(f"{path}: {message}", (Problem(path, message, hint),), hint=hint)
