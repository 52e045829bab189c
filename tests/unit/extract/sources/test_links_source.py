from __future__ import annotations

from collections.abc import Callable
from typing import Any

Read = Callable[..., Any]


def test_each_url_once_in_the_order_of_the_page(said: Read) -> None:
    page = """<base href="/b/"><a href="x#1">一 <b>one</b></a><a href="x#2">again</a>
    <a href="//other.example/?q=1" rel="NOFOLLOW  noopener"><img alt="Logo" src=l.png></a>
    <area href="/map" alt="Map"><a href="mailto:a@b.example">m</a><a href="#top">top</a>
    <a href="javascript:x()">j</a>
    <a href="http://[bad">bad</a><a>none</a><a href="/late"></a><a href="/late">Late</a>"""
    assert said("links", page) == [
        _link("https://shop.example/b/x", "一 one"),
        _link("https://other.example/?q=1", "Logo", rel="nofollow noopener", nofollow=True, internal=False),
        _link("https://shop.example/map", "Map"),
        _link("https://shop.example/late", "Late"),
    ]


def _link(url: str, text: str, **rest: Any) -> dict[str, Any]:
    return {"url": url, "text": text, "rel": None, "nofollow": False, "internal": True} | rest


def test_links_of_an_item_have_the_base_of_its_page(said_in: Read) -> None:
    (link,) = said_in("links", '<li><a href="x">X</a></li>', page='<base href="/b/"><p>')
    assert link["url"] == "https://shop.example/b/x"


def test_there_is_an_end_to_the_links_of_a_page(said: Read) -> None:
    assert len(said("links", "".join(f"<a href=/{number}>x</a>" for number in range(60_000)))) == 50_000


def test_links_in_links_cannot_multiply_the_text_of_a_page(said: Read) -> None:
    page = "".join(f"<a href=/{number}><object>" for number in range(500)) + "x" * 100_000
    assert sum(len(link["text"]) for link in said("links", page)) < 2_000_000
