"""Response headers: redirects, and whether links may be followed."""

from __future__ import annotations

import pytest

from smartspider.core.errors import BadRedirect
from smartspider.core.pages.page import REDIRECTS, Page, header_forbids_follow, redirect_target


def answer(status: int, **headers: str) -> Page:
    return Page("http://h.example/dir/page", status, headers, b"", "utf-8", 0.0)


@pytest.mark.parametrize("status", sorted(REDIRECTS))
def test_a_redirect_leads_to_its_location(status: int) -> None:
    assert redirect_target(answer(status, location=" next?a#frag ")) == "http://h.example/dir/next?a"
    assert redirect_target(answer(status, location="//o.example")) == "http://o.example/"


@pytest.mark.parametrize("status", [200, 204, 300, 304, 305, 306, 404, 500])
def test_other_answers_are_no_redirects_even_with_a_location(status: int) -> None:
    assert redirect_target(answer(status, location="/next")) is None


def test_a_redirect_without_a_location_is_bad() -> None:
    with pytest.raises(BadRedirect, match="301 without a Location"):
        redirect_target(answer(301))


@pytest.mark.parametrize("location", ["mailto:a@b.example", "javascript:alert(1)", "http://[", "ftp://h/"])
def test_a_redirect_to_what_is_no_web_page_is_bad(location: str) -> None:
    with pytest.raises(BadRedirect, match="not an http"):
        redirect_target(answer(302, location=location))


def test_a_long_location_is_cut_in_the_reason() -> None:
    with pytest.raises(BadRedirect) as caught:
        redirect_target(answer(302, location="ftp://h/" + "x" * 10_000))
    assert len(caught.value.message) < 400


@pytest.mark.parametrize(
    ("value", "is_forbidden"),
    [
        ("nofollow", True),
        ("none", True),
        ("noindex, nofollow", True),
        ("NOINDEX , NoFollow", True),
        ("noindex", False),
        ("", False),
        ("all", False),
        ("SmartSpider: nofollow", True),
        ("smartspider: noindex, none", True),
        ("otherbot: nofollow", False),
        ("otherbot: noindex, nofollow", False),
        ("otherbot: nofollow, smartspider: none", True),
        ("smartspider: noindex, otherbot: nofollow", False),
        ("nofollow, otherbot: noindex", True),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow", True),
        ("unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, nofollow", True),
        ("max-snippet: 5, nofollow", True),
        ("max-image-preview: large", False),
    ],
)
def test_the_robots_header_speaks_to_everybody_or_by_name(value: str, is_forbidden: bool) -> None:
    assert header_forbids_follow({"x-robots-tag": value}) is is_forbidden


def test_without_the_header_links_may_be_followed() -> None:
    assert not header_forbids_follow({"content-type": "text/html"})


def test_a_page_knows_its_text_and_media_type() -> None:
    page = Page("u", 200, {"content-type": "Text/HTML; charset=x"}, b"caf\xe9", "utf-8", 0.0)
    assert page.text == "caf\ufffd"
    assert page.media_type == "text/html"
    assert answer(200).media_type == ""
