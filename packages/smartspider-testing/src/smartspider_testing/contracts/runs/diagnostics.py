"""The contract of `store/diagnostics/store.py`; tests name the promise they check."""

from __future__ import annotations

import msgspec
import pytest

from smartspider.core.frontier.verdict import SentRequest
from smartspider.core.requests.request import Extras, make_request
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    done,
    failed,
    settle,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.backend import Backend
from smartspider_testing.contracts.runs.problems import ProblemContract


class DiagnosticsContract(ProblemContract):
    """Runs and requests can be explained."""

    async def test_asking_changes_nothing(self, backend: Backend) -> None:
        """1."""
        run = await begin(backend, *urls(3), delay_s=1.0)
        worker = await backend.frontier.join(WorkerRegistration("alice"))
        await take_one(backend, worker, run)
        before = await backend.store.get_run(run.id)
        answers = [
            (
                await backend.insight.progress(run.id),
                await backend.insight.activity(run.id),
                await backend.insight.requests(run.id, [url("p0").fingerprint], url("p0").url),
                await backend.insight.has_visited(run.id, HOST),
            )
            for _ in range(2)
        ]
        assert answers[0] == answers[1]
        assert await backend.store.get_run(run.id) == before

    async def test_how_fast_a_run_is_can_be_told_from_half_a_minute_ago(self, backend: Backend) -> None:
        """2: the mark is the newest that is half a minute old; before there is one, nothing had ended."""
        run = await begin(backend, *urls(100))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        standing = await backend.insight.progress(run.id)
        assert (standing.earlier is None or standing.earlier.ended == 0, standing.workers) == (True, 1)
        for second in range(60):
            await backend.clock.advance(1.0)
            await settle(backend, done(await take_one(backend, worker, run)))
            standing = await backend.insight.progress(run.id)
            assert standing.run.counters.ended == second + 1
            if second > 32:
                assert standing.earlier is not None
                assert standing.now - standing.earlier.at == pytest.approx(30.0, abs=1.5)
                assert standing.earlier.ended == pytest.approx(second - 29, abs=1.5)
        assert standing.active_s == pytest.approx(60.0, abs=0.1)

    async def test_what_ended_before_a_break_is_not_counted_after_it(self, backend: Backend) -> None:
        """2: the mark is of the moment the run went on, with what came in while it rested."""
        run = await begin(backend, *urls(100))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        for _ in range(20):
            await backend.clock.advance(1.0)
            await settle(backend, done(await take_one(backend, worker, run)))
        last = await take_one(backend, worker, run)
        await backend.store.set_state(run.id, "paused")
        await settle(backend, done(last))
        assert (await backend.store.get_run(run.id)).active_s == pytest.approx(20.0, abs=0.1)
        await backend.clock.advance(5.0)
        await backend.store.set_state(run.id, "running")
        await backend.clock.advance(1.0)
        await settle(backend, done(await take_one(backend, worker, run)))
        standing = await backend.insight.progress(run.id)
        assert standing.earlier is not None
        assert (standing.run.counters.ended, standing.earlier.ended) == (22, 21)
        assert standing.active_s == pytest.approx(21.0, abs=0.1)
        assert standing.run.active_s == pytest.approx(20.0, abs=0.1)
        assert standing.resumed_at == standing.run.resumed_at == pytest.approx(standing.now - 1.0, abs=0.1)

    async def test_a_run_that_rests_has_no_worker_and_no_queue_in_its_way(self, backend: Backend) -> None:
        """2."""
        run = await begin(backend, *urls(3), delay_s=2.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await take_one(backend, worker, run)
        standing = await backend.insight.progress(run.id)
        assert standing.workers == 1
        (queue,) = standing.queues
        assert (queue.host, queue.queued, queue.delay_s) == (HOST, 2, 2.0)
        assert queue.opens_at > standing.now
        await backend.store.set_state(run.id, "paused")
        standing = await backend.insight.progress(run.id)
        assert (standing.workers, standing.queues, standing.resumed_at) == (0, [], None)

    async def test_a_situation_names_gates_leases_and_what_comes_back(self, backend: Backend) -> None:
        """2."""
        run = await begin(backend, *urls(4), url("x", host="b.example"), per_host=2)
        worker = await backend.frontier.join(WorkerRegistration("alice", node="here"))
        leases = await take(backend, worker, run)
        mine = [lease for lease in leases if lease.request.host == HOST]
        await settle(backend, failed(mine[0], delay_s=9.0))
        await backend.frontier.hold_host("b.example", 60.0, "Retry-After")
        situation = await backend.insight.activity(run.id)
        gates = {gate.host: gate for gate in situation.gates}
        assert (gates[HOST].queued, gates[HOST].held, gates[HOST].per_host) == (2, 1, 2)
        assert gates["b.example"].hold_reason == "Retry-After"
        assert gates["b.example"].held_until == pytest.approx(backend.clock.now() + 60.0)
        assert situation.waiting == 1
        assert [(one.host, one.reason) for one in situation.failing] == [(HOST, "timeout")]
        assert situation.next_due_at == pytest.approx(backend.clock.now() + 9.0)
        assert [(share.worker, share.node, share.in_flight) for share in situation.shares] == [
            ("alice", "here", 2)
        ]
        assert [held.worker for held in situation.oldest] == ["alice", "alice"]

    async def test_long_lists_are_cut_and_say_so(self, backend: Backend) -> None:
        """3."""
        run = await begin(backend, *(url("x", host=f"h{number}.example") for number in range(30)))
        situation = await backend.insight.activity(run.id, 7)
        assert len(situation.gates) == 7
        assert len((await backend.insight.progress(run.id)).queues) < 30

    async def test_a_request_is_found_with_what_is_around_it(self, backend: Backend) -> None:
        """4: its lease, its gate, what left for its host, and some of its items."""
        run = await begin(backend, *urls(8), delay_s=1.0)
        worker = await backend.frontier.join(WorkerRegistration("alice"))
        for number in range(6):
            lease = await take_one(backend, worker, run)
            sent = SentRequest(HOST, backend.clock.monotonic(), 1.0)
            found = [{"page": number, "item": item} for item in range(1200)]
            await settle(backend, done(lease, items=found, sends=(sent,)))
            await backend.clock.advance(1.2)
        (story,) = await backend.insight.requests(run.id, [url("p3").fingerprint], url("p3").url)
        assert (story.method, story.visit, story.is_entry, story.record.items) == ("GET", 0, True, 1200)
        for number in (0, 3, 5):
            page = url(f"p{number}")
            (found_page,) = await backend.insight.requests(run.id, [page.fingerprint], page.url)
            assert found_page.items
            assert all(b'"page":%d' % number in item.data for item in found_page.items)
        assert len(story.sends) == 6
        assert [sent.run_id for sent in story.sends] == [run.id] * 6
        assert [sent.at for sent in story.sends] == sorted(sent.at for sent in story.sends)
        await take_one(backend, worker, run)
        (story,) = await backend.insight.requests(run.id, [url("p6").fingerprint], url("p6").url)
        assert story.lease is not None
        assert story.lease.worker == "alice"
        assert await backend.insight.requests(run.id, [url("none").fingerprint], url("none").url) == []
        assert await backend.insight.has_visited(run.id, HOST)
        assert not await backend.insight.has_visited(run.id, "b.example")

    async def test_no_delay_is_a_delay_of_so_many_seconds(self, backend: Backend) -> None:
        """4: the same in every backend, also if no run sets a delay."""
        run = await begin(backend, "one")
        for state in (None, "cancelled"):
            if state == "cancelled":
                await backend.store.set_state(run.id, state)
            (story,) = await backend.insight.requests(run.id, [url("one").fingerprint], url("one").url)
            assert repr(story.gate.delay_s) == "0.0"

    async def test_requests_of_their_own_kind_are_found_by_their_url(self, backend: Backend) -> None:
        """4."""
        bodies = (b"1", b"2")
        posts = [
            make_request(f"http://{HOST}/api", extras=Extras(method="POST", body=body)) for body in bodies
        ]
        run = await begin(backend, *posts, msgspec.structs.replace(url("api"), depth=0))
        stories = await backend.insight.requests(run.id, [url("api").fingerprint], f"http://{HOST}/api")
        assert [story.method for story in stories] == ["GET", "POST", "POST"]
        assert {story.fingerprint for story in stories[1:]} == {post.fingerprint for post in posts}

    async def test_a_host_that_only_later_requests_are_for_is_among_the_gates(self, backend: Backend) -> None:
        """2: a held host is seen also when everything of it waits to be tried again."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, failed(await take_one(backend, worker, run), delay_s=9.0))
        await backend.frontier.hold_host(HOST, 60.0, "Retry-After")
        (gate,) = (await backend.insight.activity(run.id)).gates
        assert (gate.host, gate.queued, gate.hold_reason) == (HOST, 0, "Retry-After")
