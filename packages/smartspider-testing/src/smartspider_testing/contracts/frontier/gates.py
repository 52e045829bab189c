"""Frontier 4 and 9, rules 15 to 19: the gate of a host, shared by all runs and workers."""

from __future__ import annotations

from itertools import pairwise

import pytest

from smartspider.core.frontier.lease import GateClosed
from smartspider.core.runs.tuning import Tuning
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    done,
    permitted,
    refused,
    settle,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.backend import Backend, BackendContract

TICK_S = 0.05


class GateContract(BackendContract):
    """Every request to a host needs a permit."""

    async def test_a_host_has_no_more_in_flight_than_its_strictest_run_allows(self, backend: Backend) -> None:
        """Frontier 4, rule 17: over runs, workers and processes, and until the strict run ends."""
        easy = await begin(backend, *urls(9), per_host=5)
        strict = await begin(backend, *urls(9), per_host=3)
        other = await backend.another()
        one, two = (
            await backend.frontier.join(WorkerRegistration("one")),
            await other.frontier.join(WorkerRegistration("two")),
        )
        held = await take(backend, one, easy, want=2) + await take(other, two, strict)
        assert len(held) == 3
        assert await take(backend, one, easy, strict) == []
        await settle(backend, done(held[0]))
        assert len(await take(other, two, easy, strict)) == 1
        await backend.store.set_state(strict.id, "cancelled")
        assert len(await take(backend, one, easy)) == 2

    @pytest.mark.parametrize("is_deleted", [False, True], ids=["cancelled", "deleted"])
    async def test_a_lease_counts_at_its_host_until_it_ends_after_the_end_of_its_run(
        self, backend: Backend, is_deleted: bool
    ) -> None:
        """Rule 17: leases in flight survive the end of a run; the slot is free once the worker settles."""
        run, other = await begin(backend, "one", per_host=1), await begin(backend, "one", per_host=1)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        lease = await take_one(backend, worker, run)
        await backend.store.set_state(run.id, "cancelled")
        if is_deleted:
            await backend.store.delete_run(run.id)
        assert await take(backend, worker, other) == []
        assert (await settle(backend, done(lease))).late == 1
        assert len(await take(backend, worker, other)) == 1

    @pytest.mark.parametrize("how", ["release", "leave", "die"])
    async def test_a_full_host_opens_as_soon_as_a_lease_ends(self, backend: Backend, how: str) -> None:
        """Rule 20: an open gate delays no request."""
        run, gone = await begin(backend, *urls(3), per_host=1), await begin(backend, "gone", per_host=1)
        holder, asker = [
            await backend.frontier.join(WorkerRegistration(name)) for name in ("holder", "asker")
        ]
        lease = await take_one(backend, holder, gone)
        assert await take(backend, asker, run) == []
        if how == "release":
            await backend.store.set_state(gone.id, "cancelled")
            await backend.frontier.release([lease])
        elif how == "leave":
            await backend.store.set_state(gone.id, "cancelled")
            await backend.frontier.leave(holder)
        else:
            await backend.store.set_state(gone.id, "cancelled")
            await backend.lose(holder)
            await backend.frontier.reclaim()
        assert len(await take(backend, asker, run)) == 1

    async def test_slots_of_a_host_are_a_delay_apart_for_all_runs_and_workers(self, backend: Backend) -> None:
        """Frontier 4, rule 16: the strictest delay wins, over runs, workers and processes."""
        runs = [await begin(backend, *urls(30), delay_s=delay_s) for delay_s in (0.2, 1.0)]
        views = [backend, await backend.another()]
        workers = [await view.frontier.join(WorkerRegistration("w")) for view in views]
        windows = []
        for _ in range(400):
            for view, worker, run in zip(views, workers, runs, strict=True):
                for lease in await take(view, worker, run):
                    windows.append(lease.window)
                    await settle(view, done(lease))
            await backend.clock.advance(TICK_S)
        assert len(windows) >= 15
        assert all(window.delay_s == 1.0 for window in windows)
        gaps = [new.not_before - old.not_after for old, new in pairwise(windows)]
        assert min(gaps) >= 1.0 - 1e-6

    async def test_a_strict_delay_counts_from_the_moment_its_run_starts(self, backend: Backend) -> None:
        """Frontier 4: the slot before it may have been an easy run's, without any delay."""
        easy = await begin(backend, *urls(3), delay_s=0.0, per_host=1)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, done(await take_one(backend, worker, easy)))
        strict = await begin(backend, *urls(3), delay_s=10.0)
        assert await take(backend, worker, easy, strict) == []
        await backend.clock.advance(9.9)
        assert await take(backend, worker, easy, strict) == []
        await backend.clock.advance(0.2)
        assert len(await take(backend, worker, easy, strict)) == 1

    async def test_a_strict_delay_is_over_when_its_run_is(self, backend: Backend) -> None:
        """Frontier 4: the gate relaxes at once."""
        easy = await begin(backend, *urls(9), delay_s=1.0)
        strict = await begin(backend, "slow", delay_s=50.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, done(await take_one(backend, worker, strict)))
        await backend.clock.advance(5.0)
        assert await take(backend, worker, easy) == []
        assert (await backend.store.finish(strict.id)).state == "completed"
        assert (await take_one(backend, worker, easy)).window.delay_s == 1.0

    async def test_a_paused_run_still_has_a_say(self, backend: Backend) -> None:
        """Frontier 4: what it has in flight is still there, and it may go on at any moment."""
        easy, strict = await begin(backend, *urls(3), delay_s=1.0), await begin(backend, "slow", delay_s=50.0)
        await backend.store.set_state(strict.id, "paused")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert (await take_one(backend, worker, easy)).window.delay_s == 50.0

    async def test_other_hosts_do_not_wait(self, backend: Backend) -> None:
        """Rule 20: no worker slot waits for a closed gate, however many closed ones there are."""
        entries = [url("x", host=f"h{number}.example", priority=9) for number in range(30)]
        free = [url(f"free{number}", host=f"f{number}.example") for number in range(30)]
        run = await begin(backend, *entries, *free)
        for request in entries:
            await backend.frontier.hold_host(request.host, 100.0, "test")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        got = {(await take_one(backend, worker, run)).request.host for _ in range(30)}
        assert got == {request.host for request in free}

    async def test_a_crawl_delay_is_kept_by_the_gate(self, backend: Backend) -> None:
        """Rule 18, robots cache 2: also after everything was opened again."""
        run = await begin(backend, *urls(2), delay_s=1.0)
        answer = RobotsAnswer(f"http://{HOST}", 200, b"", 1.0, 2.0)
        await backend.robots.put_robots(answer, host=HOST, crawl_delay_s=20.0)
        await backend.reopen()
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert (await take_one(backend, worker, run)).window.delay_s == 20.0
        await backend.clock.advance(19.0)
        assert await take(backend, worker, run) == []
        await backend.clock.advance(2.0)
        assert len(await take(backend, worker, run)) == 1

    async def test_a_permit_takes_a_slot_of_the_host(self, backend: Backend) -> None:
        """Rule 15: hops and robots.txt are spaced with the leases, one after the other."""
        run = await begin(backend, *urls(2), delay_s=1.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        windows = [(await take_one(backend, worker, run)).window]
        windows += [await permitted(backend) for _ in range(3)]
        gaps = [new.not_before - old.not_after for old, new in pairwise(windows)]
        assert min(gaps) >= 1.0 - 1e-6
        assert await take(backend, worker, run) == []
        last = windows[-1].not_after - backend.clock.monotonic()
        await backend.clock.advance(last + 0.9)
        assert await take(backend, worker, run) == []
        await backend.clock.advance(0.2)
        assert len(await take(backend, worker, run)) == 1

    async def test_a_permit_of_a_host_without_delay_is_free(self, backend: Backend) -> None:
        """Rule 16."""
        await begin(backend, "one")
        assert (await permitted(backend)).is_free

    @pytest.mark.parametrize("delay_s", [0.0, 1.0])
    async def test_a_permit_of_a_held_host_is_waited_for(self, backend: Backend, delay_s: float) -> None:
        """Rule 15, frontier 9: with and without a delay."""
        await begin(backend, "one", delay_s=delay_s)
        await backend.frontier.hold_host(HOST, 60.0, "Retry-After")
        over_at = backend.clock.monotonic() + 60.0
        window = await permitted(backend)
        assert not window.is_free
        assert window.not_before >= over_at - 1e-6

    @pytest.mark.parametrize("delay_s", [0.0, 1.0])
    async def test_what_waits_for_a_held_host_goes_on_when_it_is_resumed(
        self, backend: Backend, delay_s: float
    ) -> None:
        """Frontier 9: nothing is promised for the end of a hold, so it can be lifted any time."""
        run = await begin(backend, "one", delay_s=delay_s)
        await backend.frontier.hold_host(HOST, 3600.0, "by hand")
        for _ in range(3):
            assert isinstance(await backend.frontier.permit(HOST), GateClosed)
        await backend.frontier.resume_host(HOST)
        assert (await permitted(backend)).not_before <= backend.clock.monotonic() + 2.0
        await backend.clock.advance(3.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert len(await take(backend, worker, run)) == 1

    async def test_a_hold_comes_before_what_waits_for_its_turn(self, backend: Backend) -> None:
        """Rule 15: a request that waits behind others has not passed the gate yet."""
        run = await begin(backend, "one", delay_s=2.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await take_one(backend, worker, run)
        waiting = [await backend.frontier.permit(HOST) for _ in range(5)]
        assert all(isinstance(one, GateClosed) for one in waiting)
        await backend.frontier.hold_host(HOST, 60.0, "by hand")
        over_at = backend.clock.monotonic() + 60.0
        assert (await permitted(backend)).not_before >= over_at - 1e-6

    async def test_a_delay_that_is_taken_back_leaves_nothing_behind(self, backend: Backend) -> None:
        """Frontier 9: for any length of the delay and any requests meanwhile."""
        run = await begin(backend, *urls(2), delay_s=1.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await take_one(backend, worker, run)
        await backend.frontier.slow_host(HOST, 86_400.0)
        assert isinstance(await backend.frontier.permit(HOST), GateClosed)
        await backend.frontier.slow_host(HOST, 0.0)
        await backend.clock.advance(2.0)
        assert len(await take(backend, worker, run)) == 1

    async def test_windows_are_of_the_workers_clock(self, backend: Backend) -> None:
        """Rule 16: a change of the machine's time does not move a window."""
        run = await begin(backend, *urls(2), delay_s=1.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        backend.clock.wind(-86_400.0)
        lease = await take_one(backend, worker, run)
        assert lease.window.not_before == pytest.approx(backend.clock.monotonic())
        await backend.clock.advance(1.1)
        assert len(await take(backend, worker, run)) == 1

    async def test_a_domain_has_no_more_in_flight_than_its_cap(self, backend: Backend) -> None:
        """Rule 19: over its hosts; a place that gets free on one of them is any one's at once."""
        hosts = ("a.shop.co.uk", "b.shop.co.uk", "c.shop.co.uk")
        run = await begin(
            backend, *(request for host in hosts for request in urls(3, host=host)), per_domain=2
        )
        other = await begin(backend, url("x", host="other.co.uk"))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        held = await take(backend, worker, run)
        assert len(held) == 2
        assert await take(backend, worker, run) == []
        assert len(await take(backend, worker, other)) == 1
        seen = {lease.url_id for lease in held}
        for _ in range(7):
            await settle(backend, done(held.pop(0)))
            held += await take(backend, worker, run)
            assert len(held) == 2
            seen |= {lease.url_id for lease in held}
        assert len(seen) == 9

    async def test_who_took_the_last_place_of_a_domain_is_heard_again_when_another_gives_up_his(
        self, backend: Backend
    ) -> None:
        """Rule 19."""
        requests = [url("a", host="a.shop.co.uk"), *urls(3, host="b.shop.co.uk")]
        run = await begin(backend, *requests, per_domain=2)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        first, second = [await take_one(backend, worker, run) for _ in range(2)]
        assert (first.request.host, second.request.host) == ("a.shop.co.uk", "b.shop.co.uk")
        await settle(backend, done(first))
        assert len(await take(backend, worker, run)) == 1

    async def test_a_held_host_hands_out_nothing_before_its_time(self, backend: Backend) -> None:
        """Frontier 9, rule 18: for every run, also after everything was opened again."""
        runs = [await begin(backend, *urls(2)), await begin(backend, *urls(2))]
        await backend.frontier.hold_host(HOST, 60.0, "Retry-After")
        await backend.reopen()
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await backend.clock.advance(59.9)
        batch = await backend.frontier.lease(worker, 9, [run.id for run in runs])
        assert batch.leases == []
        assert batch.next_at == pytest.approx(backend.clock.now() + 0.1)
        await backend.clock.advance(0.2)
        assert len(await take(backend, worker, *runs)) == 4

    async def test_a_hold_is_never_shortened(self, backend: Backend) -> None:
        """Frontier 9: neither by hand nor by an answer."""
        run = await begin(backend, *urls(3))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        lease = await take_one(backend, worker, run)
        await backend.frontier.hold_host(HOST, 60.0, "long")
        await backend.frontier.hold_host(HOST, 1.0, "short")
        await settle(backend, refused(lease, hold_s=2.0))
        await backend.clock.advance(59.0)
        assert await take(backend, worker, run) == []
        (host,) = await backend.store.hosts(run.id)
        assert host.hold_reason == "long"

    async def test_a_resumed_host_goes_on_at_once(self, backend: Backend) -> None:
        """Frontier 9: hold, circuit and slowness are forgotten."""
        run = await begin(backend, *urls(3))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, refused(await take_one(backend, worker, run), hold_s=600.0))
        assert await take(backend, worker, run) == []
        await backend.frontier.resume_host(HOST)
        assert len(await take(backend, worker, run)) == 3

    async def test_the_delay_of_an_operator_counts_for_all_runs(self, backend: Backend) -> None:
        """Frontier 9, rule 16: at once, also after everything was opened again, until it is taken back."""
        run, other = await begin(backend, *urls(9)), await begin(backend, *urls(9), delay_s=1.0)
        await backend.frontier.slow_host(HOST, 20.0)
        await backend.reopen()
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert (await take_one(backend, worker, run)).window.delay_s == 20.0
        await backend.clock.advance(19.0)
        assert await take(backend, worker, run, other) == []
        await backend.frontier.slow_host(HOST, 0.0)
        assert (await take_one(backend, worker, other)).window.delay_s == 1.0

    async def test_what_a_person_does_to_a_host_is_in_the_audit(self, backend: Backend) -> None:
        """Frontier 9: with who did it; what the product does by itself is not."""
        await begin(backend)
        before = len(await backend.audit.entries())
        await backend.frontier.hold_host(HOST, 5.0, "by itself")
        await backend.frontier.hold_host(HOST, 60.0, "lunch", actor="ann")
        await backend.frontier.slow_host(HOST, 2.0, actor="ben")
        await backend.frontier.resume_host(HOST, actor="eve")
        found = await backend.audit.entries()
        assert [(one.actor, one.action, one.subject) for one in reversed(found[: len(found) - before])] == [
            ("ann", "host.held", f"host:{HOST}"),
            ("ben", "host.slowed", f"host:{HOST}"),
            ("eve", "host.resumed", f"host:{HOST}"),
        ]
        assert found[2].detail == b'{"reason":"lunch","seconds":60.0}'

    async def test_a_host_is_its_name_without_the_port(self, backend: Backend) -> None:
        """Rule 19: two ports of one host share its gate."""
        run = await begin(backend, url("x", host=f"{HOST}:8001"), url("x", host=f"{HOST}:8002"), per_host=1)
        assert len(await take(backend, await backend.frontier.join(WorkerRegistration("w")), run)) == 1

    async def test_changed_settings_apply_at_the_gate_at_once(self, backend: Backend) -> None:
        """Frontier 4, store 9: a removed delay delays no request, a new one applies to all."""
        run, other = await begin(backend, *urls(9), delay_s=60.0), await begin(backend, *urls(9))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, done(await take_one(backend, worker, run)))
        await backend.clock.advance(1.0)
        assert await take(backend, worker, other, run) == []
        await backend.store.tune(run.id, Tuning(delay_s=0.0, per_host=2))
        held = await take(backend, worker, other, run)
        assert len(held) == 2
        await backend.store.tune(run.id, Tuning(per_host=3))
        held += await take(backend, worker, other, run)
        assert len(held) == 3
        await backend.store.tune(run.id, Tuning(delay_s=10.0))
        await settle(backend, *(done(lease) for lease in held))
        assert await take(backend, worker, other, run) == []
        await backend.clock.advance(10.1)
        assert (await take_one(backend, worker, other, run)).window.delay_s == 10.0

    async def test_changed_settings_apply_at_the_next_lease(self, backend: Backend) -> None:
        """RunStore 9: concurrency upwards and downwards, and the weight among runs."""
        run, other = (
            await begin(backend, *urls(90), concurrency=4),
            await begin(backend, *urls(90, host="b.c")),
        )
        worker = await backend.frontier.join(WorkerRegistration("w"))
        held = await take(backend, worker, run)
        await backend.store.tune(run.id, Tuning(concurrency=6))
        held += await take(backend, worker, run)
        assert len(held) == 6
        await backend.store.tune(run.id, Tuning(concurrency=2))
        await settle(backend, *(done(lease) for lease in held[:4]))
        assert await take(backend, worker, run) == []
        await settle(backend, *(done(lease) for lease in held[4:]))
        await backend.store.tune(run.id, Tuning(concurrency=64, priority=2))
        leases = await take(backend, worker, other, run, want=8)
        assert sum(lease.run_id == run.id for lease in leases) == 6
