"""Layers of a task: they change requests before they are sent, and answers before they are read.

A layer is called with its options of the task, and has `before_request`, `after_response` or both, or the
methods of `TokenLayer`. It keeps no state between calls, since many requests are under way at a time.

`${NAME}` in an option is replaced by the value of the secret; while a task is only checked, it stays. A layer
with a parameter `secrets` gets its options as they are written, and there the values by name; None while a
task is only checked.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec

from smartspider.core.pages.page import Page


class LayerRequest(msgspec.Struct, frozen=True):
    """A request as it is sent: with all headers, and with the values of secrets."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    page: str
    """The page type."""
    sent_at: float = 0.0
    """When it is sent, in seconds since 1970."""
    max_bytes: int = 20_000_000
    """The maximum size of the page."""


class LayerRefused(Exception):
    """The request or its answer is refused; `reason` is a sentence: `the answer has no token`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@runtime_checkable
class RequestLayer(Protocol):
    """Changes requests.

    1. Is called for every request that is sent, shortly before: also for hops of redirects and retries.
    2. Changes the query of the URL, headers and the body; everything else stays.
    3. Raises `LayerRefused`, which ends the page with its reason.
    """

    def before_request(self, request: LayerRequest) -> LayerRequest:
        """Return the request to send."""


@runtime_checkable
class ResponseLayer(Protocol):
    """Changes answers.

    1. Is called for answers with a success status and a body; others are judged by their status.
    2. Changes headers, body and charset of the page; everything else stays.
    3. Raises `LayerRefused`, which ends the page with its reason.
    """

    def after_response(self, page: Page, request: LayerRequest) -> Page:
        """Return the page to read; `request` is what was sent."""


class Token(msgspec.Struct, frozen=True):
    """A token, and how long it lasts."""

    value: str
    expires_in_s: float | None = None
    """None: it is not known, and the token is kept until it is rejected."""

    def __repr__(self) -> str:
        return "Token(...)"


@runtime_checkable
class TokenLayer(Protocol):
    """Puts a token into requests, which the answer to a request of its own brings.

    1. The token is requested before the first request that needs it, once for all requests of a worker, again
       shortly before it expires, and after an answer with status 401; the request that had it is then sent
       once more.
    2. `read_token` gets answers with a success status.
    3. Raises `LayerRefused`, which ends the page with its reason.
    """

    def token_request(self) -> LayerRequest:
        """Return the request for a token. It passes no layers."""

    def read_token(self, page: Page) -> Token:
        """Return the token that an answer brings."""

    def with_token(self, request: LayerRequest, token: str) -> LayerRequest:
        """Return the request to send; it may change what `before_request` may change."""
