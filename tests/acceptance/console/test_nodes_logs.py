"""Workers, hosts and log lines in the console."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.acceptance.console.conftest import Visit
from tests.acceptance.server import Server
from tests.acceptance.workshop import Site, html, title_task, written_site

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("console nodes")]
PAGES = [f"/page/{number}" for number in range(120)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site whose pages take a moment."""
    routes = {"/": [html("start", PAGES)], "/gone": [{"status": 500}]}
    slow = {"/page/": html("page") | {"delay_s": 0.1}}
    with written_site(Path(tmp_path_factory.mktemp("site")), routes=routes, prefixes=slow) as started:
        yield started


def test_a_worker_is_drained_under_load_and_nothing_is_lost(server: Server, site: Site, visit: Visit) -> None:
    server.create(title_task(site.url("/"), name="many", concurrency=2))
    run_id = server.begin("many")
    page = visit().sign_in("/nodes")
    workers = page.get_by_role("row").filter(has_text="(pid ")
    expect(workers.filter(has_text="127.0.0.1").first).to_be_visible()
    drained = workers.first
    name = drained.get_by_role("cell").first.inner_text()
    drained.get_by_role("button", name="Drain").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Drain").click()
    row = workers.filter(has_text=name)
    expect(row.filter(has_text="alive")).to_have_count(0)
    found = server.until_state(run_id, "completed")
    assert (found["success_count"], found["fail_count"]) == (len(PAGES) + 1, 0)
    assert found["items"] == len(server.rows(run_id)) == len(PAGES) + 1


def test_a_host_is_held_and_released(server: Server, site: Site, visit: Visit) -> None:
    server.create(title_task(site.url("/"), name="held"))
    page = visit().sign_in("/nodes?tab=hosts")
    server.until_state(server.begin("held"), "completed")
    host = page.get_by_role("row").filter(has_text="127.0.0.1")
    host.get_by_role("button", name="Hold").click()
    page.get_by_role("dialog").get_by_role("button", name="Apply").click()
    expect(host.get_by_role("button", name="Release")).to_be_visible()
    held = server.ask("GET", "/api/hosts?held=true").expect(200).json["items"]
    assert [one["host"] for one in held] == ["127.0.0.1"]
    host.get_by_role("button", name="Release").click()
    expect(host.get_by_role("button", name="Hold")).to_be_visible()


def test_log_lines_are_filtered_come_live_and_have_a_context(
    server: Server, site: Site, visit: Visit
) -> None:
    page = visit().sign_in("/logs?level=error")
    log = page.get_by_role("log")
    server.create(title_task(site.url("/gone"), name="gone", retry={"max_attempts": 1}))
    server.until_state(server.begin("gone"), "failed")
    line = log.locator(".line").filter(has_text="page.buried")
    expect(line).to_be_visible()
    page.get_by_label("Contains").fill("nothing-like-this")
    page.get_by_label("Contains").press("Enter")
    expect(page.get_by_text("No line matches.")).to_be_visible()
    page.get_by_role("button", name="Clear filters").click()
    expect(line).to_be_visible()
    line.get_by_role("button", name="Lines around").click()
    drawer = page.get_by_role("dialog")
    expect(drawer.locator("[aria-current]")).to_contain_text("page.buried")
    expect(drawer.get_by_text("run.started").first).to_be_visible()
    drawer.get_by_role("link", name="Open the run").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("gone #")
