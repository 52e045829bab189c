"""The screens of runs with hostile content: nothing runs, nothing breaks, all can use them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.acceptance.conftest import Figures
from tests.acceptance.console.conftest import Visit
from tests.acceptance.console.visitor import Visitor, grave_findings
from tests.acceptance.server import Server
from tests.acceptance.workshop import Site, title_task, until, written_site

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("console screens")]
MANY = 3000
LONG_NAME = "w" * 60
MOST_NODES = 2000
MOST_BYTES = 200_000
SCRIPT = "<script>window.ran=1</script>"
IMAGE = "<img src=https://elsewhere.invalid/x onerror=window.ran=1>"
TURNED = "\u202egnp.exe\u2066"
HOSTILE = f"{SCRIPT}{IMAGE}{TURNED}{'W' * 3000}"
WRITTEN = HOSTILE.replace("<", "&lt;")
PATHS = [f"/p?q={IMAGE.replace(' ', '%20')}", f"/p?q={SCRIPT}", f"/p/{'long' * 400}", f"/p/{TURNED}"]
TABS = ("problems", "pages", "items", "logs", "hosts", "receipt", "settings")
KEYS = re.compile(
    r"\b(runs|overview|account|state|action|role|codes|causes|pill|chart|outcome|runState|runBars|nav|header"
    r"|danger|copy|palette|toast|log)\.[a-zA-Z]\w*"
)
WIDER = """[...document.querySelectorAll("html, main, .overlay-box")]
  .filter((element) => element.scrollWidth > element.clientWidth)
  .map((element) => `${element.tagName} is ${element.scrollWidth} wide`)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Pages with hostile titles, texts and addresses, some of which fail."""
    links = "".join(f"<a class=child href='{path}'>x</a>" for path in [*PATHS, "/refused"])
    many = "".join(f"<a class=child href='/many/{number}'>x</a>" for number in range(MANY))
    page = f"<title>{WRITTEN}</title><h1>{WRITTEN}</h1>"
    routes = {
        "/": [{"body": page + links, "headers": {"Content-Type": "text/html; charset=utf-8"}}],
        "/many": [{"body": page + many, "headers": {"Content-Type": "text/html; charset=utf-8"}}],
        "/refused": [{"status": 403, "body": HOSTILE}],
    }
    prefixes = {"/p": {"body": page, "headers": {"Content-Type": "text/html; charset=utf-8"}}}
    folder = Path(tmp_path_factory.mktemp("site"))
    with written_site(folder, routes=routes, prefixes=prefixes) as started:
        yield started


@pytest.fixture(scope="module")
def hostile(server: Server, site: Site) -> str:
    """A run with hostile titles, addresses, field names and rejected values; its id."""
    task = title_task(site.url("/"), name="rejected", retry={"max_attempts": 1})
    fields = task["selectors"]["fields"]
    price = {"expr": "h1::text", "steps": ["number"], "required": True}
    server.create(task | {"selectors": {"fields": fields | {"price": price}}})
    rejected = server.until_state(server.begin("rejected"), "completed")
    assert rejected["rejected"] == 1 + len(PATHS)
    server.create(task | {"name": LONG_NAME, "selectors": {"fields": fields | {IMAGE: "h1::text"}}})
    run_id = server.begin(LONG_NAME)
    assert server.until_state(run_id, "completed")["items"] == 1 + len(PATHS)
    return run_id


@pytest.fixture(scope="module")
def paused(server: Server, site: Site, hostile: str) -> str:
    """A paused run with thousands of requests, of which the host is held for a hostile reason; its id."""
    assert hostile
    server.create(title_task(site.url("/many"), name="many", politeness={"robots": "ignore", "delay_s": 5}))
    run_id = server.begin("many")
    until(lambda: bool(server.status(run_id)["total"] == MANY + 1), "the links of the first page")
    server.ask("POST", f"/api/runs/{run_id}/pause").expect(202)
    server.ask("POST", "/api/hosts/127.0.0.1/hold", {"seconds": 3600, "reason": HOSTILE[:200]}).expect(200)
    return run_id


def loaded(page: Page) -> Locator:
    """The screen when it shows its content."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("main [aria-busy=true], main .skeleton")).to_have_count(0)
    return page.locator("main")


def screens(visitor: Visitor, hostile: str, paused: str, locale: str = "en") -> Iterator[tuple[str, Page]]:
    """Walk over all screens of runs, their tabs and their overlays."""
    page = visitor.sign_in()
    page.evaluate(f"localStorage.setItem('smartspider.locale', '{locale}')")
    first = visitor.server.ask("GET", f"/api/runs/{hostile}/pages?limit=1").expect(200).json["items"][0]["id"]
    paths = ["/", "/runs", *(f"/runs/{hostile}?tab={tab}" for tab in TABS)]
    paths += [f"/runs/{int(hostile) - 1}?tab=problems", f"/runs/{hostile}?tab=pages&page={first}"]
    for path in paths:
        page.goto(visitor.server.url + path)
        loaded(page)
        yield path, page
    page.goto(f"{visitor.server.url}/runs/{paused}")
    loaded(page).locator("header button", has_text=re.compile("^(Tune|调整)")).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    yield "tune", page
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.locator("main header button[aria-haspopup=menu]").click()
    page.get_by_role("menuitem").last.click()
    expect(page.get_by_role("alertdialog")).to_be_visible()
    yield "delete", page


@pytest.mark.parametrize("look", [("light", "en", 375), ("dark", "zh-CN", 1280)])
def test_hostile_content_runs_nothing_and_all_can_use_it(
    hostile: str, paused: str, visit: Visit, look: tuple[str, str, int]
) -> None:
    """Nothing asks another origin, no policy is violated, axe finds nothing grave, no text is missing, and
    nothing scrolls sideways.
    """
    theme, locale, width = look
    found: dict[str, list[object]] = {}
    visitor = visit(color_scheme=theme, viewport={"width": width, "height": 800})
    for name, page in screens(visitor, hostile, paused, locale):
        assert page.locator("html").get_attribute("lang") == locale
        ran = page.evaluate("window.ran ? ['a script ran'] : []")
        raw = KEYS.findall(page.locator("body").inner_text())
        found[name] = [*ran, *grave_findings(page), *raw, *page.evaluate(WIDER)]
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_the_first_load_is_small(hostile: str, visit: Visit, figures: Figures) -> None:
    """All that a new visitor of the overview transfers, in bytes, with its chart."""
    page = visit().sign_in()
    expect(page.get_by_role("link", name=f"{LONG_NAME}, run {hostile}")).to_be_visible()
    expect(page.locator("figure canvas")).to_be_visible()
    page.wait_for_load_state("networkidle")
    sent = "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
    sizes = page.evaluate(f"Object.fromEntries({sent}.map(one => [one.name, one.transferSize]))")
    figures(f"{sum(sizes.values()):,} bytes in {len(sizes)} answers")
    assert 0 < sum(sizes.values()) <= MOST_BYTES, sizes


def test_a_run_of_thousands_of_pages_is_a_small_document(server: Server, paused: str, visit: Visit) -> None:
    page = visit().sign_in(f"/runs/{paused}?tab=pages")
    grid = page.get_by_role("grid")
    expect(grid).to_have_attribute("aria-rowcount", str(MANY + 2))
    rows = grid.get_by_role("row")
    rows.nth(1).focus()
    for wanted in (100, 200, 300):
        with page.expect_response(re.compile(r"/pages\?.*cursor=")):
            page.keyboard.press("End")
        expect(grid.locator(f"[aria-rowindex='{wanted + 1}']")).to_be_visible()
        assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    assert server.status(paused)["total"] == MANY + 1
    page.get_by_label("URL contains").press_sequentially(f"/many/{MANY - 1}")
    expect(grid.get_by_role("row")).to_have_count(2)
    expect(page.get_by_label("URL contains")).to_have_value(f"/many/{MANY - 1}")
    page.reload()
    expect(grid.get_by_role("row")).to_have_count(2)
