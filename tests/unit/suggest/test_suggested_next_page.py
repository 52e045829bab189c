"""How a list goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Likeliest = Callable[..., dict[str, Any] | None]

LIST = (
    "<main>" + "".join(f"<li class='c'><h3>Thing {i}</h3><p>About {i}</p></li>" for i in range(5)) + "</main>"
)


@pytest.mark.parametrize(
    ("link", "selector"),
    [
        ('<a rel="next" href="/2">more</a>', 'a[rel~="next"]'),
        ('<a href="/2" aria-label="Next page"><svg></svg></a>', 'a[aria-label="Next page"]'),
        ('<a class="next" href="/2">2</a>', "a.next"),
        ('<li class="next"><a href="/2">go</a></li>', "li.next > a"),
        ('<a href="/2">下一页</a>', 'a:lexbor-contains("下一页")'),
        ('<div class="pager"><a href="/2">\u203a</a></div>', '.pager a:lexbor-contains("\u203a")'),
        ('<a href="/2"><span>Next</span></a>', 'a:has(span:lexbor-contains("Next"))'),
    ],
)
def test_the_next_link_is_found_by_what_it_says(
    link: str, selector: str, likeliest_pagination: Likeliest
) -> None:
    assert likeliest_pagination(LIST + link) == {"type": "next_link", "selector": selector}


def test_a_link_element_in_the_head_counts(likeliest_pagination: Likeliest) -> None:
    found = likeliest_pagination('<head><link rel="next" href="?p=2"></head>' + LIST)
    assert found == {"type": "next_link", "selector": 'link[rel~="next"]'}


@pytest.mark.parametrize(
    "link",
    [
        '<a class="prev" href="/0">\u2039</a>',
        '<a class="next disabled" href="#">Next</a>',
        '<a class="next disabled" href="/2">Next</a>',
        '<a class="prev" rel="prev next" href="/0">back</a>',
        '<a class="next" href="javascript:go()">Next</a>',
        '<a class="next" href="/list">Next</a>',
        '<a href="/fixtures">Next fixtures</a>',
    ],
)
def test_what_only_looks_like_a_next_link_is_left_alone(link: str, likeliest_pagination: Likeliest) -> None:
    assert likeliest_pagination(LIST + link) is None


@pytest.mark.parametrize(
    ("links", "pagination"),
    [
        (["?page=2", "?page=3"], {"type": "page_param", "param": "page", "start": 2}),
        (["?a=1&p=1", "?a=1&p=2"], {"type": "page_param", "param": "p", "start": 1}),
        (["?start=20", "?start=40"], {"type": "offset", "param": "start", "size": 20}),
        (["?page=3", "?page=5"], {"type": "page_param", "param": "page", "start": 3, "step": 2}),
    ],
)
def test_a_pager_of_numbers_gives_the_parameter(
    links: list[str], pagination: Any, likeliest_pagination: Likeliest
) -> None:
    pager = "".join(f'<a href="{link}">{number}</a>' for number, link in enumerate(links, 2))
    assert likeliest_pagination(f"{LIST}<p>1 {pager}</p>") == pagination


@pytest.mark.parametrize("text", ["<span class='sr'>Page </span>{}", "Seite {}", "第{}页", "{}ページ"])
def test_a_pager_may_say_page_before_or_after_its_numbers(text: str, likeliest_pagination: Likeliest) -> None:
    pager = "".join(f'<a href="?page={number}">{text.format(number)}</a>' for number in (2, 3))
    found = likeliest_pagination(f"{LIST}<p>1 {pager}</p>")
    assert found == {"type": "page_param", "param": "page", "start": 2}


@pytest.mark.parametrize(
    ("extra", "url", "pagination"),
    [
        (
            '"next": "https://a.example/x?p=2"',
            "",
            {"type": "next_link", "selector": "next", "language": "jmespath"},
        ),
        (
            '"meta": {"next_cursor": "abc"}',
            "",
            {"type": "cursor", "expr": "meta.next_cursor", "param": "cursor"},
        ),
        ('"total": 40', "?page=1", {"type": "page_param", "param": "page", "start": 2}),
        ('"total": 40', "?offset=0&limit=20", {"type": "offset", "param": "offset", "size": 20}),
        ('"next": null', "", None),
    ],
)
def test_a_json_answer_tells_how_it_goes_on(
    extra: str, url: str, pagination: Any, likeliest_pagination: Likeliest
) -> None:
    body = f'{{"items": [{{"id": 1, "name": "a"}}, {{"id": 2, "name": "b"}}], {extra}}}'
    url = f"https://a.example/x{url}"
    assert likeliest_pagination(body, url=url, content_type="application/json") == pagination


def test_a_pager_without_a_parameter_continues_after_the_current_number(
    likeliest_pagination: Likeliest,
) -> None:
    found = likeliest_pagination(f'{LIST}<p id="pages">1 <a href="/a">2</a> <a href="/b">3</a></p>')
    assert found is not None
    assert found["language"] == "xpath"
    assert "[@id='pages']" in found["selector"]


def test_page_numbers_in_indented_markup_are_read(likeliest_pagination: Likeliest) -> None:
    space = "\n" + " " * 30
    pager = "".join(
        f'<li><a href="?page={n}">{space}<span>{space}Page{space}</span>{n + 1}</a></li>' for n in range(4)
    )
    assert likeliest_pagination(f"{LIST}<ul>{pager}</ul>") == {
        "type": "page_param",
        "param": "page",
        "start": 1,
    }


def test_a_link_with_a_page_parameter_may_be_the_next_page(likeliest_pagination: Likeliest) -> None:
    found = likeliest_pagination(LIST + '<a href="?pageFilms=2">Další nalezené filmy</a>')
    assert found == {"type": "next_link", "selector": 'a:lexbor-contains("Další nalezené filmy")'}


def test_the_link_after_a_cell_with_a_number_is_found(likeliest_pagination: Likeliest) -> None:
    cells = '<td>| < 1 ></td><td>| <a href="/s/15">2</a></td><td>| <a href="/s/30">3</a></td>'
    found = likeliest_pagination(f"{LIST}<table><tr>{cells}</tr></table>")
    assert found is not None
    assert (found["type"], found["language"]) == ("next_link", "xpath")
