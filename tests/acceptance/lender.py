"""A program that borrows cookies of a vault and fetches pages with them, until it is killed.

python -m tests.acceptance.lender FOLDER URL
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from smartspider.core.errors import FetchFailed
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.requests.request import make_request
from smartspider.core.runs.plan import FetchPlan
from smartspider.engine.cookies.lending import CookieLending, LendingOptions
from smartspider.engine.retry_or_close import Reading
from smartspider.fetch.page_transports import open_transport
from smartspider.installation.settings import read_settings
from smartspider.interfaces.fetcher import Exchange, TransportContext
from smartspider.services.identities.cookies import find_signed_out
from smartspider.wiring.opening import open_installation

AT_ONCE = 3
"""Requests at a time; together the programs want more than there are slots."""


class OpenGate:
    """A permit that lets everything pass."""

    async def approach(self) -> None:
        """Return at once."""

    async def enter(self) -> None:
        """Return at once."""

    def sent(self) -> None:
        """Do nothing."""

    def another(self, _host: str) -> OpenGate:
        """Return the same."""
        return self


async def borrow_for_ever(folder: Path, url: str) -> None:
    """Fetch a page with borrowed cookies again and again."""
    async with open_installation(folder, read_settings()) as own:
        lending = CookieLending(own.vault, LendingOptions("run:1"), own.clock, find_signed_out)
        policy = AddressPolicy.parse("127.0.0.1")
        async with (
            open_transport(FetchPlan(timeout_s=20), TransportContext(own.clock, policy)) as transport,
            lending.opened(),
        ):

            async def answer(exchange: Exchange) -> Reading:
                return Reading(await transport.fetch(exchange))

            async def fetch_for_ever() -> None:
                while True:
                    try:
                        await lending.lend(Exchange(make_request(url), OpenGate()), answer, transport)
                        await lending.store()
                    except FetchFailed:
                        await asyncio.sleep(0.05)

            await asyncio.gather(*(fetch_for_ever() for _ in range(AT_ONCE)))


if __name__ == "__main__":
    asyncio.run(borrow_for_ever(Path(sys.argv[1]), sys.argv[2]))
