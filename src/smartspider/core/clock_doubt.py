"""Decide whether a wall clock is to be believed. Store time follows it only then."""

from __future__ import annotations

import msgspec

from smartspider.core.datetimes import format_time

AGREES_S = 1.0
"""A wall clock this close to store time agrees with it."""
STEP_S = 60.0
"""Store time follows a wall clock that is this much ahead at once; a larger jump is doubted."""
SAME_S = 5.0
"""Two readings that differ by less are the same jump."""
BELIEVED_AFTER_S = 600.0
"""A jump that lasts this long is believed."""
LONG_JUMP_S = 7 * 86_400.0
LONG_BELIEVED_AFTER_S = 86_400.0
"""A jump forward by more than a week is believed after a day: what it makes expire is deleted for good."""


class ClockDoubt(msgspec.Struct, frozen=True):
    """A wall clock that differs from store time, and is not believed yet."""

    ahead_s: float
    """By how much it is ahead of store time; negative if it is behind."""
    since: float
    """Store time when that was first seen."""

    @property
    def believed_at(self) -> float:
        """Store time from which on it is believed, if it stays as it is."""
        is_long = self.ahead_s > LONG_JUMP_S
        return self.since + (LONG_BELIEVED_AFTER_S if is_long else BELIEVED_AFTER_S)

    @property
    def is_notable(self) -> bool:
        """False for a clock that was set back a little, as time servers do."""
        return abs(self.ahead_s) > STEP_S


class ClockStep(msgspec.Struct, frozen=True):
    """A difference that store time follows."""

    ahead_s: float


def judge_clock(
    ahead_s: float, now: float, doubt: ClockDoubt | None, *, slept_s: float = 0.0
) -> ClockStep | ClockDoubt | None:
    """Decide about a wall clock that is `ahead_s` ahead of store time `now`: None if both agree.

    `slept_s` is the time that the machine slept since store time followed the clock last: the steady
    clock did not count it, so a difference of that size is no jump.
    """
    if abs(ahead_s) <= AGREES_S:
        return None
    if AGREES_S < ahead_s <= STEP_S or (slept_s > AGREES_S and abs(ahead_s - slept_s) <= STEP_S):
        return ClockStep(ahead_s)
    if doubt is None or abs(ahead_s - doubt.ahead_s) > SAME_S:
        return ClockDoubt(ahead_s, now)
    return ClockStep(ahead_s) if now >= doubt.believed_at else doubt


class ClockStatus(msgspec.Struct, frozen=True):
    """Store time and the wall clock that it follows."""

    store_now: float
    wall_now: float
    doubt: ClockDoubt | None

    @property
    def problem(self) -> str:
        """A sentence about a notable doubt; empty if there is none."""
        if self.doubt is None or not self.doubt.is_notable:
            return ""
        where = "ahead of" if self.doubt.ahead_s > 0 else "behind"
        return (
            f"the clock jumped: it is {_length(abs(self.doubt.ahead_s))} {where} store time, which goes on as"
            f" before, and is believed at {format_time(self.doubt.believed_at)} if it stays so"
        )


def _length(seconds: float) -> str:
    for size, name in ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"
