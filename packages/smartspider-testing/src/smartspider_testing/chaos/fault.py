"""A fault: what is set up, what is broken while the crawl runs, and what must hold all the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from smartspider_testing.chaos.scene import Scene
from smartspider_testing.chaos.setup import Setup


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One row of the table, or a part of one."""

    name: str
    row: str
    """What happens, in words."""
    expected: str
    act: Callable[[Scene], None]
    """Breaks something while the run works and lets it recover; begins the run itself unless `begins`."""
    setup: Setup = field(default_factory=Setup)
    begins: bool = True
    """Whether a run is started before the act."""
    is_short: bool = False
    """Whether it belongs to the short form."""
    ends: tuple[str, ...] = ("completed",)
    """States the run may end in."""
    max_outage_s: float | None = None
    has_all: bool = True
    """Whether all pages of the graph must be there at the end."""
