"""What hosts say about robots, and the delay it sets. Everything here runs inside a transaction."""

from __future__ import annotations

from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider.store.database import Connection, row
from smartspider.store.hosts import gates


def get(connection: Connection, origin: str) -> RobotsAnswer | None:
    """What a host said about robots."""
    found = row(connection, gates.SQL.get_robots, (origin,))
    return RobotsAnswer(*found) if found else None


def put(connection: Connection, answer: RobotsAnswer, host: str, crawl_delay_s: float | None) -> None:
    """Keep what a host says about robots, and its Crawl-delay with its gate."""
    host_id = gates.find_host(connection, host)
    connection.execute(
        gates.SQL.put_robots,
        (
            *(answer.origin, host_id, crawl_delay_s or 0.0, answer.status, answer.body),
            *(answer.fetched_at, answer.expires_at),
        ),
    )
    if crawl_delay_s or row(connection, gates.SQL.crawl_delay, (host_id,)) != (0.0,):
        # Else it says nothing that its gate has to hear: hardly a host does, and a broad crawl asks them all.
        connection.execute(gates.SQL.set_crawl_delay, (host_id,))
        connection.frontier.gate_changed(host_id)
