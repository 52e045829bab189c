"""Fetching one request."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request


class Permit(Protocol):
    """The right to touch one host once.

    1. `approach` returns when the window is near: a connection opened then is still open in the window.
    2. `enter` returns when the request may leave, and not later than the window allows: a missed window
       is replaced by another one. It is called just before the bytes leave.
    3. `sent` is called when they do.
    4. `another` is a permit for one more request of the same lease: a redirect hop, robots.txt.
    """

    async def approach(self) -> None:
        """Wait until the send window is near."""

    async def enter(self) -> None:
        """Wait for the send window."""

    def sent(self) -> None:
        """The request leaves."""

    def another(self, host: str) -> Permit:
        """A permit for `host`; its window is asked for when it is entered."""


class Fetcher(Protocol):
    """1. Gives a page for every answer with a body, whatever its status. 2. Raises only `FetchFailed`.
    3. Enters the permit exactly once per request that leaves. 4. Never retries by itself.
    """

    async def fetch(self, request: Request, permit: Permit) -> Page:
        """The page for a request."""
