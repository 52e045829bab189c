"""Translate exceptions of aiohttp and its libraries."""

from __future__ import annotations

import os
import ssl

import aiohttp
import aiohttp_socks

from smartspider.core.errors import (
    ConnectFailed,
    ConnectionDropped,
    FetchFailed,
    NameNotResolved,
    ProxyFailed,
    TimedOut,
    TlsFailed,
)

SOCKS_ERRORS: tuple[type[Exception], ...] = (
    aiohttp_socks.ProxyError,
    aiohttp_socks.ProxyConnectionError,
    aiohttp_socks.ProxyTimeoutError,
)

FOREIGN: tuple[type[Exception], ...] = (
    aiohttp.ClientError,
    OSError,
    EOFError,
    ValueError,
    aiohttp.http.HttpProcessingError,
    *SOCKS_ERRORS,
)
"""Exceptions of the libraries for network problems; any other exception is a bug."""

_RULES: tuple[tuple[tuple[type[BaseException], ...], type[FetchFailed], str], ...] = (
    (
        (aiohttp.ClientHttpProxyError, aiohttp.ClientProxyConnectionError, *SOCKS_ERRORS),
        ProxyFailed,
        "the proxy failed",
    ),
    ((aiohttp.ClientConnectorDNSError, UnicodeError), NameNotResolved, "the name does not resolve"),
    ((aiohttp.ClientSSLError, ssl.SSLError), TlsFailed, "TLS failed"),
    ((aiohttp.ConnectionTimeoutError,), TimedOut, "timeout while connecting"),
    ((TimeoutError,), TimedOut, "timeout while waiting for the response"),
    ((aiohttp.InvalidURL,), FetchFailed, "the URL cannot be fetched"),
    ((aiohttp.ClientConnectorError,), ConnectFailed, "no connection"),
    (
        (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError, EOFError),
        ConnectionDropped,
        "the connection was closed",
    ),
    ((ValueError,), FetchFailed, "the request cannot be sent"),
)
"""The first match wins, so subclasses come first."""


def translate_error(error: BaseException, url: str) -> FetchFailed:
    """Return the `FetchFailed` that a library's exception means for a URL."""
    cause = error.__cause__
    if isinstance(cause, ssl.SSLError):
        error = cause
    for kinds, ours, what in _RULES:
        if isinstance(error, kinds):
            return ours(f"{url}: {what} ({_detail(error)})")
    return FetchFailed(f"{url}: {type(error).__name__}: {error}")


def _detail(error: BaseException) -> str:
    text = str(error)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        text = f"the proxy returned {error.status} {error.message}"
    elif isinstance(error, aiohttp.ClientResponseError):
        # Its text contains a status that no server sent.
        text = error.message
    elif isinstance(error, aiohttp.ClientConnectorError) and error.errno:
        # Its text mentions TLS even without TLS, and repeats the address.
        text = os.strerror(error.errno)
    return " ".join(text.split())[:300] or type(error).__name__
