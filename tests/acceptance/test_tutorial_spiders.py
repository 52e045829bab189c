"""The spiders of Scrapy's tutorial, a login and a form with a view state, as tasks: every row exact."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.acceptance.workshop import Workshop

from smartspider.demo.process import site_process
from smartspider_testing.sites.quotes import AUTHORS, QUOTES, birth_date, goodreads, slug

pytestmark = pytest.mark.acceptance

NEXT = {"type": "next_link", "selector": "li.next a"}
LIST: dict[str, Any] = {
    "items": "div.quote",
    "fields": {
        "text": "span.text::text",
        "author": "small.author::text",
        "tags": {"expr": "div.tags a.tag::text", "many": True},
    },
}
FAST = {"delay_s": 0, "robots": "ignore"}


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with site_process("smartspider_testing.sites.quotes") as url:
        yield url


def crawl(workshop: Workshop, **task: Any) -> list[dict[str, Any]]:
    workshop.write({"name": "tutorial", "politeness": FAST, **task})
    summary = workshop.run("crawl", "task.json", "-o", "rows.jsonl", "--json").expect(0).json
    assert summary["failed"] == 0
    lines = (workshop.folder / "rows.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def test_the_quotes_of_two_named_pages(workshop: Workshop, site: str) -> None:
    rows = crawl(workshop, entry_urls=[f"{site}page/1/", f"{site}page/2/"], selectors=LIST)
    assert in_order(rows) == in_order(QUOTES[:20])


def test_the_pages_themselves(workshop: Workshop, site: str) -> None:
    fields = {"url": {"type": "meta", "expr": "url"}, "body": {"expr": "body", "steps": ["html_text"]}}
    rows = crawl(workshop, entry_urls=[f"{site}page/1/", f"{site}page/2/"], selectors={"fields": fields})
    assert sorted(row["url"] for row in rows) == [f"{site}page/1/", f"{site}page/2/"]
    assert all(QUOTES[0]["text"] in row["body"] or QUOTES[10]["text"] in row["body"] for row in rows)


def test_quotes_by_following_next_links(workshop: Workshop, site: str) -> None:
    rows = crawl(workshop, entry_urls=[site], selectors=LIST, pagination=NEXT)
    assert in_order(rows) == in_order(QUOTES)


def test_authors_linked_from_all_pages_once_each(workshop: Workshop, site: str) -> None:
    rows = crawl(
        workshop,
        entry_urls=[site],
        pagination=NEXT,
        follow=[{"selector": ".author + a", "to": "author"}],
        pages={
            "author": {
                "selectors": {
                    "fields": {
                        "name": "h3.author-title::text",
                        "birthdate": ".author-born-date::text",
                        "bio": ".author-description::text",
                    }
                }
            }
        },
    )
    wanted = [{"name": name, "birthdate": birth_date(name), "bio": f"About {name}."} for name in AUTHORS]
    assert in_order(rows) == in_order(wanted)


def test_a_tag_given_on_the_command_line(workshop: Workshop, site: str) -> None:
    task = {
        "name": "tutorial",
        "variables": {"tag": "love"},
        "entry_urls": [{"url": f"{site}tag/{{tag}}/"}],
        "selectors": LIST,
        "pagination": NEXT,
        "politeness": FAST,
    }
    workshop.write(task)
    workshop.run("crawl", "task.json", "--set", 'variables.tag="books"', "-o", "rows.csv").expect(0)
    with (workshop.folder / "rows.csv").open() as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    assert sorted(texts) == sorted(quote["text"] for quote in QUOTES if "books" in quote["tags"])


def test_data_in_a_script(workshop: Workshop, site: str) -> None:
    embedded = crawl(
        workshop,
        entry_urls=[f"{site}js/"],
        selectors={
            "items": {"type": "state", "expr": "data"},
            "fields": {
                "text": {"type": "jmespath", "expr": "text"},
                "author": {"type": "jmespath", "expr": "author.name"},
                "tags": {"type": "jmespath", "expr": "tags", "many": True},
            },
        },
        pagination=NEXT,
    )
    assert in_order(embedded) == in_order(QUOTES)


def test_a_json_api_page_by_page(workshop: Workshop, site: str) -> None:
    fields = {name: {"type": "jmespath", "expr": name} for name in ("text", "author")}
    rows = crawl(
        workshop,
        entry_urls=[f"{site}api/quotes?page=1"],
        selectors={
            "items": {"type": "jmespath", "expr": "quotes"},
            "fields": {**fields, "tags": {"type": "jmespath", "expr": "tags", "many": True}},
        },
        pagination={"type": "page_param", "param": "page", "start": 2},
    )
    assert in_order(rows) == in_order(QUOTES)


def sent_form(selector: str, to: str, url: str, form: str) -> dict[str, Any]:
    """Return the rule that sends a form for each match."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return {"selector": selector, "to": to, "request": {"url": url, "headers": headers, "body": form}}


def test_a_login_with_its_csrf_token_and_then_all_pages(workshop: Workshop, site: str) -> None:
    quotes = {"selectors": {**LIST, "fields": {**LIST["fields"], "link": ".goodreads::attr(href)"}}}
    rows = crawl(
        workshop,
        entry_urls=[f"{site}login"],
        emit=False,
        selectors={"items": "form", "fields": {"token": "input[name=csrf_token]::attr(value)"}},
        follow=[
            sent_form(
                "input[name=csrf_token]::attr(value)",
                "quotes",
                f"{site}login",
                "csrf_token={token}&username=ann&password=open+%26+sesame",
            )
        ],
        pages={"quotes": {**quotes, "pagination": NEXT}},
    )
    wanted = [{**quote, "link": goodreads(quote["author"])} for quote in QUOTES]
    assert in_order(rows) == in_order(wanted)


def test_a_form_with_a_view_state_asked_for_every_author_and_tag(workshop: Workshop, site: str) -> None:
    state = "__VIEWSTATE={state}"
    rows = crawl(
        workshop,
        entry_urls=[f"{site}search.aspx"],
        emit=False,
        selectors={"items": "#filterform", "fields": {"state": "#__VIEWSTATE::attr(value)"}},
        follow=[
            sent_form(
                "#author option:not([selected])::attr(value)",
                "tags",
                f"{site}filter.aspx",
                f"author={{value}}&tag=----------&{state}",
            )
        ],
        pages={
            "tags": {
                "emit": False,
                "selectors": {
                    "items": "#filterform",
                    "fields": {
                        "state": "#__VIEWSTATE::attr(value)",
                        "author": "#author option[selected]::attr(value)",
                    },
                },
                "follow": [
                    sent_form(
                        "#tag option:not([value^='-'])::attr(value)",
                        "quotes",
                        f"{site}filter.aspx",
                        f"author={{author}}&tag={{value}}&submit_button=Search&{state}",
                    )
                ],
            },
            "quotes": {
                "selectors": {
                    "items": "div.quote",
                    "fields": {"text": ".content::text", "author": ".author::text", "tag": ".tag::text"},
                }
            },
        },
    )
    wanted = [
        {"text": quote["text"], "author": quote["author"], "tag": tag}
        for quote in QUOTES
        for tag in set(quote["tags"])
    ]
    assert in_order(rows) == in_order(wanted)
    assert {slug(str(row["author"])) for row in rows} <= {slug(name) for name in AUTHORS}
