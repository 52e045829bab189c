"""Tasks in the console: from an address to rows, the editor, two people at one task, and the versions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from tests.acceptance.console.conftest import Visit
from tests.acceptance.console.visitor import grave_findings
from tests.acceptance.server import Server

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("console tasks")]
MOST_CLICKS = 4
COUNT_CLICKS = """
window.clicks = 0;
addEventListener("click", (event) => event.isTrusted && window.clicks++, true);
"""
SCREENS = ("/tasks", "/tasks/new", "/tasks/new?as=json")


def tea(server: Server, name: str, **keys: Any) -> dict[str, Any]:
    """Return a task file for the teas of the shop."""
    return {
        "name": name,
        "entry_urls": [f"{server.greeting['shop']}category/tea"],
        "selectors": {"items": "li.card", "fields": {"title": "a.title"}},
        **keys,
    }


@pytest.fixture(scope="module")
def changed(server: Server) -> str:
    """The id of a task with two versions."""
    task_id = server.create(tea(server, "changed", concurrency=2))
    server.ask("PUT", f"/api/tasks/{task_id}?note=more", tea(server, "changed", concurrency=3)).expect(200)
    return task_id


def write(page: Page, text: str) -> None:
    """Replace the text of the editor."""
    page.get_by_role("textbox", name="Task file, JSON").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_an_address_becomes_rows_in_four_clicks(server: Server, visit: Visit) -> None:
    """From the empty list to a saved task that runs."""
    page = visit().sign_in("/tasks")
    page.get_by_role("navigation").get_by_role("link", name="Tasks").click()
    expect(page.get_by_text("There is no task yet.")).to_be_visible()
    page.evaluate(COUNT_CLICKS)
    page.get_by_role("button", name="New task").first.click()
    expect(page.get_by_label("Address of the page")).to_be_focused()
    page.keyboard.insert_text(f"{server.greeting['shop']}category/tea")
    page.get_by_role("button", name="Find rows").click()
    expect(page.get_by_role("cell", name="Morning Oolong", exact=True)).to_be_visible()
    page.get_by_role("button", name="Save and start").click()
    expect(page).to_have_url(re.compile(r"/runs/\w+"))
    assert page.evaluate("window.clicks") <= MOST_CLICKS
    run_id = page.url.split("/runs/")[1].partition("?")[0]
    status = server.until_state(run_id, "completed")
    assert status["items"] >= 12
    page.get_by_role("navigation").get_by_role("link", name="Tasks").click()
    expect(page.get_by_role("grid").get_by_role("slider")).to_be_visible()


def test_a_private_address_is_refused_with_a_hint(visit: Visit) -> None:
    page = visit().sign_in("/tasks/new")
    page.get_by_label("Address of the page").fill("no address")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Write a full address")).to_be_visible()
    page.get_by_label("Address of the page").fill("http://10.0.0.1/")
    page.keyboard.press("Enter")
    refusal = page.get_by_role("alert")
    expect(refusal).to_contain_text("10.0.0.1 is a private address")
    expect(refusal).to_contain_text("set SMARTSPIDER_ALLOW_PRIVATE")


def test_a_page_without_rows_offers_the_editor(server: Server, visit: Visit) -> None:
    """The address is in the text then."""
    page = visit().sign_in("/tasks/new")
    address = f"{server.greeting['shop']}robots.txt"
    page.get_by_label("Address of the page").fill(address)
    page.keyboard.press("Enter")
    expect(page.get_by_text("No rows were found on this page.")).to_be_visible()
    page.get_by_role("main").get_by_role("button", name="Edit as JSON").last.click()
    expect(page.get_by_role("textbox", name="Task file, JSON")).to_contain_text(address)


def test_a_slow_page_is_said_and_can_be_stopped(visit: Visit) -> None:
    page = visit().sign_in("/tasks/new")
    page.route("**/api/suggest", lambda _: None)
    page.get_by_label("Address of the page").fill("http://slow.test/")
    page.clock.install()
    page.keyboard.press("Enter")
    expect(page.get_by_text("The page is fetched and read.")).to_be_visible()
    page.clock.fast_forward(5_000)
    expect(page.get_by_text("This takes longer than usual")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("This takes longer than usual")).to_be_hidden()
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_pasted_task_is_imported(visit: Visit) -> None:
    """What is not saved of it is offered at the next new task."""
    page = visit().sign_in("/tasks/new?as=json")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Import").click()
    dialog = page.get_by_role("dialog", name="Import a task")
    dialog.get_by_label("Or paste JSON").fill('{\n"name": pasted}')
    expect(dialog.get_by_text("This is not JSON: see line 2.")).to_be_visible()
    dialog.get_by_label("Or paste JSON").fill('{"name": "pasted"}')
    dialog.get_by_role("button", name="Put into the editor").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("pasted")
    page.get_by_role("navigation").get_by_role("link", name="Tasks").click()
    page.get_by_role("button", name="New task").first.click()
    page.get_by_role("button", name="Continue with it").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("pasted")


def test_mistakes_are_shown_at_their_lines(visit: Visit) -> None:
    """Those of the text, and those that the server finds."""
    page = visit().sign_in("/tasks/new?as=json")
    write(page, '{\n  "name": "wrong",\n  "entry_urls": ["http://a.test/"],\n  "concurrency": "many"\n}')
    problems = page.get_by_role("region", name="Problems")
    expect(problems.get_by_role("button", name="line 4")).to_be_visible()
    expect(problems.get_by_text("concurrency", exact=True)).to_be_visible()
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    write(page, '{\n  "name": "wrong",\n  "entry_urls" []\n}')
    expect(problems.get_by_role("button", name="line 3")).to_be_visible()
    expect(page.get_by_text("The settings can be edited here when the text is JSON again.")).to_be_visible()
    problems.get_by_role("button", name="line 3").click()
    expect(page.get_by_role("textbox", name="Task file, JSON")).to_be_focused()


def test_keys_are_completed_from_the_schema(visit: Visit) -> None:
    page = visit().sign_in("/tasks/new?as=json")
    write(page, '{"politeness": {}}')
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    page.keyboard.type('"del')
    expect(page.get_by_role("option", name='"delay_s"')).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("option")).to_be_hidden()


def test_two_people_at_one_task_see_both_texts(server: Server, visit: Visit) -> None:
    """The second to save chooses."""
    task_id = server.create(tea(server, "shared"))
    page = visit().sign_in(f"/tasks/{task_id}")
    page.get_by_label("Concurrency").fill("5")
    page.keyboard.press("Tab")
    expect(page.get_by_role("textbox", name="Task file, JSON")).to_contain_text('"concurrency": 5')
    server.ask("PUT", f"/api/tasks/{task_id}", tea(server, "shared", priority=7)).expect(200)
    page.get_by_label("Note on this version").fill("five at a time")
    page.get_by_role("button", name="Save", exact=True).click()
    dialog = page.get_by_role("dialog", name="This task was changed meanwhile")
    expect(dialog.locator(".removed", has_text='"priority": 7')).to_be_visible()
    expect(dialog.locator(".added", has_text='"concurrency": 5')).to_be_visible()
    assert grave_findings(page) == []
    dialog.get_by_role("button", name="Save mine as the next version").click()
    expect(dialog).to_be_hidden()
    saved = server.ask("GET", f"/api/tasks/{task_id}").expect(200).json
    assert (saved["version"], saved["note"]) == (3, "five at a time")
    assert saved["spec"]["concurrency"] == 5
    assert "priority" not in saved["spec"]


def test_a_text_that_was_not_saved_survives_a_reload(server: Server, visit: Visit) -> None:
    task_id = server.create(tea(server, "draft"))
    page = visit().sign_in(f"/tasks/{task_id}")
    page.get_by_label("Most pages").fill("9")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Not saved")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Most pages")).to_have_value("")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_label("Most pages")).to_have_value("9")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Not saved")).to_be_hidden()
    page.reload()
    expect(page.get_by_label("Most pages")).to_have_value("9")
    expect(page.get_by_role("button", name="Restore")).to_be_hidden()


REFUSALS = {
    429: ("too_many", "Too many requests"),
    503: ("store_unavailable", "The store is not available"),
    507: ("store_full", "The store is full"),
}
"""Answers of a server in trouble, and the words for them."""


def refuse(page: Page, method: str, status: int) -> None:
    """Answer calls of the list and of one task as a server in trouble does."""
    problem = {"status": status, "code": REFUSALS[status][0], "detail": "what happened", "hint": "what helps"}

    def answer(route: Route) -> None:
        if route.request.method == method:
            route.fulfill(status=status, json=problem, content_type="application/problem+json")
        else:
            route.continue_()

    page.route(re.compile(r"/api/tasks(/[^/?]+)?(\?(?!.*dry_run).*)?$"), answer)


@pytest.mark.parametrize("status", REFUSALS)
def test_a_server_in_trouble_is_told_in_words_and_nothing_is_lost(
    server: Server, visit: Visit, status: int
) -> None:
    """A list that cannot be read can be asked for again, and a task that cannot be saved stays as written."""
    task_id = server.create(tea(server, f"trouble_{status}"))
    page = visit().sign_in(f"/tasks/{task_id}")
    page.get_by_label("Concurrency").fill("5")
    page.keyboard.press("Tab")
    refuse(page, "PUT", status)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text(REFUSALS[status][1])
    expect(page.get_by_role("alert")).to_contain_text("what helps")
    expect(page.get_by_label("Concurrency")).to_have_value("5")
    page.unroute_all()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Not saved")).to_be_hidden()
    assert server.ask("GET", f"/api/tasks/{task_id}").expect(200).json["spec"]["concurrency"] == 5
    refuse(page, "GET", status)
    page.goto(f"{server.url}/tasks")
    expect(page.get_by_role("alert")).to_contain_text(REFUSALS[status][1])
    assert grave_findings(page) == []
    page.unroute_all()
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("link", name=f"trouble_{status}")).to_be_visible()


def test_what_is_not_there_is_said(server: Server, visit: Visit) -> None:
    page = visit().sign_in()
    for path in ("/no/such/page", "/tasks/999999", "/runs/999999", "/results?run=999999"):
        page.goto(server.url + path)
        expect(page.get_by_text(re.compile("not found|there is no", re.IGNORECASE)).first).to_be_visible()


def test_a_preview_shows_rows_and_a_copy_is_another_task(server: Server, visit: Visit) -> None:
    task_id = server.create(tea(server, "copied"))
    page = visit().sign_in(f"/tasks/{task_id}")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("cell", name="Morning Oolong", exact=True)).to_be_visible()
    page.get_by_role("button", name="More actions").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export JSON").click()
    assert download.value.suggested_filename == "copied.json"
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Duplicate").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("copied-copy")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="copied-copy", level=1)).to_be_visible()


def test_an_old_version_is_compared_and_restored(server: Server, visit: Visit) -> None:
    task_id = server.create(tea(server, "turned", concurrency=2))
    server.ask("PUT", f"/api/tasks/{task_id}", tea(server, "turned", concurrency=3)).expect(200)
    page = visit().sign_in(f"/tasks/{task_id}?tab=versions")
    diff = page.get_by_role("region", name="From version 1 to version 2")
    expect(diff.locator(".added")).to_contain_text('"concurrency": 3')
    page.get_by_label("From", exact=True).fill("2")
    page.keyboard.press("Tab")
    expect(page.get_by_text("The texts are equal.")).to_be_visible()
    page.get_by_role("button", name="Restore version 1").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Restore").click()
    expect(page.get_by_role("cell", name="version 1 restored")).to_be_visible()
    assert server.ask("GET", f"/api/tasks/{task_id}").expect(200).json["spec"]["concurrency"] == 2


def test_a_task_is_deleted_after_its_name_is_typed(server: Server, visit: Visit) -> None:
    for name in ("doomed", "another"):
        server.create(tea(server, name))
    page = visit().sign_in("/tasks?q=OOM&owner=admin&sort=-name")
    page.get_by_role("button", name="Delete doomed").click()
    dialog = page.get_by_role("alertdialog")
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    dialog.get_by_role("textbox").fill("doomed")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No task matches.")).to_be_visible()


def test_a_viewer_sees_all_and_changes_nothing(server: Server, visit: Visit, changed: str) -> None:
    made = server.ask("POST", "/api/tokens", {"name": "looks", "role": "viewer"}).expect(201).json
    visitor = visit()
    visitor.context.request.post(f"{server.url}/api/auth/session", data={"token": made["token"]})
    page = visitor.open(f"/tasks/{changed}")
    expect(page.get_by_text("Secrets are masked")).to_be_visible()
    for name in ("Start", "Preview", "Delete"):
        button = page.get_by_role("main").get_by_role("button", name=name).first
        expect(button).to_have_attribute("aria-disabled", "true")
        expect(button).to_have_attribute("title", "This needs the role operator or admin; yours is viewer.")
    write(page, "{}")
    expect(page.get_by_role("textbox", name="Task file, JSON")).to_contain_text('"concurrency": 3')
    page.get_by_role("tab", name="Versions").click()
    expect(page.get_by_role("button", name="Restore version 1")).to_be_disabled()


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_grave(server: Server, visit: Visit, changed: str, theme: str, locale: str) -> None:
    """On the list, both ways to a new task, the editor with problems, the versions and the dialogs."""
    visitor = visit(color_scheme=theme, locale=locale)
    visitor.context.request.post(f"{server.url}/api/auth/session", data={"token": server.token})
    page = visitor.open("/tasks")
    for path in (*SCREENS, f"/tasks/{changed}", f"/tasks/{changed}?tab=versions"):
        page.goto(server.url + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if "as=json" in path or path.endswith(changed):
            expect(page.locator(".cm-content")).to_be_visible()
        if "versions" in path:
            expect(page.locator(".added")).to_be_visible()
        assert grave_findings(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.goto(f"{server.url}/tasks/new?url={server.greeting['shop']}category/tea")
    page.locator("main form button[type=submit]").click()
    expect(page.locator("input[type=radio]").first).to_be_visible()
    assert grave_findings(page) == []
    page.goto(f"{server.url}/tasks/new?as=json")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text('{"nothing": 1}')
    expect(page.locator(".cm-lint-marker-error")).to_be_visible()
    assert grave_findings(page) == []
    page.goto(f"{server.url}/tasks")
    page.get_by_role("gridcell").get_by_role("button").last.click()
    expect(page.get_by_role("alertdialog")).to_be_visible()
    assert grave_findings(page) == []
