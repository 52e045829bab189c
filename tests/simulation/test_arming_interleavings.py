"""Every interleaving of keepers that arm two processes of one shard, by brute force: two never serve at once.

Time goes by in steps; now is always 0. A leader dies or freezes anywhere, also between what it made sure of
and the call that follows; the other takes the lead when the term is over. Which process a leader sees may
change at any moment, as after a failover, and a process that nobody sees lives on. Each rule can be left out,
to see that the model would notice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import pytest

LAPSE = 2
TERM = 2
LONG_AGO = -(LAPSE + 1)
EPOCHS = 3
RULES = frozenset(
    {"wait", "note first", "wait before note", "heed", "count what was sent", "old calls are old"}
)
"""wait: a process that is not the last is armed when the arming of the last has lapsed.
note first: a process is noted in the store before it is armed, not after.
wait before note: and only after the one before it has lapsed.
heed: a process refuses a leader older than one it has heard.
count what was sent: an arming whose answer did not come counts like one that did.
old calls are old: a call that was long on its way arms from the moment it tells, not from when it came."""


class Keeper(NamedTuple):
    epoch: int = 0
    took_at: int = 0
    noted: int = -1
    sent: tuple[int, int] | None = None
    """The last arming: to which process, and the moment it told."""
    call: tuple[int, int] | None = None
    """On its way: to which process, and the moment it tells."""


class World(NamedTuple):
    seen: int = 0
    """The process that leaders see."""
    moves: int = 2
    """Failovers that may still happen."""
    epoch: int = 0
    until: int = 0
    note: int = -1
    armed_until: tuple[int, int] = (0, 0)
    heard: tuple[int, int] = (0, 0)
    keepers: tuple[Keeper, ...] = (Keeper(), Keeper())

    def with_keeper(self, number: int, keeper: Keeper) -> World:
        return self._replace(keepers=(*self.keepers[:number], keeper, *self.keepers[number + 1 :]))

    @property
    def serving(self) -> int:
        return sum(until > 0 for until in self.armed_until)


def earlier(at: int) -> int:
    """A moment, one step later; what is long ago stays that."""
    return max(at - 1, LONG_AGO)


def aged(about: tuple[int, int] | None) -> tuple[int, int] | None:
    return None if about is None else (about[0], earlier(about[1]))


def ticked(world: World) -> World:
    """Time goes by."""
    keepers = tuple(
        one._replace(took_at=earlier(one.took_at), sent=aged(one.sent), call=aged(one.call))
        for one in world.keepers
    )
    first, second = world.armed_until
    return world._replace(
        until=max(world.until - 1, 0), armed_until=(max(first - 1, 0), max(second - 1, 0)), keepers=keepers
    )


def free_at(keeper: Keeper, process: int, rules: frozenset[str]) -> int:
    """When a leader may arm a process, as in `keeper/frontier/arming.py`."""
    if "wait" not in rules:
        return LONG_AGO
    if keeper.sent is not None:
        last, told = keeper.sent
        return told if process == last else told + LAPSE
    if keeper.epoch == 1 or process == keeper.noted:
        return keeper.took_at
    return keeper.took_at + LAPSE


def steps(world: World, rules: frozenset[str]) -> Iterator[World]:
    """All worlds that may come next."""
    yield ticked(world)
    if world.moves:
        yield world._replace(seen=1 - world.seen, moves=world.moves - 1)
    for number, keeper in enumerate(world.keepers):
        if keeper.call is not None:
            yield from arrivals(world, number, keeper, rules)
        elif keeper.epoch != world.epoch or keeper.epoch == 0:
            if world.until <= 0 and world.epoch < EPOCHS:
                taken = Keeper(world.epoch + 1, 0, world.note)
                yield world.with_keeper(number, taken)._replace(epoch=taken.epoch, until=TERM)
        else:
            yield world._replace(until=TERM)
            yield from armings(world, number, keeper, rules)


def armings(world: World, number: int, keeper: Keeper, rules: frozenset[str]) -> Iterator[World]:
    """A leader, sure of its term at this moment, sends an arming to the process it sees."""
    process = world.seen
    is_free = free_at(keeper, process, rules) <= 0
    if keeper.noted != process and "note first" in rules:
        if is_free or "wait before note" not in rules:
            yield world.with_keeper(number, keeper._replace(noted=process))._replace(note=process)
        return
    if is_free:
        yield world.with_keeper(number, keeper._replace(call=(process, 0), sent=(process, 0)))


def arrivals(world: World, number: int, keeper: Keeper, rules: frozenset[str]) -> Iterator[World]:
    """The call comes to its process, with or without an answer; or it is lost."""
    assert keeper.call is not None
    process, told = keeper.call
    answered = keeper._replace(call=None)
    unanswered = answered if "count what was sent" in rules else answered._replace(sent=None)
    yield world.with_keeper(number, unanswered)
    if "heed" in rules and keeper.epoch < world.heard[process]:
        yield world.with_keeper(number, answered)
        return
    until = (told if "old calls are old" in rules else 0) + LAPSE
    armed, heard = list(world.armed_until), list(world.heard)
    armed[process] = max(armed[process], until)
    heard[process] = max(heard[process], keeper.epoch)
    came = world._replace(armed_until=(armed[0], armed[1]), heard=(heard[0], heard[1]))
    if "note first" not in rules and keeper.epoch == world.epoch:
        yield came.with_keeper(number, answered._replace(noted=process))._replace(note=process)
    else:
        yield came.with_keeper(number, answered)
    yield came.with_keeper(number, unanswered)


def first_double(rules: frozenset[str]) -> World | None:
    """A world in which two processes serve, if any can come about."""
    seen, left = {World()}, deque([World()])
    while left:
        world = left.popleft()
        if world.serving > 1:
            return world
        for after in steps(world, rules):
            if after not in seen:
                seen.add(after)
                left.append(after)
    return None


def test_two_processes_never_serve_at_once() -> None:
    assert first_double(RULES) is None


@pytest.mark.parametrize("missing", sorted(RULES - {"heed"}))
def test_each_rule_is_needed(missing: str) -> None:
    """All but `heed`, without which old leaders would write; what they may still arm lapses in time."""
    assert first_double(RULES - {missing}) is not None
