"""Installation-wide blockers, as causes of a stall and in readiness checks."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec
import pytest
from tests.unit.services.situations import NOW, gate, progress, situation

from smartspider.core.errors import NotArmed, StoreFull, StoreUnavailable
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.installation import Installation, RemoteFrontier
from smartspider.interfaces.frontier_index import ShardState
from smartspider.interfaces.leadership import Term
from smartspider.services.readiness import Readiness
from smartspider.services.runs.blockers import DISK_FULL, find_blockers, missing_leader
from smartspider.services.runs.stall import RunSituation, find_causes
from smartspider.store.diagnostics.progress import ProgressMark


class Leading:
    """A leader's row with one term in it."""

    def __init__(self, until: float, epoch: int = 4) -> None:
        self.term = Term("one" if epoch else "", epoch, until)

    async def take(self, owner: str, term_s: float) -> Term | None:
        return None

    async def resign(self, owner: str) -> None: ...

    async def current(self) -> Term | None:
        return self.term

    async def newest(self) -> Term:
        return self.term

    async def check(self, epoch: int) -> None: ...

    def now(self) -> float:
        return NOW


class Shards:
    """An index of which the first shards are armed."""

    def __init__(self, armed: int, count: int) -> None:
        self.states = [ShardState(shard, "process", 1, is_armed=shard < armed) for shard in range(count)]

    async def shard_states(self) -> list[ShardState]:
        return self.states

    async def check(self, shard: int) -> None:
        raise NotArmed(f"shard {shard} waits for the keeper")


def cluster(
    folder: DataFolder,
    *,
    error: StoreUnavailable | None = None,
    until: float = NOW + 3,
    serving: tuple[int, int] = (1, 1),
) -> Installation:
    async def check() -> None:
        if error is not None:
            raise error

    leadership: Any = Leading(until)
    frontier = RemoteFrontier(cast("Any", Shards(*serving)), cast("Any", None), leadership, lambda: NOW)
    return msgspec.structs.replace(
        folder, check_room=check, check_writable=check, leadership=leadership, remote_frontier=frontier
    )


async def codes(of: Installation) -> list[str]:
    return [cause.code for cause in await find_blockers(of)]


async def test_all_is_well_as_a_rule(folder: DataFolder) -> None:
    assert await codes(folder) == []
    assert await codes(cluster(folder)) == []


async def test_each_blocker_has_its_code(folder: DataFolder) -> None:
    assert await codes(cluster(folder, error=StoreFull("full"))) == ["store_full"]
    assert await codes(cluster(folder, error=StoreUnavailable("away"))) == ["store_unavailable"]
    assert await codes(cluster(folder, until=NOW - 12)) == ["no_keeper"]
    assert await codes(cluster(folder, serving=(0, 1))) == ["frontier_waits"]
    assert await codes(cluster(folder, serving=(3, 16))) == ["frontier_waits"]
    assert await codes(cluster(folder, error=StoreFull("full"), until=NOW - 1)) == ["store_full", "no_keeper"]


def test_a_missing_leader_is_reported_with_the_end_of_the_last_term() -> None:
    assert missing_leader(Term("one", 4, NOW + 1), NOW) == ""
    assert "since 1970-01-01T00:16:28.000Z (12 s)" in missing_leader(Term("one", 4, NOW - 12), NOW)
    assert missing_leader(Term("", 0, 0.0), NOW) == "no keeper has been started yet"


async def test_a_run_that_fetched_a_moment_ago_does_not_move_if_all_runs_are_blocked(
    folder: DataFolder,
) -> None:
    """What was fetched a moment ago says nothing about now."""
    of = situation(gate(), of=progress(earlier=ProgressMark(NOW - 30.0, 10)))
    assert find_causes(of).moving
    found = await find_blockers(cluster(folder, error=StoreFull("full")))
    view = find_causes(RunSituation(of.activity, of.workers, of.concurrency, found))
    assert not view.moving
    assert [cause.code for cause in view.causes] == ["store_full"]
    assert view.summary == f"{DISK_FULL[0].upper()}{DISK_FULL[1:]}."


@pytest.mark.parametrize("state", ["paused", "completed"])
async def test_the_state_of_the_run_goes_before(folder: DataFolder, state: str) -> None:
    of = situation(gate(), of=progress(run_state=state))
    view = find_causes(
        RunSituation(
            of.activity, of.workers, of.concurrency, await find_blockers(cluster(folder, until=NOW - 1))
        )
    )
    assert view.causes[0].code != "no_keeper"


async def test_readiness_names_what_is_missing_and_since_when(folder: DataFolder) -> None:
    full = StoreFull("the store at db.internal:5432/x takes no writes: disk full")
    view = await Readiness(cluster(folder, error=full, until=NOW - 7, serving=(1, 2))).check()
    store, clock, workers, keeper, frontier = view.checks
    assert view.missing == ["store", "workers", "keeper", "frontier"]
    assert store.detail == DISK_FULL
    assert (clock.name, clock.ok) == ("clock", True)
    assert not workers.ok
    assert "since 1970-01-01T00:16:33.000Z (7 s); no request is leased until one does" in keeper.detail
    assert "1 of 2 shards ready" in frontier.detail


async def test_a_check_that_hangs_fails_after_its_timeout(folder: DataFolder) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    hanging = cluster(folder)
    view = await Readiness(msgspec.structs.replace(hanging, check_writable=never), timeout_s=0.01).check()
    checks = {check.name: check for check in view.checks}
    assert (checks["store"].ok, checks["store"].detail) == (False, "no answer in 0.01 s")
    assert checks["keeper"].ok
    assert checks["frontier"].ok
