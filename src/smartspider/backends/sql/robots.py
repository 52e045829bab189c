"""What hosts say about robots, and the delay it sets. Everything here runs inside a transaction."""

from __future__ import annotations

from smartspider.backends.sql import hosts, statements
from smartspider.backends.sql.connection import Connection, row
from smartspider.interfaces.robots_cache import RobotsAnswer

SQL = statements.load("store.sql")


def get(connection: Connection, origin: str) -> RobotsAnswer | None:
    """What a host said about robots."""
    found = row(connection, SQL.get_robots, (origin,))
    return RobotsAnswer(*found) if found else None


def put(connection: Connection, answer: RobotsAnswer, host: str, crawl_delay_s: float | None) -> None:
    """Keep what a host says about robots, and its Crawl-delay with its gate."""
    host_id = hosts.find_host(connection, host)
    connection.execute(
        SQL.put_robots,
        (
            *(answer.origin, host_id, crawl_delay_s or 0.0, answer.status, answer.body),
            *(answer.fetched_at, answer.expires_at),
        ),
    )
    if crawl_delay_s or row(connection, hosts.SQL.crawl_delay, (host_id,)) != (0.0,):
        # Else it says nothing that its gate has to hear: hardly a host does, and a broad crawl asks them all.
        connection.execute(hosts.SQL.set_crawl_delay, (host_id,))
        connection.moves.gate_changed(host_id)
