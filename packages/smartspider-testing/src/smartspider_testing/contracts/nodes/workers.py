"""The contract of the worker registry: live workers, their health, and requests to leave."""

from __future__ import annotations

import msgspec

from smartspider.core.frontier.lease import FencingToken
from smartspider.core.workers.worker import WorkerHealth, WorkerRegistration
from smartspider.interfaces.worker_registry import HeartbeatReport
from smartspider_testing.contracts.actions import begin, take, urls
from smartspider_testing.contracts.backend import Backend, BackendContract

CARD = WorkerRegistration("worker 1", "box", 4711, "1.2", 16)


class WorkerRegistryContract(BackendContract):
    """Workers are visible to other processes."""

    async def test_a_worker_is_listed_from_joining_until_it_leaves(self, backend: Backend) -> None:
        """Worker registry 1: with what it says of itself, by every process."""
        joined_at = backend.clock.now()
        first, second = (
            await backend.frontier.join(CARD),
            await backend.frontier.join(WorkerRegistration("worker 2")),
        )
        other = await backend.another()
        one, two = await other.workers.find()
        assert (one.id, one.name, one.node, one.pid, one.version, one.slots) == (
            *(first, "worker 1", "box", 4711, "1.2", 16),
        )
        assert (one.held, one.is_draining, one.is_alive, one.hosts, one.runs) == (0, False, True, [], [])
        assert (one.joined_at, one.seen_at, two.id) == (joined_at, joined_at, second)
        await backend.frontier.leave(first)
        assert [record.id for record in await backend.workers.find()] == [second]

    async def test_a_dead_worker_is_listed_as_dead_until_its_leases_are_reclaimed(
        self, backend: Backend
    ) -> None:
        """Worker registry 1."""
        run = await begin(backend, *urls(3))
        worker = await backend.frontier.join(CARD)
        await take(backend, worker, run, want=2)
        await backend.lose(worker)
        (record,) = await backend.workers.find()
        assert (record.is_alive, record.held) == (False, 2)
        (returned,) = await backend.frontier.reclaim()
        assert (returned.run_id, returned.count, returned.worker) == (run.id, 2, "worker 1")
        assert await backend.workers.find() == []

    async def test_what_a_worker_holds_is_told(self, backend: Backend) -> None:
        """Worker registry 1: how many requests, of which runs, for which hosts (a few of them)."""
        one = await begin(backend, *urls(3, host="a.example"))
        two = await begin(
            backend, *(page for number in range(9) for page in urls(1, host=f"h{number}.example"))
        )
        worker, idle = (
            await backend.frontier.join(CARD),
            await backend.frontier.join(WorkerRegistration("idle")),
        )
        await take(backend, worker, one)
        await take(backend, worker, two)
        busy, free = await backend.workers.find()
        assert (busy.held, busy.runs, busy.hosts[0], len(busy.hosts)) == (
            12,
            [one.id, two.id],
            "a.example",
            5,
        )
        assert (free.id, free.held, free.runs, free.hosts) == (idle, 0, [], [])

    async def test_a_request_that_a_worker_holds_twice_is_told_once(self, backend: Backend) -> None:
        """Worker registry 1: it was given again after a loss of the frontier."""
        run = await begin(backend, *urls(2))
        worker = await backend.frontier.join(CARD)
        lease, other = await take(backend, worker, run)
        later = FencingToken(lease.token.epoch, lease.token.counter + 1000)
        again = msgspec.structs.replace(lease, token=later)
        for held in ([again, lease, other], [lease, other, again]):
            await backend.workers.beat(worker, HeartbeatReport(16, 1.0, 0, held=held))
            (record,) = await backend.workers.find()
            assert (record.held, record.runs) == (2, [run.id])

    async def test_a_beat_is_kept(self, backend: Backend) -> None:
        """Worker registry 2."""
        worker = await backend.frontier.join(CARD)
        await backend.clock.advance(2.0)
        orders = await backend.workers.beat(worker, HeartbeatReport(8, 1.5, 50_000_000))
        assert (orders.slots, orders.is_draining, orders.is_unknown) == (8, False, False)
        (record,) = await backend.workers.find()
        assert (record.slots, record.cpu_s, record.memory) == (8, 1.5, 50_000_000)
        assert record.seen_at == backend.clock.now()

    async def test_how_a_worker_does_is_kept_and_told(self, backend: Backend) -> None:
        """Worker registry 2 and 3: with its machine and why it was started; a new one has nothing to tell."""
        elastic = await backend.frontier.join(WorkerRegistration("more", "box", cpus=4, is_elastic=True))
        worker = await backend.frontier.join(CARD)
        form = WorkerHealth(0.25, 0.125, 1.5, 700, 3.5, 2, frozenset({"ann", "bob"}))
        await backend.workers.beat(worker, HeartbeatReport(16, 1.5, 0, health=form))
        records = {record.id: record for record in await (await backend.another()).workers.find()}
        told = {one: (found.cpus, found.is_elastic, found.health) for one, found in records.items()}
        assert told == {elastic: (4, True, WorkerHealth()), worker: (0, False, form)}

    async def test_a_worker_hears_of_all_that_stay_or_of_nobody(self, backend: Backend) -> None:
        """Worker registry 3: those who are asked to leave or are dead do not count."""
        one, two, leaves, lost = [
            await backend.frontier.join(WorkerRegistration(name, "box")) for name in "abcd"
        ]
        form, own = WorkerHealth(pages=7), WorkerHealth(pages=9)
        await backend.workers.beat(two, HeartbeatReport(16, 1.0, 0, health=form))
        await backend.workers.drain("box", worker_id=leaves, actor="ann")
        await backend.lose(lost)
        orders = await backend.workers.beat(one, HeartbeatReport(16, 1.0, 0, health=own))
        assert orders.peers in ({}, {one: own, two: form})
        assert set((await backend.workers.beat(leaves, HeartbeatReport(16, 1.0, 0))).peers) in (
            set(),
            {one, two},
        )

    async def test_beats_that_tell_nothing_new_still_show_that_it_is_there(self, backend: Backend) -> None:
        """Worker registry 2: within seconds, though not each of them need be written."""
        worker = await backend.frontier.join(CARD)
        for _ in range(60):
            await backend.workers.beat(worker, HeartbeatReport(16, 0.0, 0))
            await backend.clock.advance(2.0)
        (record,) = await backend.workers.find()
        assert backend.clock.now() - record.seen_at <= 20.0

    async def test_a_worker_that_was_asked_to_leave_hears_it_with_its_next_beat(
        self, backend: Backend
    ) -> None:
        """Worker registry 2 and 4: all of a node, or one of them."""
        one, two, far = [
            await backend.frontier.join(WorkerRegistration(name, node))
            for name, node in (("one", "box"), ("two", "box"), ("far", "elsewhere"))
        ]
        beat = HeartbeatReport(16, 0.0, 0)
        assert await backend.workers.drain("box", worker_id=two, actor="ann") == 1
        heard = [(await backend.workers.beat(worker, beat)).is_draining for worker in (one, two, far)]
        assert heard == [False, True, False]
        assert await backend.workers.drain("box", actor="ann") == 1
        assert [record.is_draining for record in await backend.workers.find()] == [True, True, False]

    async def test_draining_is_in_the_audit(self, backend: Backend) -> None:
        """Worker registry 4: actor and subject; a request without a recipient is not recorded."""
        await backend.frontier.join(CARD)
        before = len(await backend.audit.entries())
        assert await backend.workers.drain("nowhere", actor="ann") == 0
        assert await backend.workers.drain("box", worker_id=10**9, actor="ann") == 0
        assert len(await backend.audit.entries()) == before
        await backend.workers.drain("box", actor="ann")
        entry = max(await backend.audit.entries(), key=lambda entry: entry.id)
        assert (entry.actor, entry.action, entry.subject) == ("ann", "node.drained", "node:box")
        assert b"worker 1" in entry.detail

    async def test_a_worker_that_was_taken_for_dead_hears_that_nobody_knows_it(
        self, backend: Backend
    ) -> None:
        """Worker registry 2."""
        worker = await backend.frontier.join(CARD)
        await backend.lose(worker)
        await backend.frontier.reclaim()
        assert (await backend.workers.beat(worker, HeartbeatReport(16, 0.0, 0))).is_unknown

    async def test_a_worker_that_was_given_other_slots_hears_it_with_its_next_beat(
        self, backend: Backend
    ) -> None:
        """Worker registry 2 and 4: all of a node, or one of them; who has slots of his own says so."""
        one, two, far = [
            await backend.frontier.join(WorkerRegistration(name, node, slots=16))
            for name, node in (("one", "box"), ("two", "box"), ("far", "elsewhere"))
        ]
        beat = HeartbeatReport(None, 0.0, 0)
        assert await backend.workers.tune("box", 4, worker_id=two, actor="ann") == 1
        assert [(await backend.workers.beat(worker, beat)).slots for worker in (one, two, far)] == [16, 4, 16]
        assert await backend.workers.tune("box", 7, actor="ann") == 2
        assert [(await backend.workers.beat(worker, beat)).slots for worker in (one, two, far)] == [7, 7, 16]
        assert [record.slots for record in await backend.workers.find()] == [7, 7, 16]
        assert (await backend.workers.beat(far, HeartbeatReport(3, 0.0, 0))).slots == 3
        entry = max(await backend.audit.entries(), key=lambda entry: entry.id)
        assert (entry.actor, entry.action, entry.subject) == ("ann", "node.tuned", "node:box")
        assert await backend.workers.tune("nowhere", 7, actor="ann") == 0
