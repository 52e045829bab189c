from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
import uvloop

from smartspider.core.errors import (
    ConnectFailed,
    ConnectionDropped,
    FetchFailed,
    NameNotResolved,
    TimedOut,
    TlsFailed,
    TooLarge,
)
from smartspider.core.runs.plan import FetchPlan
from smartspider_testing.permits import FreePermit
from smartspider_testing.waiting import WAIT_S

SHORT = FetchPlan(timeout_s=0.3)


class GatePermit:
    """A permit that opens when the test says so."""

    def __init__(self, on_another: Any = None) -> None:
        self.is_waited_for = asyncio.Event()
        self.opens = asyncio.Event()
        self._on_another = on_another

    async def approach(self) -> None:
        """The window is always near."""

    async def enter(self) -> None:
        self.is_waited_for.set()
        await self.opens.wait()

    def sent(self) -> None:
        """Nothing is kept of it."""

    def another(self, host: str) -> Any:
        return self._on_another(host)


async def test_a_page_has_what_the_server_sent(net: Any) -> None:
    answer = net.http(b"<p>hi</p>", "404 Not Here", Content_Type="text/html; charset=gbk", X_A="1", X_a="2")
    async with net.serve(answer) as server, net.transport() as transport:
        page = await transport.fetch(net.exchange(net.asks(f"{server.url}/p?a=[1]|%zz")))
    assert page.status == 404
    assert page.body == b"<p>hi</p>"
    assert page.charset == "gb18030"
    assert page.headers["x-a"] == "1, 2"
    assert page.media_type == "text/html"
    assert page.url == f"{server.url}/p?a=[1]|%zz"
    assert server.seen[0].target == "/p?a=[1]|%zz"
    assert net.permit.entered == ["page"]


async def test_method_headers_and_body_go_out(net: Any) -> None:
    async with net.serve(net.http()) as server, net.transport() as transport:
        request = net.asks(server.url, method="POST", headers=(("Content-Type", "text/x"),), body=b"abc")
        await transport.fetch(net.exchange(request))
    assert server.seen[0].method == "POST"
    assert server.seen[0].body == b"abc"
    assert server.seen[0].headers["content-type"] == "text/x"


async def test_a_request_may_name_another_host_than_its_url(net: Any) -> None:
    async with net.serve(net.http()) as server, net.transport() as transport:
        await transport.fetch(net.exchange(net.asks(server.url, headers=(("host", "shop.example"),))))
    assert server.seen[0].headers["host"] == "shop.example"


async def test_a_body_of_megabytes_goes_out(net: Any) -> None:
    async with net.serve(net.http()) as server, net.transport() as transport:
        await transport.fetch(net.exchange(net.asks(server.url, method="POST", body=b"x" * 2_000_000)))
    assert len(server.seen[0].body) == 2_000_000


async def test_redirects_are_given_not_followed(net: Any) -> None:
    async with net.serve(net.http(b"", "302 Found", Location="/b")) as server, net.transport() as transport:
        page = await transport.fetch(net.exchange(net.asks(server.url)))
    assert (page.status, page.headers["location"], len(server.seen)) == (302, "/b", 1)


async def test_a_dropped_keep_alive_connection_is_not_retried(net: Any) -> None:
    async def answer(_seen: Any, writer: asyncio.StreamWriter) -> None:
        if len(server.seen) == 1:
            writer.write(net.http(b"one"))
        else:
            writer.close()

    async with net.serve(answer) as server, net.transport() as transport:
        await transport.fetch(net.exchange(net.asks(server.url)))
        with pytest.raises(ConnectionDropped):
            await transport.fetch(net.exchange(net.asks(server.url)))
    assert len(server.seen) == 2
    assert net.permit.entered == ["page", "page"]


async def test_connections_are_reused(net: Any) -> None:
    async with net.serve(net.http(b"x" * 50_000)) as server, net.transport() as transport:
        for _ in range(5):
            await transport.fetch(net.exchange(net.asks(server.url)))
    assert server.connections == 1


async def test_the_permit_is_entered_between_the_connection_and_the_first_byte(net: Any) -> None:
    permit = GatePermit()
    async with net.serve(net.http(b"ok")) as server, net.transport() as transport:
        fetching = asyncio.create_task(transport.fetch(net.exchange(net.asks(server.url), permit)))
        await permit.is_waited_for.wait()
        assert not server.seen
        permit.opens.set()
        assert (await fetching).body == b"ok"
    assert server.connections == 1


async def test_waiting_for_the_gate_costs_no_time_of_the_exchange(net: Any) -> None:
    permit = GatePermit()
    plan = FetchPlan(timeout_s=0.05)
    async with net.serve(net.http(b"ok")) as server, net.transport(plan) as transport:
        fetching = asyncio.create_task(transport.fetch(net.exchange(net.asks(server.url), permit)))
        asyncio.get_running_loop().call_later(0.2, permit.opens.set)
        assert (await fetching).body == b"ok"


async def test_a_connection_that_dies_while_the_gate_is_closed_is_replaced_with_a_new_permit(
    net: Any,
) -> None:
    async def answer(_seen: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(net.http(b"ok"))
        if len(server.seen) == 1:
            closing.append(writer)

    closing: list[asyncio.StreamWriter] = []
    free = FreePermit()
    permit = GatePermit(free.another)
    async with net.serve(answer) as server, net.transport() as transport:
        await transport.fetch(net.exchange(net.asks(server.url)))
        fetching = asyncio.create_task(transport.fetch(net.exchange(net.asks(server.url), permit)))
        await permit.is_waited_for.wait()
        closing[0].close()
        await closing[0].wait_closed()
        asyncio.get_running_loop().call_later(0.05, permit.opens.set)
        assert (await fetching).body == b"ok"
    assert len(server.seen) == 2
    assert server.connections == 2
    assert free.entered == ["127.0.0.1"]


async def test_a_silent_server_times_out(net: Any) -> None:
    async def silent(_seen: Any, _writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with net.serve(silent) as server, net.transport(SHORT) as transport:
        with pytest.raises(TimedOut, match=r"0\.3 s"):
            await transport.fetch(net.exchange(net.asks(server.url)))


async def test_a_handshake_that_never_ends_times_out_without_a_permit(net: Any) -> None:
    async with net.serve(net.http()) as server, net.transport(SHORT) as transport:
        with pytest.raises(TimedOut, match="connecting"):
            await transport.fetch(net.exchange(net.asks(server.url.replace("http:", "https:"))))
    assert net.permit.entered == []


async def test_a_transport_says_that_it_waits_and_how_much_it_holds(net: Any) -> None:
    first, rest = b"a" * 4_000, b"b" * 1_000
    asked, has_part, goes_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def answer(_seen: Any, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await has_part.wait()
        whole = net.http(first + rest)
        writer.write(whole[: -len(rest)])
        await goes_on.wait()
        writer.write(rest)

    async with net.serve(answer) as server, net.transport(FetchPlan(timeout_s=WAIT_S)) as transport:
        exchange = net.exchange(net.asks(server.url))
        progress = exchange.sending(exchange.request).progress
        fetching = asyncio.create_task(transport.fetch(exchange))
        await asked.wait()
        assert (progress.only_waits, progress.received) == (True, 0)
        has_part.set()
        async with asyncio.timeout(WAIT_S):
            while progress.received < len(first):  # noqa: ASYNC110 - nobody tells when bytes have arrived
                await asyncio.sleep(0)
        goes_on.set()
        assert (await fetching).body == first + rest
    assert (progress.only_waits, progress.received) == (False, 0)


async def test_a_slow_drip_times_out_as_a_whole(net: Any) -> None:
    async def drip(_seen: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with net.serve(drip) as server, net.transport(SHORT) as transport:
        with pytest.raises(TimedOut):
            await transport.fetch(net.exchange(net.asks(server.url)))


async def test_an_endless_body_is_stopped_at_the_limit(net: Any) -> None:
    sent = 0

    async def endless(_seen: Any, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 10_000)
            sent += 10_000
            await writer.drain()

    async with net.serve(endless) as server, net.transport(FetchPlan(max_bytes=200_000)) as transport:
        with pytest.raises(TooLarge):
            await transport.fetch(net.exchange(net.asks(server.url)))
    assert sent < 20_000_000


async def test_a_declared_length_over_the_limit_is_refused_before_the_body(net: Any) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"
    async with (
        net.serve(answer) as server,
        net.transport(FetchPlan(max_bytes=4999, timeout_s=5)) as transport,
    ):
        with pytest.raises(TooLarge, match="5000"):
            await transport.fetch(net.exchange(net.asks(server.url)))


async def test_a_body_of_exactly_the_limit_is_a_page(net: Any) -> None:
    async with (
        net.serve(net.http(b"x" * 5000)) as server,
        net.transport(FetchPlan(max_bytes=5000)) as transport,
    ):
        assert len((await transport.fetch(net.exchange(net.asks(server.url)))).body) == 5000


async def test_the_length_of_a_head_answer_is_no_body(net: Any) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n"
    async with net.serve(answer) as server, net.transport(FetchPlan(max_bytes=1000)) as transport:
        page = await transport.fetch(net.exchange(net.asks(server.url, method="HEAD")))
    assert page.body == b""


async def test_a_cut_transport_gives_the_first_bytes(net: Any) -> None:
    plan = FetchPlan(max_bytes=10, truncates=True)
    async with net.serve(net.http(b"abcdef" * 1000)) as server, net.transport(plan) as transport:
        page = await transport.fetch(net.exchange(net.asks(server.url)))
    assert page.body == b"abcdefabcd"


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200\r\nContent-Length:2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200 \r\nX:\r\nContent-Length: 2  \r\n\r\nok", b"ok"),
        (b"HTTP/1.0 200 OK\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200 OK\r\nX-Odd: \xff\xfe\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200 OK\r\nX-Long: " + b"y" * 60_000 + b"\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 999 Strange\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\n\r\n", b"ok"),
    ],
    ids="reason no-space http10 bytes long 204 999 extension".split(),
)
async def test_odd_servers_are_understood(net: Any, answer: bytes, body: bytes) -> None:
    async def odd(_seen: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    async with net.serve(odd) as server, net.transport(FetchPlan(timeout_s=5)) as transport:
        page = await transport.fetch(net.exchange(net.asks(server.url)))
    assert page.body == body
    "".join(page.headers.values()).encode()


async def test_a_closed_port_is_a_failed_connection(net: Any) -> None:
    async with net.serve(net.http()) as server:
        url = server.url
    async with net.transport() as transport:
        with pytest.raises(ConnectFailed) as caught:
            await transport.fetch(net.exchange(net.asks(url)))
    net.assert_prose(caught.value.message)
    assert net.permit.entered == []


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 64 + ".example"])
async def test_an_unknown_name_is_said_to_be_unknown(net: Any, host: str) -> None:
    async with net.transport() as transport:
        with pytest.raises(NameNotResolved) as caught:
            await transport.fetch(net.exchange(net.asks(f"http://{host}/")))
    net.assert_prose(caught.value.message)


async def test_a_header_that_breaks_http_is_refused(net: Any) -> None:
    async with net.serve(net.http()) as server, net.transport() as transport:
        with pytest.raises(FetchFailed):
            await transport.fetch(net.exchange(net.asks(server.url, headers=(("X-A", "1\r\nX-B: 2"),))))
    assert not server.seen


async def test_bytes_outside_ascii_in_a_location_stay_what_they_are(net: Any) -> None:
    answer = b"HTTP/1.1 302 Found\r\nLocation: /caf\xe9?\xc3\xa9\r\nContent-Length: 0\r\n\r\n"
    async with net.serve(answer) as server, net.transport() as transport:
        page = await transport.fetch(net.exchange(net.asks(server.url)))
    assert page.headers["location"] == "/caf%E9?%C3%A9"


async def test_cookies_of_an_answer_go_out_with_later_requests(net: Any) -> None:
    answer = net.http(b"", Set_Cookie="id=7; Path=/")
    async with net.serve(answer) as server, net.transport() as transport:
        await transport.fetch(net.exchange(net.asks(server.url)))
        await transport.fetch(net.exchange(net.asks(server.url, headers=(("Cookie", "own=1"),))))
    assert "cookie" not in server.seen[0].headers
    assert sorted(server.seen[1].headers["cookie"].split("; ")) == ["id=7", "own=1"]


async def test_credentials_in_the_url_become_a_header(net: Any) -> None:
    async with net.serve(net.http()) as server, net.transport() as transport:
        await transport.fetch(net.exchange(net.asks(server.url.replace("//", "//me:pw@"))))
    assert server.seen[0].headers["authorization"] == aiohttp.encode_basic_auth("me", "pw")


async def test_a_cancelled_fetch_leaves_no_connection_behind(net: Any) -> None:
    has_begun = asyncio.Event()
    closed = asyncio.Event()

    async def hang(_seen: Any, writer: asyncio.StreamWriter) -> None:
        has_begun.set()
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            closed.set()

    async with net.serve(hang) as server, net.transport() as transport:
        fetching = asyncio.create_task(transport.fetch(net.exchange(net.asks(server.url))))
        await has_begun.wait()
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        await asyncio.wait_for(closed.wait(), WAIT_S)


@pytest.mark.parametrize("is_trusted", [False, True], ids=["unknown", "other name"])
async def test_a_wrong_certificate_is_refused(
    net: Any, certificate: tuple[Path, Path], *, is_trusted: bool
) -> None:
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    tls = ssl.create_default_context(cafile=str(cert)) if is_trusted else None
    async with net.serve(net.http(), ssl=context) as server, net.transport(tls=tls) as transport:
        with pytest.raises(TlsFailed) as caught:
            await transport.fetch(net.exchange(net.asks(server.url.replace("http:", "https:"))))
    net.assert_prose(caught.value.message)
    assert net.permit.entered == []
    assert not server.seen


def test_the_transport_works_on_uvloop(net: Any) -> None:
    async def crawl() -> bytes:
        async with net.serve(net.http(b"x" * 100_000)) as server, net.transport() as transport:
            pages = [await transport.fetch(net.exchange(net.asks(server.url))) for _ in range(3)]
            return bytes(pages[-1].body)

    assert len(uvloop.run(crawl())) == 100_000


async def test_a_page_type_has_its_own_limits(net: Any) -> None:
    plan = FetchPlan(timeout_s=0.3, pages={"big": FetchPlan(max_bytes=10), "slow": FetchPlan(timeout_s=30)})

    async def answer(_seen: Any, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.5)
        writer.write(net.http(b"x" * 100))

    async with net.serve(answer) as server, net.transport(plan) as transport:
        big, slow = (msgspec.structs.replace(net.asks(server.url), page=page) for page in ("big", "slow"))
        with pytest.raises(TimedOut):
            await transport.fetch(net.exchange(net.asks(server.url)))
        with pytest.raises(TooLarge, match=r"pages\.big\.fetch\.max_bytes allows \(10\)"):
            await transport.fetch(net.exchange(big))
        assert len((await transport.fetch(net.exchange(slow))).body) == 100
