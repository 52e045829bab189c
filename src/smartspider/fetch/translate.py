"""Translate exceptions of aiohttp and its libraries: what happened, in words."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import aiohttp_socks
from aiohttp.http_exceptions import ContentLengthError, HttpProcessingError, TransferEncodingError

from smartspider.core.errors import (
    BadResponse,
    ConnectFailed,
    ConnectionDropped,
    FetchFailed,
    NameNotResolved,
    ProxyFailed,
    ProxyRefused,
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
    HttpProcessingError,
    *SOCKS_ERRORS,
)
"""Exceptions of the libraries for network problems; any other exception is a bug."""

_REPLIES_OF_HOST = frozenset({3, 4, 5, 6})
"""SOCKS: network or host unreachable, connection refused, TTL expired; all others are the proxy's."""
_RECEIVED = re.compile(r"received (\d+) of (\d+) bytes")
_ERRNO = re.compile(r"\[Errno (\d+)\]")
_LONGEST = 300


def translate_error(error: BaseException, url: str) -> FetchFailed:
    """Return the `FetchFailed` that a library's exception means for a URL."""
    cause = error.__cause__
    if isinstance(cause, ssl.SSLError):
        error = cause
    if isinstance(error, aiohttp.ClientResponseError) and error.request_info.method == "CONNECT":
        kind = ProxyFailed if error.status in {0, 400, 407} else ProxyRefused
        return kind(f"{url}: {_proxy(error)}")
    if isinstance(error, aiohttp_socks.ProxyError) and error.error_code in _REPLIES_OF_HOST:
        return ConnectFailed(f"{url}: no connection (the proxy reports: {_os_text(error)})")
    for kinds, ours, describe in _RULES:
        if isinstance(error, kinds):
            return ours(f"{url}: {' '.join(describe(error).split())[:_LONGEST]}")
    return FetchFailed(f"{url}: the request failed")


def is_proxy_error(status: int, headers: Mapping[str, str]) -> bool:
    """Return whether an answer to a plain HTTP request is an error page of the proxy itself."""
    if status < 400:
        return False
    return "X-Squid-Error" in headers or headers.get("Server", "").lower().startswith("tinyproxy")


def _proxy(error: Any) -> str:
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy failed (it returned {error.status} {error.message})"
    if isinstance(error, aiohttp.ClientResponseError):
        return f"the proxy failed (its response {error.message})"
    return f"the proxy failed ({_os_text(error)})"


def _tls(error: Any) -> str:
    reason = getattr(error, "verify_message", None) or str(getattr(error, "reason", None) or "")
    certificate = getattr(error, "certificate_error", None)
    if certificate is not None:
        reason = getattr(certificate, "verify_message", None) or str(certificate)
    text = reason.replace("_", " ").lower() if reason.isupper() else reason
    return f"TLS failed ({text or _os_text(error)})"


def _disconnected(error: Any) -> str:
    if isinstance(error, aiohttp.ServerDisconnectedError):
        has_begun = not isinstance(error.message, str)
        return (
            "the connection was closed within the header of the response"
            if has_begun
            else "the server closed the connection without a response"
        )
    return f"the connection was closed ({_os_text(error)})"


def _payload(error: Any) -> str:
    """Describe a body that ended early."""
    cause = error.__cause__
    if isinstance(cause, ContentLengthError) and (found := _RECEIVED.search(cause.message)):
        return f"the connection was closed after {found[1]} of {found[2]} bytes of the body"
    if isinstance(cause, TransferEncodingError):
        return "the connection was closed before the last chunk of the body"
    return "the connection was closed before the body was complete"


def _os_text(error: Any) -> str:
    """Return the text of the operating system; the library's own repeats addresses and classes."""
    inner = getattr(error, "os_error", error)
    number = getattr(inner, "errno", None)
    if number and number > 0:  # name resolution has its own, negative numbers
        return os.strerror(number)
    text = getattr(inner, "strerror", None) or str(inner) or "no reason given"
    named = _ERRNO.search(text)
    return os.strerror(int(named[1])) if named else str(text)


def _fixed(text: str) -> Callable[[Any], str]:
    return lambda _error: text


_RULES: tuple[tuple[tuple[type[BaseException], ...], type[FetchFailed], Callable[[Any], str]], ...] = (
    (
        (aiohttp.ClientHttpProxyError, aiohttp.ClientProxyConnectionError, *SOCKS_ERRORS),
        ProxyFailed,
        _proxy,
    ),
    (
        (aiohttp.ClientConnectorDNSError,),
        NameNotResolved,
        lambda error: f"the name does not resolve ({_os_text(error)})",
    ),
    ((UnicodeError,), NameNotResolved, _fixed("the name does not resolve (it is not a host name)")),
    ((aiohttp.ClientSSLError, ssl.SSLError), TlsFailed, _tls),
    ((aiohttp.ConnectionTimeoutError,), TimedOut, _fixed("timeout while connecting")),
    ((TimeoutError,), TimedOut, _fixed("timeout while waiting for the response")),
    ((aiohttp.InvalidURL,), FetchFailed, _fixed("the URL cannot be fetched")),
    (
        (aiohttp.ClientConnectorError,),
        ConnectFailed,
        lambda error: f"no connection ({_os_text(error)})",
    ),
    (
        (aiohttp.ClientResponseError, HttpProcessingError),
        BadResponse,
        lambda error: f"the response {error.message or 'is not valid HTTP'}",
    ),
    ((aiohttp.ClientPayloadError,), ConnectionDropped, _payload),
    ((aiohttp.ClientError, OSError, EOFError), ConnectionDropped, _disconnected),
    ((ValueError,), FetchFailed, lambda error: f"the request cannot be sent ({error})"),
)
"""The first match wins, so subclasses come first."""
