"""Every operation, called at a real server with real rows: it arrives where it should, and nothing of the
answer is lost.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from inspect import isasyncgen
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from tests.unit.api.asking import ADMIN_TOKEN, SETTINGS, open_services
from tests.unit.api.rows import TEA, crawled
from tests.unit.client.test_sdk_operations import OF_BROWSERS

from smartspider.api.app import create_app
from smartspider.client import Client
from smartspider.client.http import ServerAddress, ServerConnection
from smartspider.client.retry import ClientRetry
from smartspider.core.logs import LogLine
from smartspider.core.pages.extraction import RejectedItem, ValueChange
from smartspider.core.pages.files import StoredFile
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.operations.services import Services
from smartspider.views.listed import Listed
from smartspider_testing.sites.answers import page
from smartspider_testing.sites.scripted import ScriptableSite

RULES = {"items": ".p", "fields": {"title": "h2::text"}}
PASSWORD = "four random words"


class Recording(ServerConnection):
    """A connection that remembers what was asked, and the last answer."""

    def __init__(self, url: str, token: str | None) -> None:
        super().__init__(ServerAddress(url, token), ClientRetry())
        self.asked: list[tuple[str, str]] = []
        self.answer = b""

    async def request(self, method: str, path: str, **more: Any) -> bytes:
        self.answer = await super().request(method, path, **more)
        return self.answer

    @asynccontextmanager
    async def open(self, method: str, path: str, **more: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        self.asked.append((method.lower(), path))
        async with super().open(method, path, **more) as answer:
            yield answer

    @asynccontextmanager
    async def websocket(
        self, path: str, params: Mapping[str, Any] | None = None
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        self.asked.append(("websocket", path))
        async with super().websocket(path, params) as socket:
            yield socket


class World(msgspec.Struct, frozen=True):
    """What there is at the server."""

    site: str
    run: str
    """Completed, with rows, rejects and cleaned values; the second of its task."""
    paused: str
    task: str
    made: dict[str, Any] = {}
    """What operations before answered."""


Call = Callable[[Client, World], Awaitable[Any] | Any]

CALLS: dict[str, Call] = {
    "get_health": lambda c, _: c.get_health(),
    "get_about": lambda c, _: c.get_about(),
    "get_doctor": lambda c, _: c.get_doctor(),
    "get_readiness": lambda c, _: c.get_readiness(),
    "get_overview": lambda c, _: c.get_overview(),
    "list_metric_targets": lambda c, _: c.list_metric_targets(),
    "get_metrics": lambda c, _: c.get_metrics(),
    "get_task_schema": lambda c, _: c.get_task_schema(),
    "get_me": lambda c, _: c.get_me(),
    "create_ticket": lambda c, _: c.create_ticket(opens="/api/tasks"),
    "create_user": lambda c, _: c.create_user("ann", role="operator", password=PASSWORD),
    "create_session": lambda c, _: c.create_session(username="ann", password=PASSWORD),
    "change_password": lambda c, w: as_ann(c, w).change_password(
        password=PASSWORD, new_password=f"{PASSWORD} 2"
    ),
    "end_session": lambda c, w: as_ann(c, w).end_session(),
    "list_users": lambda c, _: c.list_users(limit=1),
    "get_user": lambda c, _: c.get_user("ann"),
    "change_user": lambda c, _: c.change_user("ann", role="viewer", enabled=True),
    "delete_user": lambda c, w: c.delete_user(w.made["create_user"].id),
    "create_token": lambda c, _: c.create_token("nightly", role="viewer", scopes=["results:read"]),
    "list_tokens": lambda c, _: c.list_tokens(actor="token:nightly"),
    "get_token": lambda c, w: c.get_token(w.made["create_token"].id),
    "revoke_token": lambda c, w: c.revoke_token(w.made["create_token"].id),
    "list_task_logs": lambda c, w: c.list_task_logs(w.task),
    "create_task": lambda c, w: c.create_task(
        {"name": "shop", "entry_urls": [w.site], "selectors": RULES}, note="first"
    ),
    "list_tasks": lambda c, _: c.list_tasks(q="HO", owner="admin", sort="-name", limit=2),
    "get_task": lambda c, w: c.get_task(w.task),
    "change_task": lambda c, w: c.change_task(
        "shop", f"name: shop\nentry_urls: [{w.site}]\nconcurrency: 2\n", note="yaml", if_match=1
    ),
    "list_task_versions": lambda c, _: c.list_task_versions("shop", limit=1),
    "get_task_version": lambda c, _: c.get_task_version("shop", 2),
    "start_task": lambda c, _: c.start_task("shop", version=1, tuning={"limits": {"max_pages": 9}}),
    "pause_task": lambda c, _: c.pause_task("shop"),
    "resume_task": lambda c, _: c.resume_task("shop"),
    "stop_task": lambda c, _: c.stop_task("shop"),
    "retry_task": lambda c, w: c.retry_task(w.task, which="all"),
    "get_task_status": lambda c, w: c.get_task_status(w.task),
    "get_task_metrics": lambda c, w: c.get_task_metrics(w.task),
    "list_runs": lambda c, w: c.list_runs(task_id=w.task, state=["completed", "failed"], limit=1),
    "get_run": lambda c, w: c.get_run(w.run),
    "tune_run": lambda c, w: c.tune_run(w.paused, delay_s=2, rate_per_s=None, limits={"max_pages": 5}),
    "pause_run": lambda c, w: c.pause_run(w.made["retry_task"].run_id),
    "resume_run": lambda c, w: c.resume_run(w.made["retry_task"].run_id),
    "stop_run": lambda c, w: c.stop_run(w.made["retry_task"].run_id),
    "cancel_run": lambda c, w: c.cancel_run(w.made["start_task"].run_id),
    "delete_run": lambda c, w: c.delete_run(w.made["retry_task"].run_id),
    "retry_run": lambda c, w: c.retry_run(w.run, which="all"),
    "get_run_metrics": lambda c, w: c.get_run_metrics(w.run),
    "get_series": lambda c, _: c.get_series(points=5),
    "get_run_series": lambda c, w: c.get_run_series(w.run, points=5),
    "explain_stall": lambda c, w: c.explain_stall(w.paused),
    "list_run_failures": lambda c, w: c.list_run_failures(w.run),
    "list_run_pages": lambda c, w: c.list_run_pages(w.run, state="done", limit=1),
    "list_run_problems": lambda c, w: c.list_run_problems(w.run, kind="skipped"),
    "get_run_page": lambda c, w: c.get_run_page(w.run, w.made["list_run_pages"].items[0].id),
    "list_run_files": lambda c, w: c.list_run_files(w.run),
    "download_run_file": lambda c, w: c.download_run_file(w.run, w.made["list_run_files"].items[0].id),
    "get_run_receipt": lambda c, w: c.get_run_receipt(w.run),
    "follow_run": lambda c, w: c.follow_run(w.run, after=1),
    "watch_task": lambda c, w: c.watch_task(w.task),
    "explain_url": lambda c, w: c.explain_url("http://tea.example/list", run_id=w.run),
    "preview_page": lambda c, w: c.preview_page(w.site, selectors=RULES),
    "suggest_tasks": lambda c, w: c.suggest_tasks(f"{w.site}list", headers={"Accept-Language": "en"}),
    "list_results": lambda c, w: c.list_results(
        run_id=w.run, where="price>=3", fields="name,price", sort="-price", limit=2
    ),
    "count_results": lambda c, w: c.count_results(task_id=w.task, run_id=w.run, where=["price>=3"]),
    "get_coverage": lambda c, w: c.get_coverage(run_id=w.run, fields="name"),
    "compare_results": lambda c, w: c.compare_results(run_id=w.run, key="name"),
    "list_rejects": lambda c, w: c.list_rejects(run_id=w.run),
    "list_cleaning": lambda c, w: c.list_cleaning(run_id=w.run, field="price"),
    "get_result": lambda c, w: c.get_result(w.made["list_results"].items[0].id),
    "export_results": lambda c, w: c.export_results(format="csv", run_id=w.run, where="price>=3"),
    "list_logs": lambda c, w: c.list_logs(run_id=w.run, level="warning", limit=1),
    "count_logs": lambda c, w: c.count_logs(run_id=w.run, level=["warning"], points=2),
    "list_run_logs": lambda c, w: c.list_run_logs(w.run, text="slow"),
    "tail_logs": lambda c, _: c.tail_logs(after="0", level="warning"),
    "tail_run_logs": lambda c, w: c.tail_run_logs(w.run, after="0"),
    "create_schedule": lambda c, w: c.create_schedule(w.task, cron="0 6 * * *", timezone="Europe/Berlin"),
    "preview_schedule": lambda c, _: c.preview_schedule(every_s=60),
    "list_schedules": lambda c, w: c.list_schedules(task_id=w.task),
    "get_schedule": lambda c, w: c.get_schedule(w.made["create_schedule"].id),
    "change_schedule": lambda c, w: c.change_schedule(
        w.made["create_schedule"].id, enabled=False, overlap="allow"
    ),
    "fire_schedule": lambda c, w: c.fire_schedule(w.made["create_schedule"].id),
    "list_firings": lambda c, w: c.list_firings(w.made["create_schedule"].id),
    "delete_schedule": lambda c, w: c.delete_schedule(w.made["create_schedule"].id),
    "create_notification": lambda c, w: c.create_notification(
        kind="webhook", address=f"{w.site}hook", events=["run.failed"], task_id=w.task
    ),
    "list_notifications": lambda c, _: c.list_notifications(),
    "list_channels": lambda c, _: c.list_channels(),
    "change_notification": lambda c, w: c.change_notification(
        w.made["create_notification"].id, events=["run.paused"], task_id="", enabled=False
    ),
    "get_notification": lambda c, w: c.get_notification(w.made["create_notification"].id),
    "test_notification": lambda c, w: c.test_notification(w.made["create_notification"].id),
    "list_deliveries": lambda c, w: c.list_deliveries(w.made["create_notification"].id),
    "delete_notification": lambda c, w: c.delete_notification(w.made["create_notification"].id),
    "list_nodes": lambda c, _: c.list_nodes(),
    "get_scaling": lambda c, _: c.get_scaling(),
    "get_clock": lambda c, _: c.get_clock(),
    "confirm_clock": lambda c, _: c.confirm_clock(),
    "tune_node": lambda c, w: c.tune_node(w.made["list_nodes"].items[0].node, slots=3),
    "search_all": lambda c, _: c.search_all("shop"),
    "list_hosts": lambda c, _: c.list_hosts(held=False, limit=1),
    "hold_host": lambda c, _: c.hold_host("shop.example", seconds=60, reason="maintenance"),
    "slow_host": lambda c, _: c.slow_host("shop.example", delay_s=5),
    "resume_host": lambda c, _: c.resume_host("shop.example"),
    "drain_node": lambda c, w: c.drain_node(w.made["list_nodes"].items[0].node),
    "list_audit": lambda c, _: c.list_audit(action="task.created", limit=1),
    "verify_audit": lambda c, _: c.verify_audit(),
    "delete_task": lambda c, _: c.delete_task("shop", if_match=2),
    "set_secret": lambda c, _: c.set_secret("TOKEN", value="v", shared=True),
    "list_secrets": lambda c, _: c.list_secrets(),
    "get_secret": lambda c, _: c.get_secret("TOKEN"),
    "get_vault": lambda c, _: c.get_vault(),
    "verify_vault": lambda c, _: c.verify_vault(),
    "rotate_vault": lambda c, _: c.rotate_vault(),
    "delete_secret": lambda c, _: c.delete_secret("TOKEN"),
    "add_proxy": lambda c, _: c.add_proxy(url="http://ann:canary@127.0.0.1:9", pool="dc"),
    "list_proxies": lambda c, _: c.list_proxies(pool="dc"),
    "ban_proxy": lambda c, _: c.ban_proxy("1", seconds=60),
    "check_proxy": lambda c, _: c.check_proxy("1", url="http://site.example/"),
    "remove_proxy": lambda c, _: c.remove_proxy("1"),
    "upload_cookies": lambda c, _: c.upload_cookies(domain="site.example", cookies="sid=canary", name="main"),
    "list_cookies": lambda c, _: c.list_cookies(domain="site.example"),
    "get_cookies": lambda c, _: c.get_cookies("main"),
    "take_lease": lambda c, _: c.take_lease(domain="site.example"),
    "lease_cookies": lambda c, _: c.lease_cookies(domain="site.example"),
    "renew_lease": lambda c, w: c.renew_lease(lease_id=w.made["take_lease"].lease_id),
    "release_lease": lambda c, w: c.release_lease(lease_id=w.made["take_lease"].lease_id),
    "check_cookies": lambda c, _: c.check_cookies("main", url="http://site.example/"),
    "lock_cookies": lambda c, _: c.lock_cookies("main"),
    "unlock_cookies": lambda c, _: c.unlock_cookies("main"),
    "delete_cookies": lambda c, _: c.delete_cookies("main"),
    "start_demo": lambda c, _: c.start_demo("trouble"),
}
"""In an order that makes sense."""
EMPTY = {"list_run_failures", "list_run_problems", "list_deliveries"}
"""Lists in which there is nothing to see here."""


def as_ann(client: Client, world: World) -> Client:
    """Somebody who signed in; the newest session counts."""
    session = world.made.get("change_password") or world.made["create_session"]
    connection = client.connection
    assert isinstance(connection, Recording)
    other = Client(connection.url)
    other.connection = Recording(connection.url, session.access_token)
    world.made["ann"] = other
    return other


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    settings = msgspec.structs.replace(SETTINGS, demo_shop="http://127.0.0.1:9/")
    async with open_services(tmp_path / "data", settings) as opened:
        yield opened


@pytest.fixture
async def world(services: Services) -> AsyncIterator[World]:
    rejected = [RejectedItem("too dear", {"name": "Gyokuro"}, "range", "price", 99)]
    changes = [ValueChange(0, "number", "price", "12.5", 12.5)]
    await crawled(services.installation, TEA[:2])
    file = StoredFile("files/a.png", "aa" * 32, 1, "image/png")
    (services.installation.path / "files").mkdir()
    (services.installation.path / "files/a.png").write_bytes(b"x")
    run = await crawled(services.installation, TEA, rejected=rejected, changes=changes, file=file)
    line = LogLine(at=1.0, level=30, event="fetch.slow", text="a slow page", worker="w", run_id=run.id)
    await services.installation.logs.add([msgspec.structs.replace(line, task_id=run.task_id), line])
    other = await crawled(services.installation, TEA[:1], name="other", ends=False)
    await services.installation.store.set_state(other.id, "paused")
    await services.installation.frontier.join(WorkerRegistration("w", node="crawler-1"))
    async with ScriptableSite() as site:
        site.on("/", page("<div class=p><h2>Tea</h2></div>")).on("/hook", page(""))
        cards = "".join(f"<li class=p><a href=/{n}>Tea {n}</a><b>{n}</b></li>" for n in range(8))
        site.on("/list", page(f"<ul>{cards}</ul>"))
        yield World(site.url(), str(run.id), str(other.id), str(run.task_id))


async def asked(found: Any) -> Any:
    """An answer; of a stream, the first of it."""
    if isasyncgen(found):
        async with aclosing(found):
            return await anext(found)
    return await found


def is_at(document: Any, operation_id: str, method: str, path: str) -> bool:
    """Whether a request is the one of an operation."""
    for template, operations in document["paths"].items():
        if operations.get(method, {}).get("operationId") == operation_id:
            return re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path) is not None
    return False


async def test_every_operation_arrives_and_its_whole_answer_is_told(
    services: Services, url: str, world: World
) -> None:
    document = create_app(services).openapi()
    known = {one["operationId"] for each in document["paths"].values() for one in each.values()}
    streams = {"watch_task", "tail_logs", "tail_run_logs"}
    assert set(CALLS) == (known | streams) - OF_BROWSERS
    async with Client(url) as client:
        client.connection = recording = Recording(url, ADMIN_TOKEN)
        for name, call in CALLS.items():
            answer = world.made[name] = await asked(call(client, world))
            one = world.made.pop("ann", client)
            recording = one.connection
            if name in streams:
                assert recording.asked[-1][0] == "websocket", name
                continue
            method, path = recording.asked[-1]
            assert is_at(document, name, method, path), (name, method, path)
            if isinstance(answer, msgspec.Struct) and name != "follow_run":
                told = msgspec.json.decode(msgspec.json.encode(answer))
                assert told == msgspec.json.decode(recording.answer), name
                assert not isinstance(answer, Listed) or answer.items or name in EMPTY, f"{name}: nothing"
            if one is not client:
                await one.close()


async def test_what_follows_on_the_first_page_is_had_by_its_cursor(client: Client, world: World) -> None:
    found, cursor = [], None
    while True:
        page_ = await client.list_results(run_id=world.run, limit=3, cursor=cursor)
        found += [msgspec.json.decode(row.data) for row in page_.items]
        if (cursor := page_.next) is None:
            break
    assert found == TEA


async def test_a_dry_run_is_answered_with_what_was_found(client: Client, world: World) -> None:
    shop = {"name": "dry", "entry_urls": [world.site], "selectors": RULES}
    looked = await client.create_task(shop, dry_run=True, preview=True, pages=1)
    assert (looked.valid, looked.preview) == (True, [{"title": "Tea"}])
    wrong = await client.create_task("{", dry_run=True)
    assert not wrong.valid
    assert wrong.errors
