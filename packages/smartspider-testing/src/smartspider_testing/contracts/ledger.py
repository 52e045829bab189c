"""The promises of `interfaces/ledger.py`, tested by their numbers: settling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from smartspider.core import failpoints
from smartspider.core.events import PageBuried
from smartspider.core.extraction import Rejected
from smartspider.core.limits import Limits
from smartspider.core.runs import RunState
from smartspider.core.verdict import Close, HostNews, Retry, Settlement
from smartspider.core.workers import WorkerCard
from smartspider_testing.contracts.acts import (
    HOST,
    begin,
    closed,
    crawl,
    done,
    failed,
    items,
    landed,
    record,
    settle,
    states,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.dedup import DedupContract
from smartspider_testing.contracts.ground import Ground
from smartspider_testing.contracts.landing import LandingContract
from smartspider_testing.contracts.late import LateContract
from smartspider_testing.contracts.limits import LimitContract
from smartspider_testing.contracts.notes import NotesContract
from smartspider_testing.contracts.revisits import RevisitContract
from smartspider_testing.contracts.trouble import TroubleContract
from smartspider_testing.contracts.unchanged import UnchangedContract

INSIDE = tuple(name for name in failpoints.NAMES if name.startswith("settle.") and name != "settle.committed")
DEEP: dict[str, Any] = {}
for _ in range(5000):
    DEEP = {"deeper": DEEP}

BAD: dict[str, dict[str, Any]] = {
    "surrogate in an item": {"verdict": Close("done", items=[{"ok": 1}, {"bad": "\ud800"}])},
    "surrogate in a child": {
        "verdict": Close("done", children=[msgspec.structs.replace(url("x"), page="\udfff")])
    },
    "surrogate in a reason": {"verdict": Close("missing", reason="\ud800")},
    "surrogate in a retry": {"verdict": Retry(1.0, "\ud800")},
    "surrogate in the news": {"verdict": Close("done"), "news": HostNews(hold_s=1.0, reason="\ud800")},
    "a status no column holds": {"verdict": Close("done", status=2**70)},
    "an item no JSON holds": {"verdict": Close("done", items=[{"bad": object()}])},
    "an item too deep": {"verdict": Close("done", items=[DEEP])},
}


class Killed(Exception):
    """The process ended here."""


def kill_at(name: str, time: int = 1) -> None:
    """End the process the n-th time it comes to a place."""
    left = [time]

    def on_reach(reached: str) -> None:
        left[0] -= reached == name
        if left[0] == 0:
            failpoints.arm(None)
            raise Killed(name)

    failpoints.arm(on_reach)


class LedgerContract(
    LateContract,
    LandingContract,
    LimitContract,
    TroubleContract,
    DedupContract,
    NotesContract,
    RevisitContract,
    UnchangedContract,
):
    """A page is settled once, wholly, or not at all."""

    @pytest.fixture(autouse=True)
    def disarmed(self) -> Iterator[None]:
        """No test leaves a fault behind."""
        yield
        failpoints.arm(None)

    async def test_a_request_that_is_given_up_tells_the_last_answer(self, ground: Ground) -> None:
        """Ledger 1: for those who count answers."""
        run = await begin(ground, "one")
        lease = await take_one(ground, await ground.frontier.join(WorkerCard("w")), run)
        report = await settle(ground, Settlement(lease, Close("dead", "http 500 (2 attempts)", 500)))
        assert [event for event in report.events if isinstance(event, PageBuried)] == [
            PageBuried(run.id, HOST, lease.request.url, "http 500 (2 attempts)", 500)
        ]

    async def test_a_settled_page_is_there_with_items_and_children(self, ground: Ground) -> None:
        """Ledger 1 and 3, rule 2."""
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        report = await settle(
            ground,
            done(
                await take_one(ground, worker, run),
                url("a"),
                url("b"),
                items=[{"n": 1}, {"n": 2}],
                bytes_read=7,
            ),
        )
        assert (report.closed, report.late, report.new_urls, report.items) == (1, 0, 2, 2)
        assert await states(ground, run, "one", "a", "b") == ["done", "open", "open"]
        assert await items(ground, run) == [{"n": 1}, {"n": 2}]
        counters = (await ground.store.get_run(run.id)).counters
        assert (counters.total, counters.done, counters.items, counters.bytes_read) == (3, 1, 2, 7)
        assert await crawl(ground, worker, run) == {f"http://{HOST}/a": 1, f"http://{HOST}/b": 1}

    async def test_a_report_names_the_rows_whose_children_are_in(self, ground: Ground) -> None:
        """Ledger 3: only their links may be taken for known; not those of a late page, a limit, a refusal."""
        run = await begin(ground, "a", "b", "c", "d", limits=Limits(max_pages=2))
        worker = await ground.frontier.join(WorkerCard("w"))
        a, b, c, d = await take(ground, worker, run)
        report = await settle(
            ground, done(a, url("x")), done(a, url("y")), landed(b, url("a"), url("z")), failed(d)
        )
        assert report.stored == [a.url_id]
        report = await settle(ground, landed(c, url("new"), url("x")), done(b, url("z")), done(d, url("z")))
        assert report.stored == [c.url_id]
        for child in ("y", "z"):
            assert await ground.store.find_urls(url(child).fingerprint) == []

    async def test_settling_nothing_is_nothing(self, ground: Ground) -> None:
        """Ledger 1."""
        assert (await settle(ground)).closed == 0

    @pytest.mark.parametrize("name", INSIDE)
    async def test_a_process_killed_inside_a_settle_changed_nothing(self, ground: Ground, name: str) -> None:
        """Ledger 1: at every place inside; the same settle then works."""
        run = await begin(ground, "a", "b", "c", "d", "known")
        worker = await ground.frontier.join(WorkerCard("w"))
        a, b, c, d = await take(ground, worker, run, want=4)
        batch = [
            done(a, url("known"), url("new"), items=[{"n": 1}]),
            failed(b, delay_s=0.0),
            landed(c, url("x"), url("y"), items=[{"n": 2}]),
            closed(d, "dead", "timeout", news=HostNews(slow_down=True, hold_s=0.5)),
        ]
        before = await ground.store.get_run(run.id)
        kill_at(name)
        with pytest.raises(Killed):
            await settle(ground, *batch)
        assert await ground.store.get_run(run.id) == before
        assert await items(ground, run) == []
        assert await states(ground, run, "a", "b", "c", "d") == ["open"] * 4
        assert await ground.store.find_urls(url("new").fingerprint) == []
        assert await ground.frontier.renew([a, b, c, d]) == []
        report = await settle(ground, *batch)
        assert (report.items, report.late) == (2, 0)
        assert await states(ground, run, "a", "b", "c", "x", "d") == [
            "done",
            "open",
            "redirect",
            "done",
            "dead",
        ]

    async def test_a_commit_without_an_answer_is_repeated_safely(self, ground: Ground) -> None:
        """Ledger 2, rule 12: what was committed stays once, and nothing of it is lost."""
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        page = done(await take_one(ground, worker, run), url("child"), items=[{"n": 1}])
        kill_at("settle.committed")
        with pytest.raises(Killed):
            await settle(ground, page)
        assert (await settle(ground, page)).late == 1
        assert await items(ground, run) == [{"n": 1}]
        assert await crawl(ground, worker, run) == {f"http://{HOST}/child": 1}

    async def test_children_are_queued_once(self, ground: Ground) -> None:
        """Ledger 3, rule 1: found twice by one page, by two of one batch, by a later one, or known before."""
        run = await begin(ground, "one", "two", "known")
        worker = await ground.frontier.join(WorkerCard("w"))
        one, two = await take(ground, worker, run, want=2)
        report = await settle(
            ground,
            done(one, url("child"), url("child"), url("known"), url("one")),
            done(two, url("child"), url("child?utm_source=x")),
        )
        assert report.new_urls == 1
        seen = await crawl(ground, worker, run)
        assert seen == {f"http://{HOST}/child": 1, f"http://{HOST}/known": 1}
        assert (await record(ground, run, "child")).parent == f"http://{HOST}/one"
        assert (await ground.store.get_run(run.id)).counters.duplicate_urls == 5

    async def test_a_child_is_known_to_its_own_run_only(self, ground: Ground) -> None:
        """Rule 1: the key is (run, fingerprint)."""
        runs = [await begin(ground, "one"), await begin(ground, "one")]
        worker = await ground.frontier.join(WorkerCard("w"))
        pages = [done(await take_one(ground, worker, run), url("child")) for run in runs]
        report = await settle(ground, *pages)
        assert (report.closed, report.new_urls) == (2, 2)
        assert len(await take(ground, worker, *runs)) == 2

    async def test_a_retry_comes_back_after_its_delay_and_not_before(self, ground: Ground) -> None:
        """Ledger 5."""
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        await settle(ground, failed(await take_one(ground, worker, run), delay_s=30.0))
        await ground.clock.advance(29.9)
        assert await take(ground, worker, run) == []
        await ground.reopen()
        worker = await ground.frontier.join(WorkerCard("w"))
        await ground.clock.advance(0.2)
        assert (await take_one(ground, worker, run)).attempts == 1

    async def test_only_counted_failures_use_up_attempts(self, ground: Ground) -> None:
        """Ledger 5, rule 7."""
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        seen = []
        for counts in (True, False, True, False, True):
            lease = await take_one(ground, worker, run)
            seen.append(lease.attempts)
            await settle(ground, failed(lease, delay_s=0.0, counts=counts))
        assert seen == [0, 1, 1, 2, 2]
        assert (await ground.store.get_run(run.id)).counters.retries == 5

    @pytest.mark.parametrize("name", BAD)
    @pytest.mark.parametrize("place", [0, 3, 6])
    async def test_one_bad_row_is_buried_alone(self, ground: Ground, name: str, place: int) -> None:
        """Ledger 9, rule 12: the rest of its batch is stored."""
        run = await begin(ground, *urls(7))
        leases = await take(ground, await ground.frontier.join(WorkerCard("w")), run)
        batch = [done(lease, url(f"child{lease.url_id}"), items=[{"n": 1}]) for lease in leases]
        batch[place] = Settlement(leases[place], **BAD[name])
        report = await settle(ground, *batch)
        assert (report.closed, report.items, report.new_urls, report.late) == (7, 6, 6, 0)
        found = await record(ground, run, leases[place].request)
        assert found.state == "broken"
        assert found.reason.startswith("not storable")
        assert (await ground.store.get_run(run.id)).counters.done == 6

    async def test_unusual_values_are_stored_as_they_are(self, ground: Ground) -> None:
        """Ledger 9: NUL, astral characters and great numbers are no reason to bury a page."""
        run = await begin(ground, "one")
        strange = {
            "nul": "a\0b",
            "great": 2**70,
            "astral": "\U0001d518\U0001f577",
            "nested": {"a": [None, 1.5]},
            "": True,
        }
        lease = await take_one(ground, await ground.frontier.join(WorkerCard("w")), run)
        await settle(ground, done(lease, url("päth?q=\0"), items=[strange]))
        assert await items(ground, run) == [strange]

    @pytest.mark.parametrize("state", ["paused", "stopping"])
    async def test_a_run_that_was_told_to_stop_takes_what_is_in_flight(
        self, ground: Ground, state: RunState
    ) -> None:
        """Ledger 10, rule 4."""
        run = await begin(ground, "one")
        lease = await take_one(ground, await ground.frontier.join(WorkerCard("w")), run)
        await ground.store.set_state(run.id, state)
        report = await settle(ground, done(lease, url("child"), items=[{"n": 1}]))
        assert (report.closed, report.items, report.new_urls) == (1, 1, 1)

    @pytest.mark.parametrize("state", ["stopped", "queued"])
    async def test_a_page_that_is_refused_is_fetched_again_later(
        self, ground: Ground, state: RunState
    ) -> None:
        """Ledger 3 and 10: it is not added, and it is not lost."""
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        lease = await take_one(ground, worker, run)
        await ground.store.set_state(run.id, "paused")
        await ground.store.set_state(run.id, state)
        report = await settle(ground, done(lease, url("child"), items=[{"n": 1}]))
        assert (report.closed, report.late, report.items, report.new_urls) == (0, 1, 0, 0)
        await ground.store.set_state(run.id, "running")
        again = await take_one(ground, worker, run)
        assert again.url_id == lease.url_id
        await settle(ground, done(again))
        assert (await ground.store.finish(run.id)).state == "completed"

    async def test_a_batch_over_several_runs_is_settled_run_by_run(self, ground: Ground) -> None:
        """Ledger 1 and 10: one of them may be over."""
        runs = [await begin(ground, *urls(3)) for _ in range(3)]
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = await take(ground, worker, *runs)
        await ground.store.set_state(runs[1].id, "cancelled")
        report = await settle(ground, *(done(lease, items=[{"n": 1}]) for lease in leases))
        assert (report.closed, report.late, report.items) == (6, 3, 6)
        assert [(await ground.store.get_run(run.id)).counters.done for run in runs] == [3, 0, 3]

    async def test_counters_are_what_happened(self, ground: Ground) -> None:
        """Ledger 1: each kind of end has its sum."""
        run = await begin(ground, *urls(7))
        leases = await take(ground, await ground.frontier.join(WorkerCard("w")), run)
        ends: tuple[Any, ...] = ("done", "redirect", "missing", "skipped", "dead", "broken")
        pages = [
            Settlement(lease, Close(end, rejected=[Rejected("why", {})]), duplicate_urls=2, bytes_read=10)
            for lease, end in zip(leases, ends, strict=False)
        ]
        await settle(ground, *pages, failed(leases[6]))
        counters = (await ground.store.get_run(run.id)).counters
        sums = [getattr(counters, end) for end in ends]
        assert (sums, counters.open, counters.failed) == ([1] * 6, 1, 2)
        assert (counters.rejected, counters.duplicate_urls, counters.bytes_read) == (6, 12, 60)
