"""The wire to a server: requests, their errors, and what is repeated when a connection breaks."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec

from smartspider import __version__
from smartspider.client.errors import error_of
from smartspider.core.errors import NotFound, ServerUnreachable, SettingInvalid, TooMany

T = TypeVar("T")

TIMEOUT_S = 60.0
CONNECT_S = 10.0
TRIES = 4
"""How often a request is sent before the server counts as unreachable."""
FIRST_WAIT_S = 0.2
LONGEST_WAIT_S = 10.0
"""Who is told to come back later than this is told so, and does not wait here."""
KEEP_ALIVE_S = 3.0
LARGEST_MESSAGE = 16 << 20


class ServerConnection:
    """A session with a server, opened with the first request. Requests that may safely be repeated are, when
    the connection breaks or the server is busy.
    """

    def __init__(self, url: str, token: str | None = None, *, ca_file: str | None = None) -> None:
        self.url = check_server_url(url)
        self._token = token
        self._ca_file = ca_file
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Let go of the session."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, path: str, kind: type[T], params: Mapping[str, Any] | None = None) -> T:
        """What a path holds."""
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
        """Do something. With a key (`new_idempotency_key`) it is repeated when needed, and still done only once."""
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
        """The body of the answer; raises the error that the server tells. `also` are statuses of answers."""
        may_repeat = method == "GET" or "Idempotency-Key" in (headers or {})
        for tried in range(1, TRIES + 1):
            try:
                async with self.open(
                    method, path, params=params, body=body, headers=headers, also=also
                ) as answer:
                    return await answer.read()
            except TooMany as busy:
                if tried == TRIES or busy.retry_after_s > LONGEST_WAIT_S:
                    raise
                await asyncio.sleep(busy.retry_after_s)
            except ServerUnreachable as error:
                if tried == TRIES or not (may_repeat or _was_never_sent(error)):
                    raise
                await asyncio.sleep(backoff_s(tried))
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
        """An answer to be read piece by piece."""
        data = None if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        more = {"Content-Type": "application/json"} if data is not None else {}
        with _translated(self.url):
            async with self._opened().request(
                method,
                self.url + path,
                params=_written(params or {}),
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
        """A WebSocket to the server."""
        with _translated(self.url):
            async with self._opened().ws_connect(
                self.url + path,
                params=_written(params or {}),
                heartbeat=30.0,
                max_msg_size=LARGEST_MESSAGE,
                timeout=aiohttp.ClientWSTimeout(ws_close=2.0),
            ) as socket:
                yield socket

    def read(self, body: bytes, kind: type[T]) -> T:
        """An answer as what it should be. What a newer server adds is passed over."""
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ServerUnreachable(
                f"the server {self.url} answers something else than this version expects: {error}",
                hint="check that the address is that of a SmartSpider server of a version like this one",
            ) from error

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"User-Agent": f"SmartSpider-client/{__version__}"}
            if self._token:
                headers["Authorization"] = f"Bearer {self._token}"
            self._session = aiohttp.ClientSession(
                headers=headers, connector=self._connector(), trust_env=False
            )
        return self._session

    def _connector(self) -> aiohttp.TCPConnector:
        # shorter than the server keeps it, so that nothing is sent into a connection that is being closed
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
    """Turns what the HTTP library raises into our errors."""

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
                f"the server {self._url} does not answer: {str(error) or type(error).__name__}",
                hint="check the address (--server, SMARTSPIDER_SERVER) and that `smartspider up` runs there",
            ) from error


def _was_never_sent(error: ServerUnreachable) -> bool:
    """Whether there was no connection, so that nothing can have been done."""
    return isinstance(error.__cause__, aiohttp.ClientConnectorError)


def check_server_url(url: str) -> str:
    """The address of a server, without a slash at its end; raises `SettingInvalid`."""
    try:
        parts = urlsplit(url.strip())
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or parts.query or parts.fragment or parts.username is not None:
        raise SettingInvalid(  # not repeated: it may have a password
            "the address of the server is not a plain http:// or https:// URL",
            hint="write it as http://127.0.0.1:8000, and the token by itself",
        )
    return url.strip().rstrip("/")


def new_idempotency_key() -> str:
    """An Idempotency-Key."""
    return secrets.token_hex(16)


def backoff_s(tried: int, longest_s: float = LONGEST_WAIT_S) -> float:
    """How long to wait after so many failures: longer each time, and not as long as everybody else."""
    longer_s = FIRST_WAIT_S * 2.0 ** min(tried, 20)
    return min(longest_s, longer_s) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def build_path(*parts: str) -> str:
    """A path with ids in it: every other part is one, whatever characters it has."""
    text = ""
    for number, part in enumerate(parts):
        if number % 2 == 0:
            text += part
        elif part in ("", ".", ".."):
            raise NotFound(f"there is nothing by the name {part!r}")
        else:
            text += quote(part, safe="")
    return text


def _written(params: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Parameters as a query: what is None is left out, a list is given several times."""
    return [
        (name, str(one).lower() if isinstance(one, bool) else str(one))
        for name, value in params.items()
        if value is not None
        for one in (value if isinstance(value, list | tuple) else (value,))
    ]
