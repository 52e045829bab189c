"""The cluster and the crawl that a fault needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

RedisKind = Literal["single", "sentinel", "cluster"]
Standby = Literal["none", "synchronous", "asynchronous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSetup:
    """The cluster and the crawl that a fault needs."""

    redis: RedisKind = "single"
    redis_options: Mapping[str, str] = field(default_factory=dict)
    redis_clock_s: float | None = None
    """How far the clock of Redis is off at the beginning; None: it is the machine's own."""
    workers: int = 3
    keepers: int = 1
    slots: int = 8
    """Requests a worker has in flight at most."""
    pages: int = 200
    hosts: int = 6
    delay_s: float = 0.1
    latency_s: float = 0.15
    """Of the site."""
    has_twins: bool = False
    is_wide: bool = False
    with_nul: tuple[str, ...] = ()
    is_proxied: bool = False
    """Whether store and frontier are reached through proxies that can fail."""
    standby: Standby = "none"
    """Whether a second PostgreSQL follows the first, and whether commits wait for it."""
    small_disk_bytes: int = 0
    """Room for the database; 0: as much as there is."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further settings of all processes."""
    task: Mapping[str, Any] = field(default_factory=dict)
    """Further parts of the task."""
    timeout_s: float = 90.0
    """How long the crawl may take after the fault."""
