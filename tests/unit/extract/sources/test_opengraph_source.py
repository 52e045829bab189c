from __future__ import annotations

from collections.abc import Callable
from typing import Any

Read = Callable[..., Any]


def test_families_are_objects_and_what_is_repeated_a_list(said: Read) -> None:
    page = """<base href="/img/">
    <meta property="og:title" content=" 新款  台灯 "><meta property="og:image" content="1.jpg">
    <meta property="og:image:width" content="600"><meta property="og:image" content="/2.jpg">
    <meta name="og:type" content="product"><meta property="OG:Locale" content="zh_CN">
    <meta property="product:price:amount" content="12.5"><meta property="article:tag" content="a">
    <meta property="article:tag" content="b"><meta name="twitter:card" content="summary">
    <meta name="twitter:image" content="t.jpg"><meta name="description" content="no">
    <meta property="og:" content="no">
    <meta property="og:url" content=""><meta property="fb:app_id" content="no">"""
    assert said("opengraph", page) == {
        "title": "新款 台灯",
        "image": ["https://shop.example/img/1.jpg", "https://shop.example/2.jpg"],
        "image_width": "600",
        "type": "product",
        "locale": "zh_CN",
        "product": {"price_amount": "12.5"},
        "article": {"tag": ["a", "b"]},
        "twitter": {"card": "summary", "image": "https://shop.example/img/t.jpg"},
    }


def test_a_text_that_has_the_name_of_a_family_stays(said: Read) -> None:
    page = '<meta property="og:article" content="x"><meta property="article:tag" content="a">'
    assert said("opengraph", page) == {"article": "x"}
    page = '<meta property="article:tag" content="a"><meta property="og:article" content="x">'
    assert said("opengraph", page) == {"article": {"tag": "a"}}


def test_a_page_without_any_says_nothing(said: Read) -> None:
    assert said("opengraph", "<p>hello") == {}
