"""A fault: what is set up, what is broken while the crawl runs, and what must hold all the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.setup import ClusterSetup


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One row of the table, or a part of one."""

    name: str
    row: str
    """What happens, in words."""
    expected: str
    inject: Callable[[ChaosCluster], None]
    """Breaks something while the run works and lets it recover; begins the run itself unless `starts_run`."""
    setup: ClusterSetup = field(default_factory=ClusterSetup)
    starts_run: bool = True
    """Whether a run is started before the act."""
    is_short: bool = False
    """Whether it belongs to the short form."""
    end_states: tuple[str, ...] = ("completed",)
    """States the run may end in."""
    max_outage_s: float | None = None
    expects_all_pages: bool = True
    """Whether all pages of the graph must be there at the end."""
