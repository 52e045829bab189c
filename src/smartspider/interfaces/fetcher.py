"""Fetching one request: the exchange, its permit, the fetchers it passes, and the transport at the bottom."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec

from smartspider.core.errors import FetchFailed
from smartspider.core.frontier.lease import Lease
from smartspider.core.limits.waiting import FetchProgress
from smartspider.core.pages.page import Page
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.requests.request import Request
from smartspider.core.runs.plan import FetchPlan
from smartspider.interfaces.clock import Clock


class Permit(Protocol):
    """The right to send one request to one host.

    1. `approach` returns when the send window is near: a connection opened then is still open in the window.
    2. `enter` returns inside the send window; a missed window is replaced by another one. It is called just
       before the bytes are sent.
    3. `sent` is called when they are.
    4. `another` returns a permit for one more request of the same lease: a redirect hop, robots.txt.
    """

    async def approach(self) -> None:
        """Wait until the send window is near."""

    async def enter(self) -> None:
        """Wait for the send window."""

    def sent(self) -> None:
        """Record that the request was sent."""

    def another(self, host: str) -> Permit:
        """Return a permit for `host`; it reserves its window when it is first used."""


class Proxy(msgspec.Struct, frozen=True):
    """The proxy of a request."""

    url: str
    """With user and password."""
    id: int = 0
    """Its id in its pool; 0: it is that of the settings."""


class Proxies(Protocol):
    """1. Every chosen proxy is reported on, once. 2. One failure has one culprit: what `failed` returns."""

    async def choose(self, request: Request) -> Proxy | None:
        """Return the proxy for a request; None for a direct connection. Raise `NoProxy` while all of its pool
        are banned.
        """

    async def worked(self, request: Request, proxy: Proxy, elapsed_s: float) -> None:
        """Note that an answer came through a proxy."""

    async def failed(self, request: Request, proxy: Proxy, error: FetchFailed) -> FetchFailed:
        """Note that a request failed, and return the error that names the culprit."""


class Cookies(Protocol):
    """The cookies that requests are sent with. 1. What an answer sets is sent with the next request."""

    async def refresh(self) -> None:
        """Take over cookies that other workers received; called before a request is sent."""

    def header_for(self, url: str) -> bytes | None:
        """Return the value of the Cookie header of a request; None if there are no cookies for it."""

    def store(self, url: str, headers: Iterable[bytes]) -> None:
        """Store the cookies of the Set-Cookie headers of an answer."""


class FetchSession(msgspec.Struct, frozen=True):
    """As whom and which way requests are sent. `cookies` None: none are kept; `proxies` None: direct."""

    cookies: Cookies | None = None
    proxies: Proxies | None = None
    tokens: dict[str, Any] = {}
    """The tokens of layers, by layer: they outlive the jobs of the session."""


class Exchange(msgspec.Struct, frozen=True):
    """One request to send, with all that sending it takes. Fetchers pass it on, changed or as it is."""

    request: Request
    permit: Permit
    session: FetchSession = FetchSession()
    lease: Lease | None = None
    """The lease it belongs to; None in previews."""
    progress: FetchProgress = msgspec.field(default_factory=FetchProgress)

    def sending(self, request: Request) -> Exchange:
        """Return the exchange with a changed request."""
        return Exchange(request, self.permit, self.session, self.lease, self.progress)

    def another(self, request: Request) -> Exchange:
        """Return an exchange for one more request of the same lease, with a permit of its own."""
        permit = self.permit.another(request.host)
        return Exchange(request, permit, self.session, self.lease, self.progress)

    def without_cookies(self) -> Exchange:
        """Return the exchange as nobody sends it."""
        return msgspec.structs.replace(self, session=msgspec.structs.replace(self.session, cookies=None))


class Fetcher(Protocol):
    """1. Returns a page for every response with a body, whatever its status. 2. Raises only `FetchFailed`.
    3. Enters the permit exactly once per request that is sent. 4. Never retries by itself.
    """

    async def fetch(self, exchange: Exchange) -> Page:
        """Return the page for the request of an exchange."""


class TransportContext(msgspec.Struct, frozen=True):
    """The values a transport gets from its worker."""

    clock: Clock
    policy: AddressPolicy


class Transport(Fetcher, Protocol):
    """A fetcher that sends requests over the network. `fetch.mode` of a task names it, and workers that have
    it declare its name as a capability.

    1. Sends one request per exchange, without redirects, with the cookies and the proxy of its session.
    2. Keeps the limits of `plan.of_page(request.page)`: `timeout_s` from the first byte, `max_bytes`.
    3. Is an asynchronous context manager, opened once per run and worker: a run that is tuned keeps it.
    4. Opens at once: what takes time, such as starting a browser, begins with the first request.
    5. Sets `progress.only_waits` of an exchange while it does nothing but wait for the network, and counts
       the bytes it holds in `progress.received`: such a request takes no slot of its worker after a second.
       A transport that works while it waits, such as a browser, leaves both alone.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


TransportFactory = Callable[[FetchPlan, TransportContext], Transport]
