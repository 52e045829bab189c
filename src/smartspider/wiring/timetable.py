"""The timetable of the services about schedules, on a data folder."""

from __future__ import annotations

from smartspider.services.timetable import Timetable
from smartspider.wiring.addresses import server_policy
from smartspider.wiring.folder import DataFolder
from smartspider.wiring.settings import Settings


def timetable_of(folder: DataFolder, settings: Settings) -> Timetable:
    """A timetable. Private addresses are open by the settings alone, whoever asks for them."""
    policy = server_policy(settings)
    return Timetable(folder.schedules, folder.tasks, folder.store, folder.clock, policy)
