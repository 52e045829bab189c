from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

Read = Callable[..., Any]

PAGE = """<!doctype html><html lang="zh"><head><title>t</title><style>p{}</style></head><body>
<header><a href="/">Logo</a><nav><a href="/w">World</a></nav></header>
<div class="sidebar">side</div><div hidden>hidden</div><p style="display: none">none</p>
<main><h1>Rivers <em>rise</em></h1>
<p>The <b>rivers </b>rose, as <a href="/rain">heavy
  rain</a> fell.<br>Again. <img src="r.jpg" alt="The river"><script>x()</script></p>
<h2><a href="#next">What comes next</a></h2>
<ul><li>More rain<ul><li>heavy</li><li>light</li></ul></li><li>太阳</li></ul>
<ol start="3"><li>three</li><li><p>four</p><p>more</p></li></ol>
<pre><code class="language-python">def level():
    return `3`
</code></pre>
<blockquote><p>Never seen.</p><p>Never.</p></blockquote>
<table><thead><tr><th>Town</th><th>Level</th></tr></thead><tr><td>A|B</td><td><code>x</code></td></tr></table>
<hr><dl><dt>Term</dt><dd>Meaning</dd></dl>
<aside>related</aside><button>Buy</button></main><footer>(c)</footer></body></html>"""

MARKDOWN = """# Rivers *rise*

The **rivers** rose, as [heavy rain](https://shop.example/rain) fell.  
Again. ![The river](https://shop.example/a/r.jpg)

## What comes next

- More rain
  - heavy
  - light
- 太阳

3. three

4. four

   more

```python
def level():
    return `3`
```

> Never seen.
>
> Never.

| Town | Level |
| --- | --- |
| A\\|B | `x` |

---

**Term**

Meaning"""  # noqa: W291 - two spaces are a line break in Markdown


def test_the_content_of_a_page_without_what_is_around_it(said: Read) -> None:
    assert said("markdown", PAGE) == MARKDOWN


TITLES = "<tr><td>One</td><td>Home</td><td>Two</td></tr>"
TURNERS = [
    "<div class=prev-next-area><a href=/a>\u2190 Prev</a> <a href=/b>Next \u2192</a></div>",
    "<table><tr><td><a href=/a>Prev</a></td><td><a href=/u>Up</a></td><td><a href=/b>Next</a></td></tr>"
    f"{TITLES}</table>",
    "<div><a href=x>Prev</a> | <a href=y>Up</a> | <a href=z>Next</a></div>",
    "<p><a rel=prev href=/a>Chapter 1</a> | <a rel=next href=/b>Chapter 3</a></p>",
    "<ul><li><a href=/a>Previous</a></li><li><a href=/b>Next</a></li></ul>",
    "<div><a rel=next href=/b>Next: Chapter 3</a></div>",
    "<div><a href=/a>\u4e0a\u4e00\u7ae0</a><a href=/b>\u4e0b\u4e00\u7ae0</a></div>",
]


@pytest.mark.parametrize("turner", TURNERS)
def test_links_that_turn_pages_are_no_content(said: Read, turner: str) -> None:
    text = "The river rose again on Friday. " * 9
    assert said("markdown", f"<main><p>{text}</p>{turner}</main>") == text.strip()


@pytest.mark.parametrize(
    "kept",
    [
        "<p>Press <a href=/a>next</a> or <a href=/b>previous</a> to change the station.</p>",
        "<div><a href=/c>Next</a></div>",
        "<ul><li><a href=/a>Home</a></li><li><a href=/b>Rivers</a></li><li><a href=/c>Lakes</a></li></ul>",
    ],
)
def test_links_of_the_text_are_content(said: Read, kept: str) -> None:
    text = "The river rose again on Friday. " * 9
    assert len(said("markdown", f"<main><p>{text}</p>{kept}</main>")) > len(text)


def test_a_page_without_main_loses_what_is_named_as_around(said: Read) -> None:
    page = PAGE.replace("<main>", "<div id=app>").replace("</main>", "</div>")
    assert said("markdown", page) == MARKDOWN


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("a*b_c_ `d` 1 &lt;b> x_y_z [1]", r"a\*b_c\_ \`d\` 1 \<b> x_y_z [1]"),
        (
            "<p># no</p><p>1. no</p><p>- no</p><p>> no</p><p>#tag</p>",
            "\\# no\n\n1\\. no\n\n\\- no\n\n\\> no\n\n#tag",
        ),
        ("<b> </b>x<i></i><b>a</b>b", "x**a**b"),
        ("<code>a``b</code>", "``` a``b ```"),
        ("<pre>a\n```\nb</pre>", "````\na\n```\nb\n````"),
        ("<pre>a<br>b</pre>", "```\na\nb\n```"),
        ('<a href="/w_(x)">w</a>', "[w](<https://shop.example/w_(x)>)"),
        ('<a href="mailto:a@b.example">mail</a> <a href="/e"></a><a name=x>y</a>', "mail y"),
        ('<a href="/c"><h3>Card</h3><p>text</p></a>', "### [Card](https://shop.example/c)\n\ntext"),
        (
            '<a href="/i"><img src=i.jpg alt="[x]"></a>',
            "[![(x)](https://shop.example/a/i.jpg)](https://shop.example/i)",
        ),
        ('<img src="data:image/png;base64,xx" data-src="/l.jpg">', "![](https://shop.example/l.jpg)"),
        ("<span>a<div>b</div>c</span>", "a\n\nb\n\nc"),
        ("<table><tr><td>one</td></tr></table>", "one"),
        ("<table><tr><td>a<td>b</table>", "|   |   |\n| --- | --- |\n| a | b |"),
        ("<table><tr><td><ul><li>x</ul><td>y</table>", "- x\n\ny"),
        ("<ul><li></li><li> <p>a</p></li></ul>", "- a"),
        ("<ul><ul><li>a</li></ul></ul>", "- - a"),
        ("<svg><title>no</title></svg><noscript>no</noscript>yes", "yes"),
        ("a&nbsp;b", "a\u00a0b"),
        ("", ""),
    ],
)
def test_markdown_of_an_item(said_in: Read, html: str, markdown: str) -> None:
    assert said_in("markdown", html) == markdown


def test_an_item_keeps_what_a_page_would_lose(said_in: Read) -> None:
    assert said_in("markdown", "<nav><a href=/x>X</a></nav>") == "[X](https://shop.example/x)"


def test_a_page_that_is_all_navigation_is_kept(said: Read) -> None:
    page = "<body><nav><ul><li><a href=/1>One</a><li><a href=/2>Two of many</a></ul></nav><p>x"
    assert "[One](https://shop.example/1)" in said("markdown", page)


def test_a_header_with_the_title_of_the_page_stays(said: Read) -> None:
    page = "<body><header><h1>Title</h1></header><div>" + "text " * 50
    assert said("markdown", page).startswith("# Title\n")


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 10_000 + "deep",
        "<b><i>" * 3_000 + "deep",
        "<ul><li>" * 2_000 + "deep",
        "<blockquote>" * 60 + "line<br>" * 20_000 + "deep",
        "<p>" + "<span>" * 90 + "<b>x</b> y" * 30_000 + "deep",
        "<p>" + "*_` &lt;a" * 50_000 + " deep",
        "<table><tr>" * 300 + "<td>deep",
        "<a href=/x><marquee>" * 300 + "deep",
    ],
)
def test_hostile_pages_end_quickly_and_keep_their_text(said: Read, page: str) -> None:
    started_at = time.process_time()
    markdown = said("markdown", page)
    assert "deep" in markdown
    assert len(markdown) < 30 * len(page) + 1_000
    assert time.process_time() - started_at < 5


def test_there_is_an_end_to_how_far_blocks_are_indented(said: Read) -> None:
    assert said("markdown", "<blockquote>" * 50 + "deep") == "> " * 8 + "deep"
    assert said("markdown", "<ul><li>" * 40 + "deep").index("deep") == 2 * 8


def test_there_is_an_end_to_the_nodes_of_a_page(said: Read) -> None:
    assert 100_000 < len(said("markdown", "<p>a</p>" * 400_000)) < 1_000_000
