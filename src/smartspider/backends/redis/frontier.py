"""The frontier on Redis: queues, gates and leases are there, rows and hosts in the store."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from smartspider.backends.redis.calls import (
    BATCH,
    LANE_CAP,
    host_calls,
    id_bytes,
    ids,
    lease_calls,
    offer_calls,
    place_args,
)
from smartspider.backends.redis.leasing import CallLatency, Grant, LeaseCall, Leasing
from smartspider.backends.redis.shards import Call, Shards
from smartspider.backends.redis.update_sender import UpdateSender
from smartspider.core.errors import FrontierUnavailable, SmartSpiderError, StoreUnavailable
from smartspider.core.events import LeasesReturned
from smartspider.core.frontier.lease import FencingToken, GateClosed, Lease, LeaseBatch, SendWindow
from smartspider.core.frontier.updates import FrontierUpdate, OpenRequest, QueuePosition, ReturnedLease
from smartspider.core.requests.domains import registrable_domain
from smartspider.core.requests.politeness import PERMIT_AHEAD_S
from smartspider.core.runs.run import HTTP_ONLY, run_of
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.open_rows import HostHolds, OpenRows, WorkerMembership

LEASE_S = 60.0
STALE_ROUNDS = 20
"""Attempts to lease again when all leased requests turned out to be closed."""
RECLAIM_ROUNDS = 20
ACT_S = 2.0
"""Time that an operator's command waits for the frontier; after that the keeper applies it."""

log = logging.getLogger(__name__)


class RedisFrontier:
    """See `interfaces/frontier.py` and `interfaces/ledger.py`."""

    def __init__(
        self,
        shards: Shards,
        rows: OpenRows,
        membership: WorkerMembership,
        holds: HostHolds,
        clock: Clock,
        *,
        cap: int = LANE_CAP,
    ) -> None:
        self._shards = shards
        self._rows = rows
        self._membership = membership
        self._holds = holds
        self._clock = clock
        self._cap = cap
        self.lease_s = LEASE_S
        """Duration of a lease unless it is renewed; fault tests shorten it."""
        self._leasing = Leasing(shards, clock)
        self._sender = UpdateSender(shards, clock, cap=cap)

    @property
    def latency(self) -> CallLatency:
        """The measured latency of calls and lookups."""
        return self._leasing.latency

    async def join(self, worker: WorkerRegistration) -> int:
        """Register a worker in the store."""
        return await self._membership.join(worker)

    async def leave(self, worker_id: int) -> None:
        """Release the leases of a worker and deregister it; leases that cannot be released now return as
        lost.
        """
        for shard in range(self._shards.count):
            try:
                while await self._shards.call(shard, "leave", worker_id, BATCH) == BATCH:
                    pass
            except FrontierUnavailable:
                continue
        await self._membership.leave(worker_id)

    async def offer(self, run_id: int, url_ids: Sequence[int]) -> int:
        """Queue open rows of a run unless they are live."""
        own = sorted({url_id for url_id in url_ids if run_of(url_id) == run_id})
        places = await self._rows.places(own) if own else []
        answers = await self._shards.answers(offer_calls(self._shards, places, self._cap))
        return sum(max(int(new), 0) for new in answers)

    async def lease(
        self,
        worker_id: int,
        want: int,
        runs: Sequence[int],
        own: bytes = b"",
        capabilities: frozenset[str] = HTTP_ONLY,
        *,
        ahead_s: float = 0.0,
    ) -> LeaseBatch:
        """Lease requests that may be sent now or within `ahead_s` and look them up in the store; closed ones
        are removed here.
        """
        own_runs = list(dict.fromkeys(runs))
        call = LeaseCall(worker_id, min(want, BATCH), self.lease_s, own_runs, own, capabilities, ahead_s)
        for _ in range(STALE_ROUNDS):
            found = await self._leasing.lease(call)
            leases = await self._looked_up(found.grants)
            if leases or not found.grants:
                break
        return LeaseBatch(leases, found.now, found.next_at)

    async def renew(self, leases: Sequence[Lease]) -> list[Lease]:
        """Extend the leases that are still held."""
        kept = await self._marked("renew", leases, first=(self.lease_s,))
        kept -= await self._outdated([lease for lease in leases if lease.token in kept])
        return [lease for lease in leases if lease.token not in kept]

    async def _outdated(self, leases: Sequence[Lease]) -> set[FencingToken]:
        """Return leases of rows that were closed and reopened since; they keep their slot at the gate."""
        if not leases:
            return set()
        try:
            found = await self._rows.requests([lease.url_id for lease in leases])
        except StoreUnavailable:
            return set()
        return {
            lease.token
            for lease in leases
            if (row := found.get(lease.url_id)) is not None and row.visit > lease.visit
        }

    async def held(self, leases: Sequence[Lease]) -> set[FencingToken]:
        """Return the tokens of those leases that are still held."""
        return await self._marked("held", leases)

    async def release(self, leases: Sequence[Lease]) -> None:
        """Queue unused leases again."""
        await self._shards.answers(lease_calls(self._shards, "release", [(lease, ()) for lease in leases]))

    async def release_others(self, worker_id: int, url_id: int) -> None:
        """Queue the requests of a worker again, but for one; unreachable shards keep theirs."""
        kept = id_bytes(url_id)
        await self._shards.round(
            [Call(shard, "leave", [worker_id, BATCH, kept]) for shard in range(self._shards.count)]
        )

    async def apply(self, update: FrontierUpdate) -> None:
        """Apply a committed update."""
        await self._sender.apply(update)

    async def reclaim(self) -> list[LeasesReturned]:
        """Take leases back from dead and silent workers; the store counts them and decides which to queue
        again.
        """
        dead = await self._rows.lost_workers()
        events: list[LeasesReturned] = []
        for _ in range(RECLAIM_ROUNDS):
            calls = [Call(shard, "reclaim", [BATCH, *dead]) for shard in range(self._shards.count)]
            found = await self._shards.round(calls)
            answers = [answer for answer in found if not isinstance(answer, SmartSpiderError)]
            if not answers:
                raise found[0]  # an unreachable shard does not stop the others
            returned = [lost for answer in answers for lost in _returned(answer)]
            if returned:
                places, new = await self._rows.count_returns(returned)
                await self._sender.send(self._requeue_calls(returned, places))
                events += new
            if all(len(answer) < 5 * BATCH for answer in answers):
                break
        return events

    async def permit(self, host: str, delay_s: float = 0.0) -> SendWindow | GateClosed:
        """Reserve one more slot of a host with at least this delay, if it is near."""
        latency = self._leasing.latency
        sent_at = self._clock.monotonic()
        args = (host, registrable_domain(host), PERMIT_AHEAD_S, latency.slack_s, delay_s)
        answer = await self._shards.call(self._shards.of(host), "permit", *args)
        arrived_at = self._clock.monotonic()
        latency.record_call(arrived_at - sent_at)
        now, *window = (float(one) for one in answer)
        if len(window) == 1:
            return GateClosed(arrived_at + window[0] - now - PERMIT_AHEAD_S)
        not_before, not_after, spacing_s = window
        return SendWindow(arrived_at + not_before - now, sent_at + not_after - now, spacing_s)

    async def hold_host(
        self,
        host: str,
        seconds: float,
        reason: str,
        *,
        actor: str | None = None,
        owner: str | None = None,
    ) -> None:
        """Send nothing to a host for some seconds; written to the store first. Holds and delays of an owner
        take effect with the next controls that the leader sends.
        """
        row = await self._holds.hold_host(host, seconds, reason, actor=actor, owner=owner)
        await self._sender.send(host_calls(self._shards, [row]), timeout_s=ACT_S)

    async def resume_host(self, host: str, *, actor: str | None = None, owner: str | None = None) -> None:
        """End a hold; written to the store first."""
        row = await self._holds.resume_host(host, actor=actor, owner=owner)
        await self._sender.send(host_calls(self._shards, [row]), timeout_s=ACT_S)

    async def slow_host(
        self, host: str, delay_s: float, *, actor: str | None = None, owner: str | None = None
    ) -> None:
        """Set the operator's delay of a host; written to the store first."""
        row = await self._holds.slow_host(host, delay_s, actor=actor, owner=owner)
        await self._sender.send(host_calls(self._shards, [row]), timeout_s=ACT_S)

    async def check(self, runs: Sequence[int], *, repair: bool = False) -> list[str]:
        """Check the consistency of all indexes. Return the inconsistencies, which `repair` removes."""
        found: list[str] = []
        for shard in range(self._shards.count):
            for run_id in runs:
                found += await self._pages(shard, "check_lanes", run_id, repair=repair)
                found += await self._pages(shard, "check_waiting", run_id, repair=repair)
            for name in ("check_leases", "check_workers", "check_in_flight"):
                found += await self._pages(shard, name, repair=repair)
        return found

    async def _pages(self, shard: int, name: str, *args: int, repair: bool) -> list[str]:
        found: list[str] = []
        cursor = b"0"
        while True:
            cursor, *more = await self._shards.call(shard, name, *args, cursor, int(repair))
            found += [line.decode() for line in more]
            if cursor == b"0":
                return found

    async def _marked(
        self, name: str, leases: Sequence[Lease], first: Sequence[float] = ()
    ) -> set[FencingToken]:
        """Return the tokens of leases for which a function returns true."""
        calls = lease_calls(self._shards, name, [(lease, ()) for lease in leases], first=first)
        kept: set[tuple[bytes, int]] = set()
        for call, answer in zip(calls, await self._shards.answers(calls), strict=True):
            keys = call.args[len(first) :]
            kept |= {
                (keys[3 * number], keys[3 * number + 2])
                for number, mark in enumerate(answer)
                if mark == ord("1")
            }
        return {
            lease.token
            for lease in leases
            if (id_bytes(lease.url_id), self._shards.number(lease.token.counter)) in kept
        }

    async def _looked_up(self, grants: Sequence[Grant]) -> list[Lease]:
        """Return leases of the open rows; the slots of the others are freed."""
        if not grants:
            return []
        began_at = self._clock.monotonic()
        try:
            found = await self._rows.requests([grant.url_id for grant in grants])
            self.latency.record_lookup(self._clock.monotonic() - began_at)
            closed = [grant for grant in grants if grant.url_id not in found]
            if closed:
                await self._end_closed(closed)
            strays = [
                grant
                for grant in grants
                if grant.url_id in found and found[grant.url_id].request.host != grant.host
            ]
            if strays:
                await self._requeue_strays(strays)
        except BaseException:
            await self._end("release", grants)  # other workers may succeed
            raise
        gone = {grant.token for grant in (*closed, *strays)}
        return [_lease(grant, found[grant.url_id]) for grant in grants if grant.token not in gone]

    async def _end_closed(self, closed: Sequence[Grant]) -> None:
        """Offer the children of closed rows, in case this was not done when they were closed; then end the
        leases.
        """
        left = await self._rows.open_children([grant.url_id for grant in closed])
        await self._shards.answers(offer_calls(self._shards, left, self._cap))
        await self._end("unused", closed)

    async def _requeue_strays(self, strays: Sequence[Grant]) -> None:
        """Queue requests at their own hosts: the store has used their ids a second time (ADR 29), and a host
        is only fetched through its own gate.
        """
        log.warning("leases.strayed: %d were queued at the wrong host", len(strays))
        await self._end("unused", strays)
        places = await self._rows.places([grant.url_id for grant in strays])
        await self._shards.answers(offer_calls(self._shards, places, self._cap))

    async def _end(self, name: str, grants: Sequence[Grant]) -> None:
        """End leases whose requests are unknown; those that fail expire."""
        groups: dict[int, list[Any]] = {}
        for grant in grants:
            number = self._shards.number(grant.token.counter)
            key = (id_bytes(grant.url_id), grant.token.epoch, number)
            groups.setdefault(grant.shard, []).extend(key)
        await self._shards.round([Call(shard, name, args) for shard, args in groups.items()])

    def _requeue_calls(
        self, returned: Sequence[ReturnedLease], places: Sequence[QueuePosition]
    ) -> list[Call]:
        """Return calls that end counted returns and queue the open ones."""
        lost: dict[tuple[int, int], list[int]] = {}
        for one in returned:
            lost.setdefault((self._shards.of(one.host), run_of(one.url_id)), []).append(one.url_id)
        again: dict[tuple[int, int], list[QueuePosition]] = {}
        for place in places:
            again.setdefault((self._shards.of(place.host), run_of(place.url_id)), []).append(place)
        calls = []
        for (shard, run_id), url_ids in lost.items():
            queued = again.get((shard, run_id), [])
            args = [len(url_ids), *map(id_bytes, url_ids), *place_args(run_id, queued, self._cap)]
            calls.append(Call(shard, "requeue", args))
        return calls


def _lease(grant: Grant, row: OpenRequest) -> Lease:
    return Lease(
        token=grant.token,
        url_id=grant.url_id,
        run_id=run_of(grant.url_id),
        request=row.request,
        window=grant.window,
        deadline_at=grant.deadline_at,
        attempts=row.attempts,
        returns=row.returns,
        is_alone=grant.is_alone,
        visit=row.visit,
        cookie_version=row.cookie_version,
    )


def _returned(answer: list[Any]) -> list[ReturnedLease]:
    return [
        ReturnedLease(ids(url_id)[0], host.decode(), int(worker), bool(int(is_alone)), bool(int(counts)))
        for url_id, host, worker, is_alone, counts in zip(*(iter(answer),) * 5, strict=True)
    ]
