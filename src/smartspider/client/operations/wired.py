"""What operations stand on."""

from __future__ import annotations

from smartspider.client.connection import Connection


class Wired:
    """Something with a connection to a server."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
