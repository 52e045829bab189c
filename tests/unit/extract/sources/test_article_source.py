from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.errors import NotBuilt, NotReadable
from smartspider.extract.sources import read_source, require_source
from smartspider.extract.sources.content.code_blocks import plain_code_blocks

Read = Callable[..., Any]

LONG = "The rivers of the north rose again on Friday, as heavy rain fell for the third day, officials said. "
ARTICLE = f"""<!doctype html><html lang="en-GB"><head><title>Rivers rise | The Daily</title>
<meta property="og:site_name" content="The Daily"><meta property="og:image" content="/river.jpg">
<link rel="canonical" href="/news/rivers">%s</head><body><nav><a href="/">Home</a><a href="/w">World</a></nav>
<article><h1>Rivers rise</h1><p>{LONG * 3}</p><p>See <a href="../rain">the <code>rain()</code></a>. {LONG}</p>
<h2>What comes next</h2><ul><li>More rain, said Ann.</li><li>Sun, said Bob.</li></ul>
<pre><code>def level():
    return 3</code></pre><p>{LONG * 2}</p></article><footer>All rights reserved</footer></body>"""


def _with(head: str) -> str:
    return ARTICLE % head


def test_an_article_is_found_and_described(said: Read) -> None:
    thing = {
        "@type": "NewsArticle",
        "headline": "Rivers rise &amp; fall",
        "datePublished": "2026-01-03T14:05:00+08:00",
        "author": [{"@type": "Person", "name": "Ann Lee"}, {"@id": "#bob"}],
        "description": "Rain.",
    }
    bob = {"@type": "Person", "@id": "#bob", "name": "Bob"}
    found = said("article", _with(f'<script type="application/ld+json">{json.dumps([thing, bob])}</script>'))
    text, markdown = found.pop("text"), found.pop("markdown")
    assert found == {
        "title": "Rivers rise & fall",
        "author": "Ann Lee, Bob",
        "date": "2026-01-03T14:05:00+08:00",
        "site": "The Daily",
        "language": "en-GB",
        "description": "Rain.",
        "image": "https://shop.example/river.jpg",
        "url": "https://shop.example/news/rivers",
    }
    assert (
        "What comes next\n\nMore rain, said Ann.\nSun, said Bob.\n\ndef level():\n    return 3\n\nThe" in text
    )
    assert "## What comes next\n\n- More rain, said Ann.\n- Sun, said Bob.\n\n```\ndef level():\n" in markdown
    assert "the `rain()`" in markdown
    assert "(https://shop.example/rain)" in markdown
    assert "Home" not in text + markdown
    assert "rights" not in text + markdown


LINES = "<td class=%s><pre>1\n2</pre></td><td><div><pre>a = 1\nb = 2</pre></div></td>"
BLOCKS = [
    "<pre>a = 1\nb = 2</pre>",
    "<pre>a = 1<br>b = 2</pre>",
    "<pre class=shiki><code><span class=line>a = 1</span>\n<span class=line>b = 2</span></code></pre>",
    "<pre><code><div class=token-line>a = 1</div><div class=token-line>b = 2</div></code></pre>",
    "<div class=code-toolbar><pre>a = 1\nb = 2</pre><div class=toolbar><button>Copy</button></div></div>",
    f"<table class=highlighttable><tr>{LINES % 'linenos'}</tr></table>",
    f"<figure class=highlight><table><tr>{LINES % 'gutter'}</tr></table></figure>",
    "<details><summary>Show</summary><pre>a = 1\nb = 2</pre></details>",
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_keeps_its_lines_however_it_is_marked(said: Read, block: str) -> None:
    found = said("article", _with("").replace("<h2>", f"{block}<h2>"))
    assert "```\na = 1\nb = 2\n```" in found["markdown"]
    assert "\na = 1\nb = 2\n" in found["text"]


def test_short_blocks_of_one_frame_are_all_kept(said: Read) -> None:
    found = said("article", _with("").replace("<h2>", "<div><pre>make</pre><pre>ls</pre></div><h2>"))
    assert "```\nmake\n```\n\n```\nls\n```" in found["markdown"]


def test_a_page_of_code_blocks_is_read_once_each() -> None:
    html = "<div>" * 50 + "<div><pre>x = 1</pre><span>y</span></div>" * 900 + "</div>" * 50
    assert plain_code_blocks(html).count("<pre><code>") == 900


def test_a_chinese_article(said: Read) -> None:
    paragraph = "北方的河流周五再次上涨、大雨已经连续下了三天、官员在给媒体的长篇声明中这样说道。"
    page = f"""<html lang="zh-CN"><head><title>河水上涨 - 日报</title></head><body>
    <div class="nav">首页 国际</div>
    <div class="content"><h1>河水上涨</h1><p><time datetime="2026-01-03 14:05">1月3日</time></p>
    <p>{paragraph * 3}</p><p>{paragraph * 4}</p></div></body></html>"""
    found = said("article", page, charset="gb18030")
    assert (found["title"], found["language"], found["date"]) == ("河水上涨", "zh-CN", "2026-01-03T14:05:00")
    assert paragraph in found["text"]


def test_what_nobody_says_is_taken_from_the_page_or_its_address(said: Read) -> None:
    found = said("article", _with(""), url="https://daily.example/2026/01/03/rivers")
    assert (found["title"], found["date"], found["author"]) == ("Rivers rise", "2026-01-03", None)
    found = said("article", _with('<meta name="author" content="Ann Lee">'))
    assert (found["author"], found["date"]) == ("Ann Lee", None)


def test_opengraph_says_what_json_ld_does_not(said: Read) -> None:
    head = """<meta property="og:title" content="OG title"><meta property="og:description" content="OG text">
    <meta property="article:published_time" content="2026-01-03T01:02:03Z">
    <meta property="article:author" content="https://facebook.example/ann">"""
    found = said("article", _with(head))
    assert (found["title"], found["description"]) == ("OG title", "OG text")
    assert found["date"] == "2026-01-03T01:02:03+00:00"
    assert found["author"] != "https://facebook.example/ann"


def test_a_page_that_is_no_article_is_none(said: Read) -> None:
    assert said("article", "<p></p>") is None


def test_a_huge_page_is_not_searched_but_still_read(said: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    import trafilatura

    # it must not be called, and is no part of the product
    monkeypatch.setattr(trafilatura, "extract", lambda *_, **__: pytest.fail("it would take seconds"))
    page = "<html><body><nav>no</nav><main><h1>Big</h1>" + "<p>text</p>" * 30_000
    found = said("article", page)
    assert found["title"] == "Big"
    assert found["text"].startswith("Big")
    assert found["markdown"].startswith("# Big\n\ntext\n\ntext")


def test_a_page_that_breaks_the_finder_still_has_its_own_data(
    said: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    import trafilatura

    def broken(*_: object, **__: object) -> str:
        raise IndexError

    monkeypatch.setattr(trafilatura, "extract", broken)  # no page is known that breaks it
    found = said("article", _with(""))
    assert (found["title"], found["text"], found["site"]) == ("Rivers rise", None, "The Daily")


def test_a_missing_package_is_named_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    require_source("article")
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(NotBuilt, match="trafilatura") as raised:
        require_source("article")
    assert raised.value.hint == 'pip install "smartspider-crawler[text]"'
    require_source("markdown")


def test_a_source_is_read_once_a_page(document: Callable[..., Any]) -> None:
    page = document(_with(""))
    assert read_source("links", page) is read_source("links", page)


@pytest.mark.parametrize(
    "kind", ["microdata", "opengraph", "state", "tables", "links", "markdown", "article"]
)
def test_a_page_that_is_no_html_is_not_readable(said: Read, kind: str) -> None:
    with pytest.raises(NotReadable):
        said(kind, b"\x89PNG\r\n\x1a\n" + bytes(100), content_type="image/png")


def test_foreign_characters_of_the_page_are_taken_out(document: Callable[..., Any]) -> None:
    page = document(b"<a href=/x>a\x00b\xed\xa0\x80</a><p>" + LONG.encode())
    assert read_source("links", page)[0]["text"] == "ab"
    assert "[ab](" in read_source("markdown", page)
    assert page.cleaned > 0


def test_sources_are_imported_only_when_asked_for() -> None:
    script = """
import sys
import smartspider.extract.sources
heavy = ("trafilatura", "lxml", "smartspider.extract.sources.")
print([name for name in sys.modules if name.startswith(heavy)])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_text_after_a_block_stands_apart(said: Read) -> None:
    page = f"<html><body><div><p>{LONG * 2}first</p><p>{LONG * 2}last</p>then more. {LONG * 2}</div></body>"
    assert "last\n\nthen more." in said("article", page)["text"]


def test_the_text_repeats_no_title_and_points_nowhere_else(said: Read) -> None:
    extra = "<p>Read more: <a href=/x>Rivers of the south</a></p><p>More rain is expected.</p><p>Comments</p>"
    page = _with("").replace("<h2>", f"{extra}<h2>")
    text = said("article", page)["text"]
    assert text.startswith("The rivers of the north rose")
    assert "Rivers of the south" not in text
    assert "Comments" not in text
    assert "More rain is expected." in text
    assert said("article", page)["markdown"].count("Rivers rise") <= 1


BODY = f"<p>{LONG * 3}</p><p>{LONG * 4}</p>"
TIME = '<time datetime="2026-01-03">3 January</time>'
OTHER = '<time datetime="2020-05-05">5 May</time>'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"<header>{OTHER}</header><article><h1>T</h1>{TIME}{BODY}</article>", "2026-01-03"),
        (f"<aside>{OTHER}</aside><main><h1>T</h1>{TIME}{BODY}</main>", "2026-01-03"),
        (f"<article><h1>T</h1><a href=/x>{OTHER} Another</a>{TIME}{BODY}</article>", "2026-01-03"),
        (f"<article><h1>T</h1>{BODY}<div class='comment-list'>{OTHER}</div></article>", None),
        (f"<article><h1>T</h1>{BODY}<section id=related-posts>{OTHER}</section></article>", None),
        (f"<article><h1>T</h1>{BODY}</article><ul class=events><li>{OTHER}</ul>", None),
        (f"<div>{OTHER} Concert</div><div>{TIME} Fair</div><h1>T</h1>{BODY}", None),
        (f"<h1>T</h1>{TIME}{BODY}", "2026-01-03"),
        (f"<footer>{OTHER}</footer><h1>T</h1>{BODY}", None),
        (f"<h1>T</h1>{OTHER}{TIME.replace('time ', 'time class=published ')}{BODY}", "2026-01-03"),
        (
            f"<article><h1>T</h1>{OTHER.replace('time ', 'time class=updated ')}{TIME}{BODY}</article>",
            "2026-01-03",
        ),
        (f"<article><h1>T</h1>{BODY}<article class=teaser>{OTHER}</article></article>", None),
    ],
)
def test_the_date_is_not_that_of_something_else(said: Read, body: str, expected: str | None) -> None:
    page = f"<html><head><title>T</title></head><body>{body}</body></html>"
    assert said("article", page)["date"] == expected


def test_the_head_of_a_page_says_its_date(said: Read) -> None:
    found = said("article", _with('<meta name="DC.date.issued" content="2026-01-03">') + OTHER)
    assert found["date"] == "2026-01-03"
