"""Rows of runs in the console: true, filtered, compared, saved as files, harmless, and few in the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.acceptance.conftest import Figures
from tests.acceptance.console.conftest import Visit
from tests.acceptance.console.visitor import grave_findings
from tests.acceptance.server import Server
from tests.acceptance.workshop import Site, until, written_site

from smartspider_testing.waiting import WAIT_S

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("console results")]
SCRIPT = "<script>window.ran=1</script>"
IMAGE = "<img src=https://elsewhere.invalid/x onerror=window.ran=1>"
HOSTILE = f"{SCRIPT}{IMAGE}\u202egnp.exe\u2066{'W' * 2000}"
TEAS = [(f"tea {number}", "" if number % 4 == 3 else f"€{number},50") for number in range(40)]
LATER = [*TEAS[2:5], ("tea 5", "€99"), *TEAS[6:], ("new tea", "€1")]
PAGES, OF_PAGE = 20, 5000
MANY = PAGES * OF_PAGE
SLOW = 12
MOST_NODES = 2000
WIDER = """[...document.querySelectorAll("html, main, .overlay-box")]
  .filter((element) => element.scrollWidth > element.clientWidth)
  .map((element) => `${element.tagName} is ${element.scrollWidth} wide`)"""
RAW_KEY = re.compile(r"\b(results|state|action|role|codes|copy|runState)\.[a-zA-Z]\w*")


def shelf(rows: list[tuple[str, str]], more: str = "") -> dict[str, Any]:
    """A page with a list of names and prices."""
    items = "".join(f"<li><b>{name.replace('<', '&lt;')}</b><i>{price}</i></li>" for name, price in rows)
    head = {"Content-Type": "text/html; charset=utf-8"}
    return {"body": f"<!DOCTYPE html><title>tea</title><ul>{items}</ul>{more}", "headers": head}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A shop that changes between two runs, hostile rows, and pages of thousands of rows."""
    links = "".join(f'<a class="child" href="/many/{number}">x</a>' for number in range(PAGES))
    slow = "".join(f'<a class="child" href="/slow/{number}">x</a>' for number in range(SLOW))
    many = [(f"row {number}", str(number)) for number in range(OF_PAGE)]
    hostile = f"/hostile?q={quote(IMAGE)}"
    routes = {
        "/tea": [shelf(TEAS), shelf(LATER)],
        "/many": [shelf([], links)],
        "/slow": [shelf([], slow)],
        "/": [shelf([], f'<a class="child" href="{hostile}">x</a>')],
    }
    prefixes = {
        "/many/": shelf(many),
        "/slow/": shelf([("tea", "€1")]),
        "/hostile": shelf([(HOSTILE, "€3"), (HOSTILE + "2", "")]),
    }
    with written_site(Path(tmp_path_factory.mktemp("site")), routes=routes, prefixes=prefixes) as started:
        yield started


def begun(server: Server, url: str, name: str, **more: Any) -> str:
    """Create a task and start it; the id of the run."""
    price = {"expr": "i::text", "steps": ["number"]}
    fields = {"name": "b::text", "price": price, **more.pop("fields", {})}
    polite = {"robots": "ignore", "delay_s": more.pop("delay_s", 0), "adaptive": False}
    rules = {"items": "li", "fields": fields}
    task = {"name": name, "entry_urls": [url], "selectors": rules, "politeness": polite, "cleaning_log": True}
    server.create(task | more)
    return server.begin(name)


def crawled(server: Server, url: str, name: str, **more: Any) -> str:
    """Create a task and run it; the id of the run."""
    run_id = begun(server, url, name, **more)
    server.until_state(run_id, "completed")
    return run_id


@pytest.fixture(scope="module")
def tea(server: Server, site: Site) -> list[str]:
    """Two runs of a task, between which rows came, changed and went."""
    first = crawled(server, site.url("/tea"), "tea", dedup={"items": ["name"]})
    second = server.begin("tea")
    server.until_state(second, "completed")
    return [first, second]


def grid_of(page: Page) -> Locator:
    """The table when it shows rows."""
    expect(page.locator("main [aria-busy=true], main .skeleton")).to_have_count(0)
    return page.get_by_role("grid")


def listed(server: Server, asked: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        server.ask("GET", f"/api/results?limit=1000&{asked}").expect(200).json["items"]
    )
    return rows


def names(grid: Locator, column: int = 1) -> list[str]:
    """The texts of a column of the rows that are in the page."""
    return grid.locator(f".line > :nth-child({column})").all_inner_texts()


def test_rows_are_those_of_the_api_filtered_sorted_and_explained(
    server: Server, tea: list[str], visit: Visit
) -> None:
    """From the task's last run on: newest rows, coverage, filters, order, a row with its steps and page."""
    page = visit().sign_in("/tasks")
    page.get_by_role("row").filter(has_text="tea").get_by_role("link", name=str(len(LATER))).click()
    grid = grid_of(page)
    rows = listed(server, f"run_id={tea[1]}")
    expect(page.get_by_text(f"{len(rows)} rows", exact=True)).to_be_visible()
    assert int(grid.get_attribute("aria-rowcount") or 0) == len(rows) + 1 == len(LATER) + 1
    shown = names(grid)
    assert shown == [row["data"]["name"] for row in rows][: len(shown)]
    told = server.ask("GET", f"/api/results/coverage?run_id={tea[1]}").expect(200).json["fields"]
    bars = page.get_by_role("group", name="Rows with a value").get_by_role("button")
    for bar, field in zip(bars.all(), told, strict=True):
        share = f"{field['share'] * 100:.1f}".removesuffix(".0")
        assert bar.inner_text().split() == [field["field"], f"{share}%"]
    bars.filter(has_text="price").click()
    without = listed(server, f"run_id={tea[1]}&where=price%3D")
    expect(page.get_by_text(f"{len(without)} of {len(rows)} rows", exact=True)).to_be_visible()
    assert 0 < len(without) == len(rows) - told[1]["filled"]
    expect(grid.locator(".line")).to_have_count(len(without))
    page.get_by_role("button", name="Remove the filter price has no value").click()
    page.keyboard.press("/")
    form = page.get_by_role("dialog", name="Filter")
    form.get_by_label("Field").fill("price")
    form.get_by_label("Comparison").select_option("is more than")
    form.get_by_label("Value").fill("30.5")
    form.get_by_label("Value").press("Enter")
    above = listed(server, f"run_id={tea[1]}&where=price%3E30.5&sort=-price")
    expect(grid.locator(".line")).to_have_count(len(above))
    head = grid.get_by_role("columnheader", name="price")
    head.get_by_role("button").click()
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(grid.locator(".line").first).to_contain_text("tea 5")
    assert names(grid) == [row["data"]["name"] for row in above]
    assert (
        grid.locator(".line > :nth-child(2)").first.evaluate("e => getComputedStyle(e).textAlign") == "right"
    )
    page.reload()
    expect(grid_of(page).locator(".line")).to_have_count(len(above))
    expect(page.get_by_role("button", name="Remove the filter price>30.5")).to_be_visible()
    grid.locator(".line").first.focus()
    page.keyboard.press("Enter")
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_text("€99 → 99")).to_be_visible()
    page.keyboard.press("j")
    expect(drawer.get_by_text(f"{above[1]['data']['name']}", exact=True)).to_be_visible()
    assert page.url.endswith(f"row={above[1]['id']}")
    drawer.get_by_role("link", name=re.compile("The page in run")).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"tea #{tea[1]}")
    expect(page.get_by_role("dialog").get_by_text("Why", exact=True)).to_be_visible()


def test_two_runs_are_compared(server: Server, tea: list[str], visit: Visit) -> None:
    before, after = tea
    page = visit().sign_in("/results?task=tea")
    grid_of(page)
    page.get_by_label("Compare with").select_option(before)
    told = server.ask("GET", f"/api/results/diff?run_id={after}&with={before}").expect(200).json
    assert told["counts"] == {"new": 1, "changed": 1, "gone": 2, "unchanged": 37, "unseen": 0}
    for kind in ("new", "changed", "gone"):
        expect(page.get_by_role("button", name=f"{kind} {told['counts'][kind]}")).to_be_visible()
    grid = grid_of(page)
    expect(grid.locator(".line")).to_have_count(len(told["changes"]))
    page.get_by_role("button", name="changed 1").click()
    expect(grid.locator(".line")).to_have_count(1)
    expect(grid.locator(".line")).to_contain_text("price: 5.5 → 99")
    page.reload()
    grid_of(page).locator(".line").click()
    expect(page.get_by_role("dialog").get_by_text("5.5 → 99").first).to_be_visible()
    page.keyboard.press("Escape")
    page.goto(f"{server.url}/results?run={before}&with=999999")
    expect(page.get_by_role("alert")).to_contain_text("there is no run 999999")


def test_the_rows_that_are_shown_are_saved_as_a_file(server: Server, tea: list[str], visit: Visit) -> None:
    """By a viewer, and the file is the API's, byte for byte."""
    sent = {"name": "reader", "role": "viewer"}
    token = server.ask("POST", "/api/tokens", sent).expect(201).json["token"]
    page = visit(accept_downloads=True).sign_in(f"/results?run={tea[1]}&where=price%3E30.5", token=token)
    grid_of(page)
    page.get_by_role("button", name="Export").click()
    form = page.get_by_role("dialog", name="Export")
    for format_ in ("csv", "jsonl"):
        form.get_by_label("Format").select_option(format_)
        with page.expect_download() as saving:
            form.get_by_role("button", name="Save the file").click()
        path = f"/api/results/export?run_id={tea[1]}&format={format_}&where=price%3E30.5"
        wanted = server.ask("POST", path).expect(200).body
        assert saving.value.suggested_filename == f"tea-run-{tea[1]}.{format_}"
        assert Path(saving.value.path()).read_bytes() == wanted
    assert len(wanted.splitlines()) == len(listed(server, f"run_id={tea[1]}&where=price%3E30.5"))


@pytest.mark.parametrize("look", [("light", "en", 375), ("dark", "zh-CN", 1280)])
def test_hostile_rows_do_nothing_and_all_can_use_the_screen(
    server: Server, site: Site, tea: list[str], visit: Visit, look: tuple[str, str, int]
) -> None:
    """Nothing runs, axe finds nothing grave, no text is missing, nothing scrolls sideways, wrong addresses
    are told.
    """
    theme, locale, width = look
    name = f"hostile-{theme}"
    run_id = crawled(server, site.url("/"), name, follow=[{"selector": "a.child"}], fields={IMAGE: "b::text"})
    row = listed(server, f"run_id={run_id}")[0]
    assert row["data"][IMAGE].startswith(SCRIPT)
    missing = quote(f'"{IMAGE}"=', safe="")
    paths = {
        f"/results?run={run_id}": ".line",
        f"/results?run={run_id}&row={row['id']}": "[role=dialog] pre, [role=dialog] dd",
        f"/results?run={run_id}&where={missing}": ".empty",
        f"/results?run={tea[1]}&with={tea[0]}": ".line",
        f"/results?run={run_id}&where=nothing%3D1": "[role=alert]",
        "/results?run=999999": "[role=alert]",
        f"/results?task={quote(SCRIPT)}": "[role=alert]",
        "filter": "form",
        "export": "form",
    }
    visitor = visit(color_scheme=theme, viewport={"width": width, "height": 800})
    page = visitor.sign_in()
    page.evaluate(f"localStorage.setItem('smartspider.locale', '{locale}')")
    found: dict[str, list[object]] = {}
    for path, shown in paths.items():
        if path.startswith("/"):
            page.goto(server.url + path)
        else:
            page.goto(f"{server.url}/results?run={tea[1]}")
            icon = {"filter": "/", "export": None}[path]
            grid_of(page).locator(".line").first.wait_for()
            if icon:
                page.keyboard.press(icon)
            else:
                page.locator("main .pickers button").last.click()
        expect(page.locator(shown).first).to_be_visible()
        expect(page.locator("main [aria-busy=true], main .skeleton")).to_have_count(0)
        assert page.locator("html").get_attribute("lang") == locale
        ran = page.evaluate("window.ran ? ['a script ran'] : []")
        raw = RAW_KEY.findall(page.locator("body").inner_text())
        found[path] = [*ran, *grave_findings(page), *raw, *page.evaluate(WIDER)]
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_a_hundred_thousand_rows_are_a_small_document(
    server: Server, site: Site, visit: Visit, figures: Figures
) -> None:
    run_id = crawled(server, site.url("/many"), "many", follow=[{"selector": "a.child"}])
    page = visit(viewport={"width": 1600, "height": 1200}).sign_in(f"/results?run={run_id}")
    grid = grid_of(page)
    expect(page.get_by_text(f"{MANY:,} rows", exact=True)).to_be_visible()
    expect(grid).to_have_attribute("aria-rowcount", str(MANY + 1))
    most = 0
    for wanted in (200, 400, 600):

        def is_reached(wanted: int = wanted) -> bool:
            last = grid.locator(".line").last
            last.press("End")
            return int(last.get_attribute("aria-rowindex") or 0) > wanted

        until(is_reached, f"row {wanted}")
        most = max(most, page.evaluate("document.querySelectorAll('*').length"))
    grid.get_by_role("columnheader", name="price").get_by_role("button").click()
    expect(grid.locator(".line").first).to_contain_text("row 0")
    page.goto(f"{server.url}/results?run={run_id}&where=price%3D4999")
    expect(page.get_by_text(f"{PAGES} of {MANY:,} rows", exact=True)).to_be_visible()
    expect(grid_of(page).locator(".line")).to_have_count(PAGES)
    figures(f"{most} DOM nodes with {MANY:,} rows")
    assert 0 < most < MOST_NODES


def test_rows_that_come_meanwhile_wait_until_they_are_asked_for(
    server: Server, site: Site, visit: Visit
) -> None:
    """Nothing moves under the pointer: the total grows, the table when it is told to."""
    run_id = begun(server, site.url("/slow"), "slow", follow=[{"selector": "a.child"}], delay_s=WAIT_S * 10)
    until(lambda: bool(server.status(run_id)["total"] == SLOW + 1), "the links of the first page")
    page = visit().sign_in(f"/results?run={run_id}")
    grid = grid_of(page)
    expect(page.get_by_text("The run has no rows yet.")).to_be_visible()
    server.ask("PATCH", f"/api/runs/{run_id}", {"delay_s": 0}).expect(200)
    server.until_state(run_id, "completed")
    expect(page.get_by_text(f"{SLOW} rows", exact=True)).to_be_visible()
    expect(grid.locator(".line")).to_have_count(0)
    page.get_by_role("button", name=f"Show {SLOW} new rows").click()
    expect(grid.locator(".line")).to_have_count(SLOW)
    expect(page.get_by_role("button", name=re.compile("new rows"))).to_have_count(0)
    rows = listed(server, f"run_id={run_id}")
    assert names(grid, 2) == [str(row["data"]["price"]) for row in rows]
