"""Search tasks, runs, hosts and other objects."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.asking import Caller
from tests.unit.api.doors import add_user, make_token

from smartspider.operations.services import Services

TASKS = ("shop_prices", "shop_stock", "news")


async def found(api: Caller, text: str) -> set[tuple[str, str]]:
    answer = (await api.get("/api/search", params={"q": text})).expect(200).json
    assert answer["next"] is None
    return {(one["kind"], one["title"]) for one in answer["items"]}


@pytest.fixture
async def filled(api: Caller, services: Services) -> Caller:
    for name in TASKS:
        task: dict[str, Any] = {"name": name, "entry_urls": ["https://shop.example/"]}
        (await api.post("/api/tasks", task)).expect(201)
    (await api.post("/api/tasks/shop_prices/start")).expect(202)
    (await api.post("/api/schedules", {"task_id": "news", "cron": "@daily"})).expect(201)
    await add_user(services, "ann")
    return api


async def test_names_are_found_by_their_start(filled: Caller) -> None:
    tasks = {("task", "shop_prices"), ("task", "shop_stock")}
    assert await found(filled, "shop_") == tasks
    assert await found(filled, "shop") == tasks | {("host", "shop.example")}
    assert await found(filled, "SHOP.example") == {("host", "shop.example")}
    assert await found(filled, "ann") == {("user", "ann")}
    assert await found(filled, "nothing") == set()


async def test_ids_are_found(filled: Caller) -> None:
    assert await found(filled, "1") == {
        ("task", "shop_prices"),
        ("run", "run 1"),
        ("schedule", "schedule 1"),
        ("user", "ann"),
    }


async def test_every_hit_leads_to_what_it_names(filled: Caller) -> None:
    for text in ("1", "shop_", "ann"):
        for hit in (await filled.get(f"/api/search?q={text}")).expect(200).json["items"]:
            (await filled.get(hit["path"])).expect(200)


async def test_only_what_may_be_read_is_found(filled: Caller, services: Services) -> None:
    viewer = filled.with_token(await make_token(services, "viewer", "viewer"))
    assert await found(viewer, "ann") == set()
    runs = await make_token(services, "runs", "viewer", scopes=("tasks:read",))
    assert await found(filled.with_token(runs), "1") == {("task", "shop_prices")}
    worker = filled.with_token(await make_token(services, "worker", "worker"))
    (await worker.get("/api/search?q=shop")).expect(403)
    (await filled.with_token(None).get("/api/search?q=shop")).expect(401)
    (await filled.get("/api/search?q=")).expect(422)
