"""The worker registry: who is there, how they do, and asking them to leave."""

from __future__ import annotations

from smartspider.core.workers import Form, WorkerCard
from smartspider.interfaces.worker_registry import Beat
from smartspider_testing.contracts.acts import begin, take, urls
from smartspider_testing.contracts.ground import Ground, OnGround

CARD = WorkerCard("worker 1", "box", 4711, "1.2", 16)


class WorkerRegistryContract(OnGround):
    """Workers as others see them."""

    async def test_a_worker_is_listed_from_joining_until_it_leaves(self, ground: Ground) -> None:
        """Worker registry 1: with what it says of itself, by every process."""
        joined_at = ground.clock.now()
        first, second = await ground.frontier.join(CARD), await ground.frontier.join(WorkerCard("worker 2"))
        other = await ground.another()
        one, two = await other.workers.find()
        assert (one.id, one.name, one.node, one.pid, one.version, one.slots) == (
            *(first, "worker 1", "box", 4711, "1.2", 16),
        )
        assert (one.held, one.is_draining, one.is_alive, one.hosts, one.runs) == (0, False, True, [], [])
        assert (one.joined_at, one.seen_at, two.id) == (joined_at, joined_at, second)
        await ground.frontier.leave(first)
        assert [record.id for record in await ground.workers.find()] == [second]

    async def test_a_dead_worker_is_listed_as_dead_until_its_leases_are_reclaimed(
        self, ground: Ground
    ) -> None:
        """Worker registry 1."""
        run = await begin(ground, *urls(3))
        worker = await ground.frontier.join(CARD)
        await take(ground, worker, run, want=2)
        await ground.lose(worker)
        (record,) = await ground.workers.find()
        assert (record.is_alive, record.held) == (False, 2)
        (returned,) = await ground.frontier.reclaim()
        assert (returned.run_id, returned.count, returned.worker) == (run.id, 2, "worker 1")
        assert await ground.workers.find() == []

    async def test_what_a_worker_holds_is_told(self, ground: Ground) -> None:
        """Worker registry 1: how many requests, of which runs, for which hosts (a few of them)."""
        one = await begin(ground, *urls(3, host="a.example"))
        two = await begin(
            ground, *(page for number in range(9) for page in urls(1, host=f"h{number}.example"))
        )
        worker, idle = await ground.frontier.join(CARD), await ground.frontier.join(WorkerCard("idle"))
        await take(ground, worker, one)
        await take(ground, worker, two)
        busy, free = await ground.workers.find()
        assert (busy.held, busy.runs, busy.hosts[0], len(busy.hosts)) == (
            12,
            [one.id, two.id],
            "a.example",
            5,
        )
        assert (free.id, free.held, free.runs, free.hosts) == (idle, 0, [], [])

    async def test_a_beat_is_kept(self, ground: Ground) -> None:
        """Worker registry 2."""
        worker = await ground.frontier.join(CARD)
        await ground.clock.advance(2.0)
        orders = await ground.workers.beat(worker, Beat(8, 1.5, 50_000_000))
        assert (orders.slots, orders.is_draining, orders.is_unknown) == (8, False, False)
        (record,) = await ground.workers.find()
        assert (record.slots, record.cpu_s, record.memory) == (8, 1.5, 50_000_000)
        assert record.seen_at == ground.clock.now()

    async def test_how_a_worker_does_is_kept_and_told(self, ground: Ground) -> None:
        """Worker registry 2 and 3: with its machine and why it was started; a new one has nothing to tell."""
        elastic = await ground.frontier.join(WorkerCard("more", "box", cpus=4, is_elastic=True))
        worker = await ground.frontier.join(CARD)
        form = Form(0.25, 0.125, 1.5, 700, 3.5)
        await ground.workers.beat(worker, Beat(16, 1.5, 0, form=form))
        records = {record.id: record for record in await (await ground.another()).workers.find()}
        told = {one: (found.cpus, found.is_elastic, found.form) for one, found in records.items()}
        assert told == {elastic: (4, True, Form()), worker: (0, False, form)}

    async def test_a_worker_hears_of_all_that_stay_or_of_nobody(self, ground: Ground) -> None:
        """Worker registry 3: those who are asked to leave or are dead do not count."""
        one, two, leaves, lost = [await ground.frontier.join(WorkerCard(name, "box")) for name in "abcd"]
        form, own = Form(pages=7), Form(pages=9)
        await ground.workers.beat(two, Beat(16, 1.0, 0, form=form))
        await ground.workers.drain("box", worker_id=leaves, actor="ann")
        await ground.lose(lost)
        orders = await ground.workers.beat(one, Beat(16, 1.0, 0, form=own))
        assert orders.peers in ({}, {one: own, two: form})
        assert set((await ground.workers.beat(leaves, Beat(16, 1.0, 0))).peers) in (set(), {one, two})

    async def test_beats_that_tell_nothing_new_still_show_that_it_is_there(self, ground: Ground) -> None:
        """Worker registry 2: within seconds, though not each of them need be written."""
        worker = await ground.frontier.join(CARD)
        for _ in range(60):
            await ground.workers.beat(worker, Beat(16, 0.0, 0))
            await ground.clock.advance(2.0)
        (record,) = await ground.workers.find()
        assert ground.clock.now() - record.seen_at <= 20.0

    async def test_a_worker_that_was_asked_to_leave_hears_it_with_its_next_beat(self, ground: Ground) -> None:
        """Worker registry 2 and 4: all of a node, or one of them."""
        one, two, far = [
            await ground.frontier.join(WorkerCard(name, node))
            for name, node in (("one", "box"), ("two", "box"), ("far", "elsewhere"))
        ]
        beat = Beat(16, 0.0, 0)
        assert await ground.workers.drain("box", worker_id=two, actor="ann") == 1
        heard = [(await ground.workers.beat(worker, beat)).is_draining for worker in (one, two, far)]
        assert heard == [False, True, False]
        assert await ground.workers.drain("box", actor="ann") == 1
        assert [record.is_draining for record in await ground.workers.find()] == [True, True, False]

    async def test_draining_is_in_the_audit(self, ground: Ground) -> None:
        """Worker registry 4: who asked whom; asking nobody is not."""
        await ground.frontier.join(CARD)
        before = len(await ground.audit.entries())
        assert await ground.workers.drain("nowhere", actor="ann") == 0
        assert await ground.workers.drain("box", worker_id=10**9, actor="ann") == 0
        assert len(await ground.audit.entries()) == before
        await ground.workers.drain("box", actor="ann")
        entry = max(await ground.audit.entries(), key=lambda entry: entry.id)
        assert (entry.actor, entry.action, entry.subject) == ("ann", "node.drained", "node:box")
        assert b"worker 1" in entry.detail

    async def test_a_worker_that_was_taken_for_dead_hears_that_nobody_knows_it(self, ground: Ground) -> None:
        """Worker registry 2."""
        worker = await ground.frontier.join(CARD)
        await ground.lose(worker)
        await ground.frontier.reclaim()
        assert (await ground.workers.beat(worker, Beat(16, 0.0, 0))).is_unknown

    async def test_a_worker_that_was_given_other_slots_hears_it_with_its_next_beat(
        self, ground: Ground
    ) -> None:
        """Worker registry 2 and 4: all of a node, or one of them; who has slots of his own says so."""
        one, two, far = [
            await ground.frontier.join(WorkerCard(name, node, slots=16))
            for name, node in (("one", "box"), ("two", "box"), ("far", "elsewhere"))
        ]
        beat = Beat(None, 0.0, 0)
        assert await ground.workers.tune("box", 4, worker_id=two, actor="ann") == 1
        assert [(await ground.workers.beat(worker, beat)).slots for worker in (one, two, far)] == [16, 4, 16]
        assert await ground.workers.tune("box", 7, actor="ann") == 2
        assert [(await ground.workers.beat(worker, beat)).slots for worker in (one, two, far)] == [7, 7, 16]
        assert [record.slots for record in await ground.workers.find()] == [7, 7, 16]
        assert (await ground.workers.beat(far, Beat(3, 0.0, 0))).slots == 3
        entry = max(await ground.audit.entries(), key=lambda entry: entry.id)
        assert (entry.actor, entry.action, entry.subject) == ("ann", "node.tuned", "node:box")
        assert await ground.workers.tune("nowhere", 7, actor="ann") == 0
