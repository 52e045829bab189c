"""An empty console with the demo shop: one click shows problems with causes and what helps."""

from __future__ import annotations

import http.client
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect
from tests.acceptance.console.conftest import Visit
from tests.acceptance.console.visitor import grave_findings
from tests.acceptance.server import Server

from smartspider.demo import trouble

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("console trouble")]
SHOWN = {"forbidden": 4, "timeout": 2, "missing_field": 4}
"""Causes that are the same at every speed, with their pages."""
COMPLETE = sum(len(trouble.goods_of(shelf)) for shelf in ("busy", "broken", "list"))


def switch_layout(server: Server, name: str) -> None:
    """Tell the shop to show its new or old layout."""
    connection = http.client.HTTPConnection(urlsplit(server.greeting["shop"]).netloc)
    connection.request("POST", f"/trouble/layout/{name}")
    assert connection.getresponse().status == 204
    connection.close()


def problems(server: Server, run_id: str) -> dict[str, Any]:
    """The problems of a run by cause."""
    found = server.ask("GET", f"/api/runs/{run_id}/problems").expect(200).json["items"]
    return {one["cause"]: one for one in found}


def test_one_click_shows_problems_and_slowing_the_host_completes_its_rows(
    server: Server, visit: Visit
) -> None:
    switch_layout(server, "new")
    page = visit().sign_in("/tasks")
    expect(page.get_by_role("button", name="Start the run with problems")).to_be_visible()
    page.goto(server.url)
    start = page.get_by_role("button", name="Start the run with problems")
    expect(start).to_be_visible()
    assert grave_findings(page) == []
    start.click()
    expect(page.get_by_role("listitem").filter(has_text="forbidden")).to_be_visible()
    run_id = page.url.partition("/runs/")[2].partition("?")[0]
    server.until_state(run_id, "completed")
    found = problems(server, run_id)
    assert {cause: found[cause]["count"] for cause in SHOWN} == SHOWN
    assert found.keys() == {*SHOWN, "rate_limited"}
    assert "slow_host" in found["rate_limited"]["actions"]
    group = page.get_by_role("listitem").filter(has_text="rate_limited")
    group.get_by_role("button", name="Slow host").click()
    dialog = page.get_by_role("dialog", name="Slow 127.0.0.1")
    dialog.get_by_label("Delay in seconds").fill("1")
    dialog.get_by_role("button", name="Apply").click()
    expect(dialog).to_be_hidden()
    group.get_by_role("button", name=f"Retry {found['rate_limited']['count']}").click()
    expect(group).to_be_hidden()
    server.until_state(run_id, "completed")
    assert problems(server, run_id).keys() == SHOWN.keys()
    rows = server.rows(run_id)
    assert {row["sku"] for row in rows} >= {each.sku for each in trouble.goods_of("busy")}
    assert len(rows) == COMPLETE
    told = {"SMARTSPIDER_SERVER": server.url, "SMARTSPIDER_TOKEN": server.token}
    again = server.workshop.run("run", "demo", "trouble", "--json", env=told).expect(0).json
    assert server.status(again["run_id"])["task"] == "demo_trouble"
