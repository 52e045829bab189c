"""What is kept for how long. By default nothing that was crawled is ever forgotten, old log lines are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable

import msgspec

from smartspider.core.errors import NotAllowed, NotFound, SettingInvalid
from smartspider.core.runs import UNFINISHED, Run
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.store import Store

_SIZE = re.compile(r"([0-9]{1,9}) ?(B|KB|MB|GB|TB)", re.IGNORECASE)
_AGE = re.compile(r"([0-9]{1,6}) ?([hdw])")
_COUNT = re.compile(r"[0-9]{1,9}")
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SECONDS = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}
FOREVER = ("", "forever")
SMALLEST_LOG = 1_000_000
FEWEST_EVENTS = 100
PAGE = 200
"""Runs looked at before others have a turn."""


class Retention(msgspec.Struct, frozen=True):
    """What is kept; None: all of it."""

    log_bytes: int | None = 10**9
    log_age_s: float | None = 30 * 86_400.0
    run_age_s: float | None = None
    runs_per_task: int | None = None
    events_per_run: int = 10_000
    notice_age_s: float = 30 * 86_400.0


def read_retention(logs: str, runs: str, events: str) -> Retention:
    """`SMARTSPIDER_KEEP_LOGS` (size, age), `_KEEP_RUNS` (age, number of each task), `_KEEP_EVENTS`."""
    sizes, ages = _parts("KEEP_LOGS", logs, _SIZE, _AGE, "as 1GB,30d, or forever")
    counts, run_ages = _parts("KEEP_RUNS", runs, _COUNT, _AGE, "as 90d or 100, or 90d,100, or forever")
    if _COUNT.fullmatch(events) is None or int(events) < FEWEST_EVENTS:
        raise SettingInvalid(
            f"SMARTSPIDER_KEEP_EVENTS is {events[:40]!r}", hint=f"a number, {FEWEST_EVENTS} or more"
        )
    log_bytes = None if sizes is None else int(sizes[1]) * _BYTES[sizes[2].upper()]
    if log_bytes is not None and log_bytes < SMALLEST_LOG:
        raise SettingInvalid(f"SMARTSPIDER_KEEP_LOGS is {logs[:40]!r}", hint="1MB or more")
    runs_per_task = None if counts is None else int(counts[0])
    if runs_per_task == 0:
        raise SettingInvalid("SMARTSPIDER_KEEP_RUNS is 0", hint="the newest run is always kept: 1 or more")
    return Retention(log_bytes, _age(ages), _age(run_ages), runs_per_task, int(events))


def _parts(
    name: str, text: str, first: re.Pattern[str], second: re.Pattern[str], hint: str
) -> tuple[re.Match[str] | None, re.Match[str] | None]:
    if text.strip().lower() in FOREVER:
        return None, None
    found: list[re.Match[str] | None] = [None, None]
    for part in text.split(","):
        for place, pattern in enumerate((first, second)):
            match = pattern.fullmatch(part.strip())
            if match is not None and found[place] is None:
                found[place] = match
                break
        else:
            raise SettingInvalid(f"SMARTSPIDER_{name} is {text[:40]!r}", hint=hint)
    return found[0], found[1]


def _age(found: re.Match[str] | None) -> float | None:
    return None if found is None else int(found[1]) * _SECONDS[found[2]]


class RunSweep:
    """Walks through all runs from the newest on, a page at a time, and forgets those that need not be kept.

    A run that is not over is never touched, nor is the newest of each task that is.
    """

    def __init__(
        self, store: Store, clock: Clock, kept: Retention, forget: Callable[[int], Awaitable[None]]
    ) -> None:
        self._store = store
        self._clock = clock
        self._kept = kept
        self._forget = forget
        self._before: int | None = None
        self._newer: Counter[int] = Counter()

    async def step(self) -> bool:
        """One page; True while there are more, False at the end of a walk."""
        if self._kept.run_age_s is None and self._kept.runs_per_task is None:
            return False
        page = await self._store.list_runs(before=self._before, limit=PAGE)
        for run in page:
            if run.state not in UNFINISHED:
                await self._judge(run)
        self._before = page[-1].id if page else None
        if not page:
            self._newer.clear()
        return bool(page)

    async def _judge(self, run: Run) -> None:
        newer = self._newer[run.task_id]
        is_old = (
            self._kept.run_age_s is not None
            and (run.finished_at or run.created_at) < self._clock.now() - self._kept.run_age_s
        )
        is_one_too_many = self._kept.runs_per_task is not None and newer >= self._kept.runs_per_task
        if newer > 0 and (is_old or is_one_too_many):
            try:
                await self._forget(run.id)
            except (NotAllowed, NotFound):  # somebody works on it again, or was faster
                pass
            else:
                return
        self._newer[run.task_id] += 1
