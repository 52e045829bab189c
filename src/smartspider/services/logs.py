"""Log lines: their filters, and the search."""

from __future__ import annotations

from smartspider.core.errors import Problem, RequestInvalid
from smartspider.core.logs import LEVELS
from smartspider.installation.installation import Installation
from smartspider.services.inputs import parse_cursor, parse_id, parse_time
from smartspider.services.tasks.tasks import find_task
from smartspider.store.logs.terms import LogFilter
from smartspider.views.arguments import LogArguments
from smartspider.views.listed import Listed
from smartspider.views.logs import LogView, log_view


async def parse_filter(
    installation: Installation, only: LogArguments, task_id: str | None, run_id: str | None
) -> LogFilter:
    """Return the filter of the arguments; raise `RequestInvalid`."""
    level, text = only.get("level"), only.get("text")
    if level is not None and level not in LEVELS:
        raise _invalid("level", f"{level[:40]!r} is not a level", f"use one of {', '.join(LEVELS)}")
    if text is not None and not any(character.isalnum() for character in text):
        raise _invalid("text", "it contains no word", "use one or more words")
    task = None if task_id is None else await find_task(installation, task_id, or_deleted=True)
    return LogFilter(
        task_id=None if task is None else task.id,
        run_id=None if run_id is None else parse_id(run_id, "run"),
        level=None if level is None else LEVELS[level],
        since=parse_time("since", only.get("since")),
        until=parse_time("until", only.get("until")),
        host=only.get("host"),
        error=only.get("error"),
        worker=only.get("worker"),
        text=text,
    )


async def search(
    installation: Installation,
    only: LogArguments,
    task_id: str | None,
    run_id: str | None,
    *,
    cursor: str | None,
    limit: int,
) -> Listed[LogView]:
    """Return lines, newest first. A page may have fewer than `limit` although `next` names another."""
    wanted = await parse_filter(installation, only, task_id, run_id)
    page = await installation.logs.before(wanted, before=parse_cursor(cursor), limit=limit)
    return Listed([log_view(line) for line in page.lines], None if page.next is None else str(page.next))


def _invalid(path: str, message: str, hint: str = "") -> RequestInvalid:
    return RequestInvalid(f"{path}: {message}", (Problem(path, message, hint),), hint=hint)
