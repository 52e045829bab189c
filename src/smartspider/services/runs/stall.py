"""Explain why a run does not progress: a pure function of its situation."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.errors import NotFound, SettingInvalid
from smartspider.core.plurals import count
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.core.runs.run import GUARD, LIMIT, SECRET, UNFINISHED, VAULT, Run
from smartspider.core.workers.worker import WorkerRecord, describe_silent
from smartspider.installation.installation import Installation
from smartspider.installation.settings import VARIABLE
from smartspider.services.identities.cookies import vault_with_cookies
from smartspider.services.plans import run_plan
from smartspider.services.runs import closed_gates
from smartspider.services.runs.blockers import find_blockers
from smartspider.services.runs.progress import pages_per_s
from smartspider.services.runs.tuning import run_knobs
from smartspider.store.diagnostics.requests import GateStatus
from smartspider.store.diagnostics.store import FailingHost, RunActivity
from smartspider.views.runs import Cause, StallView

FRESH_S = 10.0
"""A run resumed this recently is not stalled yet."""
MAX_GATES = 200
MAX_REASON_LENGTH = 200
MACHINES_NAMED = 3


class RunSituation(msgspec.Struct, frozen=True):
    """The activity of a run, with the workers and blockers of the installation."""

    activity: RunActivity
    workers: Sequence[WorkerRecord]
    concurrency: int
    blockers: Sequence[Cause] = ()
    """Causes that stop all runs, or this one."""
    owner: str = ""
    """The owner of its task."""

    @property
    def run(self) -> Run:
        """The run."""
        return self.activity.progress.run

    @property
    def now(self) -> float:
        """The time of the store."""
        return self.activity.progress.now

    @property
    def waiting_gates(self) -> list[GateStatus]:
        """Gates with queued requests of the run."""
        return [gate for gate in self.activity.gates if gate.queued]


async def explain_stall(installation: Installation, run_id: int) -> StallView:
    """Return why a run does not progress, or that it does."""
    activity = await installation.diagnostics.activity(run_id, MAX_GATES)
    workers = await installation.workers.find()
    run = activity.progress.run
    blockers = (
        await find_blockers(installation)
        or await _find_no_proxy(installation, run)
        or await _find_no_cookies(installation, run)
    )
    owner = (await installation.tasks.get(run.task_id)).owner if run.task_id else ""
    return find_causes(RunSituation(activity, workers, run_knobs(run).concurrency, blockers, owner))


async def _find_no_proxy(installation: Installation, run: Run) -> list[Cause]:
    """Return the pools of a run, if all their proxies are banned."""
    pools = run_plan(run).fetch.proxy_pools if run.state in UNFINISHED and VAULT in run.needs else []
    found = [one for pool in pools for one in await installation.vault.proxies.find(pool=pool)]
    if not found or any(one.banned_until <= installation.clock.now() for one in found):
        return []
    ends_at = format_time(min(one.banned_until for one in found))
    named = " and ".join(pools)
    what = f"all {len(found)} proxies of {named} are banned: proxy {found[0].id} failed with {found[0].error}"
    advice = "wait until a ban ends, or check them: `smartspider proxy list`, `smartspider proxy check ID`"
    return [Cause("no_proxy", what[:MAX_REASON_LENGTH], advice, ends_at)]


async def _find_no_cookies(installation: Installation, run: Run) -> list[Cause]:
    """Return the cookies of a run, if none of them is active."""
    plan = run_plan(run) if run.state in UNFINISHED and VAULT in run.needs else None
    if plan is None or plan.vault_cookies is None:
        return []
    with installation.open_vaults(is_local=not installation.is_cluster) as vaults:
        try:
            await vault_with_cookies(vaults, plan, None)
        except (SettingInvalid, NotFound) as error:
            advice = "log in and upload new cookies: `smartspider cookie upload`; the run goes on by itself"
            return [Cause("no_identity", error.message[:MAX_REASON_LENGTH], advice)]
    return []


def find_causes(situation: RunSituation) -> StallView:
    """Check state, blockers, workers, limits and gates, in this order; the first that stops everything
    decides.
    """
    run, rate = situation.run, pages_per_s(situation.activity.progress)
    causes = (
        _state_causes(run)
        or list(situation.blockers)
        or _nothing_left(situation)
        or _worker_causes(situation)
    )
    is_moving = False
    if not causes:
        causes, is_blocked = _request_causes(situation)
        is_moving = not is_blocked and (rate > 0.0 or _is_fresh(situation))
        if not causes and not is_moving:
            causes = _not_leased(situation)
    summary = (
        _moving_summary(run, rate, causes)
        if is_moving
        else " ".join(_sentence(cause.what) for cause in causes[:3])
    )
    return StallView(
        str(run.id), run.state, is_moving, summary, rate if run.state in UNFINISHED else 0.0, causes
    )


def _state_causes(run: Run) -> list[Cause]:
    """Return the cause that the state implies; none for a live state."""
    if run.state in ("created", "queued", "running"):
        return []
    because = f": {run.reason}" if run.reason else ""
    if run.reason.startswith(LIMIT) and run.state in ("stopping", "completed"):
        what = f"the run is {run.state} because it reached a limit ({run.reason.removeprefix(LIMIT)})"
        return [Cause("limit", what, "to continue, raise the limit in the task and start a new run")]
    if run.reason.startswith(GUARD) and run.state == "paused":
        what = f"a guard paused the run: {run.reason.removeprefix(GUARD)}"
        return [Cause("paused_by_guard", what, "check its failures, fix the cause and resume it")]
    if run.state == "stopping":
        what = f"the run is being stopped; {count(run.in_flight, 'request')} still in flight"
        return [Cause("stopping", what, "wait until it is stopped, then resume it")]
    if run.state in UNFINISHED:
        return [Cause(run.state, f"the run is {run.state}{because}", "resume it")]
    failed = run.counters.failed
    can_retry = failed and run.state != "cancelled"
    advice = "retry its failed requests, or start a new run" if can_retry else "start a new run"
    rest = f"{count(failed, 'request')} failed" if failed else "nothing is left to fetch"
    what = f"the run is {run.state}{because}" + (f"; {rest}" if run.state == "completed" else "")
    return [Cause("over", what, advice)]


def _nothing_left(situation: RunSituation) -> list[Cause]:
    if situation.run.counters.open:
        return []
    what = "all known requests have been fetched; the run ends in a moment"
    return [Cause("nothing_left", what, "wait a few seconds")]


def _worker_causes(situation: RunSituation) -> list[Cause]:
    """Return what keeps all workers from working on the run."""
    alive = [worker for worker in situation.workers if worker.is_alive]
    if not alive:
        return [
            Cause("no_worker", "no worker is alive", "start one: `smartspider up` or `smartspider worker`")
        ]
    ready = [worker for worker in alive if not worker.is_draining]
    if not ready:
        what = f"all {len(alive)} workers are draining and lease no requests ({_machines(alive)})"
        return [Cause("all_draining", what, "start another worker")]
    missing = [
        need for need in sorted(situation.run.needs) if not any(need in one.capabilities for one in ready)
    ]
    if missing or not any(situation.run.needs <= worker.capabilities for worker in ready):
        return [_no_capability(missing or sorted(situation.run.needs))]
    if stuck := _silent(ready, situation.now) or _no_slots(ready):
        return stuck
    if situation.run.state == "queued" and situation.now - situation.run.created_at > FRESH_S:
        return (
            _busy(ready)
            or _waits_too_much(situation)
            or [Cause("queued", "the run is queued until a worker starts it", "wait a few seconds")]
        )
    return []


def _busy(workers: Sequence[WorkerRecord]) -> list[Cause]:
    slots, used = sum(worker.slots for worker in workers), sum(worker.used for worker in workers)
    if not slots or used < slots:
        return []
    without = [worker for worker in workers if not worker.slots]
    what = f"all {slots} slots of the workers are in use, also by other runs" + (
        f"; others have none ({_machines(without)})" if without else ""
    )
    return [Cause("workers_busy", what, "raise the priority of this run, or start another worker")]


def _waits_too_much(situation: RunSituation) -> list[Cause]:
    """Return the cause if the owner of the run has too many requests that wait in all workers."""
    workers = [worker for worker in _ready(situation) if worker.slots]
    if not workers or not all(situation.owner in worker.health.at_limit for worker in workers):
        return []
    whose = f"the runs of {situation.owner}" if situation.owner else "the runs of this command"
    what = f"{whose} have as many requests that wait for slow responses as one user may have"
    advice = "wait for them, or lower fetch.timeout_s or concurrency in the tasks with slow hosts"
    return [Cause("too_many_waiting", what, advice)]


def _silent(workers: Sequence[WorkerRecord], now: float) -> list[Cause]:
    silent = [worker for worker in workers if worker.is_silent(now)]
    if len(silent) < len(workers):
        return []
    what = f"no worker responds: {describe_silent(silent, now)}"
    advice = (
        "wait: a worker that a page holds up is killed after SMARTSPIDER_STALL_S; else restart the workers"
    )
    return [Cause("workers_silent", what, advice)]


def _no_slots(workers: Sequence[WorkerRecord]) -> list[Cause]:
    if any(worker.slots for worker in workers):
        return []
    node = workers[0].node or "NODE"
    what = f"the workers have no slots (0 of 0, on {_machines(workers)}), so they lease no requests"
    return [Cause("no_slots", what, f"raise the number of slots: `smartspider node tune {node} --slots 8`")]


def _no_capability(missing: Sequence[str]) -> Cause:
    secrets = [need.removeprefix(SECRET) for need in missing if need.startswith(SECRET)]
    if secrets:
        names = " and ".join(f"{VARIABLE}{name}" for name in secrets)
        what = f"no live worker has {names}, which the run needs for ${{{secrets[0]}}}"
        advice = (
            "set it in the environment of a worker and restart that one, or `smartspider secret set"
            f" {secrets[0]}` and start the run again"
        )
        return Cause("no_capable_worker", what, advice)
    if VAULT in missing:
        what = "no live worker has the master key that the secrets of the run are encrypted with"
        return Cause("no_key", what, "set SMARTSPIDER_MASTER_KEY for a worker and restart that one")
    what = f"no live worker has the {' and '.join(missing)} transport that the run needs"
    return Cause("no_capable_worker", what, "install the transport on a machine and start a worker there")


def _machines(workers: Sequence[WorkerRecord]) -> str:
    """Name the machines of workers, at most a few."""
    names = sorted({worker.node or "this machine" for worker in workers})
    more = f" and {len(names) - MACHINES_NAMED} more" if len(names) > MACHINES_NAMED else ""
    return f"{', '.join(names[:MACHINES_NAMED])}{more}"


def _request_causes(situation: RunSituation) -> tuple[list[Cause], bool]:
    """Return what delays requests, and whether it delays all of them."""
    run, waiting = situation.run, situation.waiting_gates
    causes: list[Cause] = []
    if run.in_flight >= situation.concurrency:
        what = f"the run has {situation.concurrency} requests in flight, its maximum{_ages(situation)}"
        causes.append(Cause("concurrency_full", what, "raise concurrency, or wait for slow responses"))
    closed = closed_gates.closed_gates(waiting, situation.now)
    causes += closed_gates.gate_causes(closed)
    if situation.activity.waiting and not waiting and run.in_flight == 0:
        held = [gate for gate in situation.activity.gates if gate.held_until > situation.now]
        causes += [
            *closed_gates.gate_causes(closed_gates.closed_gates(held, situation.now)),
            _waiting_for_retry(situation),
        ]
    is_open = len(closed) < len(waiting)
    is_blocked = bool(causes) and run.in_flight == 0 and not is_open and not _opens_soon(situation, closed)
    if is_open:
        causes += _waits_too_much(situation)
    if is_open and run.in_flight == 0:
        causes += _busy(_ready(situation))
    if (
        run.in_flight
        and not is_blocked
        and pages_per_s(situation.activity.progress) == 0.0
        and not _is_fresh(situation)
    ):
        what = f"{run.in_flight} requests are in flight without a recent response{_ages(situation)}"
        causes.insert(0, Cause("slow_answers", what, "wait for them, or lower fetch.timeout_s in the task"))
    return causes, is_blocked


def _waiting_for_retry(situation: RunSituation) -> Cause:
    due_at, count = situation.activity.next_due_at or situation.now, situation.activity.waiting
    many = "1,000 or more" if count >= 1000 else str(count)
    failing = situation.activity.failing
    where = "; ".join(_failing_text(one) for one in failing[:3])
    what = (
        f"all remaining requests ({many}) wait for a retry,"
        f" the first in {max(due_at - situation.now, 0):.0f} s"
        f"{f': {where}' if where else ''}"
    )
    advice = "wait; if it lasts, check whether the host works, or cancel the run"
    return Cause("waiting_for_retry", what, advice, format_time(due_at), [one.host for one in failing])


def _failing_text(one: FailingHost) -> str:
    """Name a failing host and its last error."""
    reason = without_userinfo(one.reason)[:MAX_REASON_LENGTH]
    return f"{one.host} failed with {reason}" if reason else one.host


def _opens_soon(situation: RunSituation, closed: Sequence[closed_gates.ClosedGate]) -> bool:
    """A gate that opens soon is normal politeness, not a stall."""
    return any(one.code.endswith("_delay") and one.until - situation.now < FRESH_S for one in closed)


def _not_leased(situation: RunSituation) -> list[Cause]:
    what = "requests may be sent and workers are alive, but nothing was fetched recently"
    return _busy(_ready(situation)) or [
        Cause("not_asked", what, "check the log of the run; restart the workers")
    ]


def _ready(situation: RunSituation) -> list[WorkerRecord]:
    return [worker for worker in situation.workers if worker.is_alive and not worker.is_draining]


def _is_fresh(situation: RunSituation) -> bool:
    since = situation.activity.progress.resumed_at or situation.run.created_at
    return situation.now - since < FRESH_S


def _ages(situation: RunSituation) -> str:
    sent = [held.sent_at for held in situation.activity.oldest if held.sent_at is not None]
    return f", the oldest for {situation.now - min(sent):.0f} s" if sent else ""


def _moving_summary(run: Run, rate: float, causes: Sequence[Cause]) -> str:
    slowed = f" The main delay: {causes[0].what}." if causes else ""
    if rate == 0.0:
        return f"The run has just started; {count(run.counters.open, 'request')} open.{slowed}"
    requests = count(run.counters.open, "request")
    return f"The run is progressing: {rate:g} pages per second, {requests} open.{slowed}"


def _sentence(what: str) -> str:
    return f"{what[0].upper()}{what[1:]}."
