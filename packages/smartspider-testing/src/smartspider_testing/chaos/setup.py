"""The cluster and the crawl of a fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

RedisKind = Literal["single", "sentinel", "cluster"]
Standby = Literal["none", "synchronous", "asynchronous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSetup:
    """The cluster and the crawl of a fault."""

    redis: RedisKind = "single"
    redis_options: Mapping[str, str] = field(default_factory=dict)
    redis_clock_s: float | None = None
    """Initial offset of Redis's clock; None for the machine's own clock."""
    postgres_clock_s: float | None = None
    """Initial offset of PostgreSQL's clock; None for the machine's own clock."""
    workers: int = 3
    keepers: int = 1
    slots: int = 8
    """Maximum requests in flight per worker."""
    pages: int = 200
    hosts: int = 6
    delay_s: float = 0.1
    latency_s: float = 0.15
    """Latency of the site."""
    has_twins: bool = False
    is_wide: bool = False
    with_nul: tuple[str, ...] = ()
    is_proxied: bool = False
    """True if store and frontier are reached through proxies that can fail."""
    standby: Standby = "none"
    """Replication to a second PostgreSQL: none, or commits that wait for it or do not."""
    small_disk_bytes: int = 0
    """Disk space of the database; 0 for unlimited."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Additional settings of all processes."""
    task: Mapping[str, Any] = field(default_factory=dict)
    """Additional parts of the task."""
    timeout_s: float = 90.0
    """Maximum duration of the crawl after the fault."""
