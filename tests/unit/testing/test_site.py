from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
import uvloop

from smartspider.demo.process import site_process
from smartspider_testing.sites.answers import (
    gzipped,
    json_page,
    page,
    redirect,
    reply,
    too_many,
    too_many_until,
)
from smartspider_testing.sites.http_server import ReceivedRequest
from smartspider_testing.sites.scripted import ScriptableSite, gaps_of, peak_of
from smartspider_testing.waiting import WAIT_S


def _arrival(arrived_at: float, answered_at: float | None = None) -> ReceivedRequest:
    return ReceivedRequest(arrived_at, "GET", "/", {}, "", answered_at=answered_at)


async def test_answers_are_given_in_turn_and_the_last_repeats() -> None:
    async with ScriptableSite() as site, aiohttp.ClientSession() as client:
        site.on("/a", reply(500), too_many(7), page("<p>fine</p>"))
        seen = []
        for _ in range(4):
            async with client.get(site.url("/a")) as answer:
                seen.append((answer.status, answer.headers.get("Retry-After"), await answer.text()))
        assert seen == [
            (500, None, ""),
            (429, "7", ""),
            (200, None, "<p>fine</p>"),
            (200, None, "<p>fine</p>"),
        ]
        async with client.get(site.url("/other")) as answer:
            assert answer.status == 404


async def test_requests_are_remembered_with_what_they_said() -> None:
    async with ScriptableSite() as site, aiohttp.ClientSession() as client:
        site.on("/form?x=1", json_page({"ok": True}))
        before = asyncio.get_running_loop().time()
        async with client.post(site.url("/form?x=1"), data=b"hello", headers={"X-Mark": "m"}) as answer:
            assert await answer.json() == {"ok": True}
        (arrival,) = site.requests("/form?x=1", host="127.0.0.1")
        assert (arrival.method, arrival.body, arrival.headers["x-mark"]) == ("POST", b"hello", "m")
        assert before <= arrival.arrived_at <= asyncio.get_running_loop().time()
        assert arrival.answered_at is not None
        assert arrival.peer.startswith("127.0.0.1:")
        assert site.count("/form?x=1") == 1


async def test_one_site_can_have_several_hosts_and_gaps_are_told_by_host() -> None:
    async with ScriptableSite(hosts=("127.0.0.1", "127.0.0.2")) as site, aiohttp.ClientSession() as client:
        site.on("/", page("hello"))
        for host in ("127.0.0.1", "127.0.0.2", "127.0.0.1"):
            async with client.get(site.url("/", host=host)) as answer:
                assert answer.status == 200
        assert [arrival.host for arrival in site.log] == ["127.0.0.1", "127.0.0.2", "127.0.0.1"]
        assert len(site.gaps()) == 2
        assert len(site.gaps("127.0.0.1")) == 1
        assert site.gaps("127.0.0.2") == []
        assert site.peak_in_flight() == 1


def test_gaps_and_the_peak_are_computed_from_the_log() -> None:
    log = [_arrival(1.0, 4.0), _arrival(2.0, 3.0), _arrival(3.5), _arrival(3.0, 3.2)]
    assert gaps_of(log) == [1.0, 1.0, 0.5]
    assert peak_of(log) == 2
    assert gaps_of([]) == []
    assert peak_of([]) == 0


async def test_a_longer_prefix_wins_and_a_scripted_path_wins_over_prefixes() -> None:
    async with ScriptableSite() as site, aiohttp.ClientSession() as client:
        site.under("/", page("all")).under("/x/", page("x")).on("/x/y", page("y"))
        for path, expected in (("/q", "all"), ("/x/1", "x"), ("/x/y", "y")):
            async with client.get(site.url(path)) as answer:
                assert await answer.text() == expected


async def test_pages_can_be_linked_by_a_graph() -> None:
    async with ScriptableSite() as site, aiohttp.ClientSession() as client:
        site.link({"/": ["/a", "/b"], "/a": [], "/b": []})
        async with client.get(site.url()) as answer:
            assert '<a href="/b">' in await answer.text()


async def test_a_test_can_wait_for_requests() -> None:
    async with ScriptableSite() as site, aiohttp.ClientSession() as client:
        site.on("/", redirect("/there")).on("/there", gzipped("<p>packed</p>"))
        waiting = asyncio.create_task(site.until(1, "/there"))
        async with client.get(site.url()) as answer:
            assert await answer.text() == "<p>packed</p>"
        async with asyncio.timeout(WAIT_S):
            await waiting


async def test_mercy_can_be_asked_for_by_date() -> None:
    async with ScriptableSite() as site, aiohttp.ClientSession() as client:
        site.on("/a", too_many(datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))).on("/b", too_many_until(2.0))
        site.on("/c", too_many(None, status=503))
        async with client.get(site.url("/a")) as answer:
            assert answer.headers["Retry-After"] == "Wed, 02 Jan 2030 03:04:05 GMT"
        asked_at = datetime.now(UTC)
        async with client.get(site.url("/b")) as answer:
            said = datetime.strptime(answer.headers["Retry-After"], "%a, %d %b %Y %H:%M:%S GMT").replace(
                tzinfo=UTC
            )
        assert 2.0 <= (said - asked_at).total_seconds() < 4.0
        async with client.get(site.url("/c")) as answer:
            assert (answer.status, "Retry-After" in answer.headers) == (503, False)


async def test_pipelined_requests_are_answered_one_after_the_other() -> None:
    async with ScriptableSite() as site:
        site.on("/1", page("first")).on("/2", page("second"))
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(
            b"GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        )
        text = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
        assert text.index("first") < text.index("second")
        assert [arrival.path for arrival in site.log] == ["/1", "/2"]


async def test_a_path_without_answers_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ScriptableSite().on("/")


async def test_a_written_site_runs_as_a_process_and_tells_its_log(tmp_path: Path) -> None:
    spec = {
        "routes": {"/": [{"status": 503}, {"body": "<p>up</p>"}], "/data": [{"data": {"n": 1}}]},
        "prefixes": {"/trap": {"hostile": "path_trap", "options": {"segment": "z"}}},
    }
    written = tmp_path / "site.json"
    written.write_text(json.dumps(spec))
    with site_process("smartspider_testing.sites.scripted", str(written)) as url:
        async with aiohttp.ClientSession(url) as client:
            for path, status, expected in (
                ("/", 503, ""),
                ("/", 200, "<p>up</p>"),
                ("/data", 200, '{"n":1}'),
                ("/trap/", 200, '<title>/trap</title><a class="child" href="/trap/z/">deeper</a>'),
            ):
                async with client.get(path) as answer:
                    assert (answer.status, await answer.text()) == (status, expected)
            async with client.get("/_log") as answer:
                log = await answer.json()
    assert [entry["path"] for entry in log] == ["/", "/", "/data", "/trap/"]


def test_a_site_serves_under_uvloop_too() -> None:
    async def ask() -> str:
        async with (
            ScriptableSite() as site,
            aiohttp.ClientSession() as client,
            client.get(site.on("/", page("fast")).url()) as answer,
        ):
            return await answer.text()

    assert uvloop.run(ask()) == "fast"
