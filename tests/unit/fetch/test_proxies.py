from __future__ import annotations

import asyncio
import base64
import ssl
from pathlib import Path
from typing import Any

import pytest

from smartspider.core.errors import ConnectFailed, ProxyFailed
from smartspider.core.runs.plan import FetchPlan


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    except (ConnectionError, asyncio.CancelledError):
        return
    finally:
        writer.close()


class Proxy:
    """A proxy that speaks CONNECT and plain HTTP, or socks5 without a password; it sends all to one port."""

    def __init__(self, kind: str, target_port: int) -> None:
        self._kind = kind
        self._target_port = target_port
        self.asked: list[str] = []
        self.authorization: str | None = None
        self.refusal = b""
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"{self._kind}://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            start = await (
                self._socks(reader, writer) if self._kind == "socks5" else self._http(reader, writer)
            )
            if start is None:
                return
            inward, outward = await asyncio.open_connection("127.0.0.1", self._target_port)
            outward.write(start)
            await asyncio.gather(pipe(reader, outward), pipe(inward, writer))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        head = await reader.readuntil(b"\r\n\r\n")
        for line in head.decode().split("\r\n"):
            if line.lower().startswith("proxy-authorization: "):
                self.authorization = line.partition(": ")[2]
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        self.asked.append(f"{method} {target}")
        if self.refusal:
            writer.write(self.refusal)
            return None
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            return b""
        return head

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        _, _, _, kind = await reader.readexactly(4)
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = ".".join(map(str, await reader.readexactly(4)))
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append(f"{host}:{port}")
        if self.refusal:
            writer.write(self.refusal)
            return None
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        return b""


async def test_an_http_proxy_gets_the_whole_url(net: Any) -> None:
    async with net.serve(net.http(b"ok")) as server, Proxy("http", server.port) as proxy:
        chosen = proxy.url.replace("//", "//me:pw@")
        async with net.transport(choose_proxy=lambda _: chosen) as transport:
            for _ in range(2):
                page = await transport.fetch(net.exchange(net.asks("http://shop.example/a")))
    assert page.body == b"ok"
    assert proxy.asked[0] == "GET http://shop.example/a"
    assert proxy.authorization == "Basic " + base64.b64encode(b"me:pw").decode()
    assert net.permit.entered == ["page", "page"]


async def test_a_socks_proxy_resolves_the_name(net: Any) -> None:
    async with (
        net.serve(net.http(b"ok")) as server,
        Proxy("socks5", server.port) as proxy,
        net.transport(choose_proxy=lambda _: proxy.url) as transport,
    ):
        for _ in range(2):
            page = await transport.fetch(net.exchange(net.asks("http://shop.example/a")))
    assert page.body == b"ok"
    assert proxy.asked == ["shop.example:80"]
    assert server.seen[0].headers["host"] == "shop.example"


async def test_the_proxy_is_chosen_for_each_request(net: Any) -> None:
    async with (
        net.serve(net.http(b"ok")) as server,
        Proxy("http", server.port) as proxy,
        net.transport(choose_proxy=lambda r: proxy.url if "far" in r.url else None) as transport,
    ):
        await transport.fetch(net.exchange(net.asks(f"{server.url}/near")))
        await transport.fetch(net.exchange(net.asks("http://shop.example/far")))
    assert proxy.asked == ["GET http://shop.example/far"]


async def test_cookies_are_shared_with_the_proxied_requests(net: Any) -> None:
    answer = net.http(b"ok", Set_Cookie="id=7")
    async with (
        net.serve(answer) as server,
        Proxy("http", server.port) as proxy,
        net.transport(choose_proxy=lambda r: proxy.url if "far" in r.url else None) as transport,
    ):
        await transport.fetch(net.exchange(net.asks(f"{server.url}/near")))
        await transport.fetch(net.exchange(net.asks(f"{server.url}/far")))
    assert server.seen[1].headers["cookie"] == "id=7"


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_tls_goes_through_a_tunnel(net: Any, kind: str, certificate: tuple[Path, Path]) -> None:
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    tls = ssl.create_default_context(cafile=str(cert))
    async with (
        net.serve(net.http(b"ok"), ssl=context) as server,
        Proxy(kind, server.port) as proxy,
        net.transport(choose_proxy=lambda _: proxy.url, tls=tls) as transport,
    ):
        page = await transport.fetch(net.exchange(net.asks("https://shop.example/a")))
    assert page.body == b"ok"
    assert "shop.example:443" in proxy.asked[0]
    assert net.permit.entered == ["page"]


@pytest.mark.parametrize(
    ("kind", "url", "refusal"),
    [
        ("http", "http://shop.example/", b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n"),
        ("http", "https://shop.example/", b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"),
        ("http", "https://shop.example/", b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        (
            "http",
            "http://shop.example/",
            b"HTTP/1.1 500 No\r\nServer: tinyproxy/1.11\r\nContent-Length: 0\r\n\r\n",
        ),
        (
            "http",
            "http://shop.example/",
            b"HTTP/1.1 503 No\r\nX-Squid-Error: E 0\r\nContent-Length: 0\r\n\r\n",
        ),
        ("socks5", "http://shop.example/", b"\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00"),
        ("socks5", "http://shop.example/", b"\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"),
    ],
)
async def test_a_proxy_that_refuses_is_the_one_to_blame(
    net: Any, kind: str, url: str, refusal: bytes
) -> None:
    async with Proxy(kind, 1) as proxy, net.transport(choose_proxy=lambda _: proxy.url) as transport:
        proxy.refusal = refusal
        with pytest.raises(ProxyFailed) as caught:
            await transport.fetch(net.exchange(net.asks(url)))
    net.assert_prose(caught.value.message)


@pytest.mark.parametrize("reply", [3, 4, 5, 6])
async def test_a_host_that_a_socks_proxy_does_not_reach_is_the_one_to_blame(net: Any, reply: int) -> None:
    async with Proxy("socks5", 1) as proxy, net.transport(choose_proxy=lambda _: proxy.url) as transport:
        proxy.refusal = bytes([5, reply, 0, 1, 0, 0, 0, 0, 0, 0])
        with pytest.raises(ConnectFailed) as caught:
            await transport.fetch(net.exchange(net.asks("http://shop.example/")))
    net.assert_prose(caught.value.message)


@pytest.mark.parametrize(
    "proxy", ["http://127.0.0.1:1", "socks5://127.0.0.1:1", "gopher://x:1", "socks5://x:y"]
)
async def test_a_proxy_that_is_not_there_is_the_one_to_blame(net: Any, proxy: str) -> None:
    async with net.transport(FetchPlan(timeout_s=5), choose_proxy=lambda _: proxy) as transport:
        with pytest.raises(ProxyFailed) as caught:
            await transport.fetch(net.exchange(net.asks("http://shop.example/")))
    net.assert_prose(caught.value.message)
    assert net.permit.entered == []
