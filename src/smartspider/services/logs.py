"""Log lines: their filters, and the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from smartspider.core.datetimes import format_time
from smartspider.core.errors import NotFound, Problem, RequestInvalid
from smartspider.core.logs import LEVELS
from smartspider.installation.installation import Installation
from smartspider.services.inputs import parse_cursor, parse_id, parse_time
from smartspider.services.tasks.tasks import find_task
from smartspider.store.logs.histogram import TimeSpan
from smartspider.store.logs.store import storable_url
from smartspider.store.logs.terms import LogFilter
from smartspider.views.arguments import LogArguments, LogConditions
from smartspider.views.listed import Listed
from smartspider.views.logs import LogHistogram, LogPoint, LogView, log_view


async def parse_filter(
    installation: Installation, only: LogArguments, task_id: str | None, run_id: str | None
) -> LogFilter:
    """Return the filter of the arguments; raise `RequestInvalid`."""
    levels, text, url = _levels(only.get("level")), only.get("text"), only.get("url")
    if text is not None and not any(character.isalnum() for character in text):
        raise _invalid("text", "it contains no word", "use one or more words")
    task = None if task_id is None else await find_task(installation, task_id, or_deleted=True)
    return LogFilter(
        task_id=None if task is None else task.id,
        run_id=None if run_id is None else parse_id(run_id, "run"),
        level=levels[0] if len(levels) == 1 else None,
        levels=levels if len(levels) > 1 else (),
        since=parse_time("since", only.get("since")),
        until=parse_time("until", only.get("until")),
        host=only.get("host"),
        url=None if url is None else storable_url(url),
        error=only.get("error"),
        worker=only.get("worker"),
        text=text,
    )


def _levels(given: str | Sequence[str] | None) -> tuple[int, ...]:
    """Return the levels of an argument; one is the lowest, several are exactly those."""
    names = (given,) if isinstance(given, str) else tuple(given or ())
    for name in names:
        if name not in LEVELS:
            raise _invalid("level", f"{name[:40]!r} is not a level", f"use one of {', '.join(LEVELS)}")
    return tuple(LEVELS[name] for name in names)


DEFAULT_SPAN_S = 3_600.0


class ListPlace(NamedTuple):
    """A part of the list of lines: a page, or the lines around one."""

    cursor: str | None
    limit: int
    around: str | None = None
    context: int = 0


async def search(
    installation: Installation,
    only: LogArguments,
    task_id: str | None,
    run_id: str | None,
    place: ListPlace,
) -> Listed[LogView]:
    """Return lines, newest first. A page may have fewer than `limit` although `next` names another."""
    wanted = await parse_filter(installation, only, task_id, run_id)
    if place.around is not None:
        return await _search_around(installation, wanted, parse_id(place.around, "log line"), place.context)
    page = await installation.logs.before(wanted, before=parse_cursor(place.cursor), limit=place.limit)
    return Listed([log_view(line) for line in page.lines], None if page.next is None else str(page.next))


async def _search_around(
    installation: Installation, wanted: LogFilter, number: int, context: int
) -> Listed[LogView]:
    """Return a line with the matching ones before and after it."""
    line = await installation.logs.get(number)
    if wanted.run_id not in (None, line.line.run_id) or wanted.task_id not in (None, line.line.task_id):
        raise NotFound(
            f"log line {number} is about another run", hint="use /api/logs, or the run of the line"
        )
    if not context:
        return Listed([log_view(line)], str(number))
    later = await installation.logs.after(wanted, after=number, limit=context)
    earlier = await installation.logs.before(wanted, before=number, limit=context)
    lines = [*reversed(later.lines), line, *earlier.lines]
    return Listed([log_view(one) for one in lines], None if earlier.next is None else str(earlier.next))


async def count(
    installation: Installation,
    only: LogConditions,
    task_id: str | None,
    run_id: str | None,
    *,
    start: str | None,
    end: str | None,
    points: int,
) -> LogHistogram:
    """Count lines by time and level; by default, those of the last hour."""
    conditions = cast("LogArguments", {**only, "since": None, "until": None})
    wanted = await parse_filter(installation, conditions, task_id, run_id)
    until, since = parse_time("to", end), parse_time("from", start)
    until = installation.clock.now() if until is None else until
    since = until - DEFAULT_SPAN_S if since is None else since
    if not since < until:
        raise _invalid("from", "it is not before `to`", "swap the two times")
    span = TimeSpan(since, until, points)
    found = await installation.logs.count(wanted, span)
    shown = [
        LogPoint(
            format_time(since + place * span.step_s), *(counts.get(level, 0) for level in LEVELS.values())
        )
        for place, counts in enumerate(found.points)
    ]
    return LogHistogram(format_time(since), format_time(until), span.step_s, found.is_estimated, shown)


def _invalid(path: str, message: str, hint: str = "") -> RequestInvalid:
    return RequestInvalid(f"{path}: {message}", (Problem(path, message, hint),), hint=hint)
