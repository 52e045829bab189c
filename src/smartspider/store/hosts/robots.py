"""The robots.txt of hosts, and its Crawl-delay. All functions run inside a transaction."""

from __future__ import annotations

from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider.store.database import Connection, row
from smartspider.store.hosts import gates


def get(connection: Connection, origin: str) -> RobotsAnswer | None:
    """Return the stored robots.txt of an origin."""
    found = row(connection, gates.SQL.get_robots, (origin,))
    return RobotsAnswer(*found) if found else None


def put(connection: Connection, answer: RobotsAnswer, host: str, crawl_delay_s: float | None) -> None:
    """Store the robots.txt of a host, and its Crawl-delay with the gate."""
    host_id = gates.find_host(connection, host)
    connection.execute(
        gates.SQL.put_robots,
        (
            *(answer.origin, host_id, crawl_delay_s or 0.0, answer.status, answer.body),
            *(answer.fetched_at, answer.expires_at),
        ),
    )
    if crawl_delay_s or row(connection, gates.SQL.crawl_delay, (host_id,)) != (0.0,):
        # Without a Crawl-delay the gate stays untouched: few hosts have one, and a broad crawl asks all of
        # them.
        connection.execute(gates.SQL.set_crawl_delay, (host_id,))
        connection.frontier.gate_changed(host_id)
