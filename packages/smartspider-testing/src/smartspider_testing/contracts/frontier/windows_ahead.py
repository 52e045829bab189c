"""Frontier 12: the next windows of a host with a delay, leased together."""

from __future__ import annotations

from itertools import pairwise

import pytest

from smartspider.core.frontier.lease import Lease
from smartspider.core.requests.politeness import LEASE_LEAD_S
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import HOST, begin, done, settle, url, urls
from smartspider_testing.contracts.backend import Backend, BackendContract

AHEAD_S = 0.25
DELAY_S = 0.05
SLOT_S = 0.055
"""The delay and the length of a window."""


async def take_ahead(backend: Backend, worker_id: int, *runs: Run, want: int = 64) -> list[Lease]:
    """Lease what may be sent within `AHEAD_S`."""
    return (await backend.frontier.lease(worker_id, want, [run.id for run in runs], ahead_s=AHEAD_S)).leases


class WindowsAheadContract(BackendContract):
    """A worker that waits for its hosts asks for several windows at a time."""

    async def test_windows_leased_ahead_begin_soon_and_a_delay_apart(self, backend: Backend) -> None:
        """Rule 16: each is a window of its own."""
        run = await begin(backend, *urls(30), delay_s=DELAY_S, per_host=30)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        windows = []
        for _ in range(4):
            started_at = backend.clock.monotonic()
            leases = await take_ahead(backend, worker, run)
            assert 2 <= len(leases) <= 5
            assert max(lease.window.not_before for lease in leases) <= started_at + AHEAD_S + 0.001
            windows += [lease.window for lease in leases]
            await backend.clock.advance(windows[-1].not_after - started_at)
            await settle(backend, *map(done, leases))
        gaps = [new.not_before - old.not_after for old, new in pairwise(windows)]
        assert min(gaps) >= DELAY_S - 1e-6
        assert all(window.delay_s == DELAY_S for window in windows)

    async def test_without_a_horizon_only_the_open_window_is_leased(self, backend: Backend) -> None:
        """Frontier 12: windows ahead are granted to those who ask for them."""
        run = await begin(backend, *urls(9), delay_s=DELAY_S, per_host=9)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert len((await backend.frontier.lease(worker, 9, [run.id])).leases) == 1
        assert (await backend.frontier.lease(worker, 9, [run.id])).leases == []

    async def test_windows_leased_ahead_count_as_in_flight(self, backend: Backend) -> None:
        """Rule 17: the host is full until one of them is settled, for every worker."""
        run = await begin(backend, *urls(9), delay_s=DELAY_S, per_host=2)
        one, two = [await backend.frontier.join(WorkerRegistration(name)) for name in ("one", "two")]
        leases = await take_ahead(backend, one, run)
        assert len(leases) == 2
        assert await take_ahead(backend, two, run) == []
        await backend.clock.advance(10 * SLOT_S)
        assert await take_ahead(backend, two, run) == []
        await settle(backend, done(leases[0]))
        assert len(await take_ahead(backend, two, run)) == 1

    async def test_a_host_with_one_request_at_a_time_has_one_window_ahead(self, backend: Backend) -> None:
        """Rule 17: the next one is leased when it has been settled."""
        run = await begin(backend, *urls(9), delay_s=DELAY_S, per_host=1)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert len(await take_ahead(backend, worker, run)) == 1

    async def test_windows_ahead_wait_for_the_end_of_a_hold(self, backend: Backend) -> None:
        """Rule 18: a hold that is about to end does not end sooner."""
        run = await begin(backend, *urls(9), delay_s=DELAY_S, per_host=9)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await backend.frontier.hold_host(HOST, 10.0, "asked to")
        assert await take_ahead(backend, worker, run) == []
        held_until = backend.clock.monotonic() + 10.0
        await backend.clock.advance(9.9)
        leases = await take_ahead(backend, worker, run)
        assert leases
        assert min(lease.window.not_before for lease in leases) >= held_until - 1e-6

    async def test_a_host_without_a_delay_has_no_windows_ahead(self, backend: Backend) -> None:
        """Frontier 9: a held host grants no leases until the hold ends."""
        run = await begin(backend, *urls(9), delay_s=0.0, per_host=9)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await backend.frontier.hold_host(HOST, 0.1, "asked to")
        assert await take_ahead(backend, worker, run) == []

    async def test_runs_at_the_same_host_take_turns_ahead_as_well(self, backend: Backend) -> None:
        """Rule 20: the one that was served last does not take the windows of the other."""
        runs = [await begin(backend, *urls(30), delay_s=DELAY_S, per_host=30) for _ in range(2)]
        workers = [await backend.frontier.join(WorkerRegistration(name)) for name in ("one", "two")]
        served = {run.id: 0 for run in runs}
        for _ in range(40):
            for worker, run in zip(workers, runs, strict=True):
                leases = await take_ahead(backend, worker, run)
                assert len(leases) <= 2, "the open one and the next one"
                served[run.id] += len(leases)
                await settle(backend, *map(done, leases))
            await backend.clock.advance(SLOT_S)
        one, two = served.values()
        assert one + two >= 30
        assert abs(one - two) <= 2

    @pytest.mark.parametrize("want", [1, 3])
    async def test_open_hosts_come_before_windows_ahead(self, backend: Backend, want: int) -> None:
        """Rule 20: no slot waits for a closed gate while another is open."""
        run = await begin(backend, *urls(9), delay_s=1.0, per_host=9)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, *map(done, await take_ahead(backend, worker, run)))
        other = await begin(backend, *(url("x", host=f"h{number}.example") for number in range(3)))
        await backend.clock.advance(0.9)
        leases = await take_ahead(backend, worker, run, other, want=want)
        assert [lease.run_id for lease in leases] == [other.id] * want

    async def test_a_worker_asks_again_shortly_before_the_next_window(self, backend: Backend) -> None:
        """Frontier 12: it is leased before it begins."""
        run = await begin(backend, *urls(9), delay_s=2.0, per_host=9)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        batch = await backend.frontier.lease(worker, 9, [run.id], ahead_s=AHEAD_S)
        (lease,) = batch.leases
        assert batch.next_at is not None
        wait_s = batch.next_at - batch.now
        opens_s = lease.window.not_after + 2.0 - backend.clock.monotonic()
        assert opens_s - LEASE_LEAD_S - 0.01 <= wait_s <= opens_s - LEASE_LEAD_S + 0.01
        await backend.clock.advance(wait_s)
        (second,) = await take_ahead(backend, worker, run)
        assert second.window.not_before >= lease.window.not_after + 2.0 - 1e-6
