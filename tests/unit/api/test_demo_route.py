"""Bundled tasks of the demo shop: saved and started by one call, where the server has a shop."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import msgspec
from tests.unit.api.asking import ADMIN_TOKEN, SETTINGS, Caller, open_services, serving

SHOP = "http://127.0.0.1:9/"


async def test_a_server_without_a_shop_says_so_and_does_not_offer_it(api: Caller) -> None:
    assert "demo" not in (await api.get("/api/about")).expect(200).json["capabilities"]
    problem = (await api.post("/api/demo/trouble/start")).expect(404).json
    assert (problem["detail"], problem["hint"]) == (
        "this server has no demo shop",
        "start it with `smartspider up --demo`",
    )


async def test_a_task_of_the_shop_is_saved_once_and_started(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, demo_shop=SHOP)
    async with (
        open_services(tmp_path / "data", settings) as services,
        serving(services) as url,
        aiohttp.ClientSession() as session,
    ):
        api = Caller(session, url, ADMIN_TOKEN)
        assert "demo" in (await api.get("/api/about")).expect(200).json["capabilities"]
        begun = (await api.post("/api/demo/trouble/start")).expect(202)
        assert begun.headers["Location"].endswith(f"/api/runs/{begun.json['run_id']}")
        (task,) = (await api.get("/api/tasks")).expect(200).json["items"]
        assert (task["name"], task["version"]) == ("demo_trouble", 1)
        (await api.post("/api/demo/trouble/start")).expect(409)
        (await api.post(f"/api/runs/{begun.json['run_id']}/cancel")).expect(202)
        again = (await api.post("/api/demo/trouble/start")).expect(202).json
        assert again["task_id"] == task["id"]
        (await api.post("/api/demo/shop/start")).expect(202)
        tasks = (await api.get("/api/tasks")).expect(200).json["items"]
        assert [(one["name"], one["version"]) for one in tasks] == [("demo_trouble", 1), ("demo_shop", 1)]
        saved = (await api.get("/api/tasks/demo_trouble/versions/1")).expect(200).json["spec"]
        assert saved["entry_urls"] == [f"{SHOP}trouble"]
        (await api.post("/api/demo/none/start")).expect(422)
