"""Sitemaps, feeds and robots.txt as lists of links."""

from __future__ import annotations

import gzip
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from smartspider.core.errors import NotReadable
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import PagePlan, SitemapPlan
from smartspider.core.requests.request import make_request
from smartspider.extract.links.sitemap import MAX_NESTING, parse_latest_time, read_sitemap_page
from smartspider.fetch.robots_file import RobotsFile

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
NOW = datetime(2026, 3, 1, tzinfo=UTC).timestamp()


def read(
    body: str | bytes,
    *,
    name: str = "@sitemap:0",
    kind: Any = "sitemap",
    depth: int = 0,
    max_links: int = 50_000,
    charset: str = "utf-8",
    **sitemap: Any,
) -> Extraction:
    url = "http://h/sitemap.xml"
    packed = body if isinstance(body, bytes) else body.encode()
    page = Page(url, 200, {}, packed, charset, NOW)
    plan = PagePlan(name, kind=kind, sitemap=SitemapPlan("detail", **sitemap))
    return read_sitemap_page(plan, page, make_request(url, page=name, depth=depth), max_links)


def hrefs(*arguments: Any, **options: Any) -> list[str]:
    return [link.href for link in read(*arguments, **options).links]


def urlset(*urls: str) -> str:
    return f"<?xml version='1.0'?><urlset {NS}>{''.join(f'<url>{url}</url>' for url in urls)}</urlset>"


def test_pages_of_a_sitemap_become_links_without_depth() -> None:
    text = urlset("<loc> http://h/a?x=1&amp;y=2 </loc>", "<loc><![CDATA[http://h/b]]></loc>")
    extraction = read(text, allow=("/a",), deny=("/b",))
    assert [(link.href, link.page, link.depth) for link in extraction.links] == [
        ("http://h/a?x=1&y=2", "detail", 0),
        ("http://h/b", "detail", 0),
    ]
    assert (extraction.links[0].allow, extraction.links[0].deny) == (("/a",), ("/b",))
    assert extraction.items == []


def test_an_index_leads_to_sitemaps_of_its_own_kind_until_they_nest_too_deeply() -> None:
    text = f"<sitemapindex {NS}><sitemap><loc>http://h/1.xml</loc></sitemap></sitemapindex>"
    (link,) = read(text, depth=2).links
    assert (link.href, link.page, link.depth) == ("http://h/1.xml", "@sitemap:0", 3)
    assert read(text, depth=MAX_NESTING - 1).links != []
    (refused,) = read(text, depth=MAX_NESTING).links
    assert refused.refusal is not None
    assert refused.refusal.code == "trap"


def test_pictures_and_translations_of_a_page_are_not_pages() -> None:
    text = (
        f'<urlset {NS} xmlns:i="urn:image" xmlns:x="http://www.w3.org/1999/xhtml"><url>'
        '<i:image><i:loc>http://h/p.png</i:loc></i:image><x:link rel="alternate" href="http://h/de"/>'
        "<loc>http://h/a</loc></url></urlset>"
    )
    assert hrefs(text) == ["http://h/a"]


@pytest.mark.parametrize(
    "text",
    [
        "<urlset><url><loc>http://h/a</loc></url></urlset>",
        '<s:urlset xmlns:s="urn:x"><s:url><s:loc>http://h/a</s:loc></s:url></s:urlset>',
        "<s:urlset><s:url><s:loc>http://h/a</s:loc></s:url></s:urlset>",
        "\ufeff  \n<?xml version='1.0'?><urlset><url><loc>http://h/a</loc></url></urlset>",
        "Warning: undefined variable\n<?xml version='1.0'?><urlset><url><loc>http://h/a</loc></url></urlset>",
        "<urlset><url><loc>http://h/a</loc></url><url><loc>http://h/b",
        "<urlset><url><loc>http://h/a</loc><broken></url></urlset>",
        "<urlset><url><loc>http://h/a</loc></url><url><loc></loc></url><url/></urlset>",
        "<!-- made by hand --><urlset><url><loc>http://h/a</loc></url></urlset>",
        "<urlset><url><loc>http://h/a</loc></url><url><loc>http://h/a</loc></url></urlset>",
    ],
)
def test_what_is_slightly_wrong_is_read_all_the_same(text: str) -> None:
    assert hrefs(text)[:1] == ["http://h/a"]
    assert len(hrefs(text)) <= 2


def test_packed_sitemaps_are_unpacked_whatever_they_are_called() -> None:
    text = urlset("<loc>http://h/a</loc>").encode()
    assert hrefs(gzip.compress(text)) == ["http://h/a"]
    assert hrefs(gzip.compress(gzip.compress(text))) == ["http://h/a"]
    assert hrefs(gzip.compress(text[:30]) + gzip.compress(text[30:])) == ["http://h/a"]


def test_a_packed_sitemap_that_stops_in_the_middle_gives_what_it_has() -> None:
    text = urlset(*(f"<loc>http://h/{number}</loc>" for number in range(5000))).encode()
    assert 0 < len(hrefs(gzip.compress(text)[:-2000])) < 5000


def test_a_bomb_is_refused_before_it_goes_off() -> None:
    bomb = gzip.compress(b"<urlset>" + b" " * 50_000_000)
    started = time.process_time()
    with pytest.raises(NotReadable, match="larger than the 100000 bytes allowed"):
        read(bomb, max_bytes=100_000)
    assert time.process_time() - started < 0.5
    with pytest.raises(NotReadable, match="cannot be unpacked"):
        read(b"\x1f\x8brubbish")


def test_entities_are_not_resolved() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 9))
    text = (
        f'<!DOCTYPE urlset [<!ENTITY l0 "ha">{laughs}<!ENTITY f SYSTEM "file:///etc/passwd">]>'
        "<urlset><url><loc>http://h/&l8;</loc></url><url><loc>&f;</loc></url>"
        "<url><loc>http://h/b</loc></url></urlset>"
    )
    found = hrefs(f"<?xml version='1.0'?>{text}")
    assert found[-1:] in ([], ["http://h/b"])
    assert all(len(href) < 100 and "root" not in href for href in found)


def test_an_entity_of_the_file_itself_is_not_put_in_either() -> None:
    text = '<!DOCTYPE urlset [<!ENTITY x "inside">]><urlset><url><loc>http://h/&x;</loc></url></urlset>'
    assert "http://h/inside" not in hrefs(f"<?xml version='1.0'?>{text}")


def test_a_page_that_is_listed_twice_is_one_link() -> None:
    assert hrefs(urlset("<loc>http://h/a</loc>", "<loc>http://h/b</loc>", "<loc>http://h/a</loc>")) == [
        "http://h/a",
        "http://h/b",
    ]


def test_a_sitemap_that_nests_without_end_costs_little() -> None:
    started = time.process_time()
    read("<urlset>" + "<url>" * 200_000)
    read("<urlset>" + "<url><loc>http://h/a</loc>" * 50_000)
    assert time.process_time() - started < 5


def test_plain_text_lists_one_page_a_line() -> None:
    assert hrefs("\ufeffhttp://h/a\r\n\n  https://h/b  \nnonsense\nftp://h/c\n") == [
        "http://h/a",
        "https://h/b",
    ]


def test_a_sitemap_in_another_charset_is_read_in_it() -> None:
    text = "<urlset><url><loc>http://h/茶</loc></url></urlset>"
    assert hrefs(text.encode("gbk"), charset="gbk") == ["http://h/茶"]
    declared = f"<?xml version='1.0' encoding='gbk'?>{text}"
    assert hrefs(declared.encode("gbk"), charset="gbk") == ["http://h/茶"]
    assert hrefs("http://h/茶".encode("gbk"), charset="gbk") == ["http://h/茶"]
    assert hrefs("http://h/a", charset="no-such-charset") == ["http://h/a"]


RSS = """<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><link>http://h/</link>
<atom:link rel="self" href="http://h/feed"/>
<item><title>A</title><link>http://h/a</link><pubDate>Sat, 28 Feb 2026 10:00:00 GMT</pubDate></item>
<item><link>http://h/b</link><pubDate>Sun, 01 Feb 2026 10:00:00 GMT</pubDate></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://h/"/>
<entry><link rel="self" href="http://h/x"/><link href="http://h/a"/><updated>2026-02-28T10:00:00Z</updated></entry>
<entry><link rel="alternate" href="http://h/b"/><updated>2026-02-01T10:00:00Z</updated></entry></feed>"""


@pytest.mark.parametrize("feed", [RSS, ATOM])
def test_a_feed_serves_as_a_sitemap(feed: str) -> None:
    assert hrefs(feed) == ["http://h/a", "http://h/b"]
    assert hrefs(feed, newer_age_s=7 * 86_400.0) == ["http://h/a"]


def test_only_what_changed_since_is_taken_and_what_does_not_say() -> None:
    text = urlset(
        "<loc>http://h/old</loc><lastmod>2026-01-31</lastmod>",
        "<loc>http://h/new</loc><lastmod>2026-02-28</lastmod>",
        "<loc>http://h/unknown</loc>",
        "<loc>http://h/odd</loc><lastmod>yesterday</lastmod>",
    )
    recent = ["http://h/new", "http://h/unknown", "http://h/odd"]
    assert hrefs(text, newer_moment=datetime(2026, 2, 10, tzinfo=UTC).timestamp()) == recent
    assert hrefs(text, newer_age_s=10 * 86_400.0) == recent
    assert hrefs(text, newer_moment=datetime(2026, 1, 31, 18, tzinfo=UTC).timestamp())[0] == "http://h/old"


def test_a_whole_sitemap_that_is_too_old_is_not_asked_for() -> None:
    text = (
        "<sitemapindex><sitemap><loc>http://h/1</loc><lastmod>2024-01</lastmod></sitemap>"
        "<sitemap><loc>http://h/2</loc><lastmod>2026</lastmod></sitemap></sitemapindex>"
    )
    assert hrefs(text, newer_age_s=86_400.0) == ["http://h/2"]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026", "2027-01-02T00:00:00+00:00"),
        ("2026-02", "2026-03-04T00:00:00+00:00"),
        ("2026-02-03", "2026-02-04T00:00:00+00:00"),
        ("2026-02-03T10:00+08:00", "2026-02-03T02:00:00+00:00"),
        ("2026-02-03T10:00:00", "2026-02-03T10:00:00+00:00"),
        ("Tue, 03 Feb 2026 10:00:00 -0100", "2026-02-03T11:00:00+00:00"),
    ],
)
def test_a_date_lasts_as_long_as_it_is_vague(text: str, moment: str) -> None:
    assert parse_latest_time(text) == datetime.fromisoformat(moment).timestamp()


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "9999-99", "0000", "1" * 100, "9999"])
def test_what_is_no_date_is_none(text: str) -> None:
    assert parse_latest_time(text) is None


def test_links_beyond_the_limit_are_counted() -> None:
    extraction = read(urlset(*(f"<loc>http://h/{number}</loc>" for number in range(10))), max_links=4)
    followed = [link.href for link in extraction.links if link.refusal is None]
    assert followed == [f"http://h/{number}" for number in range(4)]
    assert [link.refusal.code for link in extraction.links if link.refusal] == ["trap"] * 6
    assert extraction.links_dropped == 6


def test_a_web_page_is_no_sitemap_but_where_one_was_only_guessed_it_is_no_failure() -> None:
    html = "<!DOCTYPE html><title>Not found</title><a href=/x>x</a>"
    assert read(html, name="@sitemap").links == []
    with pytest.raises(NotReadable, match="HTML, not a sitemap"):
        read(html)
    with pytest.raises(NotReadable, match="cannot be read"):
        read("<")


def test_robots_txt_names_sitemaps_wherever_they_lie() -> None:
    text = (
        "\ufeffUser-agent: *\nDisallow: /\nSitemap: http://h/1.xml\r\n sitemap : /2.xml # x\n#Sitemap: /3\n"
    )
    links = read(text + "Sitemap: http://cdn/4.xml\nSitemap: http://h/1.xml\n", kind="robots").links
    assert [(link.href, link.page, link.depth) for link in links] == [
        ("http://h/1.xml", "@sitemap", 0),
        ("/2.xml", "@sitemap", 0),
        ("http://cdn/4.xml", "@sitemap", 0),
    ]


def test_robots_txt_itself_may_always_be_read() -> None:
    file = RobotsFile(b"User-agent: *\nDisallow: /")
    assert file.allows("http://h/robots.txt")
    assert not file.allows("http://h/a/robots.txt")
