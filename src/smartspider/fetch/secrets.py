"""Fill in secrets, just before a request is sent."""

from __future__ import annotations

import msgspec

from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Extras
from smartspider.core.requests.secrets import SecretValues, fill_secrets
from smartspider.interfaces.fetcher import Exchange, Fetcher


class SecretsLayer:
    """Replaces `${NAME}` in headers and bodies by the values of secrets. No layer above sees the values, and
    the page does not carry them.
    """

    def __init__(self, inner: Fetcher, values: SecretValues) -> None:
        self._inner = inner
        self._values = values
        self._last: tuple[Extras, Extras] | None = None

    async def fetch(self, exchange: Exchange) -> Page:
        """Return the page, requested with the values."""
        extras = exchange.request.extras
        if self._last is None or self._last[0] is not extras:
            headers, body = fill_secrets(extras, self._values)
            is_same = headers == extras.headers and body == extras.body
            sent = extras if is_same else msgspec.structs.replace(extras, headers=headers, body=body)
            self._last = (extras, sent)
        sent = self._last[1]
        if sent is not extras:
            exchange = exchange.sending(msgspec.structs.replace(exchange.request, extras=sent))
        return await self._inner.fetch(exchange)
