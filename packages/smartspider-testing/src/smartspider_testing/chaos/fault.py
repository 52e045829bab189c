"""A fault: the cluster it needs, the failure it injects during a crawl, and the expected result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.setup import ClusterSetup


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault: one row of the report, or a part of one."""

    name: str
    row: str
    """A description of the failure."""
    expected: str
    inject: Callable[[ChaosCluster], None]
    """Injects the failure while the run works and lets it recover; starts the run itself unless `starts_run`.
    """
    setup: ClusterSetup = field(default_factory=ClusterSetup)
    starts_run: bool = True
    """True if a run is started before the injection."""
    is_short: bool = False
    """True if `--short` includes it."""
    end_states: tuple[str, ...] = ("completed",)
    """Allowed final states of the run."""
    max_outage_s: float | None = None
    expects_all_pages: bool = True
    """True if all pages of the graph must be stored at the end."""
