"""The timetable of the services about schedules, on an installation."""

from __future__ import annotations

from smartspider.services.timetable import Timetable
from smartspider.wiring.addresses import server_policy
from smartspider.wiring.premises import Premises
from smartspider.wiring.settings import Settings


def timetable_of(premises: Premises, settings: Settings) -> Timetable:
    """A timetable. Private addresses are open by the settings alone, whoever asks for them."""
    policy = server_policy(settings)
    return Timetable(premises.schedules, premises.tasks, premises.store, premises.clock, policy)
