"""The contract of `interfaces/ledger.py`: settling. Tests name the promise they check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from smartspider.core import failpoints
from smartspider.core.cookies.jar import Cookie
from smartspider.core.events import PageBuried
from smartspider.core.frontier.verdict import Close, HostNews, RetryLater, Settlement
from smartspider.core.pages.extraction import RejectedItem
from smartspider.core.runs.plan import RunLimits
from smartspider.core.runs.run import RunState
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import (
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
from smartspider_testing.contracts.backend import Backend
from smartspider_testing.contracts.frontier.host_health import HostHealthContract
from smartspider_testing.contracts.ledger.cookies import CookieContract
from smartspider_testing.contracts.ledger.files import FileContract
from smartspider_testing.contracts.ledger.item_dedup import ItemDedupContract
from smartspider_testing.contracts.ledger.late_settles import LateSettleContract
from smartspider_testing.contracts.ledger.left_out import LeftOutContract
from smartspider_testing.contracts.ledger.limits import LimitContract
from smartspider_testing.contracts.ledger.list_ends import ListEndContract
from smartspider_testing.contracts.ledger.redirects import RedirectContract
from smartspider_testing.contracts.ledger.revisits import RevisitContract
from smartspider_testing.contracts.ledger.step_log import StepLogContract
from smartspider_testing.contracts.ledger.unchanged import UnchangedContract
from smartspider_testing.crashes import SimulatedCrash, crash_at

INSIDE = tuple(name for name in failpoints.NAMES if name.startswith("settle.") and name != "settle.committed")
COOKIES = (Cookie(HOST, "/", b"id", b"1", 1, 1.0),)
DEEP: dict[str, Any] = {}
for _ in range(5000):
    DEEP = {"deeper": DEEP}

BAD: dict[str, dict[str, Any]] = {
    "surrogate in an item": {"verdict": Close("done", items=[{"ok": 1}, {"bad": "\ud800"}])},
    "surrogate in a child": {
        "verdict": Close("done", children=[msgspec.structs.replace(url("x"), page="\udfff")])
    },
    "surrogate in a reason": {"verdict": Close("missing", reason="\ud800")},
    "surrogate in a retry": {"verdict": RetryLater(1.0, "\ud800")},
    "surrogate in the news": {"verdict": Close("done"), "news": (HostNews(hold_s=1.0, reason="\ud800"),)},
    "a status no column holds": {"verdict": Close("done", status=2**70)},
    "an item no JSON holds": {"verdict": Close("done", items=[{"bad": object()}])},
    "an item too deep": {"verdict": Close("done", items=[DEEP])},
}


class LedgerContract(
    LateSettleContract,
    RedirectContract,
    LimitContract,
    HostHealthContract,
    ItemDedupContract,
    StepLogContract,
    RevisitContract,
    UnchangedContract,
    LeftOutContract,
    FileContract,
    CookieContract,
    ListEndContract,
):
    """A page is settled once, completely or not at all."""

    @pytest.fixture(autouse=True)
    def disarmed(self) -> Iterator[None]:
        """Disarm fail points after each test."""
        yield
        failpoints.arm(None)

    async def test_a_request_that_is_given_up_tells_the_last_answer(self, backend: Backend) -> None:
        """Ledger 1: for those who count answers."""
        run = await begin(backend, "one")
        lease = await take_one(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        verdict = Close("dead", "http 500 (2 attempts)", 500, cause="http_server_error")
        report = await settle(backend, Settlement(lease, verdict))
        assert [event for event in report.events if isinstance(event, PageBuried)] == [
            PageBuried(
                *(run.id, HOST, lease.request.url, "http 500 (2 attempts)", 500),
                cause="http_server_error",
            )
        ]

    async def test_a_settled_page_is_there_with_items_and_children(self, backend: Backend) -> None:
        """Ledger 1 and 3, rule 2."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        report = await settle(
            backend,
            done(
                await take_one(backend, worker, run),
                url("a"),
                url("b"),
                items=[{"n": 1}, {"n": 2}],
                bytes_read=7,
            ),
        )
        assert (report.closed, report.late, report.new_urls, report.items) == (1, 0, 2, 2)
        assert await states(backend, run, "one", "a", "b") == ["done", "open", "open"]
        assert await items(backend, run) == [{"n": 1}, {"n": 2}]
        counters = (await backend.store.get_run(run.id)).counters
        assert (counters.total, counters.done, counters.items, counters.bytes_read) == (3, 1, 2, 7)
        assert await crawl(backend, worker, run) == {f"http://{HOST}/a": 1, f"http://{HOST}/b": 1}

    async def test_a_report_names_the_rows_whose_children_are_in(self, backend: Backend) -> None:
        """Ledger 3: only their links may be taken for known; not those of a late page, a limit, a refusal."""
        run = await begin(backend, "a", "b", "c", "d", limits=RunLimits(max_pages=2))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        a, b, c, d = await take(backend, worker, run)
        report = await settle(
            backend, done(a, url("x")), done(a, url("y")), landed(b, url("a"), url("z")), failed(d)
        )
        assert report.stored == [a.url_id]
        report = await settle(backend, landed(c, url("new"), url("x")), done(b, url("z")), done(d, url("z")))
        assert report.stored == [c.url_id]
        for child in ("y", "z"):
            assert await backend.store.find_urls(url(child).fingerprint) == []

    async def test_settling_nothing_is_nothing(self, backend: Backend) -> None:
        """Ledger 1."""
        assert (await settle(backend)).closed == 0

    @pytest.mark.parametrize("name", INSIDE)
    async def test_a_process_killed_inside_a_settle_changed_nothing(
        self, backend: Backend, name: str
    ) -> None:
        """Ledger 1: at every place inside; the same settle then works."""
        run = await begin(backend, "a", "b", "c", "d", "known")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        a, b, c, d = await take(backend, worker, run, want=4)
        batch = [
            done(a, url("known"), url("new"), items=[{"n": 1}]),
            failed(b, delay_s=0.0),
            landed(c, url("x"), url("y"), items=[{"n": 2}]),
            closed(d, "dead", "timeout", news=(HostNews(slow_down=True, hold_s=0.5),), cookies=COOKIES),
        ]
        before = await backend.store.get_run(run.id)
        crash_at(name)
        with pytest.raises(SimulatedCrash):
            await settle(backend, *batch)
        assert await backend.store.get_run(run.id) == before
        assert await items(backend, run) == []
        assert (await backend.store.cookies(run.id)).version == 0
        assert await states(backend, run, "a", "b", "c", "d") == ["open"] * 4
        assert await backend.store.find_urls(url("new").fingerprint) == []
        assert await backend.frontier.renew([a, b, c, d]) == []
        report = await settle(backend, *batch)
        assert (report.items, report.late) == (2, 0)
        assert await states(backend, run, "a", "b", "c", "x", "d") == [
            "done",
            "open",
            "redirect",
            "done",
            "dead",
        ]

    async def test_a_commit_without_an_answer_is_repeated_safely(self, backend: Backend) -> None:
        """Ledger 2, rule 12: what was committed stays once, and nothing of it is lost."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        page = done(await take_one(backend, worker, run), url("child"), items=[{"n": 1}])
        crash_at("settle.committed")
        with pytest.raises(SimulatedCrash):
            await settle(backend, page)
        assert (await settle(backend, page)).late == 1
        assert await items(backend, run) == [{"n": 1}]
        assert await crawl(backend, worker, run) == {f"http://{HOST}/child": 1}

    async def test_children_are_queued_once(self, backend: Backend) -> None:
        """Ledger 3, rule 1: found twice by one page, by two of one batch, by a later one, or known before."""
        run = await begin(backend, "one", "two", "known")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        one, two = await take(backend, worker, run, want=2)
        report = await settle(
            backend,
            done(one, url("child"), url("child"), url("known"), url("one")),
            done(two, url("child"), url("child?utm_source=x")),
        )
        assert report.new_urls == 1
        seen = await crawl(backend, worker, run)
        assert seen == {f"http://{HOST}/child": 1, f"http://{HOST}/known": 1}
        assert (await record(backend, run, "child")).parent == f"http://{HOST}/one"
        assert (await backend.store.get_run(run.id)).counters.duplicate_urls == 5

    async def test_a_child_is_known_to_its_own_run_only(self, backend: Backend) -> None:
        """Rule 1: the key is (run, fingerprint)."""
        runs = [await begin(backend, "one"), await begin(backend, "one")]
        worker = await backend.frontier.join(WorkerRegistration("w"))
        pages = [done(await take_one(backend, worker, run), url("child")) for run in runs]
        report = await settle(backend, *pages)
        assert (report.closed, report.new_urls) == (2, 2)
        assert len(await take(backend, worker, *runs)) == 2

    async def test_a_retry_comes_back_after_its_delay_and_not_before(self, backend: Backend) -> None:
        """Ledger 5."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, failed(await take_one(backend, worker, run), delay_s=30.0))
        await backend.clock.advance(29.9)
        assert await take(backend, worker, run) == []
        await backend.reopen()
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await backend.clock.advance(0.2)
        assert (await take_one(backend, worker, run)).attempts == 1

    async def test_only_counted_failures_use_up_attempts(self, backend: Backend) -> None:
        """Ledger 5, rule 7."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        seen = []
        for counts in (True, False, True, False, True):
            lease = await take_one(backend, worker, run)
            seen.append(lease.attempts)
            await settle(backend, failed(lease, delay_s=0.0, counts=counts))
        assert seen == [0, 1, 1, 2, 2]
        assert (await backend.store.get_run(run.id)).counters.retries == 5

    @pytest.mark.parametrize("name", BAD)
    @pytest.mark.parametrize("place", [0, 3, 6])
    async def test_one_bad_row_is_buried_alone(self, backend: Backend, name: str, place: int) -> None:
        """Ledger 9, rule 12: the rest of its batch is stored."""
        run = await begin(backend, *urls(7))
        leases = await take(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        batch = [done(lease, url(f"child{lease.url_id}"), items=[{"n": 1}]) for lease in leases]
        batch[place] = Settlement(leases[place], **BAD[name])
        report = await settle(backend, *batch)
        assert (report.closed, report.items, report.new_urls, report.late) == (7, 6, 6, 0)
        found = await record(backend, run, leases[place].request)
        assert found.state == "broken"
        assert found.reason.startswith("not storable")
        assert (await backend.store.get_run(run.id)).counters.done == 6

    async def test_unusual_values_are_stored_as_they_are(self, backend: Backend) -> None:
        """Ledger 9: NUL, astral characters and great numbers are no reason to bury a page."""
        run = await begin(backend, "one")
        strange = {
            "nul": "a\0b",
            "great": 2**70,
            "astral": "\U0001d518\U0001f577",
            "nested": {"a": [None, 1.5]},
            "": True,
        }
        lease = await take_one(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        await settle(backend, done(lease, url("päth?q=\0"), items=[strange]))
        assert await items(backend, run) == [strange]

    @pytest.mark.parametrize("state", ["paused", "stopping"])
    async def test_a_run_that_was_told_to_stop_takes_what_is_in_flight(
        self, backend: Backend, state: RunState
    ) -> None:
        """Ledger 10, rule 4."""
        run = await begin(backend, "one")
        lease = await take_one(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        await backend.store.set_state(run.id, state)
        report = await settle(backend, done(lease, url("child"), items=[{"n": 1}]))
        assert (report.closed, report.items, report.new_urls) == (1, 1, 1)

    @pytest.mark.parametrize("state", ["stopped", "queued"])
    async def test_a_page_that_is_refused_is_fetched_again_later(
        self, backend: Backend, state: RunState
    ) -> None:
        """Ledger 3 and 10: it is not added, and it is not lost."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        lease = await take_one(backend, worker, run)
        await backend.store.set_state(run.id, "paused")
        await backend.store.set_state(run.id, state)
        report = await settle(backend, done(lease, url("child"), items=[{"n": 1}]))
        assert (report.closed, report.late, report.items, report.new_urls) == (0, 1, 0, 0)
        await backend.store.set_state(run.id, "running")
        again = await take_one(backend, worker, run)
        assert again.url_id == lease.url_id
        await settle(backend, done(again))
        assert (await backend.store.finish(run.id)).state == "completed"

    async def test_a_batch_over_several_runs_is_settled_run_by_run(self, backend: Backend) -> None:
        """Ledger 1 and 10: one of them may be over."""
        runs = [await begin(backend, *urls(3)) for _ in range(3)]
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, *runs)
        await backend.store.set_state(runs[1].id, "cancelled")
        report = await settle(backend, *(done(lease, items=[{"n": 1}]) for lease in leases))
        assert (report.closed, report.late, report.items) == (6, 3, 6)
        assert [(await backend.store.get_run(run.id)).counters.done for run in runs] == [3, 0, 3]

    async def test_counters_are_what_happened(self, backend: Backend) -> None:
        """Ledger 1: each kind of end has its sum."""
        run = await begin(backend, *urls(7))
        leases = await take(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        ends: tuple[Any, ...] = ("done", "redirect", "missing", "skipped", "dead", "broken")
        pages = [
            Settlement(lease, Close(end, rejected=[RejectedItem("why", {})]), duplicate_urls=2, bytes_read=10)
            for lease, end in zip(leases, ends, strict=False)
        ]
        await settle(backend, *pages, failed(leases[6]))
        counters = (await backend.store.get_run(run.id)).counters
        sums = [getattr(counters, end) for end in ends]
        assert (sums, counters.open, counters.failed) == ([1] * 6, 1, 2)
        assert (counters.rejected, counters.duplicate_urls, counters.bytes_read) == (6, 12, 60)
