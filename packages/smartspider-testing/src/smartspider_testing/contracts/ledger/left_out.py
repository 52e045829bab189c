"""Ledger 18, 19 and 21: what a run leaves out, the fields that no row has, and what it lost."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.events import UrlsLeftOut
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Close, HostNews, RetryLater, Settlement
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.requests.politeness import MAX_HOLD_S
from smartspider.core.requests.recrawl import RecrawlPolicy
from smartspider.core.requests.refusal import LeftOutLink, Refusal, RefusalCode
from smartspider.core.requests.request import Request
from smartspider.core.requests.scope import TrapGuards
from smartspider.core.runs.plan import RunLimits
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.metrics import left_out_key
from smartspider.store.settle.left_out import LINKS_KEPT
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    closed,
    done,
    landed,
    record,
    settle,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.backend import Backend, BackendContract
from smartspider_testing.contracts.ledger.revisit_actions import first_run, read, start, unchanged

WINDOW = RecrawlPolicy(window_s=86_400.0)


def link(path: str, code: RefusalCode = "robots", *, is_next_page: bool = False) -> LeftOutLink:
    """Return a refused link to a page of the host."""
    request = url(path)
    return LeftOutLink(request.fingerprint, request.url, Refusal(code, f"{code}: why"), is_next_page)


def leaving(lease: Lease, *links: LeftOutLink, children: tuple[Request, ...] = (), **more: Any) -> Settlement:
    """Settle a page that leaves out links."""
    return Settlement(lease, Close("done", left_out=list(links), children=list(children), **more))


def skipped(lease: Lease, code: RefusalCode = "robots") -> Settlement:
    """Skip a request."""
    return Settlement(lease, Close("skipped", f"{code}: why", cause=code))


def next_page(path: str) -> Request:
    """Return a request that was found by pagination."""
    return msgspec.structs.replace(url(path), is_next_page=True)


async def counts(backend: Backend, run: Run) -> dict[tuple[str, bool], int]:
    """Return what a run left out, by reason, after a check that everything agrees."""
    assert await backend.store.fsck() == []
    report = await backend.insight.left_out(run.id)
    found: dict[tuple[str, bool], int] = {(one.code, one.is_next_page): one.count for one in report.reasons}
    counters = (await backend.store.get_run(run.id)).counters
    assert sum(found.values()) == counters.skipped + counters.left_out
    assert counters.seen == counters.ended + counters.open + sum(found.values())
    return found


class LeftOutContract(BackendContract):
    """A run stores and counts what it leaves out once, with its reason."""

    @pytest.fixture
    async def worker(self, backend: Backend) -> int:
        """A worker that has joined."""
        return await backend.frontier.join(WorkerRegistration("w"))

    async def test_lost_next_pages_are_named_once_the_run_has_ended(self, backend: Backend) -> None:
        """A failed or missing next page cuts a list short; other failures do not."""
        run = await begin(backend, "list")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        (page,) = await take(backend, worker, run)
        lost = [next_page(f"page{number}") for number in range(7)]
        await settle(backend, done(page, *lost, url("other")))
        for lease in await take(backend, worker, run, want=8):
            state = "missing" if lease.request.url.endswith("page1") else "dead"
            await settle(backend, closed(lease, state, "http 500"))
        assert (await backend.insight.left_out(run.id)).lost_next_pages == []
        await backend.store.finish(run.id)
        report = await backend.insight.left_out(run.id)
        assert report.lost_next_page_count == 7
        assert {one.url for one in report.lost_next_pages} <= {one.url for one in lost}
        assert {(one.state, one.reason) for one in report.lost_next_pages} <= {
            ("dead", "http 500"),
            ("missing", "http 500"),
        }
        assert report.missing_file_count == 0

    async def test_a_link_that_is_left_out_has_its_reason_and_its_page(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 18."""
        run = await begin(backend, "one")
        report = await settle(backend, leaving(await take_one(backend, worker, run), link("a"), link("b")))
        assert await counts(backend, run) == {("robots", False): 2}
        found = await backend.insight.find_left_out(run.id, url("a").fingerprint, url("a").url)
        assert found is not None
        assert (found.code, found.detail, found.is_next_page) == ("robots", "robots: why", False)
        assert (found.url, found.parent) == (url("a").url, url("one").url)
        assert UrlsLeftOut(run.id, "robots", 2) in report.events
        assert await backend.insight.find_left_out(run.id, url("c").fingerprint, url("c").url) is None
        by_url = await backend.insight.find_left_out(run.id, b"post", url("a").url)
        assert by_url == found

    async def test_the_same_link_counts_once_whoever_finds_it(self, backend: Backend, worker: int) -> None:
        """Ledger 18: on several pages, in one settle and in several, and from a late worker."""
        run = await begin(backend, *urls(4))
        first, second, third, fourth = await take(backend, worker, run)
        await settle(backend, leaving(first, link("a")), leaving(second, link("a"), link("b")))
        await settle(backend, leaving(third, link("a", "depth")))
        await settle(backend, leaving(third, link("late")))
        assert await counts(backend, run) == {("robots", False): 2}
        await settle(backend, leaving(fourth, link("a")))
        assert await counts(backend, run) == {("robots", False): 2}

    async def test_a_request_of_the_run_is_not_left_out(self, backend: Backend, worker: int) -> None:
        """Ledger 18: neither an older one nor one of the same page."""
        run = await begin(backend, "one", "two")
        lease, _ = await take(backend, worker, run)
        await settle(backend, leaving(lease, link("two"), link("a"), children=(url("a"),)))
        assert await counts(backend, run) == {}
        assert (await record(backend, run, "a")).state == "open"

    async def test_a_link_that_becomes_a_request_is_no_longer_left_out(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 18: as a link, and as the end of a redirect."""
        run = await begin(backend, "one", "two", "three")
        one, two, three = await take(backend, worker, run)
        await settle(backend, leaving(one, link("a"), link("b"), link("c", "depth")))
        await settle(backend, done(two, url("a")))
        await settle(backend, landed(three, url("b")))
        assert await counts(backend, run) == {("depth", False): 1}
        assert await backend.insight.find_left_out(run.id, url("a").fingerprint, url("a").url) is None

    async def test_a_plain_link_that_turns_out_to_be_a_next_page_is_one(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 18: next pages are what cuts a crawl short."""
        run = await begin(backend, "one", "two", "three")
        one, two, three = await take(backend, worker, run)
        await settle(backend, leaving(one, link("a", "scope_deny")))
        await settle(backend, leaving(two, link("a", "robots", is_next_page=True)))
        assert await counts(backend, run) == {("robots", True): 1}
        await settle(backend, leaving(three, link("a", "scope_deny")))
        assert await counts(backend, run) == {("robots", True): 1}

    async def test_skipped_requests_are_left_out_by_their_code(self, backend: Backend, worker: int) -> None:
        """Ledger 18: until they are stored after all."""
        run = await begin(backend, "one", "two")
        one, two = await take(backend, worker, run)
        await settle(backend, skipped(one), skipped(two, "private_address"))
        assert await counts(backend, run) == {("robots", False): 1, ("private_address", False): 1}
        await settle(backend, done(one))
        assert await counts(backend, run) == {("private_address", False): 1}
        (reason,) = (await backend.insight.left_out(run.id)).reasons
        assert [(one.url, one.parent) for one in reason.examples] == [(url("two").url, None)]

    async def test_a_skipped_page_that_a_redirect_lands_on_is_stored(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 18 and 7."""
        run = await begin(backend, "one", "two")
        one, two = await take(backend, worker, run)
        await settle(backend, skipped(one))
        await settle(backend, landed(two, url("one")))
        assert await counts(backend, run) == {}

    async def test_what_a_limit_leaves_open_is_left_out(self, backend: Backend, worker: int) -> None:
        """Ledger 18: next pages apart from the others."""
        run = await begin(backend, "one", "two", limits=RunLimits(max_pages=1))
        one, two = await take(backend, worker, run)
        await settle(backend, done(one, url("a"), url("b"), next_page("n")), done(two, url("c")))
        run = await backend.store.finish(run.id)
        assert run.reason == "limit: max_pages 1 reached"
        assert await counts(backend, run) == {("limit", False): 3, ("limit", True): 1}

    async def test_what_a_cancelled_run_leaves_open_is_left_out(self, backend: Backend, worker: int) -> None:
        """Ledger 18."""
        run = await begin(backend, "one", "two")
        await settle(backend, done(await take_one(backend, worker, run), url("a")))
        await backend.store.set_state(run.id, "cancelled")
        assert await counts(backend, run) == {("run_ended", False): 2}
        assert (await backend.metrics.sums())[left_out_key("run_ended")] == 2

    async def test_urls_beyond_the_maximum_of_a_host_are_left_out(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 18."""
        run = await begin(backend, "one", traps=TrapGuards(max_urls_per_host=2))
        await settle(backend, done(await take_one(backend, worker, run), *urls(3)))
        assert await counts(backend, run) == {("trap", False): 2}

    async def test_a_list_that_ends_because_nothing_is_new_leaves_its_next_page_out(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 18 and 13."""
        run = await begin(backend, "one", "two", dedup=ItemDedup((("n",),)))
        one, two = await take(backend, worker, run)
        row: dict[str, Any] = {"items": [{"n": 1}], "keys": [(b"1" * 16,)]}
        await settle(backend, Settlement(one, Close("done", **row)))
        await settle(backend, Settlement(two, Close("done", **row, next_pages=[next_page("n")])))
        assert await counts(backend, run) == {("stop_when", True): 1}
        assert (await backend.store.finish(run.id)).reason == "", "the task asks for it"

    async def test_a_run_that_is_cut_short_says_so(self, backend: Backend, worker: int) -> None:
        """Ledger 18: it is completed, and its reason names the next pages."""
        run = await begin(backend, "one")
        lease = await take_one(backend, worker, run)
        await settle(backend, leaving(lease, link("n", is_next_page=True), link("a", "depth")))
        run = await backend.store.finish(run.id)
        assert (run.state, run.reason) == ("completed", "next pages not followed: 1 by robots")

    async def test_what_an_abandoned_host_leaves_is_left_out_until_it_is_retried(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 18, RunStore 10."""
        run = await begin(backend, "one", "two", "three")
        lease = await take_one(backend, worker, run)
        news = (HostNews(slow_down=True, hold_s=MAX_HOLD_S + 1.0, reason="429"),)
        await settle(backend, Settlement(lease, RetryLater(0.0, "429", status=429, counts=False), news))
        assert await counts(backend, run) == {("host_held", False): 3}
        await backend.store.retry(run.id)
        assert await counts(backend, run) == {}

    async def test_pages_that_are_not_due_are_left_out(self, backend: Backend) -> None:
        """Ledger 18 and 15: until pagination leads to them."""
        await first_run(backend, WINDOW, url("p2"), url("p3"))
        run, worker = await start(backend, WINDOW, "e")
        await settle(backend, read(await take_one(backend, worker, run), url("p2"), url("p3"), url("new")))
        assert await counts(backend, run) == {("recrawl", False): 2}
        await settle(backend, read(await take_one(backend, worker, run), next_page("p2")))
        assert await counts(backend, run) == {("recrawl", False): 1}

    async def test_an_unchanged_page_leaves_out_what_it_left_out(self, backend: Backend) -> None:
        """Ledger 18 and 16."""
        policy = RecrawlPolicy(conditional=True)
        run, worker = await start(backend, policy, "e")
        lease = await take_one(backend, worker, run)
        version = msgspec.structs.replace(read(lease).verdict.validators.version, etag='"one"')  # type: ignore[union-attr]  # a close with validators
        await settle(backend, read(lease, version=version, left_out=[link("a")]))
        await backend.store.finish(run.id)
        run, worker = await start(backend, policy, "e")
        await settle(backend, unchanged(await take_one(backend, worker, run)))
        assert await counts(backend, run) == {("robots", False): 1}

    async def test_beyond_the_links_that_are_kept_a_count_is_a_lower_bound(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 18: of each reason, within a settle and over settles."""
        run = await begin(backend, "one", "two")
        one, two = await take(backend, worker, run)
        await settle(backend, leaving(one, *(link(f"a{number}") for number in range(LINKS_KEPT - 1))))
        (reason,) = (await backend.insight.left_out(run.id)).reasons
        assert (reason.count, reason.is_cut) == (LINKS_KEPT - 1, False)
        await settle(backend, leaving(two, *(link(f"b{number}") for number in range(3)), link("c", "depth")))
        first, second = (await backend.insight.left_out(run.id)).reasons
        assert (first.count, first.is_cut) == (LINKS_KEPT, True)
        assert (second.code, second.count, second.is_cut) == ("depth", 1, False)
        assert await counts(backend, run) == {("robots", False): LINKS_KEPT, ("depth", False): 1}

    async def test_links_that_were_only_counted_make_the_count_a_lower_bound(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 18."""
        run = await begin(backend, "one")
        await settle(
            backend, leaving(await take_one(backend, worker, run), link("a", "trap"), links_dropped=5)
        )
        (reason,) = (await backend.insight.left_out(run.id)).reasons
        assert (reason.count, reason.is_cut) == (1, True)

    async def test_a_link_no_database_holds_is_stored_as_far_as_it_can_be(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 18 and 9: it never keeps its page from being stored."""
        run = await begin(backend, "one")
        odd = msgspec.structs.replace(link("a"), url="ftp://h/\0\ud800" + "x" * 10_000)
        report = await settle(backend, leaving(await take_one(backend, worker, run), odd))
        assert report.stored
        (reason,) = (await backend.insight.left_out(run.id)).reasons
        assert reason.examples[0].url.startswith("ftp://h/")

    async def test_next_pages_come_first_and_are_named(self, backend: Backend, worker: int) -> None:
        """Ledger 18."""
        run = await begin(backend, "one")
        pages = [link(f"n{number}", "scope_deny", is_next_page=True) for number in range(7)]
        others = [link(f"a{number}") for number in range(9)]
        await settle(backend, leaving(await take_one(backend, worker, run), *others, *pages))
        first, second = (await backend.insight.left_out(run.id)).reasons
        assert (first.code, first.is_next_page, first.count, len(first.examples)) == (
            "scope_deny",
            True,
            7,
            5,
        )
        assert (second.code, second.count, len(second.examples)) == ("robots", 9, 1)

    async def test_a_deleted_run_leaves_nothing_behind(self, backend: Backend, worker: int) -> None:
        """Ledger 18, RunStore 5."""
        run = await begin(backend, "one")
        await settle(backend, leaving(await take_one(backend, worker, run), link("a")))
        await backend.store.finish(run.id)
        await backend.store.delete_run(run.id)
        assert (await backend.insight.left_out(run.id)).reasons == []
        assert await backend.insight.find_left_out(run.id, url("a").fingerprint, url("a").url) is None
        assert await backend.store.fsck() == []

    async def test_fields_without_a_value_in_any_row_are_known(self, backend: Backend, worker: int) -> None:
        """Ledger 19: whatever page type they are of."""
        run = await begin(backend, "one", "two", "three")
        one, two, three = await take(backend, worker, run)
        await settle(
            backend, done(one, items=[{"a": None, "b": None, "c": ""}, {"a": 1, "b": None, "c": []}])
        )
        assert (await backend.insight.left_out(run.id)).empty_fields == ["b", "c"]
        await settle(backend, done(two, items=[{"d": None, "b": {}}]))
        await settle(backend, done(three, items=[{"a": None, "b": 0, "c": None}]))
        assert (await backend.insight.left_out(run.id)).empty_fields == ["c", "d"]

    async def test_coverage_counts_pages_of_a_type_and_values_in_their_fields(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 21: with an example each, once the run has ended; a field is usual from five pages on."""
        run = await begin(backend, *urls(8), "list")
        *pages, bare, other = await take(backend, worker, run)
        for number, lease in enumerate(pages):
            item = {"name": "n", "price": 1 if number else None, "rare": None if number < 5 else 1}
            await settle(backend, leaving(lease, items=[item, {**item, "name": None}], brought=True))
        await settle(backend, leaving(bare, brought=False), leaving(other))
        assert (await backend.insight.left_out(run.id)).gaps == []
        await backend.store.finish(run.id)
        report = await backend.insight.left_out(run.id)
        assert report.unmatched == []
        assert [(gap.field, gap.count, gap.of, gap.example) for gap in report.gaps] == [
            (None, 1, 8, bare.request.url),
            ("price", 1, 7, pages[0].request.url),
        ]

    async def test_pages_with_bytes_that_are_no_characters_are_counted(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 21."""
        run = await begin(backend, *urls(3))
        one, two, three = await take(backend, worker, run)
        await settle(backend, leaving(one))
        await settle(backend, leaving(two, has_undecodable=True), leaving(three, has_undecodable=True))
        await backend.store.finish(run.id)
        found = (await backend.insight.left_out(run.id)).undecodable
        assert found is not None
        assert (found.count, found.example) == (2, two.request.url)

    async def test_a_type_that_brings_nothing_is_unmatched(self, backend: Backend, worker: int) -> None:
        """Ledger 21."""
        run = await begin(backend, *urls(3))
        leases = await take(backend, worker, run)
        await settle(backend, *(leaving(lease, brought=False) for lease in leases))
        await backend.store.finish(run.id)
        (unmatched,) = (await backend.insight.left_out(run.id)).unmatched
        assert (unmatched.page, unmatched.pages) == ("default", 3)
        assert unmatched.example == leases[0].request.url

    async def test_a_list_page_without_items_is_lost_if_a_later_one_has_some(
        self, backend: Backend, worker: int
    ) -> None:
        """Ledger 21: the empty pages at the end of a list are none."""
        run = await begin(backend, "first")
        pages = [next_page(f"page{number}") for number in range(4)]
        await settle(backend, done(await take_one(backend, worker, run), *pages))
        one, two, three, four = await take(backend, worker, run)
        empty = Close("done", "no items", cause="no_items")
        await settle(backend, Settlement(one, empty), Settlement(two, Close("done", items=[{"a": 1}])))
        await settle(backend, Settlement(three, empty), Settlement(four, empty))
        await backend.store.finish(run.id)
        report = await backend.insight.left_out(run.id)
        assert [(page.url, page.cause) for page in report.lost_next_pages] == [(one.request.url, "no_items")]
        assert report.lost_count == 1

    async def test_only_stored_rows_fill_a_field(self, backend: Backend, worker: int) -> None:
        """Ledger 19: not those beyond a limit, and those that a later duplicate updates."""
        run = await begin(backend, "one", "two", limits=RunLimits(max_items=1))
        one, two = await take(backend, worker, run)
        await settle(backend, done(one, items=[{"a": None}, {"a": 1}]))
        await settle(backend, done(two, items=[{"a": 1}]))
        assert (await backend.insight.left_out(run.id)).empty_fields == ["a"]

    async def test_missing_entries_are_named(self, backend: Backend, worker: int) -> None:
        """Ledger 18: entries alone, the first by URL and all by number."""
        run = await begin(backend, *urls(7), "ok")
        *gone, fine = await take(backend, worker, run)
        await settle(backend, done(fine, url("child")))
        await settle(backend, *(closed(lease, "missing", "http 404") for lease in gone))
        await settle(backend, closed(await take_one(backend, worker, run), "missing", "http 404"))
        report = await backend.insight.left_out(run.id)
        assert report.missing_entries == [f"http://{HOST}/p{number}" for number in range(5)]
        assert report.missing_entry_count == 7
