"""A client of the site's process."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec

from smartspider.demo.process import site_process
from smartspider_testing.chaos.site import BEHAVIOR, COUNT, VISITS, SiteLayout, SiteVisit


class SiteClient:
    """Reads the recorded requests and changes the behaviour of the site."""

    def __init__(self, url: str) -> None:
        self.port = urlsplit(url).port or 0

    def visits(self) -> list[SiteVisit]:
        """Return every received request in order."""
        return msgspec.json.decode(self._ask("GET", VISITS), type=list[SiteVisit])

    def count(self) -> int:
        """Return the number of received requests."""
        return msgspec.json.decode(self._ask("GET", COUNT), type=int)

    def behave(self, **behavior: Any) -> None:
        """Change the named parts of the behaviour."""
        self._ask("POST", BEHAVIOR, msgspec.json.encode(behavior))

    def _ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request(method, path, body)
            return connection.getresponse().read()


@contextmanager
def run_site(layout: SiteLayout) -> Iterator[SiteClient]:
    """Run the site as a process for the duration of the block."""
    with site_process("smartspider_testing.chaos.site", msgspec.json.encode(layout).decode()) as url:
        yield SiteClient(url)
