"""Looking before crawling: `dry-run`, `extract` and `shell` read pages with the worker's own code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.workshop import Site, Workshop, written_site

from smartspider.demo.process import site_process
from smartspider_testing.waiting import WAIT_S

pytestmark = pytest.mark.acceptance

CARD = '<div class="card"><h2>{0}</h2><b>€{0}.50</b><a href="/item/{0}">more</a></div>'
LIST = "".join(CARD.format(number) for number in (1, 2, 3))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    routes = {
        "/": [
            {
                "body": f'<html><body>{LIST}<a class="next" href="/two">next</a><a href="/closed">c</a>'
                '<a href="http://elsewhere.example/">away</a></body></html>'
            }
        ],
        "/two": [{"body": f"<html><body>{LIST}</body></html>"}],
        **{
            f"/item/{number}": [{"body": f"<html><h1>Item {number}</h1><p>text {number}</p></html>"}]
            for number in (1, 2, 3)
        },
        "/robots.txt": [
            {"body": "User-agent: *\nDisallow: /closed\n", "headers": {"content-type": "text/plain"}}
        ],
    }
    with written_site(tmp_path, routes=routes) as served:
        yield served


def task(site: Site, **more: Any) -> dict[str, Any]:
    return {
        "name": "look",
        "entry_urls": [{"url": site.url(), "page": "list"}],
        "pages": {
            "list": {
                "selectors": {
                    "items": ".card",
                    "fields": {"title": "h2", "price": {"expr": "b", "steps": ["number"]}, "note": ".none"},
                },
                "follow": [{"selector": ".card a", "to": "item"}, {"selector": "body > a", "to": "item"}],
                "pagination": {"type": "next_link", "selector": "a.next"},
            },
            "item": {"selectors": {"fields": {"name": {"type": "xpath", "expr": "//h1/text()"}}}},
        },
        "politeness": {"delay_s": 0, "adaptive": False},
        **more,
    }


def test_a_dry_run_shows_rows_coverage_and_links_and_keeps_nothing(workshop: Workshop, site: Site) -> None:
    workshop.write(task(site))
    shown = workshop.run("dry-run", "task.json", "--limit", 2).expect(0)
    assert "page type list, read by lexbor): 3 items" in shown.out
    assert "page type item, read by lxml): 1 item" in shown.out, "the first page of each type comes early"
    assert f"next page  {site.url('/two')}" in shown.out
    assert "follows    /item/1, /item/2, /item/3" in shown.out
    assert "skips      1 link (robots.txt disallows it): /closed" in shown.out
    assert "http://elsewhere.example/" in shown.out
    assert "1.5" in shown.out
    assert "never found" in shown.out
    assert workshop.files() == ["task.json"]


def test_a_dry_run_as_json_has_everything(workshop: Workshop, site: Site) -> None:
    workshop.write(task(site))
    seen = workshop.run("dry-run", "task.json", "--limit", 1, "--json").expect(0).json
    assert [page["engine"] for page in seen["pages"]] == ["lexbor"]
    assert seen["rows"][0] == {"title": "1", "price": 1.5, "note": None}
    coverage = {line["field"]: (line["filled"], line["items"]) for line in seen["coverage"]}
    assert coverage == {"title": (3, 3), "price": (3, 3), "note": (0, 3)}
    assert seen["columns"] == ["title", "price", "note", "name"]


def test_a_dry_run_counts_the_steps_of_each_page_once(workshop: Workshop, site: Site) -> None:
    workshop.write(task(site))
    seen = workshop.run("dry-run", "task.json", "--limit", 50, "--json").expect(0).json
    counts = [(page["page"], [count["seen"] for count in page["counts"].values()]) for page in seen["pages"]]
    assert sorted(counts) == [("item", [])] * 3 + [("list", [3])] * 2


def test_a_dry_run_gives_the_rows_of_the_crawl(workshop: Workshop, site: Site) -> None:
    workshop.write(task(site))
    seen = workshop.run("dry-run", "task.json", "--limit", 50, "--json").expect(0).json
    workshop.crawl("-o", "rows.jsonl").expect(0)
    as_text = sorted(json.dumps(row, sort_keys=True) for row in seen["rows"])
    assert as_text == sorted(json.dumps(row, sort_keys=True) for row in workshop.rows())


def test_a_dry_run_of_what_cannot_be_reached_says_so(workshop: Workshop) -> None:
    workshop.write({"name": "x", "entry_urls": ["http://127.0.0.1:9/"], "retry": {"max_attempts": 1}})
    shown = workshop.run("dry-run", "task.json").expect(6)
    assert "connect" in shown.out
    assert "http://127.0.0.1:9/" in shown.out


@pytest.mark.parametrize(
    ("rules", "rows"),
    [
        (".card h2", [{"value": ["1", "2", "3"]}]),
        ("//div/h2/text()", [{"value": ["1", "2", "3"]}]),
        ('{"title": "h2", "link": {"expr": "a", "attr": "href"}}', [{"title": "1", "link": "/item/1"}]),
        (
            '{"items": ".card", "fields": {"n": {"expr": "h2", "steps": ["integer"]}}}',
            [{"n": 1}, {"n": 2}, {"n": 3}],
        ),
    ],
)
def test_extract_prints_what_rules_find(
    workshop: Workshop, site: Site, rules: str, rows: list[dict[str, Any]]
) -> None:
    found = workshop.run("extract", site.url(), rules).expect(0)
    assert [json.loads(line) for line in found.out.splitlines()] == rows


def test_extract_takes_a_file_and_a_page_type(workshop: Workshop, site: Site) -> None:
    workshop.write(task(site))
    found = (
        workshop.run("extract", site.url("/item/2"), "task.json", "--page", "item", "--json").expect(0).json
    )
    assert found["items"] == [{"name": "Item 2"}]
    assert found["engine"] == "lxml"
    refused = workshop.run("extract", site.url("/item/2"), "task.json", "--page", "other").expect(2)
    assert "list, item" in refused.err


def test_extract_refuses_wrong_rules_before_it_fetches(workshop: Workshop, site: Site) -> None:
    refused = workshop.run("extract", site.url(), "h2::nothing").expect(2)
    assert "::nothing" in refused.err
    assert workshop.run("extract", site.url(), "//h2[").expect(2).err
    assert site.paths() == []


def test_the_shell_tries_rules_and_writes_a_task(workshop: Workshop, site: Site) -> None:
    lines = [
        "h2::text", "//b/text()", "h2::nothing", "items .card", "add title h2", "add price b", "show",
        "items .nothing", "items .card", "drop price", "task", "save made.json", "save made.json",
        "nonsense[", "page",
        f"fetch {site.url('/item/1')}", "h1", "source text 1", "quit", "never reached",
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "smartspider", "shell", site.url()],
        input="\n".join(lines), capture_output=True, text=True, cwd=workshop.folder, timeout=WAIT_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "3 matches (lexbor)" in done.stderr
    assert "€1.50" in done.stdout
    assert "::nothing" in done.stderr
    assert "3 items; " in done.stderr
    assert "Item 1" in done.stdout
    assert "<p>text 1</p>" in done.stdout
    assert "made.json exists" in done.stderr
    made = json.loads((workshop.folder / "made.json").read_text())
    assert made["selectors"] == {"items": ".card", "fields": {"title": "h2"}}
    assert workshop.run("validate", "made.json").code == 0


def test_suggest_dry_run_and_crawl_lead_from_a_url_to_a_csv(workshop: Workshop) -> None:
    with site_process("smartspider.demo.shop") as address:
        workshop.run("suggest", f"{address}category/tea", "-o", "tea.json").expect(0)
        workshop.run("dry-run", "tea.json").expect(0)
        workshop.run("crawl", "tea.json", "-o", "tea.csv", "--set", "politeness.delay_s=0").expect(0)
    rows = (workshop.folder / "tea.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) > 20
    assert "price" in rows[0]
