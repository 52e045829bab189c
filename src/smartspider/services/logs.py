"""Looking for log lines, and following them as they come."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import msgspec

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.logs import LEVELS
from smartspider.interfaces.log_store import LogFilter, LogStore
from smartspider.services.following import BEAT_S, Watching
from smartspider.views.listed import Listed
from smartspider.views.logs import LogView, log_view

TAIL_PIECE = 200
MOST_PAGES = 20
"""Searches one call makes for a page that is not full; then it answers with where to go on."""


class LogQuestion(msgspec.Struct, frozen=True):
    """What lines are wanted, as people ask for them."""

    task_id: int | None = None
    run_id: int | None = None
    level: str | None = None
    since: str | None = None
    until: str | None = None
    host: str | None = None
    error: str | None = None
    worker: str | None = None
    text: str | None = None


def filter_of(asked: LogQuestion) -> LogFilter:
    """A question as a filter; raises `TaskInvalid` where it makes no sense."""
    if asked.level is not None and asked.level not in LEVELS:
        raise _wrong("level", f"{asked.level[:40]!r} is not a level", f"one of {', '.join(LEVELS)}")
    if asked.text is not None and not any(character.isalnum() for character in asked.text):
        raise _wrong("text", "there is no word to look for", "write one or more words")
    return LogFilter(
        task_id=asked.task_id,
        run_id=asked.run_id,
        level=None if asked.level is None else LEVELS[asked.level],
        since=moment_of("since", asked.since),
        until=moment_of("until", asked.until),
        host=asked.host,
        error=asked.error,
        worker=asked.worker,
        text=asked.text,
    )


def moment_of(name: str, text: str | None) -> float | None:
    """A moment as people write it: ISO 8601 (UTC unless it says otherwise), or seconds since 1970."""
    if text is None:
        return None
    try:
        moment = float(text)
    except ValueError:
        try:
            told = _calendar(text.strip())
            moment = told.replace(tzinfo=told.tzinfo or UTC).timestamp()
        except (ValueError, OverflowError, OSError):
            raise _wrong(
                name,
                f"{text[:40]!r} is no moment",
                "write it as 2026-01-31T12:00:00Z, or as seconds since 1970",
            ) from None
    if not math.isfinite(moment) or abs(moment) > 1e12:
        raise _wrong(name, f"{text[:40]!r} is no moment of this world")
    return moment


def _calendar(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        day, _, offset = text.rpartition(" ")  # a plus sign in a query is read as a space
        return datetime.fromisoformat(f"{day}+{offset}")


async def search(
    logs: LogStore, only: LogFilter, *, before: int | None = None, limit: int = 100
) -> Listed[LogView]:
    """Lines, newest first. A page may have fewer than `limit` although there are more: `next` says so."""
    found: list[LogView] = []
    for _ in range(MOST_PAGES):
        page = await logs.before(only, before=before, limit=limit - len(found))
        found += map(log_view, page.lines)
        before = page.next
        if before is None or len(found) >= limit:
            break
        await asyncio.sleep(0)
    return Listed(found, None if before is None else str(before))


async def tail(
    logs: LogStore, watching: Watching, only: LogFilter, after: int | None = None
) -> AsyncGenerator[LogView | None]:
    """Lines as they come, those after a number or from now on; None when none came for a while."""
    with watching.of_logs() as watch:
        number = await logs.last_id() if after is None else after
        while True:
            page = await logs.after(only, after=number, limit=TAIL_PIECE)
            for line in page.lines:
                yield log_view(line)
            if page.next is not None and page.next > number:
                number = page.next
                continue
            watch.take()
            if not await watch.wait(BEAT_S):
                yield None


def _wrong(path: str, message: str, hint: str = "") -> TaskInvalid:
    return TaskInvalid(f"{path}: {message}", (Problem(path, message, hint),), hint=hint)
