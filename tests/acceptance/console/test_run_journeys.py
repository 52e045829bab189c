"""A run from its problem to its end: the cause found, the host slowed, the run tuned, paused and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.acceptance.console.conftest import Visit
from tests.acceptance.console.visitor import Visitor
from tests.acceptance.server import Server
from tests.acceptance.workshop import Site, html, title_task, written_site

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("console runs")]
BLOCKED = [f"/secret/{number}" for number in range(3)]
SLOW = [f"/slow/{number}" for number in range(400)]
BUSY = [f"/busy/{number}" for number in range(4)]
TOO_MANY = {"status": 429, "headers": {"Retry-After": "0"}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site with pages that are refused, one that refuses while it is asked too fast, and a slow one."""
    routes = {
        "/": [html("/", [*BLOCKED, "/good"])],
        "/good": [html("good")],
        "/slow": [html("slow", SLOW)],
        "/busy": [html("busy", BUSY)],
    }
    refused = {path: [{"status": 403}] for path in BLOCKED}
    busy = {path: [TOO_MANY, html(path)] for path in BUSY}
    slow = {"/slow/": html("slow") | {"delay_s": 0.05}}
    with written_site(
        Path(tmp_path_factory.mktemp("site")), routes=routes | refused | busy, prefixes=slow
    ) as started:
        yield started


@pytest.fixture(scope="module")
def failed(server: Server, site: Site) -> str:
    """A run of which three pages failed; its id."""
    server.create(title_task(site.url("/"), name="prices", retry={"max_attempts": 1}))
    run_id = server.begin("prices")
    assert server.until_state(run_id, "completed")["fail_count"] == len(BLOCKED)
    return run_id


@pytest.fixture(scope="module")
def slow(server: Server, site: Site) -> str:
    """A run that takes long; its id."""
    server.create(title_task(site.url("/slow"), name="slow-pages", concurrency=1))
    return server.begin("slow-pages")


def counted_clicks(page: Page) -> None:
    """Count the clicks of this page, over moves between its screens."""
    page.evaluate("window.clicks = 0; addEventListener('click', () => window.clicks++, true)")


def shows_evidence(page: Page) -> None:
    """The drawer of a failed page tells its cause, its attempts and its log lines."""
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("heading", name="Why", exact=True)).to_be_visible()
    expect(drawer.get_by_text("forbidden").first).to_be_visible()
    expect(drawer.get_by_role("heading", name="Failed attempts")).to_be_visible()
    expect(drawer.get_by_text("403").first).to_be_visible()
    expect(drawer.get_by_text("page.buried").first).to_be_visible()


def test_the_cause_of_a_failed_page_is_two_clicks_from_the_overview(failed: str, visit: Visit) -> None:
    page = visit().sign_in()
    counted_clicks(page)
    entry = page.get_by_role("listitem").filter(has_text=f"prices, run {failed}")
    entry.get_by_role("button", name="See problems").click()
    group = page.get_by_role("listitem").filter(has_text="forbidden")
    expect(group.get_by_text("3", exact=True)).to_be_visible()
    group.get_by_role("link").first.click()
    shows_evidence(page)
    assert page.evaluate("window.clicks") == 2


def reach(page: Page, name: str) -> None:
    """Press Tab until a control of this name has the focus."""
    names = []
    for _ in range(80):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.closest('a, button')?.textContent ?? ''"))
        if name in names[-1]:
            return
    raise AssertionError(f"Tab never reached {name}: {names}")


def test_the_cause_of_a_failed_page_is_found_by_keyboard_alone(failed: str, visit: Visit) -> None:
    page = visit().sign_in()
    expect(page.get_by_role("button", name="See problems").first).to_be_visible()
    reach(page, "See problems")
    page.keyboard.press("Enter")
    expect(page.get_by_role("listitem").filter(has_text="forbidden")).to_be_visible()
    reach(page, "/secret/")
    page.keyboard.press("Enter")
    shows_evidence(page)
    assert f"/runs/{failed}?" in page.url
    drawer = page.get_by_role("dialog")
    first = drawer.get_by_role("heading", level=2).inner_text()
    page.keyboard.press("j")
    expect(drawer.get_by_role("heading", level=2)).not_to_have_text(first)
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


def test_a_busy_host_is_slowed_and_its_failed_pages_complete(
    server: Server, site: Site, visit: Visit
) -> None:
    task = title_task(site.url("/busy"), name="busy", retry={"max_attempts": 1})
    server.create(task)
    run_id = server.begin("busy")
    assert server.until_state(run_id, "completed")["fail_count"] == len(BUSY)
    page = visit().sign_in(f"/runs/{run_id}")
    page.get_by_role("button", name="Slow host").click()
    dialog = page.get_by_role("dialog", name="Slow 127.0.0.1")
    dialog.get_by_label("Delay in seconds").fill("0.01")
    dialog.get_by_role("button", name="Apply").click()
    expect(dialog).to_be_hidden()
    hosts = server.ask("GET", "/api/hosts").expect(200).json["items"]
    assert [host["delay_s"] for host in hosts] == [0.01]
    page.get_by_role("button", name=f"Retry {len(BUSY)}").click()
    counters = page.get_by_role("main").locator("dl").first
    expect(counters.locator("div", has_text="done").locator("dd")).to_have_text(str(1 + len(BUSY)))
    expect(page.get_by_text("Nothing went wrong.")).to_be_visible()
    assert len(server.rows(run_id)) == 1 + len(BUSY)


def test_a_run_is_tuned_paused_resumed_stopped_and_deleted(server: Server, slow: str, visit: Visit) -> None:
    page = visit().sign_in(f"/runs/{slow}")
    page.get_by_role("button", name="Tune").click()
    dialog = page.get_by_role("dialog", name=f"Tune run {slow}")
    dialog.get_by_label("Concurrency").fill("2")
    expect(dialog.get_by_text("Concurrency: 1 → 2")).to_be_visible()
    dialog.get_by_label("Concurrency").press("Enter")
    expect(dialog).to_be_hidden()
    assert server.ask("GET", f"/api/runs/{slow}/metrics").expect(200).json["knobs"]["concurrency"] == 2
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert server.status(slow)["state"] == "paused"
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    chosen(page, "Stop")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    server.until_state(slow, "stopped")
    chosen(page, "Delete")
    question = page.get_by_role("alertdialog", name=f"Delete run {slow}?")
    expect(question.get_by_text("are lost")).to_be_visible()
    delete = question.get_by_role("button", name="Delete")
    expect(delete).to_be_disabled()
    question.get_by_role("textbox").fill("slow-pages")
    expect(delete).to_be_disabled()
    question.get_by_role("textbox").fill(f"slow-pages #{slow}")
    delete.click()
    expect(page).to_have_url(f"{server.url}/runs")
    server.ask("GET", f"/api/runs/{slow}").expect(404)


def chosen(page: Page, name: str) -> None:
    """Choose an entry of the menu of a run."""
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name=name, exact=True).click()


REFUSAL = "Your role (viewer) does not allow this. The roles operator and admin do."


def test_a_viewer_sees_all_and_changes_nothing(server: Server, failed: str, visit: Visit) -> None:
    made = server.ask("POST", "/api/tokens", {"name": "looking", "role": "viewer"}).expect(201).json
    visitor: Visitor = visit()
    page = visitor.sign_in("/", made["token"])
    sent: list[str] = []
    entry = page.get_by_role("listitem").filter(has_text=f"prices, run {failed}")
    again = entry.get_by_role("button", name="Retry failed")
    expect(again).to_have_accessible_name(f"Retry failed {REFUSAL}")
    page.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    again.click(force=True)
    entry.get_by_role("button", name="See problems").click()
    for name in ("Retry 3", "Retry failed", "Slow host", "Hold host"):
        control = page.get_by_role("button", name=name).first
        expect(control).to_have_accessible_name(f"{name} {REFUSAL}")
        expect(control).to_be_disabled()
        control.click(force=True)
    page.get_by_role("button", name="More actions").click()
    for entry in page.get_by_role("menuitem").all():
        expect(entry).to_be_disabled()
        expect(entry).to_have_accessible_name(f"{entry.inner_text().splitlines()[0]} {REFUSAL}")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="/secret/").first.click()
    shows_evidence(page)
    expect(page.get_by_role("dialog").get_by_role("button", name="Retry")).to_be_disabled()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    for tab in ("Items", "Logs", "Hosts and workers", "Receipt", "Settings"):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tabpanel")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert [one for one in sent if not one.startswith("GET ") and "/api/auth/" not in one] == []
