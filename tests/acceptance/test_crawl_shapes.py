"""Shapes of crawls as users write them: pagination in every form, sitemaps, bodies, chains, ends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.acceptance.workshop import Workshop, html, title_task, written_site

from smartspider.demo import catalogue, journal
from smartspider.demo.process import site_process
from smartspider_testing.sites import demo_shop as expectations

pytestmark = pytest.mark.acceptance

FAST = {"robots": "ignore", "delay_s": 0, "adaptive": False}


def cards(*titles: str, extra: str = "") -> dict[str, Any]:
    """A list page with these items."""
    return html("list", extra="".join(f'<p class="item"><b>{title}</b></p>' for title in titles) + extra)


def list_task(entry: Any, **more: Any) -> dict[str, Any]:
    return {
        "name": "shape",
        "entry_urls": entry if isinstance(entry, list) else [entry],
        "selectors": {"items": ".item", "fields": {"title": "b::text"}},
        "politeness": FAST,
        "retry": {"max_attempts": 1},
        **more,
    }


def crawl(workshop: Workshop, task: dict[str, Any], code: int = 0) -> list[dict[str, Any]]:
    workshop.write(task)
    workshop.crawl("-o", "rows.jsonl", "--fresh").expect(code)
    return workshop.rows()


def titles(workshop: Workshop, task: dict[str, Any], code: int = 0) -> list[str]:
    return sorted(row["title"] for row in crawl(workshop, task, code))


def test_page_numbers_up_to_a_stop_and_a_dead_page_loses_no_other(workshop: Workshop) -> None:
    pagination = {"type": "page_param", "param": "page", "start": 2, "stop": 4, "step": 1}
    routes = {
        "/l?q=a": [cards("1")],
        "/l?q=a&page=2": [cards()],
        "/l?q=a&page=3": [{"status": 500}],
        "/l?q=a&page=4": [cards("4")],
    }
    with written_site(workshop.folder, routes=routes) as site:
        assert titles(workshop, list_task(site.url("/l?q=a"), pagination=pagination), code=7) == ["1", "4"]
        assert sorted(site.paths()) == sorted(routes)
        assert site.paths()[0] == "/l?q=a"


def test_page_numbers_without_a_stop_end_at_the_first_page_without_items(workshop: Workshop) -> None:
    pagination = {"type": "page_param", "param": "page"}
    routes = {
        "/l?page=1&q=a": [cards("1")],
        "/l?page=2&q=a": [cards("2")],
        "/l?page=3&q=a": [cards()],
    }
    with written_site(workshop.folder, routes=routes) as site:
        assert titles(workshop, list_task(site.url("/l?page=1&q=a"), pagination=pagination)) == ["1", "2"]
        assert site.paths() == list(routes)


def test_offsets_with_and_without_a_stop(workshop: Workshop) -> None:
    offset = {"type": "offset", "param": "offset", "size": 20, "limit_param": "limit"}
    paths = ["/l?q=a", *(f"/l?q=a&offset={number}&limit=20" for number in (20, 40, 60))]
    routes = {path: [cards(path)] for path in paths}
    with written_site(workshop.folder, routes=routes, prefixes={"/l": cards()}) as site:
        task = list_task(site.url("/l?q=a"), pagination={**offset, "stop": 60})
        assert titles(workshop, task) == sorted(paths)
        assert sorted(site.paths()) == sorted(paths)
    with written_site(workshop.folder, routes=routes, prefixes={"/l": cards()}) as site:
        assert titles(workshop, list_task(site.url("/l?q=a"), pagination=offset)) == sorted(paths)
        assert site.paths() == [*paths, "/l?q=a&offset=80&limit=20"]


JSON_RULES = {
    "items": {"type": "jmespath", "expr": "items"},
    "fields": {"title": {"type": "jmespath", "expr": "t"}},
}


def answer(*found: str, after: Any = None) -> dict[str, Any]:
    return {"data": {"items": [{"t": title} for title in found], "meta": {"next": after}}}


def test_a_cursor_in_the_query_until_null(workshop: Workshop) -> None:
    routes = {
        "/l?q=a": [answer("1", after="c/2")],
        "/l?q=a&cursor=c%2F2": [answer("2", after=3)],
        "/l?q=a&cursor=3": [answer("3")],
    }
    pagination = {"type": "cursor", "expr": "meta.next", "param": "cursor", "in": "query"}
    with written_site(workshop.folder, routes=routes) as site:
        task = list_task(site.url("/l?q=a"), pagination=pagination, selectors=JSON_RULES)
        assert titles(workshop, task) == ["1", "2", "3"]
        assert site.paths() == list(routes)


def test_a_cursor_in_the_body_keeps_the_rest_of_a_post(workshop: Workshop) -> None:
    routes = {"/api": [answer("1", after="c2"), answer("2", after="c2")]}
    entry = {"method": "POST", "headers": {"X-Key": "k"}, "body": {"q": "茶", "page": {"size": 2}}}
    pagination = {"type": "cursor", "expr": "meta.next", "param": "page.after", "in": "body"}
    with written_site(workshop.folder, routes=routes) as site:
        task = list_task([{"url": site.url("/api"), **entry}], pagination=pagination, selectors=JSON_RULES)
        assert titles(workshop, task) == ["1", "2"]
        first, second = site.log()
    assert (first.method, second.method) == ("POST", "POST")
    assert json.loads(first.body) == {"q": "茶", "page": {"size": 2}}
    assert json.loads(second.body) == {"q": "茶", "page": {"size": 2, "after": "c2"}}
    assert second.headers["x-key"] == "k"
    assert second.headers["content-type"] == "application/json"


def test_the_link_header_leads_on(workshop: Workshop) -> None:
    def linked(title: str, link: str) -> dict[str, Any]:
        return {**cards(title), "headers": {"Link": link}}

    routes = {
        "/l?q=a": [linked("1", '</>; rel="up", <?q=a&p=2>; title="a, b"; rel="next"')],
        "/l?q=a&p=2": [linked("2", "</l?q=a&p=3>; rel=next")],
        "/l?q=a&p=3": [linked("3", '</l?q=a>; rel="first prev"')],
    }
    with written_site(workshop.folder, routes=routes) as site:
        assert titles(workshop, list_task(site.url("/l?q=a"), pagination={"type": "header_link"})) == [
            "1",
            "2",
            "3",
        ]
        assert site.paths() == list(routes)


@pytest.mark.parametrize(
    ("selector", "language"),
    [("a.next", "css"), ("//a[@class='next']", "xpath"), ('href="(/l[^"]*)', "regex")],
)
def test_a_next_link_in_any_language(workshop: Workshop, selector: str, language: str) -> None:
    routes = {
        "/l": [cards("1", extra='<a class="next" href="/l2">next</a>')],
        "/l2": [cards("2")],
    }
    pagination = {"type": "next_link", "selector": selector, "language": language}
    with written_site(workshop.folder, routes=routes) as site:
        assert titles(workshop, list_task(site.url("/l"), pagination=pagination)) == ["1", "2"]


def test_a_next_link_in_json_is_asked_for_with_the_headers_of_the_list(workshop: Workshop) -> None:
    routes = {"/l": [answer("1", after="/l?page=2")], "/l?page=2": [answer("2")]}
    pagination = {"type": "next_link", "selector": "meta.next", "language": "jmespath"}
    with written_site(workshop.folder, routes=routes) as site:
        entry = {"url": site.url("/l"), "headers": {"Authorization": "Bearer s"}, "meta": {"a": 1}}
        fields = {**JSON_RULES["fields"], "a": {"type": "meta", "expr": "a"}}  # type: ignore[dict-item] # an object of rules
        task = list_task([entry], pagination=pagination, selectors={**JSON_RULES, "fields": fields})
        assert crawl(workshop, task) == [{"title": "1", "a": 1}, {"title": "2", "a": 1}]
        assert [arrival.headers.get("authorization") for arrival in site.log()] == ["Bearer s"] * 2


# --- where lists end ---


def numbered(site_pages: dict[int, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {("/l" if number == 1 else f"/l?page={number}"): [page] for number, page in site_pages.items()}


def test_a_list_ends_when_all_its_dates_are_older(workshop: Workshop) -> None:
    pages = {1: cards("2026-01-09", "2026-01-01"), 2: cards("2025-12-31", "2026-01-02")}
    pages |= {3: cards("2025-11-01", "no date"), 4: cards("2025-10-01")}
    stop_when = {"older_than": {"field": "title", "than": "2026-01-01"}}
    pagination = {"type": "page_param", "param": "page", "stop": 9, "stop_when": stop_when}
    with written_site(workshop.folder, routes=numbered(pages)) as site:
        assert len(titles(workshop, list_task(site.url("/l"), pagination=pagination))) == 6
        assert site.paths() == ["/l", "/l?page=2", "/l?page=3"]


def test_a_list_that_gives_no_rows_ends_by_its_dates_as_well(workshop: Workshop) -> None:
    pages = {number: cards(date) for number, date in enumerate(("2026-01-09", "2020-01-01", "2019-01-01"), 1)}
    stop_when = {"older_than": {"field": "title", "than": "2026-01-01"}}
    pagination = {"type": "page_param", "param": "page", "stop_when": stop_when}
    with written_site(workshop.folder, routes=numbered(pages)) as site:
        assert titles(workshop, list_task(site.url("/l"), pagination=pagination, emit=False)) == []
        assert site.paths() == ["/l", "/l?page=2"]


def test_a_list_ends_when_everything_was_seen_before(workshop: Workshop) -> None:
    pages = {1: cards("a", "b"), 2: cards("b", "c"), 3: cards("a", "c"), 4: cards("d")}
    pagination = {"type": "page_param", "param": "page", "stop_when": {"seen": True}}
    with written_site(workshop.folder, routes=numbered(pages)) as site:
        task = list_task(site.url("/l"), pagination=pagination, dedup={"items": ["title"]})
        assert titles(workshop, task) == ["a", "b", "c"]
        assert site.paths() == ["/l", "/l?page=2", "/l?page=3"]


def test_a_list_with_next_links_ends_at_an_empty_page_when_the_task_says_so(workshop: Workshop) -> None:
    def chained(number: int, *found: str) -> dict[str, Any]:
        return cards(*found, extra=f'<a class="next" href="/l?page={number}">next</a>')

    pages = {1: chained(2, "1"), 2: chained(3), 3: chained(4, "3"), 4: cards()}
    for empty, paths, code in ((True, 2, 0), (False, 4, 7)):
        pagination = {"type": "next_link", "selector": "a.next", "stop_when": {"empty": empty}}
        with written_site(workshop.folder, routes=numbered(pages)) as site:
            crawl(workshop, list_task(site.url("/l"), pagination=pagination), code)
            assert len(site.paths()) == paths


# --- requests made from templates ---


def test_entries_of_every_combination_and_graphql(workshop: Workshop) -> None:
    with written_site(workshop.folder, prefixes={"/": answer("x")}) as site:
        entries = [
            {"url": "{base}/c/{city}/{year}", "each": {"city": ["Köln"], "year": {"from": 2025, "to": 2026}}},
            {
                "url": "{base}/graphql",
                "graphql": {"query": "{ a }", "variables": {"n": "{n}"}},
                "each": {"n": [1, 2]},
            },
        ]
        task = list_task(entries, selectors=JSON_RULES, variables={"base": site.base})
        assert len(crawl(workshop, task)) == 4
        log = site.log()
    assert sorted(arrival.path for arrival in log) == [
        "/c/K%C3%B6ln/2025",
        "/c/K%C3%B6ln/2026",
        "/graphql",
        "/graphql",
    ]
    bodies = [json.loads(arrival.body) for arrival in log if arrival.method == "POST"]
    assert sorted(body["variables"]["n"] for body in bodies) == [1, 2]


def test_found_values_become_posts_of_json(workshop: Workshop) -> None:
    routes = {
        "/l": [{"data": {"ids": [{"id": 7, "n": "a"}, {"id": 8, "n": "b"}]}}],
        "/api/item": [answer("x")],
    }
    follow = {
        "selector": "id",
        "type": "jmespath",
        "to": "detail",
        "carry": ["n"],
        "request": {
            "url": "/api/item",
            "headers": {"X-Name": "{n}"},
            "body": {"id": "{value}", "lang": "{lang}"},
        },
    }
    detail = {"title": {"type": "jmespath", "expr": "items[0].t"}, "name": {"type": "meta", "expr": "n"}}
    with written_site(workshop.folder, routes=routes) as site:
        task = list_task(
            site.url("/l"),
            selectors={
                "items": {"type": "jmespath", "expr": "ids"},
                "fields": {"n": {"type": "jmespath", "expr": "n"}},
            },
            emit=False,
            follow=[follow],
            pages={"detail": {"selectors": {"fields": detail}}},
            variables={"lang": "zh"},
        )
        rows = crawl(workshop, task)
        posts = [arrival for arrival in site.log() if arrival.method == "POST"]
    assert sorted(row["name"] for row in rows) == ["a", "b"]
    assert sorted(json.loads(arrival.body)["id"] for arrival in posts) == [7, 8]
    assert {json.loads(arrival.body)["lang"] for arrival in posts} == {"zh"}
    assert sorted(arrival.headers["x-name"] for arrival in posts) == ["a", "b"]


# --- sitemaps ---

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def xml(body: str) -> dict[str, Any]:
    return {"body": body, "headers": {"Content-Type": "application/xml"}}


def test_sitemaps_are_found_by_robots_txt_and_by_their_usual_name(workshop: Workshop) -> None:
    with written_site(workshop.folder, hosts=["127.0.0.1", "127.0.0.2"]) as probe:
        port = probe.port
    near, far = f"http://127.0.0.1:{port}", f"http://127.0.0.2:{port}"
    routes = {
        "/robots.txt": [{"body": f"User-agent: *\nDisallow: /secret\nSitemap: {far}/far.xml\n"}],
        "/sitemap.xml": [
            xml(f"<sitemapindex {NS}><sitemap><loc>{near}/s1.xml</loc></sitemap></sitemapindex>")
        ],
        "/s1.xml": [
            xml(f"<urlset><url><loc>{near}/a</loc></url><url><loc>{near}/secret</loc></url></urlset>")
        ],
        "/far.xml": [xml(f"<urlset><url><loc>{near}/b</loc></url><url><loc>{far}/c</loc></url></urlset>")],
        **{path: [cards(path)] for path in ("/", "/a", "/b", "/c", "/secret")},
    }
    with written_site(workshop.folder, routes=routes, hosts=["127.0.0.1", "127.0.0.2"], port=port) as site:
        task = list_task(
            site.url("/"),
            sitemaps=True,
            politeness={"delay_s": 0, "adaptive": False},
            limits={"max_depth": 0},
        )
        workshop.write(task)
        env = {"SMARTSPIDER_ALLOW_PRIVATE": "127.0.0.2"}
        workshop.crawl("-o", "rows.jsonl", env=env).expect(0)
        assert sorted(row["title"] for row in workshop.rows()) == ["/", "/a", "/b"]
        assert "/secret" not in site.paths()
        assert [arrival.path for arrival in site.log() if arrival.host == "127.0.0.2"] == [
            "/robots.txt",
            "/far.xml",
        ]
        why = workshop.why(f"{near}/secret")
        assert "robots" in why["verdict"]
        assert workshop.why(f"{near}/b")["record"]["depth"] == 0


def test_sitemaps_of_the_task_filter_what_they_list(workshop: Workshop) -> None:
    with site_process("smartspider.demo.shop") as url:
        base = url.rstrip("/")
        sitemap = {
            "url": f"{base}/sitemaps/products.xml.gz",
            "page": "product",
            "allow": ["-tea$"],
            "deny": ["golden"],
        }
        task = {
            "name": "shape",
            "entry_urls": [{"url": f"{base}/about", "page": "product"}],
            "sitemaps": [sitemap],
            "pages": {
                "product": {"selectors": {"fields": {"sku": {"expr": ".specs .sku", "required": True}}}}
            },
            "politeness": {"delay_s": 0},
        }
        rows = crawl(workshop, task)
    wanted = [
        product.sku
        for product in catalogue.products()
        if product.path.endswith("-tea") and "golden" not in product.path
    ]
    assert sorted(row["sku"] for row in rows) == sorted(wanted)
    assert len(wanted) > 2


def test_a_sitemap_index_with_a_packed_part_leads_to_every_product(workshop: Workshop) -> None:
    with site_process("smartspider.demo.shop") as url:
        task = {
            "name": "shape",
            "entry_urls": [url],
            "sitemaps": True,
            "scope": {"allow": ["/product/"]},
            "selectors": {"fields": {"sku": {"expr": ".specs .sku", "required": True}}},
            "politeness": {"delay_s": 0, "adaptive": False, "per_host": 8},
        }
        workshop.write(task)
        workshop.crawl("-o", "rows.jsonl").expect(0)
    assert sorted(row["sku"] for row in workshop.rows()) == sorted(expectations.expected_skus())


def test_a_guessed_sitemap_that_is_not_there_is_no_failure(workshop: Workshop) -> None:
    routes = {"/": [cards("1")], "/sitemap.xml": [html("Not here")]}
    with written_site(workshop.folder, routes=routes) as site:
        assert titles(workshop, list_task(site.url("/"), sitemaps=True)) == ["1"]
    with written_site(workshop.folder, routes={"/": [cards("1")]}) as site:
        workshop.write(list_task(site.url("/"), sitemaps=True))
        summary = workshop.crawl("--fresh").expect(0).json
        assert (summary["items"], summary["failed"], summary["missing"]) == (1, 0, 2)


def test_sitemaps_that_nest_without_end_end(workshop: Workshop) -> None:
    routes: dict[str, Any] = {"/": [cards("1")]}
    with written_site(workshop.folder) as probe:
        port = probe.port
    for number in range(10):
        path = "/sitemap.xml" if number == 0 else f"/s{number}.xml"
        more = f"http://127.0.0.1:{port}/s{number + 1}.xml"
        routes[path] = [xml(f"<sitemapindex><sitemap><loc>{more}</loc></sitemap></sitemapindex>")]
    with written_site(workshop.folder, routes=routes, port=port) as site:
        crawl(workshop, list_task(site.url("/"), sitemaps=True))
        assert sorted(path for path in site.paths() if path.endswith(".xml")) == [
            *(f"/s{number}.xml" for number in range(1, 6)),
            "/sitemap.xml",
        ]


# --- the demo shop as programs see it ---

SKU = {"sku": {"type": "jmespath", "expr": "sku"}}
ITEMS = {"items": {"type": "jmespath", "expr": "items"}, "fields": SKU}


@pytest.mark.parametrize(
    ("path", "pagination", "selectors"),
    [
        ("/api/products", {"type": "page_param", "param": "page", "stop": expectations.API_PAGES}, ITEMS),
        ("/api/by-offset", {"type": "offset", "param": "offset", "size": 20, "limit_param": "limit"}, ITEMS),
        ("/api/by-cursor", {"type": "cursor", "expr": "meta.next", "param": "cursor"}, ITEMS),
        ("/api/by-link", {"type": "header_link"}, {**ITEMS, "items": {"type": "jmespath", "expr": "@"}}),
        ("/api/products", {"type": "next_link", "selector": "next", "language": "jmespath"}, ITEMS),
    ],
)
def test_every_list_of_the_shop_gives_every_product_once(
    workshop: Workshop, path: str, pagination: dict[str, Any], selectors: dict[str, Any]
) -> None:
    with site_process("smartspider.demo.shop") as url:
        task = list_task(url.rstrip("/") + path, pagination=pagination, selectors=selectors)
        assert sorted(row["sku"] for row in crawl(workshop, task)) == sorted(expectations.expected_skus())


def test_graphql_of_the_shop_is_paged_by_a_cursor_in_its_variables(workshop: Workshop) -> None:
    query = "query Goods($first: Int) { products(first: $first) { nodes { sku } } }"
    with site_process("smartspider.demo.shop") as url:
        entry = {
            "url": f"{url}graphql",
            "graphql": {
                "query": query,
                "variables": {"first": 7, "category": "{shelf}"},
                "operation": "Goods",
            },
            "each": {"shelf": ["tea", "sound"]},
            "meta": {"shelf": "{shelf}"},
        }
        selectors = {
            "items": {"type": "jmespath", "expr": "data.products.nodes"},
            "fields": {**SKU, "shelf": {"type": "meta", "expr": "shelf"}},
        }
        cursor = {
            "type": "cursor",
            "expr": "data.products.pageInfo.endCursor",
            "param": "variables.after",
            "in": "body",
        }
        rows = crawl(workshop, list_task([entry], pagination=cursor, selectors=selectors))
    for shelf in ("tea", "sound"):
        found = [row["sku"] for row in rows if row["shelf"] == shelf]
        assert sorted(found) == sorted(expectations.expected_skus(shelf))


def test_fields_are_carried_from_list_to_detail_to_reviews(workshop: Workshop) -> None:
    def meta(name: str) -> dict[str, str]:
        return {"type": "meta", "expr": name}

    with site_process("smartspider.demo.shop") as url:
        task = {
            "name": "shape",
            "entry_urls": [{"url": f"{url}category/tea", "page": "list"}],
            "politeness": FAST,
            "pages": {
                "list": {
                    "selectors": {
                        "items": ".card",
                        "fields": {"by": ".by", "sku": {"type": "regex", "expr": r"/images/([\w-]+)\.svg"}},
                    },
                    "emit": False,
                    "follow": [
                        {
                            "selector": "a.title",
                            "to": "detail",
                            "carry": ["by"],
                            "request": {"url": "/api/products/{sku}"},
                            "priority": 5,
                        }
                    ],
                    "pagination": {"type": "next_link", "selector": "a.next"},
                },
                "detail": {
                    "selectors": {
                        "fields": {"title": {"type": "jmespath", "expr": "title"}, "by": meta("by")}
                    },
                    "emit": False,
                    "follow": [
                        {
                            "selector": "reviews.href",
                            "type": "jmespath",
                            "to": "reviews",
                            "carry": ["title", "by"],
                        }
                    ],
                },
                "reviews": {
                    "selectors": {
                        "items": {"type": "jmespath", "expr": "items"},
                        "fields": {
                            "id": {"type": "jmespath", "expr": "id"},
                            "title": meta("title"),
                            "by": meta("by"),
                            "depth": meta("depth"),
                        },
                    }
                },
            },
        }
        rows = crawl(workshop, task)
    goods = {product.sku: product for product in catalogue.in_category("tea")}
    assert sorted(row["id"] for row in rows) == sorted(
        review for sku in goods for review in expectations.expected_reviews(sku)
    )
    for row in rows:
        product = goods[row["id"].rpartition("-")[0]]
        assert (row["title"], row["by"], row["depth"]) == (product.title, product.brand, 2)


@pytest.mark.parametrize("path", expectations.FEED_PATHS)
def test_a_feed_leads_to_its_articles(workshop: Workshop, path: str) -> None:
    def of(expr: str) -> dict[str, str]:
        return {"type": "jmespath", "expr": expr}

    with site_process("smartspider.demo.shop") as url:
        task = {
            "name": "shape",
            "entry_urls": [url.rstrip("/") + path],
            "politeness": FAST,
            "selectors": {
                "items": {"type": "feed", "expr": "entries"},
                "fields": {"title": of("title"), "author": of("author")},
            },
            "emit": False,
            "follow": [
                {"selector": "link", "type": "jmespath", "to": "article", "carry": ["title", "author"]}
            ],
            "pages": {
                "article": {
                    "selectors": {
                        "fields": {
                            "title": {"type": "meta", "expr": "title"},
                            "author": {"type": "meta", "expr": "author"},
                            "headline": "article h1",
                            "url": {"type": "meta", "expr": "url"},
                        }
                    }
                }
            },
        }
        rows = crawl(workshop, task)
        wanted = expectations.expected_articles(url)
    assert sorted((row["title"], row["author"], row["headline"], row["url"]) for row in rows) == sorted(
        (article["title"], article["author"], article["title"], article["url"]) for article in wanted
    )


def test_the_journal_is_read_as_far_back_as_asked(workshop: Workshop) -> None:
    stop_when = {"older_than": {"field": "date", "than": "2026-01-20"}}
    with site_process("smartspider.demo.shop") as url:
        task = {
            "name": "shape",
            "entry_urls": [f"{url}journal"],
            "politeness": FAST,
            "selectors": {"items": ".entry", "fields": {"date": "time::attr(datetime)"}},
            "pagination": {"type": "next_link", "selector": "a.older", "stop_when": stop_when},
        }
        rows = crawl(workshop, task)
    # Pages of eight, two days apart: the second one is older throughout.
    assert len(rows) == 2 * journal.PER_PAGE


def test_robots_words_in_a_page_are_for_tasks_that_obey(workshop: Workshop) -> None:
    links = '<meta name="robots" content="nofollow"><a class="child" rel="nofollow" href="/a">a</a>'
    routes = {"/": [html("/", extra=links)], "/a": [html("/a")]}
    for robots, paths in (("obey", ["/"]), ("ignore", ["/", "/a"])):
        with written_site(workshop.folder, routes=routes) as site:
            task = list_task(
                site.url("/"),
                follow=[{"selector": "a.child"}],
                politeness={"robots": robots, "delay_s": 0},
                selectors={"fields": {"title": "h1"}},
            )
            crawl(workshop, task)
            assert [path for path in site.paths() if path != "/robots.txt"] == paths


def test_priorities_and_depth_of_follow_hold(workshop: Workshop) -> None:
    def page(*links: str) -> dict[str, Any]:
        return html("x", extra="".join(f'<a class="{link[1]}" href="{link}">x</a>' for link in links))

    routes = {"/": [page("/low", "/high")], "/low": [page("/last")], "/high": [page("/hidden")]}
    routes |= {path: [page()] for path in ("/last", "/hidden")}
    with written_site(workshop.folder, routes=routes) as site:
        follow = [
            {"selector": "a.l", "priority": -1},
            {"selector": "a.h", "priority": 9, "max_depth": 1},
        ]
        fields = {"fields": {"title": "h1"}}
        crawl(workshop, list_task(site.url("/"), follow=follow, concurrency=1, selectors=fields))
        assert site.paths() == ["/", "/high", "/low", "/last"]


def test_a_page_type_is_fetched_with_its_own_settings(workshop: Workshop) -> None:
    routes = {
        "/": [{"body": '<h1>list</h1><a class="child" href="/1">one</a>'}],
        "/1": [{"body": "<h1>1</h1>"}],
    }
    with written_site(workshop.folder, routes=routes) as site:
        own = {"method": "POST", "headers": {"X-Key": "${KEY}", "X-Both": "page"}}
        task = title_task(
            site.url("/"),
            follow=[{"selector": "a.child", "to": "detail"}],
            pages={"detail": {"selectors": {"fields": {"title": "h1::text"}}, "fetch": own}},
            fetch={"headers": {"X-Both": "task", "X-Task": "1"}},
        )
        workshop.write(task)
        done = workshop.crawl("-o", "rows.jsonl", "-v", env={"SMARTSPIDER_VAR_KEY": "s3cr3t-value"}).expect(0)
        first, second = site.log()
    assert [row["title"] for row in workshop.rows()] == ["list", "1"]
    assert (first.method, second.method) == ("GET", "POST")
    sent = second.headers
    assert (sent["x-both"], sent["x-task"], sent["x-key"]) == ("page", "1", "s3cr3t-value")
    assert "x-key" not in first.headers
    assert "s3cr3t-value" not in done.out + done.err
