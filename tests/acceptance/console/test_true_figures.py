"""The figures of the console are those of the API, while a run goes on, after losses and at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect
from tests.acceptance.console.conftest import Visit
from tests.acceptance.server import Server
from tests.acceptance.workshop import Site, html, title_task, until, written_site

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("console figures")]
PAGES = 180
CUTS = 20
COUNTERS = {
    "done": "success_count",
    "queued": "queued",
    "in flight": "in_flight",
    "failed": "fail_count",
    "missing": "missing_count",
    "retries": "retry_count",
    "items": "items",
    "rejected": "rejected",
}
WATCH_COUNTERS = """
window.fallen = [];
window.changes = 0;
const last = {};
const rising = ["done", "failed", "missing", "retries", "items", "rejected"];
const number = (text) => Number(text.replace(/\\D/g, ""));
function see(name, now) {
  if (now < (last[name] ?? 0)) window.fallen.push(`${name}: ${last[name]} to ${now}`);
  if (now !== last[name]) window.changes++;
  last[name] = now;
}
function look() {
  for (const row of document.querySelectorAll("main dl.counters > div")) {
    const name = row.querySelector("dt").textContent;
    if (rising.includes(name)) see(name, number(row.querySelector("dd").textContent));
  }
  for (const row of document.querySelectorAll("main td.progress"))
    see("progress", number(row.textContent.split(" of ")[0]));
}
const all = { subtree: true, childList: true, characterData: true };
new MutationObserver(look).observe(document.querySelector("main"), all);
window.stayed = true;
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Pages of every outcome, each of which takes a while."""
    good = [f"/good/{number}" for number in range(PAGES)]
    gone = [f"/gone/{number}" for number in range(7)]
    broken = [f"/broken/{number}" for number in range(5)]
    routes = {"/": [html("/", [*broken, *gone, *good])], "/good/3": [{"status": 503}, html("late")]}
    prefixes = {
        "/good/": html("good") | {"delay_s": 0.05},
        "/broken/": {"status": 403, "delay_s": 0.05},
    }
    folder = Path(tmp_path_factory.mktemp("site"))
    with written_site(folder, routes=routes, prefixes=prefixes) as started:
        yield started


def begun(server: Server, site: Site, name: str, concurrency: int = 2, delay_s: float = 0.0) -> str:
    """Start a run that takes some seconds, or with a delay until that is ended; its id."""
    server.create(title_task(site.url("/"), name=name, concurrency=concurrency))
    tuning = {"delay_s": delay_s}
    return str(server.ask("POST", f"/api/tasks/{name}/start", {"tuning": tuning}).expect(202).json["run_id"])


def pill(page: Page, text: str) -> Locator:
    """The state of the connection."""
    return page.get_by_role("banner").get_by_role("status").get_by_text(re.compile(f"^{text}"))


def number(text: str) -> int:
    """The number of a text with separators."""
    return int(re.sub(r"\D", "", text))


def counters(page: Page) -> dict[str, str]:
    """The counters of a run as the page shows them."""
    rows: list[list[str]] = page.locator("main dl.counters > div").evaluate_all(
        "rows => rows.map(row => [row.querySelector('dt').textContent, row.querySelector('dd').textContent])"
    )
    return {name: value.strip() for name, value in rows}


def shows(page: Page, status: dict[str, Any]) -> bool:
    """Return True if counters and tabs are those of a status."""
    shown = counters(page)
    tabs = [number(tab) for tab in page.get_by_role("tab").locator(".count").all_inner_texts()]
    wanted = [status["fail_count"] + status["rejected"], status["total"], status["items"]]
    return tabs == wanted and all(number(shown[name]) == status[key] for name, key in COUNTERS.items())


def check_end(server: Server, page: Page, run_id: str) -> None:
    """All figures of an ended run are those of the API, and those are the rows that there are."""
    status = server.until_state(run_id, "completed")
    until(lambda: shows(page, status), f"{counters(page)} to be {status}")
    assert page.evaluate("window.fallen") == []
    assert page.evaluate("window.changes") > CUTS
    assert page.evaluate("window.stayed"), "the page was loaded again"
    assert (status["success_count"], status["fail_count"], status["missing_count"]) == (PAGES + 1, 5, 7)
    assert len(server.rows(run_id)) == status["items"] == PAGES + 1
    page.get_by_role("tab", name="Receipt").click()
    receipt = server.ask("GET", f"/api/runs/{run_id}/receipt").expect(200).json
    told = f"{receipt['requests']} requests, {receipt['violations']} sent too early"
    expect(page.get_by_text(told)).to_be_visible()
    row = page.get_by_role("tabpanel").locator("tbody tr").first
    expect(row.locator("td").nth(1)).to_have_text(str(receipt["hosts"][0]["requests"]))


def test_figures_never_go_back_although_the_socket_is_cut(server: Server, site: Site, visit: Visit) -> None:
    visitor = visit()
    overview = visitor.sign_in()
    overview.evaluate(WATCH_COUNTERS)
    sockets: list[WebSocketRoute] = []
    told: list[WebSocketRoute] = []

    def connect(socket: WebSocketRoute) -> None:
        def tell(message: str | bytes) -> None:
            socket.send(message)
            told.append(socket)

        socket.connect_to_server().on_message(tell)
        sockets.append(socket)

    page = visitor.context.new_page()
    page.route_web_socket(re.compile("/api/live"), connect)
    run_id = begun(server, site, "cut", concurrency=1, delay_s=0.4)
    page.goto(f"{server.url}/runs/{run_id}")
    expect(page.locator("dl.counters")).to_be_visible()
    page.evaluate(WATCH_COUNTERS)
    expect(overview.get_by_role("link", name=f"cut #{run_id}")).to_be_visible()
    for _ in range(CUTS):
        until(lambda: bool(page.evaluate("1")) and sockets[-1:] == told[-1:] != [], "the next socket")
        sockets.pop().close(code=1012)
        told.clear()
    expect(pill(page, "live")).to_be_visible()
    server.ask("PATCH", f"/api/runs/{run_id}", {"delay_s": 0}).expect(200)
    # Messages pass through this process: it must not sleep while they come.
    until(lambda: bool(page.evaluate("1")) and server.status(run_id)["state"] == "completed", "its end")
    check_end(server, page, run_id)
    check_overview(server, overview, run_id)


def check_overview(server: Server, page: Page, run_id: str) -> None:
    """The figures of the overview are those of the API."""
    told = server.ask("GET", "/api/overview").expect(200).json
    task = next(task for task in told["tasks"] if task["name"] == "cut")
    rows = page.get_by_role("region", name="Tasks").locator("tbody tr").filter(has_text="cut")
    expect(rows.locator("td").nth(2)).to_have_text(str(task["recent"][-1]["items"]))
    expect(page.get_by_text("No run is active.")).to_be_visible()
    workers = sum(node["workers"] for node in told["nodes"])
    headline = f"0 running · {len(told['attention'])} need you · {workers} workers"
    expect(page.get_by_text(headline)).to_be_visible()
    entry = page.get_by_role("listitem").filter(has_text=f"cut, run {run_id}")
    expect(entry.get_by_text("5 requests failed")).to_be_visible()
    for node in told["nodes"]:
        expect(page.get_by_text(f"{node['used']} of {node['slots']} slots in use")).to_be_visible()
    assert page.evaluate("window.fallen") == []


def test_a_killed_server_is_told_and_its_return_needs_no_reload(
    server: Server, site: Site, visit: Visit
) -> None:
    """Nothing on the page moves while nobody answers."""
    run_id = begun(server, site, "killed")
    page = visit().sign_in(f"/runs/{run_id}")
    until(lambda: number(counters(page).get("done", "0")) > 3, "the first pages")
    page.evaluate(WATCH_COUNTERS)
    server.kill(with_children=True)
    expect(pill(page, "reconnecting")).to_be_visible()
    header, shown = page.locator("main header").inner_text(), counters(page)
    expect(pill(page, "stale since")).to_be_visible()
    assert (page.locator("main header").inner_text(), counters(page)) == (header, shown)
    server.start()
    expect(pill(page, "live")).to_be_visible()
    check_end(server, page, run_id)
    expect(page.get_by_role("main").get_by_role("alert")).to_have_count(0)
