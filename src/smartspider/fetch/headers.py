"""Request headers: an honest user agent, those of the task, those of the request."""

from __future__ import annotations

from zlib import crc32

import msgspec

from smartspider import __version__
from smartspider.core.pages.page import ROBOTS_TOKEN, UNAUTHORIZED, Page
from smartspider.core.requests.origins import OriginTrust
from smartspider.core.requests.request import NO_EXTRAS, Extras
from smartspider.core.requests.request_headers import (
    Headers,
    has_secrets,
    merge_headers,
    require_open_body,
    without_secrets,
)
from smartspider.core.requests.urls import host_of
from smartspider.core.runs.plan import FetchPlan
from smartspider.fetch.decompression import ACCEPT_ENCODING
from smartspider.interfaces.fetcher import Exchange, Fetcher

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,application/json;q=0.9,*/*;q=0.8"
_LANGUAGE = "en,*;q=0.5"


def user_agent(contact: str | None = None) -> str:
    """Return the user agent: product, version and, if there is one, the contact."""
    product = f"{ROBOTS_TOKEN}/{__version__}"
    return f"{product} (+{contact})" if contact else product


class HeaderPlan:
    """The headers of a run. A host always sees the same user agent.

    Secret headers go to the origins of `trust` only; None: to every origin.
    """

    def __init__(
        self, plan: FetchPlan, contact: str | None = None, *, trust: OriginTrust | None = None
    ) -> None:
        self.trust = trust
        self._agents = plan.user_agents or (user_agent(contact),)
        self._extras = self._all_extras(plan.headers)
        self._open_extras = self._all_extras(without_secrets(plan.headers))
        """Without secrets."""
        self._is_bound = trust is not None and has_secrets(plan.headers)
        is_one = len(self._agents) == 1 and not self._is_bound
        self._only = self._extras[self._agents[0]] if is_one else None
        self._pages = {
            page: HeaderPlan(own, contact, trust=trust)
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
        extras = self._open_extras if self.withholds(url) else self._extras
        return extras[self.agent_of(host_of(url))]

    def withholds(self, url: str) -> bool:
        """Return whether secret headers are not sent to a URL."""
        return self._is_bound and self.trust is not None and not self.trust.is_for_task(url)

    def robots_extras(self, host: str) -> Extras:
        """Return the extras of a robots.txt request, without the task's own headers."""
        return Extras(headers=self.default_headers(host, (("Accept", "text/plain,*/*;q=0.5"),)))

    def default_headers(self, host: str, over: Headers) -> Headers:
        """Return the headers of a request that has none of the task: the defaults under its own."""
        return merge_headers(_own(self.agent_of(host)), over)

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

    async def fetch(self, exchange: Exchange) -> Page:
        """Return the page, requested with all headers."""
        request = exchange.request
        headers = self._headers.of_page(request.page)
        extras = headers.page_extras(request.url)
        own = request.extras
        if own is not NO_EXTRAS and own != NO_EXTRAS:
            own = _sendable(own, request.url, headers.trust)
            extras = msgspec.structs.replace(own, headers=merge_headers(extras.headers, own.headers))
            if own.version is not None:
                versioned = merge_headers(extras.headers, own.version.headers)
                extras = msgspec.structs.replace(extras, headers=versioned)
        page = await self._inner.fetch(exchange.sending(msgspec.structs.replace(request, extras=extras)))
        if page.status in UNAUTHORIZED and (headers.withholds(page.url) or own is not request.extras):
            return msgspec.structs.replace(page, withheld=True)
        return page


def _sendable(own: Extras, url: str, trust: OriginTrust | None) -> Extras:
    """Return what a request has of its own without the secrets that are for other origins; raise
    `SecretsWithheld` if that is the body.
    """
    if trust is None or not (own.headers or own.body) or trust.is_for_requests(url):
        return own
    require_open_body(own.body, url)
    return msgspec.structs.replace(own, headers=without_secrets(own.headers))


def _own(agent: str) -> Headers:
    return (
        ("User-Agent", agent),
        ("Accept", _ACCEPT),
        ("Accept-Language", _LANGUAGE),
        ("Accept-Encoding", ACCEPT_ENCODING),
    )
