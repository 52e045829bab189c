"""Request the tokens of layers: one request at a time, at the gate of its host and as robots.txt allows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from smartspider.core.errors import (
    FetchFailed,
    LayerFailed,
    PrivateAddress,
    ProxyFailed,
    RobotsDisallowed,
    TlsFailed,
    TokenUnavailable,
    TooLarge,
)
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import TOKEN_PAGE
from smartspider.core.requests.request import Extras, make_request
from smartspider.core.requests.request_headers import merge_headers
from smartspider.core.requests.urls import host_of
from smartspider.fetch.headers import HeaderPlan
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Exchange, Fetcher
from smartspider.interfaces.layer import LayerRequest, Token

KEEP_REFUSED_S = 60.0
"""A refused token is not requested again for this long: a few wrong passwords may lock an account."""
KEEP_FAILED_S = 5.0
"""A request for a token that failed for now is not sent again for this long."""
KEEP_UNUSED_S = 60.0
"""A token that no request was accepted with is not renewed for this long."""
EARLY_SHARE, MAX_EARLY_S = 0.1, 60.0
"""A token is renewed this share of its time before it expires, and this long at most."""

_FINAL = (RobotsDisallowed, PrivateAddress, TlsFailed)
_TRY_AGAIN = frozenset({408, 425, 429})


class HeldToken:
    """The token of a layer in a session, or why there is none."""

    __slots__ = ("_failure", "_flight", "_requested_at", "_until", "_value", "has_worked")

    def __init__(self) -> None:
        self._value = ""
        self.has_worked = False
        """A request with it was accepted."""
        self._flight: asyncio.Future[None] | None = None
        """The request for it, which others wait for."""
        self._requested_at = 0.0
        self._until = 0.0
        """When it, or the failure, is of no use any more."""
        self._failure: LayerFailed | None = None

    async def ensure(self, clock: Clock, request: Callable[[], Awaitable[Token]]) -> str:
        """Return the token, requested if there is none; others wait for that request. Raise its failure, also
        while it is recent.
        """
        while not self._is_usable(clock.now()):
            if self._flight is not None:
                await asyncio.shield(self._flight)
                continue
            flight = self._flight = asyncio.get_running_loop().create_future()
            try:
                self._put(await request(), clock.now())
                break  # even if it has expired: one request for each page
            except LayerFailed as failure:
                is_temporary = isinstance(failure, TokenUnavailable)
                self._failure = failure
                self._until = clock.now() + (KEEP_FAILED_S if is_temporary else KEEP_REFUSED_S)
                raise
            finally:
                self._flight = None
                flight.set_result(None)
        return self._value

    def _is_usable(self, now: float) -> bool:
        if now >= self._until:
            return False
        if self._failure is not None:
            raise type(self._failure)(self._failure.message)
        return True

    def _put(self, token: Token, now: float) -> None:
        self._value, self.has_worked, self._failure = token.value, False, None
        lasts_s = token.expires_in_s
        early_s = 0.0 if lasts_s is None else min(lasts_s * EARLY_SHARE, MAX_EARLY_S)
        self._requested_at = now
        self._until = float("inf") if lasts_s is None else now + lasts_s - early_s

    def reject(self, value: str, now: float) -> bool:
        """Note that a request with a token was not accepted; return whether to send it with another."""
        if value != self._value:
            return True  # it was renewed meanwhile
        if not self.has_worked and now - self._requested_at < KEEP_UNUSED_S:
            return False
        self._until = 0.0
        return True


class TokenSource:
    """Sends the requests for tokens. `fetcher` has neither redirects nor layers."""

    def __init__(self, fetcher: Fetcher, headers: HeaderPlan) -> None:
        self._fetcher = fetcher
        self._headers = headers

    async def fetch(
        self, asked: LayerRequest, exchange: Exchange, failed: Callable[[str], LayerFailed]
    ) -> Page:
        """Return the answer to the request for a token; `failed` makes the error that names the layer."""
        own = merge_headers((("Accept", "application/json,*/*;q=0.5"),), asked.headers)
        headers = self._headers.default_headers(host_of(asked.url), own)
        extras = Extras(asked.method, headers, asked.body)
        request = make_request(asked.url, page=TOKEN_PAGE, extras=extras)
        try:
            page = await self._fetcher.fetch(exchange.another(request))
        except ProxyFailed:
            raise
        except TooLarge as error:
            raise failed(f"the answer of {asked.url} is too large for one with a token") from error
        except FetchFailed as error:
            failure = failed(error.line)
            raise failure if isinstance(error, _FINAL) else _for_now(failure) from error
        if 200 <= page.status < 300:
            return page
        failure = failed(f"{asked.url} answers {page.status}")
        raise _for_now(failure) if page.status >= 500 or page.status in _TRY_AGAIN else failure


def _for_now(failure: LayerFailed) -> TokenUnavailable:
    return TokenUnavailable(failure.message)
