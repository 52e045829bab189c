"""Rules 16 and 18: responses change the state of their host: slow down, recover, hold, give up."""

from __future__ import annotations

import pytest

from smartspider.core.events import HostAbandoned, HostHeld
from smartspider.core.frontier.verdict import HostNews, RetryLater, Settlement
from smartspider.core.requests.politeness import (
    ADAPTIVE_FIRST_S,
    CIRCUIT_FAILURES,
    CIRCUIT_FIRST_S,
    CIRCUIT_GIVE_UP,
    CIRCUIT_GIVE_UP_UNSEEN,
    CIRCUIT_MAX_S,
    MAX_HOLD_S,
)
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    done,
    down,
    record,
    refused,
    settle,
    states,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.backend import Backend, BackendContract


class HostHealthContract(BackendContract):
    """A failing host receives fewer requests."""

    async def test_a_refusal_slows_the_host_down(self, backend: Backend) -> None:
        """Rule 16: by twice what it was, at least; for every run."""
        run = await begin(backend, *urls(9), delay_s=0.0)
        other = await begin(backend, *urls(9), delay_s=0.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, refused(await take_one(backend, worker, run)))
        assert await take(backend, worker, other) == []
        await backend.clock.advance(ADAPTIVE_FIRST_S + 0.1)
        assert (await take_one(backend, worker, other)).window.delay_s == ADAPTIVE_FIRST_S

    async def test_a_refusal_slows_a_slow_run_down_as_well(self, backend: Backend) -> None:
        """Rule 16: a delay of its own is doubled, not left as it is."""
        run = await begin(backend, *urls(9), delay_s=5.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, refused(await take_one(backend, worker, run)))
        await backend.clock.advance(6.0)
        assert await take(backend, worker, run) == []
        await backend.clock.advance(5.0)
        assert (await take_one(backend, worker, run)).window.delay_s == 10.0

    async def test_good_answers_bring_the_speed_back(self, backend: Backend) -> None:
        """Rule 16: slowly, and then wholly."""
        run = await begin(backend, *urls(90), delay_s=0.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, refused(await take_one(backend, worker, run)))
        delays = []
        for _ in range(40):
            await backend.clock.advance(3.0)
            lease = await take_one(backend, worker, run)
            delays.append(lease.window.delay_s)
            await settle(backend, done(lease))
        assert delays == sorted(delays, reverse=True)
        assert (delays[0], delays[-1]) == (ADAPTIVE_FIRST_S, 0.0)
        assert len(set(delays)) > 10

    async def test_a_run_that_does_not_adapt_does_not_slow_down(self, backend: Backend) -> None:
        """Politeness: `adaptive: false`; a hold is kept all the same."""
        run = await begin(backend, *urls(3), adaptive=False)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, refused(await take_one(backend, worker, run)))
        lease = await take_one(backend, worker, run)
        assert lease.window.is_free
        await settle(backend, refused(lease, hold_s=9.0))
        assert await take(backend, worker, run) == []

    async def test_retry_after_holds_the_host(self, backend: Backend) -> None:
        """Rule 18: for every run and worker, also after everything was opened again."""
        run, other = (
            await begin(backend, *urls(3), adaptive=False),
            await begin(backend, *urls(3), adaptive=False),
        )
        worker = await backend.frontier.join(WorkerRegistration("w"))
        report = await settle(backend, refused(await take_one(backend, worker, run), hold_s=120.0))
        assert report.events[-1] == HostHeld(run.id, HOST, 120.0, "429")
        await backend.reopen()
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await backend.clock.advance(119.0)
        assert await take(backend, worker, run, other) == []
        await backend.clock.advance(2.0)
        assert len(await take(backend, worker, run, other)) == 6
        (receipt,) = await backend.store.receipt(run.id)
        assert (receipt.requests, receipt.refusals) == (1, 1)

    async def test_a_circuit_opens_and_tries_with_one_request(self, backend: Backend) -> None:
        """A host that keeps failing is left alone, then asked once, then trusted again."""
        run = await begin(backend, *urls(20))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run, want=CIRCUIT_FAILURES - 1)
        report = await settle(backend, *(down(lease) for lease in leases))
        assert not any(isinstance(event, HostHeld) for event in report.events)
        report = await settle(backend, down(await take_one(backend, worker, run)))
        assert [event for event in report.events if isinstance(event, HostHeld)] == [
            HostHeld(run.id, HOST, CIRCUIT_FIRST_S, "circuit: connect")
        ]
        assert await take(backend, worker, run) == []
        await backend.clock.advance(CIRCUIT_FIRST_S + 0.1)
        (probe,) = await take(backend, worker, run)
        assert await take(backend, worker, run) == []
        await settle(backend, done(probe))
        assert len(await take(backend, worker, run)) == 19

    async def test_a_good_answer_between_failures_keeps_the_circuit_closed(self, backend: Backend) -> None:
        """Failures in a row, not in total."""
        run = await begin(backend, *urls(40))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        for _ in range(3):
            leases = await take(backend, worker, run, want=CIRCUIT_FAILURES)
            await settle(backend, *(down(lease) for lease in leases[1:]))
            await settle(backend, done(leases[0]))
        assert len(await take(backend, worker, run)) > 1

    async def test_failures_of_what_left_before_a_hold_do_not_open_the_circuit_again(
        self, backend: Backend
    ) -> None:
        """One short outage with much in flight is one opening, not the end of the host."""
        run = await begin(backend, *urls(40))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run, want=30)
        for lease in leases[:20]:
            await settle(backend, down(lease))
        await backend.clock.advance(CIRCUIT_FIRST_S + 1.0)
        for lease in leases[20:]:
            await settle(backend, down(lease, elapsed_s=CIRCUIT_FIRST_S + 2.0))
        assert (await backend.store.get_run(run.id)).counters.dead == 0
        (probe,) = await take(backend, worker, run)
        await settle(backend, done(probe))
        assert len(await take(backend, worker, run)) == 39

    async def test_a_host_that_stays_down_is_given_up(self, backend: Backend) -> None:
        """After so many openings in a row what is left of it is buried with the reason; other hosts go on."""
        run = await begin(backend, "well", *urls(20), url("x", host="b.example"))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, done(await take_one(backend, worker, run)))
        holds = []
        for _ in range(CIRCUIT_GIVE_UP):
            leases = await take(backend, worker, run)
            failing = [lease for lease in leases if lease.request.host == HOST][:CIRCUIT_FAILURES]
            report = await settle(backend, *(down(lease) for lease in failing))
            await backend.frontier.release(leases)
            holds += [event.hold_s for event in report.events if isinstance(event, HostHeld)]
            await backend.clock.advance(CIRCUIT_MAX_S + 1.0)
        assert holds == [min(CIRCUIT_FIRST_S * 2**number, CIRCUIT_MAX_S) for number in range(CIRCUIT_GIVE_UP)]
        found = await record(backend, run, "p7")
        assert (found.state, found.reason) == ("dead", "host down: circuit: connect")
        counters = (await backend.store.get_run(run.id)).counters
        assert (counters.dead, counters.open) == (20, 1)
        (left,) = await take(backend, worker, run)
        assert left.request.host == "b.example"
        await settle(backend, done(left))
        run = await backend.store.finish(run.id)
        assert run.counters.open == 0

    async def test_a_host_that_never_answered_is_given_up_sooner(self, backend: Backend) -> None:
        """It is more likely wrong than down; one answer of any kind and it is a host like others."""
        run = await begin(backend, *urls(20))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        for _ in range(CIRCUIT_GIVE_UP_UNSEEN):
            assert (await backend.store.get_run(run.id)).counters.dead == 0
            leases = await take(backend, worker, run, want=CIRCUIT_FAILURES)
            await settle(backend, *(down(lease) for lease in leases))
            await backend.clock.advance(CIRCUIT_MAX_S + 1.0)
        assert (await backend.store.finish(run.id)).state == "failed"
        again = await begin(backend, *urls(20))
        await settle(backend, refused(await take_one(backend, worker, again)))
        await backend.frontier.resume_host(HOST)
        for _ in range(CIRCUIT_GIVE_UP_UNSEEN):
            leases = await take(backend, worker, again, want=CIRCUIT_FAILURES)
            await settle(backend, *(down(lease) for lease in leases))
            await backend.clock.advance(CIRCUIT_MAX_S + 1.0)
        assert (await backend.store.get_run(again.id)).counters.dead == 0

    async def test_a_host_that_asks_for_too_long_a_rest_is_not_waited_for(self, backend: Backend) -> None:
        """Rule 4: what is left of it is skipped with the reason, so that the run can end."""
        run = await begin(backend, *urls(3), url("x", host="b.example"))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        first, *_ = leases = await take(backend, worker, run)
        other = next(lease for lease in leases if lease.request.host == "b.example")
        news = (HostNews(slow_down=True, hold_s=MAX_HOLD_S + 1.0, reason="429"),)
        report = await settle(backend, Settlement(first, RetryLater(1.0, "429", 429), news))
        assert any(isinstance(event, HostAbandoned) for event in report.events)
        await backend.frontier.release(leases)
        found = await record(backend, run, "p2")
        assert (found.state, found.reason) == ("skipped", "host held: asks for no requests for 86401 s")
        (left,) = await take(backend, worker, run)
        assert left.request == other.request
        await settle(backend, done(left))
        assert (await backend.store.finish(run.id)).state == "completed"

    async def test_a_page_of_a_given_up_host_that_comes_after_all_is_stored(self, backend: Backend) -> None:
        """Ledger 4: done replaces dead."""
        run = await begin(backend, "well", *urls(CIRCUIT_FAILURES + 1))
        worker, slow = (
            await backend.frontier.join(WorkerRegistration("w")),
            await backend.frontier.join(WorkerRegistration("slow")),
        )
        await settle(backend, done(await take_one(backend, worker, run)))
        late = await take_one(backend, slow, run)
        for _ in range(CIRCUIT_GIVE_UP):
            await settle(
                backend, *(down(lease) for lease in await take(backend, worker, run, want=CIRCUIT_FAILURES))
            )
            await backend.frontier.renew([late])
            if await states(backend, run, late.request.url.rpartition("/")[2]) == ["dead"]:
                break
            await backend.clock.advance(CIRCUIT_MAX_S + 1.0)
            await settle(backend, *(down(lease) for lease in await take(backend, worker, run)))
            await backend.clock.advance(CIRCUIT_MAX_S + 1.0)
        await settle(backend, done(late, items=[{"n": 1}]))
        assert await states(backend, run, late.request.url.rpartition("/")[2]) == ["done"]

    @pytest.mark.parametrize("hold_s", [0.0, 5.0])
    async def test_trouble_of_one_host_is_not_anothers(self, backend: Backend, hold_s: float) -> None:
        """Rule 19."""
        run = await begin(backend, "one", url("x", host="b.example"), url("y", host="b.example"))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        lease = next(lease for lease in await take(backend, worker, run, want=1))
        await settle(backend, refused(lease, hold_s=hold_s or None))
        assert {lease.request.host for lease in await take(backend, worker, run)} == {"b.example"}
