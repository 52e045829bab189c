"""XML pages are read as XML: feeds, sitemaps, answers of services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.errors import NotReadable
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import FieldRule, FollowRule, ValueRule
from smartspider.extract.parsing.decoding import is_xml_page

Read = Callable[..., Extraction]
Value = Callable[..., Any]

RSS = """<?xml version="1.0"?>
<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/" xmlns:own="urn:own">
<channel><title>News</title><link>http://n.example/</link>
<item><title>A &amp; B&nbsp;&eacute;</title><link>http://n.example/1</link><pubDate>Mon</pubDate>
<media:thumbnail url="/1.png"/><own:x>mine</own:x>
<description><![CDATA[<p>hi &nbsp;</p>]]></description></item>
<item><title>C</title><link>http://n.example/2</link></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:t="http://purl.org/syndication/thread/1.0">
<title>F</title>
<entry><title>One</title><link href="/1"/><t:total>3</t:total></entry></feed>"""
SITEMAP = """<?xml version="1.0"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><url><loc>http://h/1</loc>
<image:image><image:loc>http://h/1.png</image:loc></image:image></url><url><loc>http://h/2</loc></url></urlset>"""


@pytest.mark.parametrize(
    "case",
    [
        (RSS, "css", "item", "link", ["http://n.example/1", "http://n.example/2"]),
        (RSS, "css", "item", "title::text", ["A & B\u00a0é", "C"]),
        (RSS, "css", "channel > item", "pubDate", ["Mon", None]),
        (RSS, "css", "item", "pubdate", [None, None]),
        (RSS, "css", "item", "media|thumbnail::attr(url)", ["/1.png", None]),
        (RSS, "css", "item", "description", ["<p>hi &nbsp;</p>", None]),
        (RSS, "xpath", "//item", "link", ["http://n.example/1", "http://n.example/2"]),
        (RSS, "xpath", "//item", "media:thumbnail/@url", ["/1.png", None]),
        (RSS, "xpath", "//item", "own:x", ["mine", None]),
        (RSS, "xpath", "//item", "nobody:x", [None, None]),
        (ATOM, "xpath", "//entry", "title", ["One"]),
        (ATOM, "xpath", "//entry", "t:total", ["3"]),
        (ATOM, "xpath", "//entry", "thr:total", ["3"]),
        (ATOM, "css", "entry", "link::attr(href)", ["/1"]),
        (SITEMAP, "xpath", "//url", "loc", ["http://h/1", "http://h/2"]),
        (SITEMAP, "xpath", "//url", ".//image:loc", ["http://h/1.png", None]),
        (SITEMAP, "css", "urlset > url", "loc", ["http://h/1", "http://h/2"]),
    ],
)
@pytest.mark.parametrize("content_type", ["application/xml", "text/html", None])
def test_rules_read_elements_by_their_names(
    read: Read, case: tuple[str, Any, str, str, list[Any]], content_type: str | None
) -> None:
    page, kind, items, expr, expected = case
    found = read(
        page, items=ValueRule(kind, items), fields={"x": ValueRule(kind, expr)}, content_type=content_type
    )
    assert [item["x"] for item in found.items] == expected


def test_raw_elements_are_xml_without_the_namespace_they_lost(read: Read) -> None:
    rule = ValueRule("css", "entry link", is_raw=True)
    assert read(ATOM, fields={"x": rule}).items[0]["x"].startswith("<link ")
    assert "2005/Atom" not in read(ATOM, fields={"x": rule}).items[0]["x"]


def test_links_of_a_feed_are_followed(read: Read) -> None:
    rules = (
        FollowRule(ValueRule("css", "item > link"), "default"),
        FollowRule(ValueRule("xpath", "//media:thumbnail/@url"), "default"),
    )
    extraction = read(RSS, follow=rules, content_type="application/rss+xml")
    assert [link.href for link in extraction.links] == ["http://n.example/1", "http://n.example/2", "/1.png"]
    assert extraction.base == "http://shop.example/list"


@pytest.mark.parametrize(
    ("media_type", "body", "expected"),
    [
        ("application/xml", b"<a/>", True),
        ("text/xml", b"<a/>", True),
        ("application/rss+xml", b"<a/>", True),
        ("image/svg+xml", b"<svg/>", True),
        ("application/xhtml+xml", b"<html/>", False),
        ("text/xml", b"<!DOCTYPE html><html>", False),
        ("text/html", b'<?xml version="1.0"?><rss>', True),
        ("text/html", b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "x">', False),
        ("text/html", b'<?xml version="1.0"?>\n<html xmlns="x">', False),
        ("text/plain", b"\xef\xbb\xbf  <feed>", True),
        ("", b"<!-- made by x --><urlset xmlns='y'>", True),
        ("text/html", b"<!DOCTYPE html><p>", False),
        ("text/html", b"<rssx>", False),
        ("text/html", b"", False),
    ],
)
def test_a_page_is_xml_by_its_type_or_its_first_tag(media_type: str, body: bytes, expected: bool) -> None:
    assert is_xml_page(Page("http://h/", 200, {"content-type": media_type}, body, "utf-8", 0.0)) is expected


def test_nothing_outside_the_page_is_read(read: Read, tmp_path: Any) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    xml = f"""<?xml version="1.0"?><!DOCTYPE r [<!ENTITY f SYSTEM "file://{secret}"><!ENTITY i "inner">
    <!ENTITY % p SYSTEM "file://{secret}"> %p;]><r><a>x&f;&i;y</a></r>"""
    text = read(xml, fields={"a": ValueRule("xpath", "//a")}).items[0]["a"]
    assert "secret" not in text
    assert text == "xy"


def test_entities_that_grow_without_end_do_not(read: Read) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a0 "ha">' + "".join(
        f'<!ENTITY a{n} "&a{n - 1};&a{n - 1};&a{n - 1};&a{n - 1};&a{n - 1};">' for n in range(1, 30)
    )
    assert read(bomb + "]><r><a>x&a29;</a></r>", fields={"a": ValueRule("xpath", "//a")}).items == [
        {"a": "x"}
    ]


@pytest.mark.parametrize("xml", ["<r><a>1</a><c>2", "<r><a>1<c>2</r>", "<r><a>1</a><c>2</c>&bad</r>"])
def test_broken_xml_is_read_as_far_as_it_can_be(read: Read, xml: str) -> None:
    items = read(xml, fields={"c": ValueRule("css", "c::text")}, content_type="text/xml").items
    assert items == [{"c": "2"}]


def test_references_to_no_character_are_replaced(read: Read) -> None:
    xml = "<?xml version='1.0'?><r><a>&#0;&#xD800;&#55296;&#x110000;&#65;&#x41;</a></r>"
    extraction = read(xml, fields={"a": ValueRule("xpath", "//a")})
    assert extraction.items == [{"a": "\ufffd\ufffd\ufffd\ufffdAA"}]


def test_foreign_characters_are_taken_out(read: Read) -> None:
    extraction = read(
        b"<?xml version='1.0'?><r><a>x\x00y\xed\xa0\x80</a></r>", fields={"a": ValueRule("css", "a")}
    )
    assert (extraction.items, extraction.cleaned) == ([{"a": "xy"}], 1)


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("", "no element"),
        ("no markup", "no element"),
        ("<d>" * 400 + "</d>" * 400, "nests"),
    ],
)
def test_what_is_no_xml_is_refused(read: Read, xml: str, message: str) -> None:
    with pytest.raises(NotReadable, match=message):
        read(xml, fields={"a": ValueRule("css", "a")}, content_type="text/xml")


def test_a_rule_that_only_works_on_html_makes_an_xml_page_unreadable(read: Read) -> None:
    fields: dict[str, FieldRule] = {"x": ValueRule("css", "p:nth-child(1 of .a)")}
    assert read("<p class=a>x</p>", fields=fields).items == [{"x": "x"}]
    with pytest.raises(
        NotReadable, match=r"the page is XML, and selectors.fields.x.expr does not work there"
    ):
        read("<r/>", fields=fields, content_type="text/xml")


def test_the_charset_of_an_xml_page_counts(read: Read) -> None:
    xml = '<?xml version="1.0" encoding="gbk"?><r><a>中</a></r>'.encode("gbk")
    assert read(xml, fields={"a": ValueRule("css", "a")}, charset="gbk").items == [{"a": "中"}]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", ["<![CDATA[", "&#", "<a ", "<!--", "]]>", "&amp", "<a xmlns='x'>"])
def test_xml_made_to_hurt_takes_no_time(read: Read, part: str) -> None:
    xml = "<?xml version='1.0'?><r><a>" + part * 100_000
    try:
        read(xml, fields={"a": ValueRule("xpath", "//a")})
    except NotReadable as wrong:
        assert "nests" in wrong.message or "attributes" in wrong.message  # noqa: PT017 - reading it is fine too
