"""Redirects in markup."""

from __future__ import annotations

import time

import pytest

from smartspider.core.pages.meta_refresh import HEAD_BYTES, refresh_target

URL = "http://h.example/a/b?x=1"


def target(markup: str, media_type: str = "text/html", url: str = URL, charset: str = "utf-8") -> str | None:
    return refresh_target(url, media_type, charset, markup.encode(charset))


def refresh(content: str) -> str:
    return f'<html><head><meta http-equiv="refresh" content="{content}"></head>'


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("0; url=/c", "http://h.example/c"),
        ("0;URL='c?a=1&amp;b=2'", "http://h.example/a/c?a=1&b=2"),
        (" 0 , url = &quot;http://o.example/x&quot; etc.", "http://o.example/x"),
        ("0 /c", "http://h.example/c"),
        ("0;/c#part", "http://h.example/c"),
        (".5; url=/c", "http://h.example/c"),
        ("2.9; url=/c", "http://h.example/c"),
        ("5; url=/c", "http://h.example/c"),
        ("005; url=/c", "http://h.example/c"),
        ("0; url=?x=2", "http://h.example/a/b?x=2"),
    ],
)
def test_a_page_that_forwards_its_visitors_is_a_redirect(content: str, found: str) -> None:
    assert target(refresh(content)) == found


@pytest.mark.parametrize(
    "content",
    [
        *("6; url=/c", "300", "0", "0;", "0; url=", "300; url=/a/b?x=1"),
        *("0; url=?x=1", "0; url=http://h.example/a/b?x=1#top"),
        *("3; url=?x=2", "5; url=/a/b?clock=12:01"),
        *(
            "0url=/c",
            "url=/c",
            "-1; url=/c",
            "0; url=javascript:go()",
            "0; url=mailto:a@b",
            f"{'9' * 5000}; /c",
        ),
    ],
)
def test_a_page_that_reloads_or_is_shown_for_a_while_is_a_page(content: str) -> None:
    assert target(refresh(content)) is None


@pytest.mark.parametrize(
    "markup",
    [
        "<META HTTP-EQUIV=Refresh CONTENT=0;/c>",
        "<meta content='0; url=/c' data-x=\"a>b\" http-equiv = ' refresh '/>",
        "<meta http-equiv=x><!-- <meta --><p>y<meta http-equiv=refresh content='0;/c'>",
        "<!--><meta http-equiv=refresh content='0;/c'><!-- -->",
        "<script>'<meta http-equiv=refresh content=0;/no>'</script><meta http-equiv=refresh content='0;/c'>",
        "<meta http-equiv=refresh content=x><meta http-equiv=refresh content='0;/c'>",
        "<base href='/d/'><meta http-equiv=refresh content='0;../c'>",
        "<meta http-equiv=refresh http-equiv=x content='0;/c' content='0;/no'>",
    ],
)
def test_markup_is_read_as_browsers_read_it(markup: str) -> None:
    assert target(markup) == "http://h.example/c"


@pytest.mark.parametrize(
    "markup",
    [
        "<!-- <meta http-equiv=refresh content='0;/c'> -->",
        "<!-- <meta http-equiv=refresh content='0;/c'>",
        "<noscript><meta http-equiv=refresh content='0;/c'></noscript>",
        "<template><meta http-equiv=refresh content='0;/c'></template>",
        "<script>var x = '<meta http-equiv=refresh content=0;/c>'</script>",
        "<textarea><meta http-equiv=refresh content='0;/c'>",
        "<metadata http-equiv=refresh content='0;/c'>",
        "<meta name=refresh content='0;/c'> http-equiv=refresh",
        "<meta http-equiv=refresh content='9;/d'><meta http-equiv=refresh content='0;/c'>",
        "<p title='<meta http-equiv=refresh content=0;/c",
        " " * HEAD_BYTES + "<meta http-equiv=refresh content='0;/c'>",
    ],
)
def test_what_browsers_do_not_follow_is_no_redirect(markup: str) -> None:
    assert target(markup) is None


def test_only_markup_is_searched() -> None:
    page = refresh("0; url=/c")
    assert [target(page, kind) for kind in ("application/json", "text/plain")] == [None, None]
    assert [target(page, kind) for kind in ("", "application/xhtml+xml")] == ["http://h.example/c"] * 2
    assert target("x" + page, "") is None
    assert target(refresh("0; url=/ü"), charset="latin-1") == "http://h.example/%C3%BC"


@pytest.mark.parametrize(
    "part",
    [
        "<!--",
        '<meta "',
        "a",
        "a ",
        "/",
        "<script></script>",
        "<meta http-equiv=refresh content=x>",
        "0",
        " url",
    ],
)
def test_the_search_is_linear(part: str) -> None:
    markup = "<meta http-equiv=refresh content='0;" + part * HEAD_BYTES
    before = time.process_time()
    for _ in range(10):
        target(markup)
        target(markup.replace("'0;", ""))
    assert time.process_time() - before < 2.0
