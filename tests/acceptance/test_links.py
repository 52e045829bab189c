"""Links as pages write them lead where a browser would go."""

from __future__ import annotations

from typing import Any

import pytest
from tests.acceptance.workshop import Workshop, html, linked, title_task, written_site

pytestmark = pytest.mark.acceptance


def test_the_same_relative_link_on_two_pages_of_a_folder_leads_to_two_pages(workshop: Workshop) -> None:
    graph = {
        "/": ["/list/red", "/list/blue", "list/green#top"],
        "/list/red": ["?page=2", "#top", "", "../list/blue"],
        "/list/blue": ["?page=2", "./green", "//127.0.0.1:1/elsewhere"],
        "/list/green": ["?page=2", "red?utm_source=x"],
        "/list/red?page=2": ["?page=3"],
        "/list/blue?page=2": ["?page=3"],
        "/list/green?page=2": ["blue"],
        "/list/red?page=3": [],
        "/list/blue?page=3": [],
    }
    with written_site(workshop.folder, routes=linked(graph)) as site:
        # One after the other, so that what the first page taught is known when the next is read.
        workshop.write(title_task(site.url("/"), concurrency=1, scope={"deny": [":1/"]}))
        assert workshop.crawl("-o", "rows.jsonl").expect(0).json["pages"] == len(graph)
        assert sorted(row["title"] for row in workshop.rows()) == sorted(graph)
        assert sorted(site.paths()) == sorted(graph)


def test_entries_with_one_url_and_other_headers_or_meta_are_crawled_each(workshop: Workshop) -> None:
    paged = {"/list": ["/list?p=2", "/one"], "/list?p=2": ["/list", "/one"], "/one": []}
    moved = {"/old": [{"status": 302, "headers": {"Location": "/new"}, "body": ""}], **linked({"/new": []})}
    with written_site(workshop.folder, routes={**linked(paged), **moved}) as site:
        shops: list[Any] = [{"url": site.url("/list"), "meta": {"shop": name}} for name in ("a", "b")]
        languages: list[Any] = [
            {"url": site.url("/old"), "headers": {"Accept-Language": name}, "meta": {"shop": name}}
            for name in ("de", "en", "fr")
        ]
        task = title_task(*shops, *languages)
        task["selectors"]["fields"]["shop"] = {"type": "meta", "expr": "shop"}
        task["pagination"] = {"type": "next_link", "selector": "a[href*=p], a[href='/list']"}
        task["follow"] = [{"selector": "a[href='/one']"}]
        workshop.write(task)
        summary = workshop.crawl("-o", "rows.jsonl").expect(0).json
        rows = sorted((row["title"], row["shop"] or "") for row in workshop.rows())
        assert rows == [
            *[("/list", "a"), ("/list", "b"), ("/list?p=2", "a"), ("/list?p=2", "b")],
            *[("/new", "de"), ("/new", "en"), ("/new", "fr"), ("/one", "")],
        ]
        asked = sorted(one.headers["accept-language"] for one in site.log() if one.path == "/new")
        assert asked == ["de", "en", "fr"]
        others = workshop.why(site.url("/list"))["others"]
    assert (summary["redirects"], len(others)) == (3, 1)


def test_links_that_name_other_headers_are_other_requests(workshop: Workshop) -> None:
    page = {
        "body": "<h1>x</h1>" + "".join(f'<p><a href="/one">{name}</a></p>' for name in ("de", "en", "de"))
    }
    with written_site(workshop.folder, routes={"/": [page], "/one": [page]}) as site:
        task = title_task(site.url("/"))
        request = {"headers": {"Accept-Language": "{name}", "Referer": "{name}", "X-Token": "{name}{name}"}}
        task["pages"] = {
            "list": {
                "selectors": {"items": "p", "fields": {"name": "a"}},
                "follow": [{"selector": "p a", "to": "one", "request": request}],
                "emit": False,
            },
            "one": {"selectors": task.pop("selectors")},
        }
        task["entry_urls"] = [{"url": site.url("/"), "page": "list"}]
        del task["follow"]
        workshop.write(task)
        workshop.crawl().expect(0)
        asked = [one.headers["accept-language"] for one in site.log() if one.path == "/one"]
    assert sorted(asked) == ["de", "en"]


def test_equal_names_in_a_query_keep_their_order(workshop: Workshop) -> None:
    graph = {"/": ["/?x=1&x=2", "/?x=2&x=1"], "/?x=1&x=2": [], "/?x=2&x=1": []}
    with written_site(workshop.folder, routes=linked(graph)) as site:
        workshop.write(title_task(site.url("/")))
        assert workshop.crawl().expect(0).json["items"] == 3
        assert sorted(site.paths()) == sorted(graph)


def forwarding(target: str, delay_s: int = 0) -> list[dict[str, object]]:
    head = f'<meta http-equiv="refresh" content="{delay_s}; url={target}">'
    return [{"body": f"<!DOCTYPE html>{head}<title>moved</title><h1>moved</h1>"}]


@pytest.mark.parametrize("engine", ["css", "xpath"])
def test_a_meta_refresh_is_a_redirect(workshop: Workshop, engine: str) -> None:
    links = ["/old", "/away", "/out", "/locked", "/loop", "/news", "/live"]
    routes = {
        **linked({"/new": [], "/live?at=1": []}),
        "/": [html("/", links)],
        "/old": forwarding("/new", 3),
        "/out": forwarding("http://elsewhere.example/"),
        "/locked": forwarding("/private"),
        "/loop": forwarding("/loop2"),
        "/loop2": forwarding("/loop"),
        "/news": forwarding("/news", 300),
        "/live": forwarding("/live?at=1", 5),
        "/robots.txt": [
            {"body": "User-agent: *\nDisallow: /private", "headers": {"Content-Type": "text/plain"}}
        ],
    }
    with written_site(workshop.folder, routes=linked({"/landed": []}), hosts=["127.0.0.2"]) as other:
        routes["/away"] = forwarding(other.url("/landed", "127.0.0.2"))
        with written_site(workshop.folder, routes=routes) as site:
            task = title_task(site.url("/"), scope={"domains": ["127.0.0.1", "127.0.0.2"]})
            task["politeness"]["robots"] = "obey"
            if engine == "xpath":
                task["selectors"]["fields"]["title"] = {"type": "xpath", "expr": "//h1/text()"}
            workshop.write(task)
            allow = {"SMARTSPIDER_ALLOW_PRIVATE": "1"}
            summary = workshop.crawl("-o", "rows.jsonl", env=allow).expect(7).json
            verdicts = {path: workshop.why(site.url(path))["verdict"] for path in links}
            preview = workshop.run("dry-run", "task.json", "--limit", 9, "--json", env=allow).expect(0).json
            fetched = workshop.run("fetch", site.url("/old"), "--json").expect(0).json
    titles = sorted(row["title"] for row in workshop.rows())
    assert titles == ["/", "/landed", "/new", "moved", "moved"]  # the latter reload themselves
    assert (summary["redirects"], summary["failed"]) == (2, 1)
    assert verdicts["/old"].startswith("redirected")
    assert verdicts["/away"].endswith(other.url("/landed", "127.0.0.2"))
    assert "elsewhere.example" in verdicts["/out"]
    assert "robots.txt" in verdicts["/locked"]
    assert "loop" in verdicts["/loop"]
    assert fetched["redirects"] == [site.url("/old")]
    assert {"/new", "/landed"} <= {row["title"] for row in preview["rows"]}
