"""What services stand on, on an installation."""

from __future__ import annotations

from smartspider.services.desk import Desk
from smartspider.services.hosts import Gates
from smartspider.services.trouble import Cluster, Footing
from smartspider.wiring.addresses import server_policy
from smartspider.wiring.premises import Premises
from smartspider.wiring.settings import Settings


def desk_of(premises: Premises, settings: Settings) -> Desk:
    """A desk. Private addresses are open by the settings alone, whoever asks for them."""
    return Desk(
        store=premises.store,
        tasks=premises.tasks,
        frontier=premises.frontier,
        insight=premises.insight,
        workers=premises.workers,
        policy=server_policy(settings),
        clock=premises.clock,
        layers=premises.layers,
        footing=footing_of(premises),
    )


def footing_of(premises: Premises) -> Footing:
    """What all runs of an installation stand on."""
    if premises.apart is None:
        return Footing(premises.check_room)
    leadership = premises.leadership
    cluster = Cluster(leadership, premises.count_serving, leadership.now, premises.why_away)
    return Footing(premises.check_room, cluster)


def gates_of(premises: Premises) -> Gates:
    """The gates of all hosts."""
    return Gates(premises.hosts, premises.frontier)
