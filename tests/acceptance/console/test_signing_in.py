"""The console from the link to the sign-out, in real browsers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Playwright, expect
from tests.acceptance.console.conftest import FLAGS, Visit
from tests.acceptance.console.visitor import grave_findings, sign_in
from tests.acceptance.server import Server

from smartspider_testing.servers.programs import chromium

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("console sign-in")]
SCREENS = ("/", "/account", "/no/such/page", "/runs", "/logs", "/nodes", "/nodes?tab=hosts", "/schedules")


def shell(page: Page) -> None:
    """The shell is there."""
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_the_link_signs_in_once_and_the_session_stays(server: Server, visit: Visit) -> None:
    """Over a reload and in a second tab; signing out in one signs out the other."""
    console = server.greeting["console"]
    assert re.fullmatch(rf"{server.url}/sign-in#link=ssl_[\w-]+", console)
    visitor = visit()
    first = visitor.open(console.removeprefix(server.url))
    shell(first)
    assert first.url == f"{server.url}/"
    expect(first.get_by_role("status").get_by_text("live")).to_be_visible()
    first.reload()
    shell(first)
    second = visitor.open("/account")
    shell(second)
    expect(second.get_by_role("main").get_by_text("admin", exact=True).first).to_be_visible()
    assert first.evaluate("document.cookie") == ""
    stored = first.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, history.state])")
    assert "ssb_" not in stored
    assert "ssl_" not in stored
    first.get_by_role("button", name="Account: admin").click()
    first.get_by_role("menuitem", name="Sign out").click()
    for page in (first, second):
        expect(page.get_by_role("heading", name="Sign in to SmartSpider")).to_be_visible()
    assert visitor.context.cookies(f"{server.url}/api/auth") == []
    other = visit().open(console.removeprefix(server.url))
    expect(other.get_by_text("This link has expired or was used before.")).to_be_visible()


def test_a_session_that_ends_elsewhere_asks_over_the_page(server: Server, visit: Visit) -> None:
    """And the page is as it was after signing in again."""
    visitor = visit()
    page = visitor.sign_in("/account")
    shell(page)
    elsewhere = visitor.context.request.post(f"{server.url}/api/auth/session/renew").json()["access_token"]
    server.ask("DELETE", "/api/auth/session", Authorization=f"Bearer {elsewhere}").expect(204)
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_text("The session has ended.")).to_be_visible()
    sign_in(page, server.token)
    expect(page.get_by_text("The session has ended.")).to_be_hidden()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_another_caller_sees_nothing_of_the_one_before(server: Server, visit: Visit) -> None:
    visitor = visit()
    page = visitor.sign_in("/account")
    user = {"name": "eve", "role": "viewer", "password": "four random words here"}
    server.ask("POST", "/api/users", user).expect(201)
    page.get_by_role("button", name="Account: admin").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page.get_by_role("navigation")).to_be_hidden()
    page.get_by_label("User name").fill("eve")
    page.get_by_label("Password").last.fill("four random words here")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Account: eve")).to_be_visible()
    expect(page.get_by_role("main").get_by_text("viewer")).to_be_visible()


def test_text_is_copied_where_there_is_no_clipboard(playwright: Playwright, server: Server) -> None:
    """On a host name without TLS, which is no secure context."""
    flags = [*FLAGS, "--host-resolver-rules=MAP console.test 127.0.0.1"]
    browser = playwright.chromium.launch(executable_path=chromium(), args=flags)
    try:
        page = browser.new_page()
        page.goto(server.url.replace("127.0.0.1", "console.test"))
        sign_in(page, server.token)
        expect(page.get_by_role("navigation")).to_be_visible()
        assert not page.evaluate("isSecureContext")
        page.reload()
        expect(page.get_by_role("navigation")).to_be_visible()
        running = page.get_by_role("heading", name="Running").locator("..")
        running.get_by_role("button", name="Copy as CLI").click()
        expect(page.get_by_text("CLI copied")).to_be_visible()
        page.keyboard.press("Control+k")
        page.get_by_role("combobox").press("Control+v")
        expect(page.get_by_role("combobox")).to_have_value("smartspider run start TASK")
    finally:
        browser.close()


def test_a_wrong_token_is_said_in_words(visit: Visit) -> None:
    page = visit().open("/")
    sign_in(page, "sst_wrong")
    alert = page.get_by_role("alert")
    expect(alert.get_by_text("Not signed in")).to_be_visible()
    expect(page.get_by_label("API token").last).to_have_value("")


def test_the_shell_is_used_by_keyboard(visit: Visit) -> None:
    page = visit().sign_in()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("account")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Account")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_runs_are_rows_that_the_arrow_keys_walk(server: Server, visit: Visit) -> None:
    shop = server.greeting["shop"]
    task = {
        "name": "shop",
        "entry_urls": [f"{shop}category/tea"],
        "selectors": {"items": "li.card", "fields": {"title": "a"}},
        "politeness": {"delay_s": 0},
    }
    page = visit().sign_in("/runs")
    expect(page.get_by_text("No run has been started yet.")).to_be_visible()
    server.create(task)
    for _ in range(2):
        server.until_state(server.begin("shop"), "completed")
    rows = page.get_by_role("grid").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.get_by_text("completed")).to_have_count(2)
    rows.nth(1).focus()
    page.keyboard.press("ArrowDown")
    expect(rows.nth(2)).to_be_focused()


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_grave(visit: Visit, theme: str, locale: str) -> None:
    """On every screen and open overlay; and no text is missing."""
    visitor = visit(color_scheme=theme, locale=locale)
    page = visitor.open("/")
    expect(page.locator("form")).to_be_visible()
    assert grave_findings(page) == []
    sign_in(page, visitor.server.token)
    expect(page.get_by_role("navigation")).to_be_visible()
    for path in SCREENS:
        page.goto(visitor.server.url + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert grave_findings(page) == [], path
    for key in ("Control+k", "?"):
        page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_be_visible()
        assert grave_findings(page) == [], key
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
    page.locator("header button[aria-haspopup=menu]").last.click()
    expect(page.get_by_role("menu")).to_be_visible()
    assert grave_findings(page) == []


@pytest.mark.parametrize("width", [375, 1024, 1600])
def test_no_screen_scrolls_sideways(visit: Visit, width: int) -> None:
    visitor = visit(viewport={"width": width, "height": 800})
    page = visitor.sign_in()
    for path in SCREENS:
        page.goto(visitor.server.url + path)
        shell(page)
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(overflow) <= 0, path
