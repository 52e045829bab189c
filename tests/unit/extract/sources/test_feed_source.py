from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Read = Callable[..., Any]
URL = "https://blog.example/feed/"


@pytest.fixture
def feed(said: Read) -> Read:
    """Reads a feed."""

    def read(body: str | bytes, content_type: str = "application/xml", **page: Any) -> Any:
        return said("feed", body, content_type=content_type, url=URL, **page)

    return read


def test_rss_with_its_usual_modules(feed: Read) -> None:
    body = """\ufeff
    <?xml version="1.0" encoding="utf-8"?><!-- <html> --><?pi x?>
    <rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
      xmlns:creator="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom"
      xmlns:media="http://search.yahoo.com/mrss/">
    <channel><atom:link rel="self" href="/feed"/><title>新闻 &amp;amp; more</title><link>/</link>
    <description>d&nbsp;e</description><media:title>no</media:title>
    <item><title><![CDATA[Hello  <b>you</b>]]></title><link>/1?a=1&amp;b=2</link>
      <guid isPermaLink="false">g1</guid><pubDate>Sat, 03 Jan 2026 14:05:00 +0800</pubDate>
      <creator:creator>Ann</creator:creator><description>&lt;p&gt;x &amp;amp; y&lt;/p&gt;</description>
      <content:encoded><![CDATA[<p>full</p>]]></content:encoded><category>A</category><category>B</category>
      <enclosure url="/a.mp3" type="audio/mpeg" length="123"/><media:content url="/a.mp3"/></item>
    <item><guid>https://blog.example/2</guid><author>bob@x.example (Bob B)</author>
      <pubDate>soon</pubDate></item>
    </channel></rss>"""
    assert feed(body) == {
        "title": "新闻 & more",
        "link": "https://blog.example/",
        "description": "d e",
        "entries": [
            {
                "id": "g1",
                "title": "Hello you",
                "link": "https://blog.example/1?a=1&b=2",
                "published": "2026-01-03T06:05:00+00:00",
                "updated": None,
                "author": "Ann",
                "summary": "<p>x &amp; y</p>",
                "content": "<p>full</p>",
                "categories": ["A", "B"],
                "enclosures": [{"url": "https://blog.example/a.mp3", "type": "audio/mpeg", "length": 123}],
            },
            {
                "id": "https://blog.example/2",
                "title": None,
                "link": "https://blog.example/2",
                "published": None,
                "updated": None,
                "author": "Bob B",
                "summary": None,
                "content": None,
                "categories": [],
                "enclosures": [],
            },
        ],
    }


def test_atom_with_bases_and_kinds_of_text(feed: Read) -> None:
    body = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://cdn.example/x/">
    <title type="html">A &lt;i&gt;b&lt;/i&gt;</title><subtitle>s</subtitle><link rel="self" href="/self"/>
    <link href="/home"/><entry xml:base="y/"><id>urn:1</id><title>T</title>
    <link rel="enclosure" href="a.mp3" type="audio/mpeg"/><link rel="alternate" href="one"/>
    <published>2026-01-03T14:05:00+08:00</published><updated>2026-01-04T00:00:00Z</updated>
    <author><name>A</name></author><author><name>B</name></author><category term="t" label="L"/>
    <category term="u"/>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>hi</p></div></content>
    <summary>su</summary></entry></feed>"""
    found = feed(body)
    assert (found["title"], found["link"], found["description"]) == ("A b", "https://cdn.example/home", "s")
    assert found["entries"] == [
        {
            "id": "urn:1",
            "title": "T",
            "link": "https://cdn.example/x/y/one",
            "published": "2026-01-03T06:05:00+00:00",
            "updated": "2026-01-04T00:00:00+00:00",
            "author": "A, B",
            "summary": "su",
            "content": "<div><p>hi</p></div>",
            "categories": ["L", "u"],
            "enclosures": [{"url": "https://cdn.example/x/y/a.mp3", "type": "audio/mpeg", "length": None}],
        }
    ]


def test_rss_one_has_its_items_beside_the_channel(feed: Read) -> None:
    body = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
    xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="x"><title>R</title><link>http://r.example/</link>
    </channel><item rdf:about="http://r.example/1"><title>one</title><link>http://r.example/1</link>
    <dc:date>2026-01-03</dc:date><dc:subject>s</dc:subject></item></rdf:RDF>"""
    found = feed(body)
    assert found["title"] == "R"
    (entry,) = found["entries"]
    assert (entry["id"], entry["published"]) == ("http://r.example/1", "2026-01-03T00:00:00+00:00")
    assert entry["categories"] == ["s"]


def test_json_feed(feed: Read) -> None:
    body = """{"version": "https://jsonfeed.org/version/1.1", "title": "J", "home_page_url": "https://j.example/",
    "items": [{"id": 1, "url": "/p", "content_html": "<p>x</p>",
    "authors": [{"name": "N"}, 3], "tags": ["a", 1], "attachments": [{"url": "/a.mp3", "size_in_bytes": 3}]},
    "no"]}"""
    found = feed(body, content_type="application/feed+json")
    (entry,) = found["entries"]
    assert found["link"] == "https://j.example/"
    assert (entry["id"], entry["link"], entry["author"]) == ("1", "https://blog.example/p", "N")
    assert (entry["content"], entry["categories"]) == ("<p>x</p>", ["a"])
    assert entry["enclosures"] == [{"url": "https://blog.example/a.mp3", "type": None, "length": 3}]


def test_the_charset_of_the_page_counts_not_that_of_the_declaration(feed: Read) -> None:
    body = '<?xml version="1.0" encoding="utf-8"?><rss><channel><title>新闻</title></channel></rss>'
    assert feed(body, charset="gb18030")["title"] == "新闻"


def test_a_cut_or_broken_feed_gives_what_it_has(feed: Read) -> None:
    body = "<rss><channel><title>T & U</title><item><title>one</title></item><item><title>two</ti"
    assert [entry["title"] for entry in feed(body)["entries"]] == ["one", "two"]


@pytest.mark.parametrize(
    "body", ["<html><body><rss>", '{"a": 1}', '{"version": 3}', "{", "plain", "", "<urlset></urlset>", "[]"]
)
def test_what_is_no_feed_is_none(feed: Read, body: str) -> None:
    assert feed(body, content_type="text/html") is None


def test_entities_bring_nothing_in(feed: Read, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("TOP SECRET")
    laughs = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(12))
    body = f"""<!DOCTYPE rss [<!ENTITY x SYSTEM "{secret.as_uri()}"><!ENTITY l0 "lol">{laughs}]>
    <rss><channel><title>&x;|&l12;</title><item><title>ok</title></item></channel></rss>"""
    found = feed(body)
    assert "SECRET" not in str(found)
    assert len(str(found)) < 2_000


def test_there_is_an_end_to_the_entries_and_the_depth(feed: Read) -> None:
    assert len(feed("<rss><channel>" + "<item><title>x</title></item>" * 10_500)["entries"]) == 10_000
    assert feed("<rss><channel>" + "<item>" * 5_000)["title"] is None
