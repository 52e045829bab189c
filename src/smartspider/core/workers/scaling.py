"""Autoscaling: the desired number of workers, from backlog, politeness and throughput."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence

import msgspec

from smartspider.core.runs.run import RunState
from smartspider.core.workers.worker import WorkerRecord

LIVE: frozenset[RunState] = frozenset({"queued", "running"})
"""States of a run that needs workers."""
MAX_CPU_SHARE = 0.8
"""Target maximum of a worker's use of its CPU core."""
IN_PROGRESS = "the remaining requests are in flight or not due yet"
MIN_PAGES = 10
"""Minimum number of pages to measure the CPU time of one."""


class ScalingOptions(msgspec.Struct, frozen=True):
    """Autoscaling settings of an installation."""

    horizon_s: float = 60.0
    """Time in which the backlog should be fetched."""
    stabilization_s: float = 60.0
    """Time for which a lower number must have been enough before the decision is lowered."""
    max_workers: int = 256


class LaneDemand(msgspec.Struct, frozen=True):
    """A host with queued requests of a run, and the limits of its gate."""

    host: str
    domain: str
    queued: int
    """Queued requests; the count may stop early."""
    in_flight: int
    """Requests in flight to the host, of all runs."""
    delay_s: float
    per_host: int
    per_domain: int | None = None
    is_held: bool = False
    """The host is on hold."""


class RunDemand(msgspec.Struct, frozen=True):
    """Open requests of a run, with a sample of its lanes."""

    run_id: int
    state: RunState
    open: int
    concurrency: int
    lanes: int = 0
    """Number of lanes."""
    sampled: tuple[LaneDemand, ...] = ()
    """The sampled lanes; the others are assumed to be similar."""

    @property
    def weight(self) -> float:
        """Number of lanes that each sampled one represents."""
        return max(self.lanes, len(self.sampled)) / len(self.sampled) if self.sampled else 0.0


class WorkerThroughput(msgspec.Struct, frozen=True):
    """Measured throughput of workers, with defaults until it is known."""

    request_s: float = 0.5
    """Time a worker holds a request."""
    page_cpu_s: float = 0.01
    """CPU time per page. A worker is one process and uses at most one core."""
    slots: int = 32
    """Slots per worker."""

    @property
    def rate(self) -> float:
        """Pages per second of a fully loaded worker."""
        return min(self.slots / self.request_s, MAX_CPU_SHARE / self.page_cpu_s)


class RunEstimate(msgspec.Struct, frozen=True):
    """Demand of a run for workers."""

    run_id: int
    open: int
    hosts: int
    """Hosts with queued requests."""
    in_flight: float
    """Concurrent requests that its gates and its concurrency allow."""
    wanted: float
    """Concurrent requests that fetch the backlog in time."""
    reason: str


class ScalingDecision(msgspec.Struct, frozen=True):
    """The desired number of workers, and the reason."""

    desired: int
    reason: str
    at: float = 0.0
    runs: tuple[RunEstimate, ...] = ()
    throughput: WorkerThroughput = WorkerThroughput()


def decide(
    runs: Sequence[RunDemand], throughput: WorkerThroughput, options: ScalingOptions = ScalingOptions()
) -> ScalingDecision:
    """Return enough workers to fetch the backlog within the horizon, but no more than the gates can use.

    At least one if there is anything to fetch, otherwise none.
    """
    live = [run for run in runs if run.state in LIVE and run.open > 0]
    if not live:
        return ScalingDecision(0, "there is nothing to fetch", throughput=throughput)
    estimates = tuple(_estimate_run(run, throughput, options) for run in live)
    gates = min(_host_capacity(live, throughput), sum(estimate.in_flight for estimate in estimates))
    backlog = sum(estimate.wanted for estimate in estimates)
    flight = min(gates, backlog)
    by_slots = flight / throughput.slots
    by_cpu = flight / throughput.request_s * throughput.page_cpu_s / MAX_CPU_SHARE
    usable = max(1, math.ceil(gates - 1e-9))
    enough = max(1, math.ceil(max(by_slots, by_cpu) - 1e-9))
    count = min(enough, usable, options.max_workers)
    reason = (
        _capacity_reason(live, estimates, gates, throughput)
        if flight >= gates
        else _backlog_reason(live, throughput, options)
    )
    if by_cpu > by_slots and enough > 1:
        pages = f"{flight / throughput.request_s:,.0f} pages a second"
        reason += f"; {pages} take {by_cpu * MAX_CPU_SHARE:.1f} CPU cores, and a worker uses one"
    if count < min(enough, usable):
        reason += f"; SMARTSPIDER_SCALE_MAX allows {options.max_workers}"
    return ScalingDecision(count, reason, runs=estimates, throughput=throughput)


def lane_capacity(lane: LaneDemand, request_s: float) -> float:
    """Return the average number of concurrent requests to a host if only its gate limits them."""
    if lane.is_held:
        return 0.0
    most = float(min(lane.per_host, lane.queued + lane.in_flight))
    return min(most, request_s / lane.delay_s) if lane.delay_s > 0.0 else most


def _estimate_run(run: RunDemand, throughput: WorkerThroughput, options: ScalingOptions) -> RunEstimate:
    capacity = sum(lane_capacity(lane, throughput.request_s) for lane in run.sampled) * run.weight
    in_flight = min(float(run.concurrency), capacity)
    backlog = run.open * throughput.request_s / options.horizon_s
    wanted = min(in_flight, backlog)
    if backlog < in_flight:
        enough = f"{_requests(backlog)} at a time {'is' if backlog <= 1.0 else 'are'} enough"
        reason = f"{enough} to fetch {_pages(run.open)} within {options.horizon_s:g} s"
    elif capacity >= run.concurrency:
        reason = f"its concurrency allows {_requests(run.concurrency)} at a time"
    elif not run.lanes:
        reason = IN_PROGRESS
    else:
        reason = _politeness_reason(run.lanes, capacity)
    return RunEstimate(run.run_id, run.open, run.lanes, round(in_flight, 3), round(wanted, 3), reason)


def _host_capacity(runs: Sequence[RunDemand], throughput: WorkerThroughput) -> float:
    """Return the concurrent requests that all hosts allow; a host shared by several runs counts once."""
    hosts: dict[str, tuple[LaneDemand, float]] = {}
    for run in runs:
        for lane in run.sampled:
            known, weight = hosts.get(lane.host, (None, 0.0))
            merged = lane if known is None else _merge_lanes(known, lane)
            hosts[lane.host] = merged, max(weight, run.weight)
    domains: dict[str, float] = {}
    caps: dict[str, float] = {}
    for lane, weight in hosts.values():
        capacity = lane_capacity(lane, throughput.request_s) * weight
        domains[lane.domain] = domains.get(lane.domain, 0.0) + capacity
        if lane.per_domain is not None:
            caps[lane.domain] = max(lane.per_domain * weight, caps.get(lane.domain, 0.0))
    return sum(min(capacity, caps.get(domain, capacity)) for domain, capacity in domains.items())


def _merge_lanes(one: LaneDemand, other: LaneDemand) -> LaneDemand:
    """Combine two runs' lanes of one host: the gate is shared, the queues add up."""
    return msgspec.structs.replace(
        one,
        queued=one.queued + other.queued,
        delay_s=max(one.delay_s, other.delay_s),
        per_host=min(one.per_host, other.per_host),
    )


def _capacity_reason(
    runs: Sequence[RunDemand], estimates: Sequence[RunEstimate], gates: float, throughput: WorkerThroughput
) -> str:
    slots = f"one worker makes up to {throughput.slots}"
    limited = sum(
        estimate.in_flight >= run.concurrency for run, estimate in zip(runs, estimates, strict=True)
    )
    if limited == len(runs) and gates >= sum(estimate.in_flight for estimate in estimates):
        many = "a run" if limited == 1 else f"{limited} runs"
        return f"the concurrency of {many} allows {_requests(gates)} at a time; {slots}"
    known = {lane.host for run in runs for lane in run.sampled}
    hosts = max(len(known), *(run.lanes for run in runs))
    if not hosts:
        return IN_PROGRESS
    return f"{_politeness_reason(hosts, gates)}; {slots}"


def _backlog_reason(runs: Sequence[RunDemand], throughput: WorkerThroughput, options: ScalingOptions) -> str:
    pages = _pages(sum(run.open for run in runs))
    rate = f"one worker fetches about {throughput.rate:,.0f} a second"
    return f"{pages} to fetch within {options.horizon_s:g} s; {rate}"


def _politeness_reason(hosts: int, capacity: float) -> str:
    if capacity <= 0.0:
        return f"{_hosts(hosts)} on hold: nothing is sent for now"
    return f"politeness allows {_requests(capacity)} at a time at {_hosts(hosts)}"


def _pages(count: int) -> str:
    return "1 page" if count == 1 else f"{count:,} pages"


def _hosts(count: int) -> str:
    return "1 host" if count == 1 else f"{count:,} hosts"


def _requests(count: float) -> str:
    whole = max(0, math.ceil(count - 1e-9))
    return "1 request" if whole == 1 else f"{whole:,} requests"


class StabilizationWindow:
    """Raises the number of workers at once and lowers it after a delay, to avoid flapping."""

    def __init__(self, stabilization_s: float) -> None:
        self._window_s = stabilization_s
        self._seen: deque[tuple[float, int]] = deque()

    def apply(self, decision: ScalingDecision) -> ScalingDecision:
        """Return the decision, with the largest number of the window."""
        now = decision.at
        while self._seen and self._seen[0][0] <= now - self._window_s:
            self._seen.popleft()
        while self._seen and self._seen[-1][1] <= decision.desired:
            self._seen.pop()
        self._seen.append((now, decision.desired))
        highest = self._seen[0][1]
        if highest == decision.desired:
            return decision
        past = f"{highest} {'was' if highest == 1 else 'were'} desired within the last {self._window_s:g} s"
        reason = f"{past}; now {decision.desired}: {decision.reason}"
        return msgspec.structs.replace(decision, desired=highest, reason=reason)


def update_throughput(
    throughput: WorkerThroughput, before: Mapping[int, WorkerRecord], workers: Sequence[WorkerRecord]
) -> WorkerThroughput:
    """Return the throughput measured since `before`; values that no worker reports stay."""
    alive = [one for one in workers if one.is_alive]
    slots = [one.slots for one in alive if one.slots > 0 and not one.is_draining]
    times = [one.health.request_s for one in alive if one.health.request_s > 0.0]
    pages, cpu_s, page_cpu_s = 0, 0.0, throughput.page_cpu_s
    for one in alive:
        past = before.get(one.id)
        if past is not None:
            pages += max(0, one.health.pages - past.health.pages)
            cpu_s += max(0.0, one.cpu_s - past.cpu_s)
    if pages >= MIN_PAGES:
        page_cpu_s = (page_cpu_s + max(cpu_s / pages, 1e-5)) / 2
    return WorkerThroughput(
        request_s=max(sum(times) / len(times), 0.001) if times else throughput.request_s,
        page_cpu_s=page_cpu_s,
        slots=max(1, round(sum(slots) / len(slots))) if slots else throughput.slots,
    )
