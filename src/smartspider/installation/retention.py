"""Retention of runs, events and log lines."""

from __future__ import annotations

import re

import msgspec

from smartspider.core.errors import SettingInvalid
from smartspider.interfaces.clock import Clock
from smartspider.store.logs.store import LogStore

_SIZE = re.compile(r"([0-9]{1,9}) ?(B|KB|MB|GB|TB)", re.IGNORECASE)
_AGE = re.compile(r"([0-9]{1,6}) ?([hdw])")
_COUNT = re.compile(r"[0-9]{1,9}")
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SECONDS = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}
FOREVER = ("", "forever")
MIN_LOG_BYTES = 1_000_000
LOGS_EVERY_S = 30.0
"""Interval between two deletions of log lines."""


class Retention(msgspec.Struct, frozen=True):
    """Limits on what is kept; None means no limit."""

    log_bytes: int | None = 10**9
    log_age_s: float | None = 30 * 86_400.0
    run_age_s: float | None = None
    runs_per_task: int | None = 10_000
    events_per_run: int = 10_000
    notification_age_s: float = 30 * 86_400.0


async def trim_logs(logs: LogStore, clock: Clock, retention: Retention) -> None:
    """Delete the oldest log lines beyond the size and age limits."""
    if retention.log_bytes is not None:
        await logs.trim(retention.log_bytes)
    if retention.log_age_s is not None:
        await logs.delete_before(clock.now() - retention.log_age_s)


def parse_retention(logs: str | None, runs: str | None) -> Retention:
    """Parse `SMARTSPIDER_KEEP_LOGS` (size, age) and `_KEEP_RUNS` (age, count per task).

    None keeps a default.
    """
    kept = {**({} if logs is None else _logs(logs)), **({} if runs is None else _runs(runs))}
    return msgspec.structs.replace(Retention(), **kept)


def _logs(text: str) -> dict[str, float | None]:
    size, age = _parts("KEEP_LOGS", text, _SIZE, _AGE, "write it as 1GB,30d, or forever")
    log_bytes = None if size is None else int(size[1]) * _BYTES[size[2].upper()]
    if log_bytes is not None and log_bytes < MIN_LOG_BYTES:
        raise SettingInvalid(f"SMARTSPIDER_KEEP_LOGS is {text[:40]!r}", hint="use 1MB or more")
    return {"log_bytes": log_bytes, "log_age_s": _age(age)}


def _runs(text: str) -> dict[str, float | None]:
    count, age = _parts("KEEP_RUNS", text, _COUNT, _AGE, "write it as 90d, 100, 90d,100 or forever")
    runs_per_task = None if count is None else int(count[0])
    if runs_per_task == 0:
        raise SettingInvalid(
            "SMARTSPIDER_KEEP_RUNS is 0", hint="use 1 or more: the newest run is always kept"
        )
    return {"runs_per_task": runs_per_task, "run_age_s": _age(age)}


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
