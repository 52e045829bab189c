"""Firing times of schedules: cron in a time zone, an interval, or a single time. Pure functions.

Cron follows Debian's cron. When clocks go forward, a skipped time fires right after the gap; when they go
back, a repeated time fires once, at its first occurrence. Expressions whose minute or hour starts with a
star, and those with seconds, follow elapsed time instead: they fire in both hours and never in the gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice, pairwise

from smartspider.core.schedules import ScheduleRule, starts_at

NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MAX_CRON_CHARS = 200
MAX_ZONE_CHARS = 64
MAX_BACKLOG = 100
"""Maximum number of missed times that are made up for one by one; older ones are dropped."""
_COUNTED = 1000
_COMPARED = 60
"""Times of a cron expression whose intervals are compared: those of an hour, if it has no seconds."""


def check_cron(text: str) -> tuple[str, str] | None:
    """Return the reason and a hint if a cron expression is invalid, else None."""
    if text.strip().startswith("@"):
        known = ", ".join(NICKNAMES)
        return None if text.strip().lower() in NICKNAMES else ("is not a cron nickname", f"one of {known}")
    count = len(text.split())
    if count not in (5, 6):
        return f"has {count} fields", "cron takes 5 (or 6 with seconds), like '0 6 * * *'"
    if len(text) > MAX_CRON_CHARS:
        return f"is longer than {MAX_CRON_CHARS} characters", "split it into several schedules"
    try:
        has_time = next(_cron(text, datetime(2024, 1, 1, tzinfo=UTC)), None) is not None
    except ValueError as error:
        return f"is not a cron expression: {error}", "like '*/15 * * * *' or '0 6 * * MON-FRI'"
    return None if has_time else ("never fires", "no month has that day")


def check_timezone(name: str) -> tuple[str, str] | None:
    """Return the reason and a hint if a time zone is invalid, else None."""
    from zoneinfo import ZoneInfo

    try:
        if len(name) <= MAX_ZONE_CHARS and name not in ("", "localtime"):
            ZoneInfo(name)
            return None
    except (KeyError, ValueError, OSError):  # OSError: a folder of the time zone files
        pass
    return "is not a time zone", "an IANA name, like 'UTC' or 'Europe/Berlin'"


def parse_local_time(text: str, timezone: str) -> float:
    """Return the timestamp of an ISO 8601 text, in `timezone` if it has none; raise `ValueError`."""
    from zoneinfo import ZoneInfo

    moment = datetime.fromisoformat(text)
    try:
        at = (moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(timezone))).timestamp()
    except OverflowError as error:
        raise ValueError(str(error)) from error
    if not 0 <= at < 253_370_764_800:  # the year 9999
        raise ValueError("before 1970 or after 9998")
    return at


def next_time(rule: ScheduleRule, after: float, last: float | None = None) -> float | None:
    """Return the first time after `after`, or None if there is none.

    `last` is an earlier time of an interval, which continues from there; without it the interval starts now.
    """
    return next(_times(rule, after, last), None)


def next_times(rule: ScheduleRule, after: float, last: float | None = None, *, count: int = 5) -> list[float]:
    """Return up to `count` times after `after`."""
    return list(islice(_times(rule, after, last), count))


def shortest_interval(rule: ScheduleRule) -> float:
    """Return the shortest time between two starts, whatever the time zone; infinite if there is only one."""
    if rule.every_s is not None:
        return rule.every_s
    if rule.at is not None:
        return math.inf
    times = islice(_cron(_expression(rule), datetime(2024, 1, 1, tzinfo=UTC)), _COMPARED + 1)
    return min(((later - one).total_seconds() for one, later in pairwise(times)), default=math.inf)


class Backlog:
    """Due times of a schedule: `fire_at` is handled now, `passed` is the number of earlier ones it replaces,
    and `next_at` follows.
    """

    def __init__(self, rule: ScheduleRule, fire_at: float, passed: int) -> None:
        self.fire_at = fire_at
        self.passed = passed
        self.next_at = next_time(rule, fire_at, fire_at)


def latest_next(rule: ScheduleRule, now: float) -> float | None:
    """Return the latest time at which a schedule can be due next; None if it is never due again."""
    if rule.every_s is not None:
        return now + rule.every_s
    return rule.at if rule.at is not None else next_time(rule, now)


def backlog(schedule_id: int, rule: ScheduleRule, first: float, now: float) -> Backlog:
    """Return which of the due times from `first` until now to handle.

    With `coalesce` the last one; without, the first that is not too late, among the `MAX_BACKLOG` newest.
    If all are too late, the last one.
    """
    newest = _newest(schedule_id, rule, first, now)
    if rule.coalesce:
        return Backlog(rule, newest, _count(rule, first, newest))
    in_time = now - rule.misfire_s - rule.jitter_s
    oldest = max(first, in_time)
    candidates = [first] if first >= oldest else []
    candidates += [at for at in _until(rule, max(oldest - 1e-3, first), newest, first) if at >= oldest]
    fire_at = candidates[-MAX_BACKLOG:][0] if candidates else newest
    return Backlog(rule, fire_at, _count(rule, first, fire_at))


def _newest(schedule_id: int, rule: ScheduleRule, first: float, now: float) -> float:
    """Return the last time whose start, jitter included, has passed."""
    if now <= first:
        return first
    low = _some_before(rule, first, now - rule.jitter_s)
    found = max(first, low)
    for at in _until(rule, found, now, first):
        if starts_at(schedule_id, at, rule.jitter_s) > now:
            break
        found = at
    return found


def _some_before(rule: ScheduleRule, first: float, until: float) -> float:
    """Return a time of the rule shortly before `until`, without iterating over all earlier ones."""
    if until <= first or rule.at is not None:
        return first
    if rule.every_s is not None:
        return round(first + math.floor((until - first) / rule.every_s) * rule.every_s, 3)
    back = next(_cron(_expression(rule), _local(until, rule), is_reverse=True), None)
    if back is None or back.timestamp() <= first:
        return first
    # Backwards, cron misses times made up for after a gap; forwards from there it does not.
    return next(_times(rule, back.timestamp() - 1.0, first), first)


def _until(rule: ScheduleRule, after: float, until: float, last: float) -> Iterator[float]:
    for at in _times(rule, after, last):
        if at > until:
            return
        yield at


def _count(rule: ScheduleRule, first: float, until: float) -> int:
    """Return the number of times in [first, until), counting at most `_COUNTED`."""
    if until <= first:
        return 0
    if rule.every_s is not None:
        return round((until - first) / rule.every_s)
    return 1 + sum(1 for at in islice(_until(rule, first, until, first), _COUNTED) if at < until)


def _times(rule: ScheduleRule, after: float, last: float | None) -> Iterator[float]:
    if rule.at is not None:
        if rule.at > after:
            yield rule.at
    elif rule.every_s is not None:
        yield from _interval(rule.every_s, after, last)
    else:
        for local in _cron(_expression(rule), _local(after, rule)):
            at = local.timestamp()
            if at > after:  # in the repeated hour, cron starts with the first occurrence
                yield at


def _interval(every_s: float, after: float, last: float | None) -> Iterator[float]:
    begin = after if last is None else last
    number = max(1, math.floor((after - begin) / every_s))
    while True:
        at = round(begin + number * every_s, 3)
        if at > after:
            yield at
        number += 1


def _expression(rule: ScheduleRule) -> str:
    text = (rule.cron or "").strip()
    return NICKNAMES.get(text.lower(), text)


def _local(at: float, rule: ScheduleRule) -> datetime:
    from zoneinfo import ZoneInfo

    return datetime.fromtimestamp(at, UTC if rule.timezone == "UTC" else ZoneInfo(rule.timezone))


def _cron(expression: str, since: datetime, *, is_reverse: bool = False) -> Iterator[datetime]:
    """Yield the times of an expression; raise `ValueError` with the reason if it is invalid."""
    from cronsim import CronSim, CronSimError

    try:
        return iter(CronSim(expression, since, reverse=is_reverse))
    except (CronSimError, AssertionError, TypeError, ValueError) as error:
        raise ValueError(str(error)[:1].lower() + str(error)[1:] or "it cannot be read") from error
