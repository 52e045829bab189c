"""RunStore 8 and 10: the cause of what did not succeed is stored; requests are found and retried by it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from smartspider.core.errors import NotAllowed
from smartspider.core.frontier.cause import CauseCode
from smartspider.core.frontier.verdict import Close, ClosedState, RetryLater, SentRequest, Settlement
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.runs.listing import PageFilter
from smartspider.store.runs.reopen_failed import FailureFilter
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    closed,
    done,
    record,
    settle,
    states,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.backend import Backend, BackendContract
from smartspider_testing.contracts.runs.settings import audit_entries

OTHER = "b.example"
ENDS: Sequence[tuple[ClosedState, CauseCode | None, int | None]] = (
    ("done", None, 200),
    ("dead", "timeout", None),
    ("dead", "forbidden", 403),
    ("broken", "not_readable", 200),
    ("missing", "not_found", 404),
    ("skipped", "robots", None),
)


async def troubled(backend: Backend) -> Run:
    """Complete a run whose pages p0 to p5 of two hosts ended in each of the ways."""
    run = await begin(backend, *urls(6), *urls(6, host=OTHER))
    worker = await backend.frontier.join(WorkerRegistration("w"))
    for lease in sorted(await take(backend, worker, run), key=lambda lease: lease.url_id):
        state, cause, status = ENDS[int(lease.request.url[-1])]
        await settle(backend, Settlement(lease, Close(state, f"was {cause}", status, cause=cause)))
    return await backend.store.finish(run.id)


async def found(backend: Backend, run: Run, only: PageFilter, limit: int = 100) -> list[str]:
    """Return the URLs of the requests that match, without the scheme."""
    seen: list[str] = []
    after: int | None = 0
    while after is not None:
        page = await backend.store.pages(run.id, only, after=after, limit=limit)
        assert len(page.rows) <= limit
        seen += [row.url.removeprefix("http://") for row in page.rows]
        after = page.next
    return seen


class CauseContract(BackendContract):
    """Causes are kept, and requests are chosen by them."""

    async def test_the_cause_is_kept_with_what_did_not_succeed(self, backend: Backend) -> None:
        """RunStore 8: null for a stored page; a close without a cause has the cause `other`."""
        run = await troubled(backend)
        rows = (await backend.store.pages(run.id)).rows
        assert [row.cause for row in rows] == [cause for _, cause, _ in ENDS] * 2
        assert [one.cause for one in await backend.store.failures(run.id)] == (
            ["timeout", "forbidden", "not_readable"] * 2
        )
        assert (await record(backend, run, "p1")).cause == "timeout"
        plain = await begin(backend, *urls(2))
        first, second = await take(backend, await backend.frontier.join(WorkerRegistration("w")), plain)
        await settle(backend, closed(first, "dead", "no luck"), done(second))
        assert [row.cause for row in (await backend.store.pages(plain.id)).rows] == ["other", None]

    async def test_an_attempt_keeps_its_cause_its_delay_and_its_proxy(self, backend: Backend) -> None:
        """RunStore 8: also if the page is stored in the end, which has a proxy of its own and no cause."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        sends = (SentRequest(HOST, backend.clock.monotonic(), 2.0),)
        later = RetryLater(0.0, "http 429", 429, cause="rate_limited")
        await settle(
            backend, Settlement(await take_one(backend, worker, run), later, sends=sends, proxy_id=7)
        )
        assert (await record(backend, run, "one")).cause is None
        await backend.clock.advance(3.0)
        await settle(backend, Settlement(await take_one(backend, worker, run), RetryLater(0.0, "why")))
        await backend.clock.advance(3.0)
        await settle(backend, done(await take_one(backend, worker, run), proxy_id=9))
        kept = await record(backend, run, "one")
        attempts = [(one.cause, one.delay_s, one.proxy_id) for one in kept.failures]
        assert attempts == [("rate_limited", 2.0, 7), ("other", None, None)]
        assert (kept.state, kept.cause, kept.proxy_id) == ("done", None, 9)

    @pytest.mark.parametrize("limit", [1, 3, 100])
    async def test_pages_are_found_by_what_they_are(self, backend: Backend, limit: int) -> None:
        """RunStore 8: all conditions hold, and no page is skipped or repeated."""
        run, other = await troubled(backend), await troubled(backend)
        assert run.id != other.id
        for only, wanted in (
            (PageFilter(cause="timeout"), [f"{HOST}/p1", f"{OTHER}/p1"]),
            (PageFilter(cause="timeout", host=OTHER), [f"{OTHER}/p1"]),
            (PageFilter(cause="timeout", state="dead"), [f"{HOST}/p1", f"{OTHER}/p1"]),
            (PageFilter(cause="timeout", state="broken"), []),
            (PageFilter(cause="dns"), []),
            (PageFilter(host=OTHER), [f"{OTHER}/p{number}" for number in range(6)]),
            (PageFilter(host="c.example"), []),
            (PageFilter(state="dead", host=HOST), [f"{HOST}/p1", f"{HOST}/p2"]),
            (PageFilter(status=200), [f"{host}/p{n}" for host in (HOST, OTHER) for n in (0, 3)]),
            (PageFilter(status=403, host=HOST), [f"{HOST}/p2"]),
            (PageFilter(page="default", q="P4"), [f"{HOST}/p4", f"{OTHER}/p4"]),
            (PageFilter(page="detail"), []),
            (PageFilter(q="EXAMPLE/P5", state="skipped"), [f"{HOST}/p5", f"{OTHER}/p5"]),
            (PageFilter(q="example_p5"), []),
            (PageFilter(q="%"), []),
        ):
            assert await found(backend, run, only, limit) == wanted

    @pytest.mark.parametrize("sign", ["%", "_", "\\"])
    async def test_a_part_of_a_url_is_taken_as_it_is(self, backend: Backend, sign: str) -> None:
        """RunStore 8: no sign of it stands for others."""
        run = await begin(backend, "plain", f"one{sign}two")
        assert len(await found(backend, run, PageFilter(q=f"E{sign}T"))) == 1

    async def test_a_filter_reads_a_bounded_number_of_pages(self, backend: Backend) -> None:
        """RunStore 8: then `next` goes on where it stopped, with fewer rows than asked for or none."""
        run = await begin(backend, *urls(10))
        for part, wanted in (("/p9", ["/p9"]), ("nothing", []), ("/p5", ["/p5"]), ("/p", None)):
            calls: list[list[str]] = []
            after: int | None = 0
            while after is not None:
                only = PageFilter(q=part)
                page = await backend.store.pages(run.id, only, after=after, limit=3, scan=4)
                calls.append([row.url.removeprefix(f"http://{HOST}") for row in page.rows])
                after = page.next
            assert len(calls) in (3, 4)
            assert [path for call in calls for path in call] == (
                [f"/p{number}" for number in range(10)] if wanted is None else wanted
            )

    @pytest.mark.parametrize(
        ("only", "wanted"),
        [
            (FailureFilter(cause="timeout"), {f"{HOST}/p1", f"{OTHER}/p1"}),
            (FailureFilter(host=OTHER), {f"{OTHER}/p{number}" for number in (1, 2, 3)}),
            (FailureFilter(cause="not_readable", host=HOST), {f"{HOST}/p3"}),
        ],
    )
    async def test_only_the_chosen_failures_are_retried(
        self, backend: Backend, only: FailureFilter, wanted: set[str]
    ) -> None:
        """RunStore 10: the others stay as they are."""
        run = await troubled(backend)
        assert await backend.store.retry(run.id, only, actor="ann") == len(wanted)
        assert set(await found(backend, run, PageFilter("open"))) == wanted
        counters = (await backend.store.get_run(run.id)).counters
        assert (counters.open, counters.dead + counters.broken) == (len(wanted), 6 - len(wanted))
        detail = {"from": "completed", "failed": 6, **only.detail}
        assert await audit_entries(backend, run, "run.retried") == [("ann", detail)]
        assert await backend.store.fsck() == []

    async def test_single_requests_are_retried(self, backend: Backend) -> None:
        """RunStore 10: those that failed, of this run."""
        run, other = await troubled(backend), await troubled(backend)
        rows = (await backend.store.pages(run.id)).rows
        foreign = (await backend.store.pages(other.id)).rows
        chosen = (rows[0].id, rows[1].id, rows[3].id, rows[4].id, foreign[2].id, 1)
        assert await backend.store.retry(run.id, FailureFilter(ids=chosen)) == 2
        assert await states(backend, run, "p0", "p1", "p2", "p3", "p4") == [
            *("done", "open", "dead", "open", "missing")
        ]
        assert await found(backend, other, PageFilter("open")) == []
        both = FailureFilter(cause="timeout", ids=tuple(row.id for row in rows))
        assert await backend.store.retry(run.id, both) == 1
        assert await backend.store.fsck() == []

    @pytest.mark.parametrize(
        "only",
        [FailureFilter(cause="dns"), FailureFilter(host="c.example"), FailureFilter(ids=(1,))],
        ids=["cause", "host", "id"],
    )
    async def test_what_matches_nothing_is_refused(self, backend: Backend, only: FailureFilter) -> None:
        """RunStore 10: and changes nothing."""
        run = await troubled(backend)
        with pytest.raises(NotAllowed, match="matches"):
            await backend.store.retry(run.id, only)
        assert await backend.store.get_run(run.id) == run

    async def test_a_host_that_was_abandoned_is_retried_by_its_cause(self, backend: Backend) -> None:
        """RunStore 10: a skipped request is retried only if its host was held."""
        run = await begin(backend, url("one"), url("two"))
        first, second = await take(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        held = Close("skipped", "host held", cause="host_held")
        await settle(backend, Settlement(first, held), Settlement(second, Close("skipped", cause="robots")))
        await backend.store.finish(run.id)
        with pytest.raises(NotAllowed, match="matches"):
            await backend.store.retry(run.id, FailureFilter(cause="robots"))
        assert await backend.store.retry(run.id, FailureFilter(cause="host_held")) == 1
        assert await backend.store.fsck() == []
