"""Machines and the processes that work on them, as they are told."""

from __future__ import annotations

from typing import Literal

import msgspec


class WorkerView(msgspec.Struct, frozen=True):
    """A process that works."""

    id: str
    name: str
    node: str
    pid: int
    version: str
    state: Literal["alive", "draining", "dead"]
    slots: int
    used: int
    """Requests in its hands."""
    free: int
    hosts: list[str]
    """Of what it holds, a few."""
    run_ids: list[str]
    cpu_s: float
    memory_bytes: int
    lag_s: float
    """How late it gets to what is due."""
    fault_share: float
    """Of its requests, those that no server answered."""
    request_s: float
    """How long a request is in its hands."""
    pages: int
    """What it stored since it joined."""
    is_elastic: bool
    """It was started because there is much to do."""
    joined_at: str
    seen_at: str


class NodeView(msgspec.Struct, frozen=True):
    """A machine and its workers. Load is told by its workers; the machine that answers looks itself."""

    node: str
    versions: list[str]
    slots: int
    used: int
    free: int
    memory_bytes: int
    """Of all its workers."""
    load: list[float] | None
    """Over 1, 5 and 15 minutes; of other machines only the first, and None where nobody tells."""
    cpus: int | None
    workers: list[WorkerView]


class NodeTuned(msgspec.Struct, frozen=True):
    """How many workers have so many slots now."""

    node: str
    slots: int
    workers: int


class Drained(msgspec.Struct, frozen=True):
    """How many workers were asked to finish what they hold and leave."""

    node: str
    asked: int
