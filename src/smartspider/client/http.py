"""The HTTP connection to a server: requests, retries and errors."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec

from smartspider import __version__
from smartspider.client.errors import error_of
from smartspider.client.retry import ClientRetry
from smartspider.core.errors import NotFound, ServerUnreachable, SettingInvalid, TooMany

T = TypeVar("T")

TIMEOUT_S = 60.0
CONNECT_S = 10.0
KEEP_ALIVE_S = 3.0
MAX_MESSAGE_BYTES = 16 << 20


class ServerAddress(msgspec.Struct, frozen=True):
    """The address of a server, and the token to send."""

    url: str
    token: str | None = None
    ca_file: str | None = None


class ServerConnection:
    """A session with a server, opened with the first request. Requests that are safe to repeat are retried if
    the connection breaks or the server is busy.
    """

    def __init__(self, address: ServerAddress, retry: ClientRetry) -> None:
        self.url, self.retry = check_server_url(address.url), retry
        self._token = address.token
        self._ca_file = address.ca_file
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, path: str, kind: type[T], params: Mapping[str, Any] | None = None) -> T:
        """Send a GET request and return its decoded response."""
        return self.read(await self.request("GET", path, params=params), kind)

    async def post(
        self,
        path: str,
        kind: type[T],
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> T:
        """Send a POST request and return its decoded response. With a key (`new_idempotency_key`) it is
        retried, and takes effect only once.
        """
        headers = None if key is None else {"Idempotency-Key": key}
        return self.read(await self.request("POST", path, params=params, body=body, headers=headers), kind)

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        also: frozenset[int] = frozenset(),
    ) -> bytes:
        """Return the body of the response; raise the error of the server. Statuses in `also`
        are not errors.
        """
        may_repeat = method == "GET" or "Idempotency-Key" in (headers or {})
        for tried in range(1, self.retry.tries + 1):
            try:
                async with self.open(
                    method, path, params=params, body=body, headers=headers, also=also
                ) as answer:
                    return await answer.read()
            except TooMany as busy:
                if tried == self.retry.tries or busy.retry_after_s > self.retry.max_wait_s:
                    raise
                await asyncio.sleep(busy.retry_after_s)
            except ServerUnreachable as error:
                if tried == self.retry.tries or not (may_repeat or _was_never_sent(error)):
                    raise
                await asyncio.sleep(self.retry.wait_s(tried))
        raise AssertionError

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        also: frozenset[int] = frozenset(),
        timeout: aiohttp.ClientTimeout | None = None,  # noqa: ASYNC109 - of aiohttp, which keeps it
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open a response to be read in chunks."""
        data = None if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        more = {"Content-Type": "application/json"} if data is not None else {}
        with _translated(self.url):
            async with self._open_session().request(
                method,
                self.url + path,
                params=_query(params or {}),
                data=data,
                headers={**more, **(headers or {})},
                timeout=timeout or aiohttp.ClientTimeout(total=TIMEOUT_S, sock_connect=CONNECT_S),
                allow_redirects=False,
            ) as answer:
                if answer.status >= 300 and answer.status not in also:
                    retry_after = answer.headers.get("Retry-After")
                    raise error_of(answer.status, await answer.read(), retry_after, server=self.url)
                yield answer

    @asynccontextmanager
    async def websocket(
        self, path: str, params: Mapping[str, Any] | None = None
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Open a WebSocket to the server."""
        with _translated(self.url):
            async with self._open_session().ws_connect(
                self.url + path,
                params=_query(params or {}),
                heartbeat=30.0,
                max_msg_size=MAX_MESSAGE_BYTES,
                timeout=aiohttp.ClientWSTimeout(ws_close=2.0),
            ) as socket:
                yield socket

    def read(self, body: bytes, kind: type[T]) -> T:
        """Decode a response; unknown keys of newer servers are ignored."""
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ServerUnreachable(
                f"{self.url} returned an unexpected response: {error}",
                hint="check that the URL points to a SmartSpider server of a compatible version",
            ) from error

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"User-Agent": f"SmartSpider-client/{__version__}"}
            if self._token:
                headers["Authorization"] = f"Bearer {self._token}"
            self._session = aiohttp.ClientSession(
                headers=headers, connector=self._connector(), trust_env=False
            )
        return self._session

    def _connector(self) -> aiohttp.TCPConnector:
        # shorter than that of the server, so that no request is sent on a connection that is being closed
        return aiohttp.TCPConnector(ssl=self._tls(), keepalive_timeout=KEEP_ALIVE_S)

    def _tls(self) -> Any:
        if self._ca_file is None:
            return True
        import ssl

        try:
            return ssl.create_default_context(cafile=self._ca_file)
        except OSError as error:
            raise SettingInvalid(f"the certificates in {self._ca_file} cannot be read: {error}") from error


class _translated:  # noqa: N801 - used like a function
    """Translates exceptions of aiohttp into those of SmartSpider."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, aiohttp.WSServerHandshakeError):
            retry_after = None if error.headers is None else error.headers.get("Retry-After")
            raise error_of(error.status, b"", retry_after, server=self._url) from error
        if isinstance(error, aiohttp.ClientError | TimeoutError | OSError):
            raise ServerUnreachable(
                f"the server {self._url} does not respond: {_reason(error)}",
                hint="check the address (--server, SMARTSPIDER_SERVER) and that `smartspider up` is running",
            ) from error


def _reason(error: Exception) -> str:
    """Return what went wrong; aiohttp's own text names TLS also for plain addresses."""
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        number = error.os_error.errno
        return (
            os.strerror(number) if number and number > 0 else error.os_error.strerror or str(error.os_error)
        )
    return str(error) or type(error).__name__


def _was_never_sent(error: ServerUnreachable) -> bool:
    """Return true if there was no connection, so that the request cannot have had an effect."""
    return isinstance(error.__cause__, aiohttp.ClientConnectorError)


def check_server_url(url: str) -> str:
    """Return the address of a server without a trailing slash; raise `SettingInvalid`."""
    try:
        parts = urlsplit(url.strip())
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or parts.query or parts.fragment or parts.username is not None:
        raise SettingInvalid(  # the URL is not quoted: it may contain a password
            "the server URL is not an http:// or https:// URL without credentials",
            hint="write it as http://127.0.0.1:8000, and pass the token separately",
        )
    return url.strip().rstrip("/")


def new_idempotency_key() -> str:
    """Return a new Idempotency-Key."""
    return secrets.token_hex(16)


def build_path(*parts: str) -> str:
    """Return a path in which every second part is an id, percent-encoded."""
    text = ""
    for number, part in enumerate(parts):
        if number % 2 == 0:
            text += part
        elif part in ("", ".", ".."):
            raise NotFound(f"{part!r} is not a valid id")
        else:
            text += quote(part, safe="")
    return text


def _query(params: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return query parameters; None is left out, a list is repeated."""
    return [
        (name, str(one).lower() if isinstance(one, bool) else str(one))
        for name, value in params.items()
        if value is not None
        for one in (value if isinstance(value, list | tuple) else (value,))
    ]
