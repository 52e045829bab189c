"""Every interleaving of workers, store, frontier and keeper on a small graph, with faults, by brute force.

The page S leads to A or to B, as it likes at each fetch: what counts is what was stored. The frontier may be
rolled back to what it had saved, or wiped; workers die anywhere; leases are taken back while they are worked
on. Each rule can be left out, to see that the model would notice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import pytest

LINKS = {"S": ("A", "B")}
"""Which page each version of a page leads to; other pages lead nowhere."""

RULES = frozenset({"look up", "stored children", "offer first", "arm", "sweep"})
"""look up: a lease is only used when its row is open.
stored children: who finds a page closed, before or after fetching it, offers what the store has open for it.
offer first: an ack comes after the offers.
arm: nothing works after a rollback or a wipe until all open rows were offered.
sweep: the keeper offers open rows now and then."""


class Worker(NamedTuple):
    step: str = "idle"
    page: str = ""
    token: int = 0
    link: str = ""
    """Found on the page, when it was fetched; to be offered, when it was committed."""


class World(NamedTuple):
    store: frozenset[tuple[str, str]] = frozenset({("S", "open")})
    stored_links: frozenset[tuple[str, str]] = frozenset()
    commits: tuple[str, ...] = ()
    """Pages in the order their items were stored."""
    live: frozenset[tuple[str, int]] = frozenset()
    """Rows in the frontier: queued with token 0, leased with another."""
    saved: frozenset[tuple[str, int]] = frozenset()
    is_armed: bool = False
    next_token: int = 1
    workers: tuple[Worker, ...] = (Worker(), Worker())
    kills: int = 1
    losses: int = 1
    """Rollbacks and wipes that may still happen."""
    returns: int = 1

    def is_open(self, page: str) -> bool:
        return (page, "open") in self.store

    def is_live(self, page: str) -> bool:
        return any(row == page for row, _ in self.live)

    def with_worker(self, number: int, worker: Worker) -> World:
        return self._replace(workers=(*self.workers[:number], worker, *self.workers[number + 1 :]))

    def offered(self, page: str) -> World:
        """Queue it unless it is live."""
        return self if self.is_live(page) else self._replace(live=self.live | {(page, 0)})

    @property
    def open_rows(self) -> list[str]:
        return sorted(page for page, state in self.store if state == "open")


def steps(world: World, rules: frozenset[str]) -> Iterator[World]:
    """All worlds that may come next."""
    works = world.is_armed or "arm" not in rules
    for number, worker in enumerate(world.workers):
        if worker.step == "idle":
            if works:
                yield from leases(world, number, rules)
            continue
        yield from goes_on(world, number, worker, rules, works=works)
        if world.kills:
            yield world.with_worker(number, Worker())._replace(kills=world.kills - 1)
    yield from troubles(world)
    yield from keeps(world, rules)


def leases(world: World, number: int, rules: frozenset[str]) -> Iterator[World]:
    for page, token in world.live:
        if token:
            continue
        without = world.live - {(page, 0)}
        if "look up" in rules and not world.is_open(page):
            dropped = world._replace(live=without)
            for parent, child in world.stored_links if "stored children" in rules else ():
                if parent == page and world.is_open(child):
                    dropped = dropped.offered(child)
            yield dropped
            continue
        mine = world.next_token
        leased = world._replace(live=without | {(page, mine)}, next_token=mine + 1)
        yield leased.with_worker(number, Worker("leased", page, mine))


def goes_on(
    world: World, number: int, worker: Worker, rules: frozenset[str], *, works: bool
) -> Iterator[World]:
    page = worker.page
    if worker.step == "leased":
        for link in LINKS.get(page, ("",)):
            yield world.with_worker(number, worker._replace(step="fetched", link=link))
    elif worker.step == "fetched":
        yield committed(world, worker, rules).with_worker(number, _after_commit(world, worker, rules))
    elif worker.step == "committed" and works:
        told = world.offered(worker.link) if worker.link else world
        after = Worker("offered", page, worker.token) if "offer first" in rules else Worker()
        yield told.with_worker(number, after)
    elif worker.step == "offered" and works:
        acked = world._replace(live=world.live - {(page, worker.token)})
        after = Worker() if "offer first" in rules else Worker("committed", page, worker.token, worker.link)
        yield acked.with_worker(number, after)


def committed(world: World, worker: Worker, rules: frozenset[str]) -> World:
    """One transaction: the first commit of a page wins."""
    page, link = worker.page, worker.link
    if not world.is_open(page):
        if "look up" not in rules and (page, "done") not in world.store:  # a page that was never stored
            return world._replace(commits=(*world.commits, page))
        return world
    store = world.store - {(page, "open")} | {(page, "done")}
    if link and not any(row == link for row, _ in store):
        store |= {(link, "open")}
    links = world.stored_links | ({(page, link)} if link else set())
    return world._replace(store=store, stored_links=links, commits=(*world.commits, page))


def _after_commit(world: World, worker: Worker, rules: frozenset[str]) -> Worker:
    link = worker.link
    if not world.is_open(worker.page) and "stored children" in rules:
        link = next((child for page, child in world.stored_links if page == worker.page), "")
    step = "committed" if "offer first" in rules else "offered"
    return Worker(step, worker.page, worker.token, link)


def troubles(world: World) -> Iterator[World]:
    if world.saved != world.live:
        yield world._replace(saved=world.live)
    if world.losses:
        yield world._replace(live=world.saved, is_armed=False, losses=world.losses - 1)
        yield world._replace(live=frozenset(), saved=frozenset(), is_armed=False, losses=world.losses - 1)
    if world.returns:
        for page, token in world.live:
            if token:
                back = world.live - {(page, token)} | {(page, 0)}
                yield world._replace(live=back, returns=world.returns - 1)


def keeps(world: World, rules: frozenset[str]) -> Iterator[World]:
    if not world.is_armed:
        armed = world
        for page in world.open_rows if "arm" in rules else world.open_rows[: world.next_token == 1]:
            armed = armed.offered(page)
        yield armed._replace(is_armed=True)
    elif "sweep" in rules:
        for page in world.open_rows:
            if not world.is_live(page):
                yield world.offered(page)


def explored(rules: frozenset[str]) -> tuple[int, list[str]]:
    """Return the number of worlds, and the problems of those without a next step."""
    first = World()
    seen = {first}
    left = deque([first])
    wrong: set[str] = set()
    while left:
        world = left.popleft()
        if len(set(world.commits)) < len(world.commits):
            wrong.add("doubled")
        if world.is_armed and not world.live and all(worker.step == "idle" for worker in world.workers):
            may_heal = "sweep" in rules and world.open_rows
            if world.open_rows and not may_heal:
                wrong.add("lost")
        for following in steps(world, rules):
            if following not in seen:
                seen.add(following)
                left.append(following)
    return len(seen), sorted(wrong)


def test_no_interleaving_loses_a_page_or_doubles_a_row() -> None:
    count, wrong = explored(RULES)
    assert wrong == []
    assert count > 50_000


def test_nothing_is_lost_without_a_sweep_either() -> None:
    """A frontier that lost something is armed anew, and whoever finds a page closed offers what it led to."""
    assert explored(RULES - {"sweep"})[1] == []


@pytest.mark.parametrize("rule", ["arm", "stored children", "offer first"])
def test_a_rule_that_is_left_out_loses_pages_where_no_sweep_heals_it(rule: str) -> None:
    assert explored(RULES - {"sweep", rule})[1] == ["lost"]


@pytest.mark.parametrize(
    "rule",
    [
        "offer first",
        pytest.param("arm", marks=pytest.mark.soak),
        pytest.param("stored children", marks=pytest.mark.soak),
    ],
)
def test_the_sweep_heals_what_another_rule_would_have_prevented(rule: str) -> None:
    assert explored(RULES - {rule})[1] == []
