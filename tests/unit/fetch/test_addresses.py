from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from smartspider.core.errors import PrivateAddress, SmartSpiderError
from smartspider.core.requests.addresses import AddressPolicy, is_private
from smartspider.fetch.private_addresses import CheckedResolver

CLOSED = AddressPolicy()

PRIVATE_URLS = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://0.0.0.0/",
    "http://10.1.2.3:8080/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a00:1::1]/",
    "http://[64:ff9b::10.0.0.1]/",
    "http://[64:ff9b:1::1]/",
    "http://[fe80::1]/",
    "http://[fc00::1]/",
    "http://[fd12::1]/",
    "http://[ff02::1]/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://shop.localhost:8080/",
    "http://me:pw@127.0.0.1/",
    "http://１２７.０.０.１/",  # noqa: RUF001 - full-width digits are a known way around address filters
]
PUBLIC_URLS = [
    "http://example.com/",
    "http://93.184.216.34/",
    "http://[2606:2800:220:1::1]/",
    "http://[::ffff:93.184.216.34]/",
    "http://[64:ff9b::5db8:d822]/",
    "http://localhost.example/",
    "http://10.example/",
]


@pytest.mark.parametrize("url", PRIVATE_URLS)
def test_private_addresses_are_refused_however_they_are_written(url: str) -> None:
    refusal = CLOSED.refuse_url(url)
    assert refusal is not None
    assert "SMARTSPIDER_ALLOW_PRIVATE" in refusal.message
    assert AddressPolicy.parse("1").refuse_url(url) is None


@pytest.mark.parametrize("url", PUBLIC_URLS)
def test_public_addresses_and_names_pass(url: str) -> None:
    assert CLOSED.refuse_url(url) is None


def test_an_entry_opens_exactly_its_host_and_port() -> None:
    policy = AddressPolicy.parse("", ["http://127.0.0.1:8000/shop", "https://localhost/"])
    assert policy.refuse_url("http://127.0.0.1:8000/other") is None
    assert policy.refuse_url("http://127.1:8000/other") is None
    assert policy.refuse_url("https://localhost:443/") is None
    for url in [
        "http://127.0.0.1:8001/",
        "http://127.0.0.2:8000/",
        "http://localhost/",
        "http://[::1]:8000/",
    ]:
        assert policy.refuse_url(url) is not None, url


def test_a_list_opens_hosts_ports_and_networks() -> None:
    policy = AddressPolicy.parse(" 10.0.0.0/8, intranet.example ,127.0.0.1:9000, [::1]:80, fc00::/7, ")
    for url in [
        "http://10.200.1.1/",
        "http://[::ffff:10.0.0.1]/",
        "http://127.0.0.1:9000/",
        "http://[::1]/",
        "http://[fd00::7]:123/",
    ]:
        assert policy.refuse_url(url) is None, url
    for url in ["http://127.0.0.1/", "http://[::1]:81/", "http://192.168.0.1/"]:
        assert policy.refuse_url(url) is not None, url
    assert policy.is_open("intranet.example", 1234)
    assert not policy.is_open("sub.intranet.example", 1234)


def test_a_loopback_network_opens_localhost() -> None:
    assert AddressPolicy.parse("127.0.0.0/8").refuse_url("http://localhost:3000/") is None


@pytest.mark.parametrize("text", ["10.0.0.0/99", "host:99999", "http://a/", "a b", "me@host", "host?x", "/"])
def test_nonsense_in_the_setting_is_named(text: str) -> None:
    with pytest.raises(SmartSpiderError, match="SMARTSPIDER_ALLOW_PRIVATE"):
        AddressPolicy.parse(f"10.0.0.1,{text}")


@pytest.mark.parametrize("text", ["", "0", " , "])
def test_an_empty_setting_opens_nothing(text: str) -> None:
    assert AddressPolicy.parse(text) == CLOSED


@pytest.mark.parametrize("text", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "172.32.0.1", "100.128.0.1"])
def test_public_addresses_are_not_private(text: str) -> None:
    assert not is_private(ip_address(text))


class FixedResolver(AbstractResolver):
    def __init__(self, *addresses: str) -> None:
        self._addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=one, port=port, family=0, proto=0, flags=0)
            for one in self._addresses
        ]

    async def close(self) -> None:
        pass


async def test_a_name_is_pinned_to_its_public_addresses() -> None:
    resolver = CheckedResolver(CLOSED, FixedResolver("10.0.0.1", "93.184.216.34", "::ffff:127.0.0.1"))
    assert [one["host"] for one in await resolver.resolve("shop.example", 80)] == ["93.184.216.34"]


async def test_a_name_with_only_private_addresses_is_refused() -> None:
    resolver = CheckedResolver(CLOSED, FixedResolver("10.0.0.1", "fe80::1%lo"))
    with pytest.raises(PrivateAddress, match=r"evil\.example resolves to 10\.0\.0\.1.*ALLOW_PRIVATE"):
        await resolver.resolve("evil.example", 80)


async def test_an_open_name_keeps_its_private_addresses() -> None:
    resolver = CheckedResolver(AddressPolicy.parse("intranet.example:80"), FixedResolver("10.0.0.1"))
    assert len(await resolver.resolve("intranet.example", 80)) == 1
    with pytest.raises(PrivateAddress):
        await resolver.resolve("intranet.example", 81)


async def test_a_name_without_addresses_is_not_found() -> None:
    with pytest.raises(OSError, match="no address"):
        await CheckedResolver(CLOSED, FixedResolver()).resolve("a.example", 80)


async def test_the_stack_refuses_literals_and_names_before_anything_leaves(net: Any) -> None:
    async with net.serve(net.http()) as server, net.stack(text="") as fetcher:
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
            with pytest.raises(PrivateAddress, match="SMARTSPIDER_ALLOW_PRIVATE"):
                await fetcher.fetch(net.exchange(net.asks(f"http://{host}:{server.port}/")))
    assert server.connections == 0
    assert net.permit.entered == []


async def test_a_name_that_resolves_to_this_machine_is_refused_by_the_transport(net: Any) -> None:
    async with net.serve(net.http()) as server, net.transport(policy=CLOSED) as transport:
        request = net.asks(f"http://localhost:{server.port}/")
        results = await asyncio.gather(
            *(transport.fetch(net.exchange(request)) for _ in range(3)), return_exceptions=True
        )
    assert all(isinstance(result, PrivateAddress) for result in results)
    assert server.connections == 0


async def test_a_redirect_on_the_same_host_to_a_closed_port_is_refused(net: Any) -> None:
    async with (
        net.site({"/": net.http(b"", "302 Found", Location="http://127.0.0.1:1/")}) as site,
        net.stack(text="", entries=(site.url,)) as fetcher,
    ):
        with pytest.raises(PrivateAddress, match=r"127\.0\.0\.1:1"):
            await fetcher.fetch(net.exchange(net.asks(site.url)))
    assert net.permit.entered == ["page"]
