"""What the settings say about the number of workers."""

from __future__ import annotations

from smartspider.core.scaling import Aims
from smartspider.wiring.server_settings import most_workers_of, seconds_of
from smartspider.wiring.settings import Settings


def aims_of(settings: Settings) -> Aims:
    """Horizon, calm and most workers."""
    return Aims(
        seconds_of("SCALE_HORIZON", settings.scale_horizon),
        seconds_of("SCALE_DOWN_AFTER", settings.scale_down_after),
        most_workers_of(settings.scale_max),
    )
