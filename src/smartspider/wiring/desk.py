"""The desk of the services about runs, on a data folder."""

from __future__ import annotations

from smartspider.services.desk import Desk
from smartspider.wiring.addresses import server_policy
from smartspider.wiring.folder import DataFolder
from smartspider.wiring.settings import Settings


def desk_of(folder: DataFolder, settings: Settings) -> Desk:
    """A desk. Private addresses are open by the settings alone, whoever asks for them."""
    return Desk(
        store=folder.store,
        tasks=folder.tasks,
        frontier=folder.frontier,
        insight=folder.insight,
        workers=folder.workers,
        policy=server_policy(settings),
        clock=folder.clock,
    )
