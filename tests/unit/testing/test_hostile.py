from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator

import aiohttp
import pytest

from smartspider_testing.sites import hostile
from smartspider_testing.sites.scripted import ScriptableSite
from smartspider_testing.waiting import WAIT_S


@pytest.fixture
async def site() -> AsyncIterator[ScriptableSite]:
    async with ScriptableSite() as site:
        yield site


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False, timeout=aiohttp.ClientTimeout(10)) as client:
        yield client


async def _body(client: aiohttp.ClientSession, url: str) -> bytes:
    async with client.get(url) as answer:
        assert answer.status == 200
        return await answer.read()


async def test_a_gzip_bomb_is_small_on_the_wire_and_large_unpacked(
    site: ScriptableSite, client: aiohttp.ClientSession
) -> None:
    site.on("/", hostile.gzip_bomb(3_500_000))
    packed = await _body(client, site.url())
    assert len(packed) < 10_000
    assert len(zlib.decompress(packed, 31)) == 3_500_000


async def test_an_endless_body_goes_on_until_the_client_leaves(
    site: ScriptableSite, client: aiohttp.ClientSession
) -> None:
    site.on("/", hostile.endless_body())
    async with client.get(site.url()) as answer:
        for _ in range(50):
            assert len(await answer.content.readexactly(10_000)) == 10_000
        answer.close()
    async with asyncio.timeout(WAIT_S):
        await site.until_idle()


async def test_a_slow_drip_and_silence_outlast_the_client(
    site: ScriptableSite, client: aiohttp.ClientSession
) -> None:
    site.on("/drip", hostile.slow_drip(interval_s=60.0)).on("/never", hostile.never())
    async with client.get(site.url("/drip")) as answer:
        assert await answer.content.readexactly(1) == b"."
        answer.close()
    asking = asyncio.create_task(_body(client, site.url("/never")))
    await site.until(1, "/never")
    assert not asking.done()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_broken_connections_and_garbage_are_errors_to_a_client(
    site: ScriptableSite, client: aiohttp.ClientSession
) -> None:
    site.on("/cut", hostile.dropped_mid_body()).on("/gone", hostile.dropped_at_once())
    site.on("/noise", hostile.garbage()).on("/long", hostile.huge_headers())
    for path in ("/cut", "/gone", "/noise", "/long"):
        with pytest.raises(aiohttp.ClientError):
            await _body(client, site.url(path))


async def test_redirects_never_end(site: ScriptableSite, client: aiohttp.ClientSession) -> None:
    site.on("/loop", hostile.redirect_loop()).under("/chain/", hostile.redirect_chain())
    for path in ("/loop", "/chain/1"):
        with pytest.raises(aiohttp.TooManyRedirects):
            await _body(client, site.url(path))
    assert site.count("/chain/2") == 1


async def test_many_links_are_streamed(site: ScriptableSite, client: aiohttp.ClientSession) -> None:
    site.on("/", hostile.million_links(2_500))
    body = await _body(client, site.url())
    assert body.count(b"<a href=") == 2_500
    assert b'"/n/2499"' in body


async def test_texts_are_wrong_as_named(site: ScriptableSite, client: aiohttp.ClientSession) -> None:
    site.on("/charset", hostile.wrong_charset()).on("/poison", hostile.poison_text())
    site.on("/binary", hostile.binary_as_html()).on("/broken", hostile.broken_html())
    site.on("/unknown", hostile.unknown_charset()).on("/deep", hostile.deep_nesting(1_000))
    wrong = await _body(client, site.url("/charset"))
    with pytest.raises(UnicodeDecodeError):
        wrong.decode()
    assert "十二元" in wrong.decode("gbk")
    poison = await _body(client, site.url("/poison"))
    assert all(part in poison for part in (b"\x00", b"&#0;", b"&#xD800;", b"\xed\xa0\x80"))
    assert len(await _body(client, site.url("/binary"))) > 100_000
    assert b"<p class=x>five" in await _body(client, site.url("/broken"))
    assert b"caf" in await _body(client, site.url("/unknown"))
    assert (await _body(client, site.url("/deep"))).count(b"<div>") == 1_000


async def test_traps_lead_ever_deeper(site: ScriptableSite, client: aiohttp.ClientSession) -> None:
    site.under("/a", hostile.path_trap()).under("/calendar", hostile.calendar_trap("2026-03-01"))
    assert b'href="/a/a/a/"' in await _body(client, site.url("/a/a/"))
    days = await _body(client, site.url("/calendar"))
    assert b'href="/calendar?day=2026-02-28"' in days
    assert b'href="/calendar?day=2026-03-03"' in await _body(client, site.url("/calendar?day=2026-03-02"))
