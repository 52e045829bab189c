"""Views of the server: its health, and the installation at a glance."""

from __future__ import annotations

from typing import Literal

import msgspec

from smartspider.views.runs import RunView
from smartspider.views.tasks import TaskLine


class HealthView(msgspec.Struct, frozen=True):
    """The process is alive."""

    status: Literal["ok"]
    version: str


class AboutView(msgspec.Struct, frozen=True):
    """A server: its version, and the nouns that its API has operations for; `demo` only with a demo shop."""

    version: str
    capabilities: list[str]


class CheckView(msgspec.Struct, frozen=True):
    """The result of one check."""

    name: str
    ok: bool
    detail: str


class ReadyView(msgspec.Struct, frozen=True):
    """Readiness to run tasks; `missing` names the checks that fail."""

    ready: bool
    missing: list[str]
    checks: list[CheckView]


class DoctorView(msgspec.Struct, frozen=True):
    """Checks of the process of a server and of its installation; `ok` if all passed."""

    ok: bool
    checks: list[CheckView]


class TargetsView(msgspec.Struct, frozen=True):
    """A target of Prometheus' HTTP service discovery."""

    targets: list[str]
    labels: dict[str, str]


AttentionKind = Literal[
    "installation_blocked",
    "run_failed",
    "run_paused",
    "run_stalled",
    "run_incomplete",
    "few_rows",
    "host_held",
    "worker_silent",
    "schedule_missed",
    "notification_failed",
]
SubjectKind = Literal["installation", "run", "host", "node", "schedule", "notification"]
Action = Literal[
    "see_problems", "see_stall", "see_results", "resume_run", "retry_run", "resume_host", "drain_worker"
]


class Attention(msgspec.Struct, frozen=True):
    """A fact that a person should look at."""

    kind: AttentionKind
    subject_kind: SubjectKind
    subject_id: str
    subject: str
    """Its name: of a run, that of its task."""
    text: str
    since: str | None
    actions: list[Action]
    """The usual next steps, most likely first."""


class NodeLoad(msgspec.Struct, frozen=True):
    """A machine and the requests that its workers have in flight."""

    node: str
    workers: int
    silent: int
    """Workers that do not respond."""
    slots: int
    used: int


class DueSchedule(msgspec.Struct, frozen=True):
    """A schedule and the time at which it starts its task next."""

    schedule_id: str
    task_id: str
    task: str
    at: str


class OverviewView(msgspec.Struct, frozen=True):
    """The state of an installation at a glance."""

    runs: dict[str, int]
    """The number of unfinished runs by state."""
    active: list[RunView]
    """Runs that are queued, running or stopping, newest first; up to 20."""
    pages_per_s: float
    """Of all active runs that are listed."""
    attention: list[Attention]
    """Of the last day, the most harmful first; up to 50."""
    tasks: list[TaskLine]
    """The tasks whose runs are the newest; up to 20."""
    nodes: list[NodeLoad]
    next_firings: list[DueSchedule]
