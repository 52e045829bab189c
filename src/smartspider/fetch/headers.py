"""Request headers: an honest user agent, those of the task, those of the request."""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

import msgspec

from smartspider import __version__
from smartspider.core.pages.page import ROBOTS_TOKEN, Page
from smartspider.core.requests.request import NO_EXTRAS, Extras, Request
from smartspider.core.requests.request_headers import (
    Headers,
    has_credentials,
    merge_headers,
    trusted_origins,
    without_credentials,
)
from smartspider.core.requests.urls import host_of, origin_of
from smartspider.core.runs.plan import FetchPlan
from smartspider.fetch.decompression import ACCEPT_ENCODING
from smartspider.interfaces.fetcher import Fetcher, Permit

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,application/json;q=0.9,*/*;q=0.8"
_LANGUAGE = "en,*;q=0.5"


def user_agent(contact: str | None = None) -> str:
    """Return the user agent: product, version and, if there is one, the contact."""
    product = f"{ROBOTS_TOKEN}/{__version__}"
    return f"{product} (+{contact})" if contact else product


class HeaderPlan:
    """The headers of a run. A host always sees the same user agent.

    Credentials among the task's headers go to the origins of `entries` only; None: to every origin.
    """

    def __init__(
        self, plan: FetchPlan, contact: str | None = None, *, entries: Iterable[str] | None = None
    ) -> None:
        urls = None if entries is None else list(entries)
        self._agents = plan.user_agents or (user_agent(contact),)
        self._extras = self._all_extras(plan.headers)
        self._open_extras = self._all_extras(without_credentials(plan.headers))
        """Without credentials."""
        self._origins: frozenset[str] | None = None
        if urls is not None and has_credentials(plan.headers):
            self._origins = frozenset(origin for url in urls for origin in trusted_origins(url))
        is_one = len(self._agents) == 1 and self._origins is None
        self._only = self._extras[self._agents[0]] if is_one else None
        self._pages = {
            page: HeaderPlan(own, contact, entries=urls)
            for page, own in plan.pages.items()
            if (own.headers, own.user_agents) != (plan.headers, plan.user_agents)
        }
        """The headers of page types that have their own."""

    def _all_extras(self, headers: Headers) -> dict[str, Extras]:
        return {agent: Extras(headers=merge_headers(_own(agent), headers)) for agent in self._agents}

    def of_page(self, page: str) -> HeaderPlan:
        """Return the headers of a page type."""
        return self._pages.get(page, self)

    def page_extras(self, url: str) -> Extras:
        """Return the extras of an ordinary page: headers only."""
        if self._only is not None:
            return self._only
        is_trusted = self._origins is None or origin_of(url) in self._origins
        return (self._extras if is_trusted else self._open_extras)[self.agent_of(host_of(url))]

    def robots_extras(self, host: str) -> Extras:
        """Return the extras of a robots.txt request, without the task's own headers."""
        return Extras(headers=merge_headers(_own(self.agent_of(host)), (("Accept", "text/plain,*/*;q=0.5"),)))

    def agent_of(self, host: str) -> str:
        """Return the user agent for a host."""
        agents = self._agents
        return agents[0] if len(agents) == 1 else agents[crc32(host.encode()) % len(agents)]


class HeadersLayer:
    """Adds headers: the defaults, overridden by the task's, overridden by the request's own.

    A request with a known version of its page becomes conditional.
    """

    def __init__(self, inner: Fetcher, headers: HeaderPlan) -> None:
        self._inner = inner
        self._headers = headers

    async def fetch(self, request: Request, permit: Permit) -> Page:
        """Return the page, requested with all headers."""
        extras = self._headers.of_page(request.page).page_extras(request.url)
        own = request.extras
        if own is not NO_EXTRAS and own != NO_EXTRAS:
            extras = msgspec.structs.replace(own, headers=merge_headers(extras.headers, own.headers))
            if own.version is not None:
                headers = merge_headers(extras.headers, own.version.headers)
                extras = msgspec.structs.replace(extras, headers=headers)
        return await self._inner.fetch(msgspec.structs.replace(request, extras=extras), permit)


def _own(agent: str) -> Headers:
    return (
        ("User-Agent", agent),
        ("Accept", _ACCEPT),
        ("Accept-Language", _LANGUAGE),
        ("Accept-Encoding", ACCEPT_ENCODING),
    )
