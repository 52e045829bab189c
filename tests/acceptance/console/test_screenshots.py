"""The pictures of the documents, taken from a console that crawls the demo shop: `make screenshots`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Page, ViewportSize, expect
from tests.acceptance.console.conftest import Visit
from tests.acceptance.console.png import picture_of
from tests.acceptance.server import Server
from tests.acceptance.workshop import until

pytestmark = [pytest.mark.acceptance, pytest.mark.soak, pytest.mark.xdist_group("console pictures")]
SIZE = ViewportSize(width=1280, height=800)
LARGEST = 120_000
IMAGES = Path(__file__).parents[3] / "docs" / "images"
FOLDER = "SMARTSPIDER_SCREENSHOTS"
"""The folder that the pictures are written to; without it they are only taken."""


class Crawled(msgspec.Struct, frozen=True):
    """A server that crawled the whole shop and its trouble, and what the pictures show of it."""

    server: Server
    trouble: str
    """The run of trouble."""
    failed: str
    """A page that it was refused."""
    task: str


@pytest.fixture(scope="module")
def crawled(server: Server) -> Crawled:
    def ended(name: str) -> str:
        run_id = str(server.ask("POST", f"/api/demo/{name}/start").expect(202).json["run_id"])
        server.until_state(run_id, "completed")
        return run_id

    task = server.status([ended("shop") for _ in range(3)][-1])["task_id"]
    trouble = ended("trouble")
    groups = server.ask("GET", f"/api/runs/{trouble}/problems").expect(200).json["items"]
    (failed,) = [one["example"]["page_id"] for one in groups if one["cause"] == "forbidden"]
    return Crawled(server, trouble, failed, task)


Ready = Callable[[Page, Crawled], None]


def shows(text: str, selector: str = "main") -> Ready:
    """Wait until a page shows a text and an element."""

    def wait(page: Page, _: Crawled) -> None:
        expect(page.get_by_text(text).first).to_be_visible()
        expect(page.locator(selector).first).to_be_visible()

    return wait


def rows_are_found(page: Page, crawled: Crawled) -> None:
    page.get_by_label("Address of the page").fill(f"{crawled.server.greeting['shop']}category/tea")
    page.get_by_role("button", name="Find rows").click()
    expect(page.get_by_role("cell", name="Morning Oolong", exact=True)).to_be_visible()


def run_is_shown(page: Page, crawled: Crawled) -> None:
    crawled.server.ask("POST", "/api/tasks/demo_shop/start", {"tuning": {"delay_s": 0.1}}).expect(202)
    expect(page.get_by_role("button", name="See problems").first).to_be_visible()
    bar = page.get_by_role("progressbar").first
    until(lambda: bool(bar.evaluate("bar => bar.position > 0.1")), "a tenth of the run")


PICTURES: dict[str, tuple[str, Ready]] = {
    "run": ("/runs/{of.trouble}?tab=problems", shows("rate_limited", "canvas")),
    "page": ("/runs/{of.trouble}?tab=pages&page={of.failed}", shows("page.buried", "canvas")),
    "new-task": ("/tasks/new", rows_are_found),
    "editor": ("/tasks/{of.task}", shows("The task is valid.")),
    "results": ("/results?task={of.task}", shows("Morning Oolong")),
    "logs": ("/logs", shows("page.buried")),
    "overview": ("/", run_is_shown),
}
"""The name of each picture, the screen, and what is done and waited for on it."""


def test_every_screen_of_the_documents_has_a_picture(crawled: Crawled, visit: Visit) -> None:
    page = visit(viewport=SIZE, color_scheme="light", reduced_motion="reduce", timezone_id="UTC").sign_in()
    taken: dict[str, bytes] = {}
    for name, (path, ready) in PICTURES.items():
        page.goto(crawled.server.url + path.format(of=crawled))
        ready(page, crawled)
        taken[f"console-{name}.png"] = picture_of(page)
    if FOLDER in os.environ:
        for name, data in taken.items():
            Path(os.environ[FOLDER], name).write_bytes(data)
    assert {name: len(data) for name, data in taken.items() if len(data) > LARGEST} == {}
    assert {path.name for path in IMAGES.glob("console-*.png")} == taken.keys()
