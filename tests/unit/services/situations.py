"""Runs in all kinds of situations, made by hand."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.runs.run import Counters, Run
from smartspider.core.workers.worker import WorkerRecord
from smartspider.services.runs.stall import RunSituation
from smartspider.store.diagnostics.progress import RunProgress
from smartspider.store.diagnostics.requests import GateStatus
from smartspider.store.diagnostics.store import RunActivity

NOW = 1_000.0
RUN = Run(
    id=7,
    task_name="shop",
    spec=b"{}",
    spec_hash="",
    state="running",
    reason="",
    counters=Counters(total=100, done=40),
    in_flight=0,
    created_at=0.0,
    started_at=100.0,
)
PROGRESS = RunProgress(run=RUN, now=NOW, active_s=100.0, resumed_at=900.0, earlier=None, workers=1, queues=[])
GATE = GateStatus(
    host="a.example",
    queued=10,
    in_flight=0,
    held=0,
    delay_s=0.0,
    set_by="",
    opens_at=0.0,
    held_until=0.0,
    hold_reason="",
    per_host=4,
    per_domain=None,
    domain="a.example",
    in_flight_domain=0,
    is_on_trial=False,
)
WORKER = WorkerRecord(
    id=1,
    name="worker 1",
    node="here",
    pid=1,
    version="1",
    slots=16,
    held=0,
    is_draining=False,
    is_alive=True,
    joined_at=0.0,
    seen_at=NOW - 5.0,
    cpu_s=0.0,
    memory=0,
)


def progress(counters: Counters | None = None, **more: Any) -> RunProgress:
    """A run that stands so; `run_...` changes the run itself."""
    of_run = {name.removeprefix("run_"): more.pop(name) for name in list(more) if name.startswith("run_")}
    run = msgspec.structs.replace(RUN, counters=counters or RUN.counters, **of_run)
    return msgspec.structs.replace(PROGRESS, run=run, **more)


def gate(**more: Any) -> GateStatus:
    """A gate like this."""
    return msgspec.structs.replace(GATE, **more)


def worker(**more: Any) -> WorkerRecord:
    """A worker like this."""
    return msgspec.structs.replace(WORKER, **more)


def situation(
    *gates: GateStatus,
    of: RunProgress = PROGRESS,
    workers: tuple[WorkerRecord, ...] = (WORKER,),
    concurrency: int = 16,
    **more: Any,
) -> RunSituation:
    """A run before these gates."""
    known: dict[str, Any] = {
        "waiting": 0,
        "next_due_at": None,
        "oldest": [],
        "shares": [],
    }
    return RunSituation(RunActivity(of, list(gates), **{**known, **more}), workers, concurrency)
