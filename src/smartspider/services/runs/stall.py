"""Why a run does not move, and what to do: a pure function of the situation it is in."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.redaction import without_userinfo
from smartspider.core.runs.run import GUARD, LIMIT, UNFINISHED, Run
from smartspider.core.workers.worker import WorkerRecord
from smartspider.installation.installation import Installation
from smartspider.services.runs import closed_gates
from smartspider.services.runs.blockers import find_blockers
from smartspider.services.runs.progress import pages_per_s
from smartspider.services.runs.tuning import knobs_of
from smartspider.store.diagnostics.requests import GateStatus
from smartspider.store.diagnostics.store import FailingHost, RunActivity
from smartspider.views.runs import Cause, StallView
from smartspider.views.times import format_time

SILENT_S = 45.0
"""A worker that lives and was not seen for so long is stuck."""
FRESH_S = 10.0
"""A run that went on this recently has not had its chance yet."""
GATES_LOOKED_AT = 200
LONGEST_REASON = 200
MACHINES_NAMED = 3


class RunSituation(msgspec.Struct, frozen=True):
    """What a run is in the middle of."""

    situation: RunActivity
    workers: Sequence[WorkerRecord]
    concurrency: int
    find_blockers: Sequence[Cause] = ()
    """What stops all runs."""

    @property
    def run(self) -> Run:
        """The run itself."""
        return self.situation.progress.run

    @property
    def now(self) -> float:
        """By the clock of the store."""
        return self.situation.progress.now

    @property
    def waiting_gates(self) -> list[GateStatus]:
        """Gates with something of the run queued behind them."""
        return [gate for gate in self.situation.gates if gate.queued]


async def explain_stall(installation: Installation, run_id: int) -> StallView:
    """Why a run does not move, or that it does."""
    situation = await installation.diagnostics.activity(run_id, GATES_LOOKED_AT)
    workers = await installation.workers.find()
    stopping = await find_blockers(installation)
    return find_causes(
        RunSituation(situation, workers, knobs_of(situation.progress.run).concurrency, stopping)
    )


def find_causes(scene: RunSituation) -> StallView:
    """State, what all runs stand on, workers, limits and gates in this order: the first that stops everything
    is the answer.
    """
    run, rate = scene.run, pages_per_s(scene.situation.progress)
    causes = _state(run) or list(scene.find_blockers) or _nothing_left(scene) or _workers(scene)
    is_moving = False
    if not causes:
        causes, is_blocked = _work(scene)
        is_moving = not is_blocked and (rate > 0.0 or _is_fresh(scene))
        if not causes and not is_moving:
            causes = _unasked(scene)
    summary = (
        _moving(run, rate, causes) if is_moving else " ".join(_sentence(cause.what) for cause in causes[:3])
    )
    return StallView(
        str(run.id), run.state, is_moving, summary, rate if run.state in UNFINISHED else 0.0, causes
    )


def _state(run: Run) -> list[Cause]:
    """What the state of the run says; nothing where work is handed out."""
    if run.state in ("created", "queued", "running"):
        return []
    because = f": {run.reason}" if run.reason else ""
    if run.reason.startswith(LIMIT) and run.state in ("stopping", "completed"):
        what = f"the run is {run.state}, as a limit is reached ({run.reason.removeprefix(LIMIT)})"
        return [Cause("limit", what, "raise the limit in the task and start a new run for more")]
    if run.reason.startswith(GUARD) and run.state == "paused":
        what = f"a guard paused the run: {run.reason.removeprefix(GUARD)}"
        return [Cause("paused_by_guard", what, "look at its failures, mend what is wrong and resume it")]
    if run.state == "stopping":
        what = f"the run is being stopped; {run.in_flight} requests are still in flight"
        return [Cause("stopping", what, "wait until it is stopped, then resume it")]
    if run.state in UNFINISHED:
        return [Cause(run.state, f"the run is {run.state}{because}", "resume it")]
    advice = "start a new run" if run.state == "cancelled" else "retry it, or start a new run"
    return [Cause("over", f"the run is {run.state}{because}", advice)]


def _nothing_left(scene: RunSituation) -> list[Cause]:
    if scene.run.counters.open:
        return []
    what = "every request that is known has been fetched; the run ends in a moment"
    return [Cause("nothing_left", what, "wait a few seconds")]


def _workers(scene: RunSituation) -> list[Cause]:
    """What is wrong with all workers at once."""
    alive = [worker for worker in scene.workers if worker.is_alive]
    if not alive:
        return [
            Cause("no_worker", "no worker is alive", "start one: `smartspider up` or `smartspider worker`")
        ]
    ready = [worker for worker in alive if not worker.is_draining]
    if not ready:
        what = f"all {len(alive)} workers are draining and take nothing new ({_machines(alive)})"
        return [Cause("all_draining", what, "start another worker")]
    missing = [need for need in sorted(scene.run.needs) if not any(need in one.capabilities for one in ready)]
    if missing or not any(scene.run.needs <= worker.capabilities for worker in ready):
        return [_no_capability(missing or sorted(scene.run.needs))]
    silent = [worker for worker in ready if worker.seen_at and scene.now - worker.seen_at > SILENT_S]
    if len(silent) == len(ready):
        longest = scene.now - min(worker.seen_at for worker in silent)
        what = f"no worker was heard of lately, one not for {longest:.0f} s"
        return [Cause("workers_silent", what, "look whether the machine is overloaded; restart the workers")]
    if not any(worker.slots for worker in ready):
        return [_no_slots(ready)]
    if scene.run.state == "queued" and scene.now - scene.run.created_at > FRESH_S:
        return _busy(ready) or [
            Cause("queued", "the run waits for a worker to take it up", "wait a few seconds")
        ]
    return []


def _busy(workers: Sequence[WorkerRecord]) -> list[Cause]:
    slots, held = sum(worker.slots for worker in workers), sum(worker.held for worker in workers)
    if not slots or held < slots:
        return []
    without = [worker for worker in workers if not worker.slots]
    what = f"all {slots} slots of the workers are taken, also by other runs" + (
        f"; others have none ({_machines(without)})" if without else ""
    )
    return [Cause("workers_busy", what, "raise the priority of this run, or start another worker")]


def _no_slots(workers: Sequence[WorkerRecord]) -> Cause:
    node = workers[0].node or "NODE"
    what = f"the workers have no slots (0 of 0, on {_machines(workers)}), so they take nothing"
    return Cause("no_slots", what, f"give them some: `smartspider node tune {node} --slots 8`")


def _no_capability(missing: Sequence[str]) -> Cause:
    what = f"no live worker has the {' and '.join(missing)} transport that the run needs"
    return Cause("no_capable_worker", what, "install the transport on a machine and start a worker there")


def _machines(workers: Sequence[WorkerRecord]) -> str:
    """Where workers are, a few of many."""
    names = sorted({worker.node or "this machine" for worker in workers})
    more = f" and {len(names) - MACHINES_NAMED} more" if len(names) > MACHINES_NAMED else ""
    return f"{', '.join(names[:MACHINES_NAMED])}{more}"


def _work(scene: RunSituation) -> tuple[list[Cause], bool]:
    """What holds requests back, and whether it holds back all of them."""
    run, waiting = scene.run, scene.waiting_gates
    causes: list[Cause] = []
    if run.in_flight >= scene.concurrency:
        what = f"all {scene.concurrency} places of the run are in flight{_ages(scene)}"
        causes.append(Cause("concurrency_full", what, "raise concurrency, or wait for slow answers"))
    closed = closed_gates.closed_gates(waiting, scene.now)
    causes += closed_gates.gate_causes(closed)
    if scene.situation.waiting and not waiting and run.in_flight == 0:
        held = [gate for gate in scene.situation.gates if gate.held_until > scene.now]
        causes += [*closed_gates.gate_causes(closed_gates.closed_gates(held, scene.now)), _later(scene)]
    is_open = len(closed) < len(waiting)
    is_blocked = bool(causes) and run.in_flight == 0 and not is_open and not _opens_soon(scene, closed)
    if is_open and run.in_flight == 0:
        causes += _busy(_ready(scene))
    if (
        run.in_flight
        and not is_blocked
        and pages_per_s(scene.situation.progress) == 0.0
        and not _is_fresh(scene)
    ):
        what = f"{run.in_flight} requests are in flight and none was answered lately{_ages(scene)}"
        causes.insert(0, Cause("slow_answers", what, "wait for them, or lower fetch.timeout_s in the task"))
    return causes, is_blocked


def _later(scene: RunSituation) -> Cause:
    due_at, count = scene.situation.next_due_at or scene.now, scene.situation.waiting
    many = "1,000 or more" if count >= 1000 else str(count)
    failing = scene.situation.failing
    where = "; ".join(_failed(one) for one in failing[:3])
    what = (
        f"all that is left ({many}) waits to be tried again, the first in {max(due_at - scene.now, 0):.0f} s"
        f"{f': {where}' if where else ''}"
    )
    advice = "wait; if that does not pass, look whether the host is well, or cancel the run"
    return Cause("waiting_for_retry", what, advice, format_time(due_at), [one.host for one in failing])


def _failed(one: FailingHost) -> str:
    """Where something failed, and why it did the last time."""
    reason = without_userinfo(one.reason)[:LONGEST_REASON]
    return f"{one.host} failed with {reason}" if reason else one.host


def _opens_soon(scene: RunSituation, closed: Sequence[closed_gates.ClosedGate]) -> bool:
    """A gate that opens in a moment is how polite crawling looks, not a stall."""
    return any(one.code.endswith("_delay") and one.until - scene.now < FRESH_S for one in closed)


def _unasked(scene: RunSituation) -> list[Cause]:
    what = "something may leave now and workers are there, but nothing was fetched lately"
    return _busy(_ready(scene)) or [
        Cause("not_asked", what, "look at the log of the run; restart the workers")
    ]


def _ready(scene: RunSituation) -> list[WorkerRecord]:
    return [worker for worker in scene.workers if worker.is_alive and not worker.is_draining]


def _is_fresh(scene: RunSituation) -> bool:
    since = scene.situation.progress.resumed_at or scene.run.created_at
    return scene.now - since < FRESH_S


def _ages(scene: RunSituation) -> str:
    sent = [held.sent_at for held in scene.situation.oldest if held.sent_at is not None]
    return f", the oldest for {scene.now - min(sent):.0f} s" if sent else ""


def _moving(run: Run, rate: float, causes: Sequence[Cause]) -> str:
    slowed = f" What slows it most: {causes[0].what}." if causes else ""
    if rate == 0.0:
        return f"It has just begun; {run.counters.open} requests are open.{slowed}"
    return f"It moves: {rate:g} pages a second, {run.counters.open} requests are open.{slowed}"


def _sentence(what: str) -> str:
    return f"{what[0].upper()}{what[1:]}."
