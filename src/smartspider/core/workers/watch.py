"""Decide when a worker process is killed: its event loop does not move, or it uses too much memory."""

from __future__ import annotations

from collections.abc import Container
from typing import Literal

import msgspec

from smartspider.core.runs.run import run_of
from smartspider.core.workers.activity import COMPILE, STORE, ActivityRecord

POLL_S = 0.25
"""Interval of samples."""

KillCause = Literal["stall", "memory", "stop", "stopped"]
"""stall: the event loop did not move · memory: over the budget · stop: it did not respond to a stop, or a run
of its requests ends · stopped: suspended by a signal for too long.
"""

STARVED_SHARE = 0.1
STARVED_FACTOR = 2.0


class WatchLimits(msgspec.Struct, frozen=True):
    """The limits of a watched process."""

    stall_s: float = 20.0
    """Time that reading a page may take."""
    memory: int = 2_000_000_000
    """Resident memory in bytes."""
    grace_s: float = 2.0
    """Further time to end by itself: the alarm of `TimeLimit` ends code in Python."""
    aside_s: float = 3.0
    """A worker that reads a page for so long, or for half of `stall_s`, is set aside: other workers take its
    other requests, and another process takes its place while it goes on reading.
    """
    aside_again_s: float = 1.0
    """The same for a page of a run that a worker was killed for before."""
    store_s: float = 60.0
    """Time of a transaction in a data folder: another worker would wait for the same disk."""
    stop_s: float = 3.0
    """Time without a movement after a request to stop."""
    drain_s: float = 12.0
    """Time to finish requests in flight after the memory budget was exceeded."""
    read_s: float = 0.5
    """A page that has been read for so long while the memory is over the budget is blamed for it."""
    hard_memory: float = 1.5
    """Share of the budget above which a process is not drained."""
    suspended_s: float = 120.0
    """Time that a process may be suspended."""


class ProcessSample(msgspec.Struct, frozen=True):
    """A process at a moment of the monotonic clock."""

    at: float
    activity: ActivityRecord
    cpu_s: float = 0.0
    memory: int = 0
    state: str = "S"
    """The state as the kernel names it: R running, S sleeping, T stopped by a signal."""


class Kill(msgspec.Struct, frozen=True):
    """Kill the process. `activity` is what it was doing."""

    cause: KillCause
    activity: ActivityRecord
    limit: float
    """The seconds or bytes that were exceeded."""

    @property
    def has_culprit(self) -> bool:
        """Return whether the request in `activity` is to blame."""
        return self.cause in ("stall", "memory") and self.activity.is_reading

    @property
    def blames_run(self) -> bool:
        """Return whether the run in `activity` is to blame: its rules cannot be compiled."""
        return self.cause in ("stall", "memory") and self.activity.stage == COMPILE

    @property
    def reason(self) -> str:
        """Return why the process is killed, in words that also fit the request that is to blame."""
        stage = f" in {self.activity.stage_name}" if self.activity.stage_name else ""
        if self.cause == "memory":
            return f"needed more than {memory_text(self.limit)}{stage}"
        if self.cause == "stop":
            return f"did not respond to a stop for {self.limit:g} s{stage}"
        if self.cause == "stopped":
            return f"was suspended for more than {self.limit:g} s"
        return f"took more than {self.limit:g} s{stage}"


class Drain(msgspec.Struct, frozen=True):
    """Ask the process to finish its requests in flight and exit. `activity` is what it was doing."""

    activity: ActivityRecord


def memory_text(size: float) -> str:
    """Return a size as the setting is written, such as `2GB`."""
    return f"{size / 10**9:g}GB" if size >= 10**9 else f"{size / 10**6:g}MB"


class ProcessWatch:
    """Watches one process by its samples.

    Only the time between samples counts, so that a suspended machine or supervisor blames nobody.
    """

    def __init__(self, limits: WatchLimits) -> None:
        self._limits = limits
        self._last: ProcessSample | None = None
        self._cpu_s = 0.0
        self._suspended_s = 0.0
        self._over_s = 0.0
        self._is_draining = False
        self.is_stopping = False
        """It was asked to stop."""
        self.is_unwanted = False
        """A run of its requests is being stopped; until its event loop moves."""
        self.has_only_page = False
        """Its other requests were released; until its event loop moves."""
        self.frozen_s = 0.0
        """Time since its event loop last moved."""

    @property
    def worker_id(self) -> int:
        """The id of its worker; 0 if it is none."""
        return 0 if self._last is None else self._last.activity.worker_id

    def held_up_by(self, offenders: Container[int]) -> int | None:
        """Return the run one page of which holds the process up for so long that other requests should not
        wait; None if there is none. `offenders` are runs that workers were killed for.
        """
        last, limits = self._last, self._limits
        if last is None or not last.activity.is_reading:
            return None
        run_id = run_of(last.activity.url_id)
        limit_s = limits.aside_again_s if run_id in offenders else limits.aside_s
        return run_id if self.frozen_s >= min(limit_s, limits.stall_s / 2.0) else None

    def observe(self, sample: ProcessSample) -> Kill | Drain | None:
        """Return what to do now."""
        last, self._last = self._last, sample
        if last is None or not sample.activity.is_watched:
            self.frozen_s = 0.0
            return None
        passed_s = min(max(sample.at - last.at, 0.0), 2 * POLL_S)
        self._suspended_s = self._suspended_s + passed_s if sample.state in "Tt" else 0.0
        if self._suspended_s or _mark(last.activity) != _mark(sample.activity):
            self.frozen_s, self._cpu_s = 0.0, 0.0
            self.is_unwanted = self.has_only_page = False
        else:
            self.frozen_s += passed_s
            self._cpu_s += sample.cpu_s - last.cpu_s
        if self._suspended_s > self._limits.suspended_s:
            return Kill("stopped", sample.activity, self._limits.suspended_s)
        return self._check_memory(sample, passed_s) or self._check_movement(sample)

    def _check_movement(self, sample: ProcessSample) -> Kill | None:
        limits = self._limits
        if (self.is_stopping or self.is_unwanted) and self.frozen_s >= limits.stop_s:
            return Kill("stop", sample.activity, limits.stop_s)
        is_storing = sample.activity.stage == STORE
        limit_s = limits.store_s if is_storing else limits.stall_s + limits.grace_s
        if self.frozen_s < limit_s or (self._is_starved(sample) and self.frozen_s < STARVED_FACTOR * limit_s):
            return None
        return Kill("stall", sample.activity, limits.store_s if is_storing else limits.stall_s)

    def _is_starved(self, sample: ProcessSample) -> bool:
        """Return whether the process would run, but other processes use the machine."""
        return sample.state == "R" and self._cpu_s < STARVED_SHARE * self.frozen_s

    def _check_memory(self, sample: ProcessSample, passed_s: float) -> Kill | Drain | None:
        limits = self._limits
        is_over = sample.memory > limits.memory and self.worker_id > 0
        if not is_over and not self._is_draining:
            return None
        self._over_s += passed_s
        is_reading = sample.activity.is_reading and self.frozen_s >= limits.read_s
        is_hard = sample.memory > limits.memory * limits.hard_memory
        if (is_over and (is_reading or is_hard)) or self._over_s > limits.drain_s:
            return Kill("memory", sample.activity, limits.memory)
        if self._is_draining:
            return None
        self._is_draining = True
        return Drain(sample.activity)


def _mark(activity: ActivityRecord) -> tuple[float, float, bool]:
    """Return what changes when the event loop moves or begins with another request."""
    return activity.ticked_at, activity.since, activity.is_reading
