"""A task's `fetch.mode` picks a transport, and only workers that have it lease its requests."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smartspider.core.errors import NotBuilt
from smartspider.engine.in_flight import OpenedRuns
from smartspider.engine.runtime import LocalBus
from smartspider.plugins import registry
from smartspider.plugins.kinds import TRANSPORT
from smartspider.services.plans import with_tuning
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.wiring.crawl_run import crawl_run
from smartspider.wiring.opening import open_folder
from smartspider.wiring.worker import JobFactory, RunsOfPlans
from smartspider_testing.plugin_packages import install_package

TASK = {
    "name": "rendered",
    "entry_urls": ["http://h.example/"],
    "fetch": {"mode": "browser"},
    "politeness": {"delay_s": 0, "robots": "ignore"},
    "selectors": {"fields": {"url": {"type": "meta", "expr": "url"}}},
}
SOURCE = """
from smartspider.core.pages.page import Page


class Browser:
    opened = closed = 0

    def __init__(self, plan, context):
        self.clock = context.clock

    async def __aenter__(self):
        Browser.opened += 1
        return self

    async def __aexit__(self, *error):
        Browser.closed += 1

    async def fetch(self, exchange):
        request, permit = exchange.request, exchange.permit
        await permit.approach()
        await permit.enter()
        permit.sent()
        body = b"<title>rendered</title>"
        return Page(request.url, 200, {"content-type": "text/html"}, body, "utf-8", self.clock.now())
"""


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with a transport called `browser`."""
    points = "[smartspider.transports]\nbrowser = spider_browser:Browser\n"
    install_package(tmp_path / "site", "spider-browser", SOURCE, points)
    monkeypatch.syspath_prepend(tmp_path / "site")


def test_a_mode_whose_transport_is_not_installed_is_refused() -> None:
    assert registry.available(TRANSPORT) == ["http"]
    with pytest.raises(NotBuilt, match=r"fetch\.mode"):
        compile_task(parse_task(TASK))


@pytest.mark.usefixtures("browser")
async def test_an_installed_transport_fetches_the_pages_of_its_mode(tmp_path: Path) -> None:
    plan = compile_task(parse_task(TASK))
    assert registry.available(TRANSPORT) == ["browser", "http"]
    assert plan.needs == {"browser"}
    with open_folder(tmp_path / "data") as folder:
        run = await folder.store.create_run(plan)
        run = await folder.store.set_state(run.id, "running")
        ended = await crawl_run(folder, run, plan, workers=1, on_ready=lambda _stop: None)
        assert (ended.state, ended.counters.done, ended.counters.items) == ("completed", 1, 1)
        assert ended.needs == {"browser"}


@pytest.mark.usefixtures("browser")
async def test_robots_txt_is_read_over_plain_http_whatever_the_mode(tmp_path: Path) -> None:
    asked = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        body = b"User-agent: *\nDisallow: /secret\n"
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    site = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    polite = {"delay_s": 0, "robots": "obey"}
    plan = compile_task(
        parse_task({**TASK, "entry_urls": [f"{site}/a", f"{site}/secret"], "politeness": polite})
    )
    async with server:
        with open_folder(tmp_path / "data") as folder:
            run = await folder.store.create_run(plan)
            run = await folder.store.set_state(run.id, "running")
            ended = await crawl_run(folder, run, plan, workers=1, on_ready=lambda _stop: None)
    assert (ended.counters.done, ended.counters.skipped) == (1, 1)
    assert asked == [b"GET /robots.txt HTTP/1.1"]


@pytest.mark.usefixtures("browser")
async def test_a_run_that_is_tuned_keeps_its_transports(tmp_path: Path) -> None:
    """A browser takes seconds to start."""
    plan = compile_task(parse_task(TASK))
    transport: Any = registry.resolve(TRANSPORT, "browser")
    transport.opened = transport.closed = 0
    with open_folder(tmp_path / "data") as folder:
        run = await folder.store.create_run(plan)
        factory = JobFactory(folder, LocalBus())
        opened = OpenedRuns(RunsOfPlans(factory, lambda now: with_tuning(plan, now), folder.policy))
        first = await opened.job(run)
        tuned = await opened.job(msgspec.structs.replace(run, revision=1, tuning=b'{"delay_s": 3.0}'))
        await opened.retain([run.id])
        assert (first.job.plan.politeness.delay_s, tuned.job.plan.politeness.delay_s) == (0.0, 3.0)
        assert (transport.opened, transport.closed) == (1, 0)
        await opened.close()
    assert (transport.opened, transport.closed) == (1, 1)


@pytest.mark.usefixtures("browser")
async def test_a_page_type_can_have_a_transport_of_its_own(tmp_path: Path) -> None:
    entry = {"url": "http://h.example/", "page": "rendered"}
    rendered = {"selectors": {"fields": {"t": "title"}}, "fetch": {"mode": "browser"}}
    task = {**TASK, "fetch": {}, "entry_urls": [entry], "pages": {"rendered": rendered}}
    plan = compile_task(parse_task(task))
    assert plan.needs == {"browser", "http"}
    with open_folder(tmp_path / "data") as folder:
        run = await folder.store.create_run(plan)
        run = await folder.store.set_state(run.id, "running")
        ended = await crawl_run(folder, run, plan, workers=1, on_ready=lambda _stop: None)
        assert (ended.state, ended.counters.items) == ("completed", 1)
