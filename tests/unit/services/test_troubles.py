"""What stops all runs at once, and that it is told wherever somebody asks."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.services.scenes import NOW, gate, scene, standing

from smartspider.core.errors import StoreFull, StoreUnavailable
from smartspider.interfaces.insight import Mark
from smartspider.interfaces.leadership import Term
from smartspider.services import readiness
from smartspider.services.readiness import Readiness, frontier_serves, keeper_leads, store_writable
from smartspider.services.stall import Scene, judge
from smartspider.services.trouble import TAKES_NO_WRITES, Cluster, Footing, nobody_leads, troubles
from smartspider_testing.clock import ManualClock


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


def footing(
    *, error: StoreUnavailable | None = None, until: float = NOW + 3, serving: tuple[int, int] = (1, 1)
) -> Footing:
    async def check_room() -> None:
        if error is not None:
            raise error

    async def count_serving() -> tuple[int, int]:
        return serving

    return Footing(check_room, Cluster(Leading(until), count_serving, lambda: NOW))


async def codes(of: Footing | None) -> list[str]:
    return [cause.code for cause in await troubles(of)]


async def test_all_is_well_as_a_rule() -> None:
    assert await codes(None) == []
    assert await codes(footing()) == []


async def test_each_trouble_has_its_name() -> None:
    assert await codes(footing(error=StoreFull("full"))) == ["store_full"]
    assert await codes(footing(error=StoreUnavailable("away"))) == ["store_unavailable"]
    assert await codes(footing(until=NOW - 12)) == ["no_keeper"]
    assert await codes(footing(serving=(0, 1))) == ["frontier_waits"]
    assert await codes(footing(serving=(3, 16))) == ["frontier_waits"]
    assert await codes(footing(error=StoreFull("full"), until=NOW - 1)) == ["store_full", "no_keeper"]


def test_since_when_nobody_leads_is_told() -> None:
    assert nobody_leads(Term("one", 4, NOW + 1), NOW) == ""
    told = nobody_leads(Term("one", 4, NOW - 12), NOW)
    assert told == "no keeper leads since 1970-01-01T00:16:28.000Z (12 s)"
    assert nobody_leads(Term("", 0, 0.0), NOW) == "no keeper ever led"


async def test_a_run_that_still_seems_to_move_does_not_when_everything_stands_still() -> None:
    """What was fetched a moment ago says nothing about now."""
    of = scene(gate(), of=standing(earlier=Mark(NOW - 30.0, 10)))
    assert judge(of).moving
    found = await troubles(footing(error=StoreFull("full")))
    view = judge(Scene(of.situation, of.workers, of.concurrency, found))
    assert not view.moving
    assert view.summary == "The store takes no writes: disk full."


@pytest.mark.parametrize("state", ["paused", "completed"])
async def test_the_state_of_the_run_goes_before(state: str) -> None:
    of = scene(gate(), of=standing(run_state=state))
    view = judge(Scene(of.situation, of.workers, of.concurrency, await troubles(footing(until=NOW - 1))))
    assert view.causes[0].code != "no_keeper"


async def test_readiness_tells_what_is_missing_and_since_when() -> None:
    async def full() -> None:
        raise StoreFull("the store at db.internal:5432/x takes no writes: disk full")

    async def one_of_two() -> tuple[int, int]:
        return 1, 2

    checks = {
        "store": store_writable(full),
        "keeper": keeper_leads(Leading(NOW - 7), lambda: NOW, is_cluster=True),
        "frontier": frontier_serves(one_of_two),
    }
    view = await Readiness(ManualClock(), checks).look()
    store, keeper, frontier = view.checks
    assert view.missing == ["store", "keeper", "frontier"]
    assert store.detail == TAKES_NO_WRITES
    assert "since 1970-01-01T00:16:33.000Z (7 s); nothing is handed out until one does" in keeper.detail
    assert "1 of 2 parts serve" in frontier.detail


async def test_who_asks_whether_it_is_ready_does_not_wait_for_what_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never() -> str:
        await asyncio.Event().wait()
        return "?"

    async def there() -> str:
        return "there"

    monkeypatch.setattr(readiness, "CHECK_S", 0.01)
    view = await Readiness(ManualClock(), {"away": never, "there": there, "gone": never}).look()
    assert view.missing == ["away", "gone"]
    assert view.checks[0].detail == "no answer in 0.01 s"
