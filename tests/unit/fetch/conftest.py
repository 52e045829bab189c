from __future__ import annotations

import asyncio
import re
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smartspider.core.cookies.jar import CookieJar
from smartspider.core.errors import FetchFailed
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.requests.origins import OriginTrust
from smartspider.core.requests.request import Extras, Request, make_request
from smartspider.core.requests.urls import normal_url
from smartspider.core.runs.plan import FetchPlan
from smartspider.fetch.headers import HeaderPlan
from smartspider.fetch.layers import LayerContext, compile_layers, layers_around
from smartspider.fetch.page_transports import open_transport
from smartspider.fetch.stack import build_fetcher, build_robots
from smartspider.fetch.transport import AiohttpTransport
from smartspider.interfaces.fetcher import Exchange, Fetcher, FetchSession, Permit, Proxy, TransportContext
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider_testing.permits import FreePermit


class HandClock:
    def __init__(self) -> None:
        self.at = 1_000_000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


class Seen:
    """One request as it came over the wire."""

    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ")
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


Handler = Callable[[Seen, asyncio.StreamWriter], Awaitable[None]]


class WireServer:
    """A server that reads requests and leaves every answered byte to the test."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.seen: list[Seen] = []
        self.connections = 0
        self._open: set[asyncio.Task[Any]] = set()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self, **options: Any) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, **options)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        try:
            while True:
                raw = await reader.readuntil(b"\r\n\r\n")
                seen = Seen(raw)
                seen.body = await reader.readexactly(int(seen.headers.get("content-length", "0")))
                self.seen.append(seen)
                await self._handler(seen, writer)
                if writer.is_closing():
                    return
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            self._open.discard(task)
            writer.close()


class MemoryRobotsCache:
    def __init__(self) -> None:
        self.answers: dict[str, RobotsAnswer] = {}
        self.delays: dict[str, float | None] = {}

    async def get_robots(self, origin: str) -> RobotsAnswer | None:
        return self.answers.get(origin)

    async def put_robots(self, answer: RobotsAnswer, *, host: str, crawl_delay_s: float | None) -> None:
        self.answers[answer.origin] = answer
        self.delays[host] = crawl_delay_s


class ChosenProxies:
    """Proxies that a function chooses."""

    def __init__(self, choose: Callable[[Request], str | None]) -> None:
        self._choose = choose

    async def choose(self, request: Request) -> Proxy | None:
        url = self._choose(request)
        return None if url is None else Proxy(url)

    async def worked(self, request: Request, proxy: Proxy, elapsed_s: float) -> None: ...

    async def failed(self, request: Request, proxy: Proxy, error: FetchFailed) -> FetchFailed:
        return error


class Net:
    """What tests of fetching need: servers, requests, a transport and the whole stack around it."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.cache = MemoryRobotsCache()
        self.permit = FreePermit("page")
        self.session = FetchSession(CookieJar(self.clock.now))
        self.tokens: list[str] = []
        """Those that no log shows."""

    @asynccontextmanager
    async def serve(self, answer: Handler | bytes, **options: Any) -> AsyncIterator[WireServer]:
        async def same(_seen: Seen, writer: asyncio.StreamWriter) -> None:
            assert isinstance(answer, bytes)
            writer.write(answer)

        server = WireServer(same if isinstance(answer, bytes) else answer)
        await server.start(**options)
        try:
            yield server
        finally:
            await server.stop()

    @asynccontextmanager
    async def site(self, pages: dict[str, bytes]) -> AsyncIterator[WireServer]:
        """A server with an answer for each path; others are 404."""

        async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
            writer.write(pages.get(seen.target, self.http(b"nothing here", "404 Not Found")))

        async with self.serve(answer) as server:
            yield server

    @staticmethod
    def http(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
        """A whole answer; header names have underscores for dashes."""
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    @staticmethod
    def asks(url: str, **extras: Any) -> Request:
        normal = normal_url(url)
        assert normal is not None
        return make_request(normal, extras=Extras(**extras))

    def exchange(self, request: Request, permit: Permit | None = None) -> Exchange:
        return Exchange(request, permit or self.permit, self.session)

    @staticmethod
    def assert_prose(message: str) -> None:
        """Nothing of Python shows in a message: no reprs, classes and numbers of errors."""
        assert not re.search(r"""b['"]|<[A-Z]|\(['"]|Errno|[a-z]Error|_ssl\.c|\n""", message), message

    def transport(
        self, plan: FetchPlan = FetchPlan(), *, tls: ssl.SSLContext | None = None, **options: Any
    ) -> AiohttpTransport:
        policy = options.pop("policy", AddressPolicy(opens_all=True))
        if choose := options.pop("choose_proxy", None):
            options["proxies"] = ChosenProxies(choose)
        self.session = msgspec.structs.replace(self.session, **options)
        return AiohttpTransport(plan, TransportContext(self.clock, policy), tls=tls)

    @asynccontextmanager
    async def stack(
        self,
        plan: FetchPlan = FetchPlan(),
        *,
        text: str = "1",
        obeys: bool = False,
        entries: tuple[str, ...] = (),
        layers: Iterable[dict[str, Any]] = (),
        layer_s: float = 20.0,
        secrets: dict[str, str] | None = None,
        trusted: Iterable[str] = (),
    ) -> AsyncIterator[Fetcher]:
        policy = AddressPolicy.parse(text, entries)
        headers = HeaderPlan(plan)
        async with open_transport(plan, TransportContext(self.clock, policy)) as transport:
            self.robots = build_robots(
                transport, policy=policy, headers=headers, cache=self.cache, clock=self.clock
            )
            robots = self.robots if obeys else None
            trust = OriginTrust(trusted)
            compiled = compile_layers(layers, ("default", "other", "@sitemap"), secrets, trust)
            context = LayerContext(self.clock, layer_s, trust, self.tokens.append)
            around = layers_around(compiled, plan, context)
            yield build_fetcher(plan, transport, policy=policy, headers=headers, robots=robots, layers=around)


@pytest.fixture
def net() -> Net:
    return Net()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subject = ["-subj", "/CN=shop.example", "-addext", "subjectAltName=DNS:shop.example"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return key, cert
