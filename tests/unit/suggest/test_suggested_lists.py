"""The right list is first: items before groups, parts, menus and data that nobody sees."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from smartspider.core.pages.page import Page
from smartspider.suggest.explanation import explain
from smartspider.suggest.suggest import find_suggestions, suggest
from smartspider.suggest.suggestion import Suggestion, to_task
from smartspider.taskfile.load import parse_task

Best = Callable[..., Suggestion]
Rows = Callable[[Suggestion, Page], list[dict[str, Any]]]


def card(i: int) -> str:
    return f"<div class='card'><h3><a href='/p/{i}'>Lamp {i}</a></h3><b class='price'>€{i}.50</b></div>"


def test_rows_that_span_two_siblings_are_one_item(best: Best, rows: Rows, page_of: Any) -> None:
    body = "<table>" + "".join(
        f"<tr class='athing'><td>{i}.</td><td><a href='/s/{i}'>Story {i}</a></td></tr>"
        f"<tr><td colspan=2><span class='score'>{i * 3} points</span> by <a class='user'>u{i}</a></td></tr>"
        "<tr class='spacer'></tr>"
        for i in range(1, 9)
    )
    found = best(body + "</table>")
    items = rows(found, page_of(body))
    assert len(items) == 8
    assert {"Story 2", "6 points", "u2"} <= set(items[1].values())


def test_a_heading_and_the_blocks_after_it_are_one_item(best: Best, rows: Rows, page_of: Any) -> None:
    body = "<main>" + "".join(
        f"<h3>Version {i}.0</h3><p>Changes of the release {i}, and why.</p>" for i in range(1, 7)
    )
    items = rows(best(body + "</main>"), page_of(body))
    assert len(items) == 6
    assert "Changes of the release 3, and why." in items[2].values()


def test_definitions_of_several_lists_are_one_list(best: Best, rows: Rows, page_of: Any) -> None:
    body = "".join(
        f"<h2>{letter}</h2><dl>"
        + "".join(f"<dt>{letter}{i}</dt><dd>Means {letter}{i}.</dd>" for i in range(4))
        + "</dl>"
        for letter in "abc"
    )
    items = rows(best(body), page_of(body))
    assert len(items) == 12
    assert items[5] == {"term": "b1", "definition": "Means b1."}


@pytest.mark.parametrize(
    ("term", "name"),
    [
        ("<code class='docutils literal notranslate'><span class=pre>--opt{}</span></code>", "term"),
        ("<span class='sig-name descname'><span class=pre>--opt{}</span></span>", "name"),
    ],
)
def test_terms_in_the_markup_of_documentation_are_not_named_by_it(best: Best, term: str, name: str) -> None:
    entries = "".join(f"<dt>{term.format(i)}</dt><dd><p>Does thing {i}.</p></dd>" for i in range(8))
    assert best(f"<h1>Options</h1><dl>{entries}</dl>").fields[0].name == name


def test_the_items_of_a_grid_come_before_its_rows(best: Best) -> None:
    body = "".join(
        "<div class='line'>" + card(i) + card(i + 1) + card(i + 2) + "</div>" for i in range(0, 12, 3)
    )
    assert (best(body).count, best(body).items) == (12, ".card")


def test_items_come_before_the_links_in_them(best: Best) -> None:
    body = "".join(
        f"<div class='case'><p>Meeting {i} in the long room of the town hall</p>"
        f"<a href='/a/{i}'>Agenda {i}</a> <a href='/m/{i}'>Minutes {i}</a></div>"
        for i in range(8)
    )
    assert best(body).items == ".case"


def test_rows_of_deleted_posts_stay_if_no_rule_leaves_them_out(best: Best) -> None:
    def entry(i: int) -> str:
        votes = "" if i in {5, 9} else f"<b>{i}</b>"
        title = "(removed)" if i in {3, 9} else f"<a href='/t/{i}'>A question about lamp {i}</a>"
        return (
            f"<div class='entry'><div class='votes'>{votes}</div><div class='title'>{title}</div>"
            f"<div class='by'>writer{i}</div></div>"
        )

    found = best("".join(map(entry, range(1, 15))))
    assert (found.items, found.count) == (".entry", 14)


@pytest.mark.parametrize("more", ["", "<p class='more'><a href='/all/{0}'>All {0}</a></p>"])
def test_items_come_before_groups_whose_items_look_different(best: Best, more: str) -> None:
    def film(i: int) -> str:
        return (
            f"<article class='hit hit-film'><img src='/i/{i}.jpg'><h3><a href='/f/{i}'>Film {i}</a></h3>"
            f"<i class='year'>(19{i + 10})</i><p class='origin'>Drama {i}</p><p>By N{i}</p></article>"
        )

    def person(i: int) -> str:
        return (
            f"<article class='hit hit-person'><img src='/i/{i}.jpg'><h3><a href='/n/{i}'>Person {i}</a></h3>"
            f"<p class='job'>Actor {i}</p></article>"
        )

    body = "".join(
        f"<section class='box'><h2>{title}</h2>{''.join(hit(first + i) for i in range(7))}"
        f"{more.format(title)}</section>"
        for title, hit, first in (
            ("Films", film, 0), ("Series", film, 10), ("Actors", person, 20), ("Users", person, 30)
        )
    )  # fmt: skip
    assert str(best(f"<main>{body}</main>").items).startswith("article.hit")


def test_entries_of_several_kinds_are_one_list(best: Best) -> None:
    def entry(i: int) -> str:
        kind = "class" if i % 4 == 0 else "function"
        note = f"<p class='note'>Since {i}</p>" if kind == "function" else ""
        return (
            f"<dl class='api {kind}'><dt><code>name{i}</code><a href='#n{i}'>#</a></dt>"
            f"<dd><p>Returns the value number {i}.</p>{note}</dd></dl>"
        )

    assert best(f"<main>{''.join(map(entry, range(1, 25)))}</main>").count == 24


def test_a_menu_with_more_entries_comes_after_the_list(best: Best) -> None:
    entries = "".join(f"<li><a href='/c/{i}'>Category {i}</a></li>" for i in range(60))
    body = f"<h1>Lamps</h1><ul class='leftnav'>{entries}</ul>" + "".join(card(i) for i in range(6))
    assert best(body).items == ".card"


def test_labels_with_values_are_not_the_list(best: Best) -> None:
    body = "".join(
        f"<div class='panel'><div class='row'><b>Docket</b> <i>D{i}</i></div>"
        f"<div class='row'><b>Decided</b> <i>May {i + 1}</i></div>"
        f"<div class='row'><b>Judge</b> <i>Judge {i}</i></div></div>"
        for i in range(8)
    )
    assert best(body).items == ".panel"


def test_data_that_the_page_does_not_show_come_after_its_list(best: Best) -> None:
    ads = [{"slot": f"top banner {i}", "size": f"large size {i}", "kind": f"an ad {i}"} for i in range(40)]
    text = "<p>" + "Words of the page. " * 120 + "</p>"
    body = f"<script>window.__STATE__ = {json.dumps({'ads': ads})}</script>" + text
    assert best(body + "".join(card(i) for i in range(12))).kind == "list"


def test_the_score_is_the_share_of_what_the_items_show(best: Best) -> None:
    assert best("".join(card(i) for i in range(12))).score == 1.0
    tags = "p pre blockquote h5 h6 address cite em section".split()
    lost = "".join(
        f"<div class='card'><h3><a href='/p/{i}'>Lamp {i}</a></h3>"
        f"<{tag}>Said {i} in a place of its own</{tag}></div>"
        for i, tag in enumerate(tags)
    )
    assert best(lost).score < 0.9


def test_the_explanation_compares_the_lists(page_of: Any) -> None:
    links = "".join(f"<li><a href='/m/{i}'>Entry {i}</a></li>" for i in range(9))
    body = f"<nav><ul>{links}</ul></nav>" + "".join(card(i) for i in range(12))
    found = find_suggestions(page_of(body)).suggestions
    lines = explain(found)
    assert lines[0].startswith("1. list: fields ")
    assert len(found) == 1 or any("margin, menu or footer" in line for line in lines)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("<p class='star-rating {word}'></p>", "Three"),
        ("<span class='stars' aria-label='Rated {i} out of 5'></span>", "Rated 3 out of 5"),
    ],
)
def test_ratings_that_are_only_names_are_found(
    cell: str, value: str, best: Best, rows: Rows, page_of: Any
) -> None:
    words = "Zero One Two Three Four Five".split()
    body = "".join(
        f"<li class='book'><h3>Book {i}</h3>{cell.format(i=i % 5 + 1, word=words[i % 5 + 1])}</li>"
        for i in range(10)
    )
    assert value in rows(best(body), page_of(body))[2].values()


def test_regular_and_special_prices_are_one_field(best: Best, rows: Rows, page_of: Any) -> None:
    body = "".join(
        f"<li class='p'><h3>Thing {i}</h3>"
        + (f"<p class='sale'><b class='now'>€{i}.10</b></p>" if i % 3 else f"<b class='usual'>€{i}.90</b>")
        + "</li>"
        for i in range(12)
    )
    items = rows(best(body), page_of(body))
    assert [item["price"] for item in items[:3]] == ["€0.90", "€1.10", "€2.10"]


def test_fragments_stay_where_they_tell_items_apart(best: Best, rows: Rows, page_of: Any) -> None:
    body = "<ul>" + "".join(f"<li><a href='all.html#f{i}'>function {i}</a></li>" for i in range(8))
    assert rows(best(body), page_of(body))[3]["url"] == "https://site.example/all.html#f3"


def test_a_text_that_starts_with_white_space_is_not_empty(best: Best, rows: Rows, page_of: Any) -> None:
    body = "".join(
        f"<li class='e'><h3>Event {i}</h3><p class='when'>\n<img src='/c.png'>\nday {i} "
        f"<a href='/r/{i}'>map {i}</a></p></li>"
        for i in range(8)
    )
    items = rows(best(body), page_of(body))
    assert "day 2" in items[2].values()
    assert all(value for item in items for value in item.values())


def test_a_sitemap_is_answered_with_the_rules_of_a_page_it_lists(page_of: Any) -> None:
    pages = "".join(f"<url><loc>https://site.example/p/{i}</loc></url>" for i in range(5))
    sitemap = page_of(
        f"<?xml version='1.0'?><urlset>{pages}</urlset>",
        url="https://site.example/sitemap.xml",
        content_type="application/xml",
    )

    async def fetch(url: str) -> Page:
        page: Page = page_of(
            "<h1>Lamp</h1><dl><dt>Watt</dt><dd>5</dd><dt>Base</dt><dd>E27</dd></dl>", url=url
        )
        return page

    found = asyncio.run(suggest(sitemap, fetch))
    task = to_task(found[0], sitemap.url)
    parse_task(task)
    assert found[0].kind == "sitemap"
    assert found[0].count == 5
    assert task["sitemaps"] == ["https://site.example/sitemap.xml"]
    assert task["entry_urls"] == ["https://site.example/p/2"]
    assert {"title", "watt", "base"} <= task["selectors"]["fields"].keys()


def test_rows_without_end_are_one_list(page_of: Any) -> None:
    body = "<table><tr><th>Name</th><th>Value</th></tr>" + "<tr><td>a</td><td>b</td></tr>" * 60_000
    found = find_suggestions(page_of(body + "</table>")).suggestions[0]
    assert (found.kind, found.count) == ("table", 60_000)


def test_parts_at_regular_distances_are_not_the_list(best: Best) -> None:
    # 150 parts and a sample of 30: at equal distances, each sampled part would be the first of its item.
    body = "".join(
        f"<div class='box'><div><a href='/p/{i}'>House {i}</a></div><div><p>Ref {i}</p></div>"
        f"<div><i>Garden {i}</i></div><div><em>£{i},000</em></div><div><b>Town {i}</b></div></div>"
        for i in range(30)
    )
    assert best(f"<main>{body}</main>").items == ".box"


def test_cards_in_forms_are_a_list(best: Best) -> None:
    body = "".join(
        f"<form class='buy'><h3><a href='/p/{i}'>Lamp {i}</a></h3><b class='price'>€{i}.50</b>"
        "<input name='count'><button>Buy</button></form>"
        for i in range(6)
    )
    assert best(f"<main>{body}</main>").items == "form.buy"


def test_a_date_before_a_linked_title_is_no_label(best: Best) -> None:
    body = "".join(
        f"<li><span>2020-07-0{1 + i // 5}</span> <a href='/n/{i}'>Notice number {i} of the fund</a></li>"
        for i in range(15)
    )
    found = best(f"<div id='news'><ul>{body}</ul></div>")
    assert [field.name for field in found.fields] == ["title", "date", "url"]


def test_terms_between_letters_are_items(best: Best, rows: Rows, page_of: Any) -> None:
    body = "<div>" + "".join(
        f"<h3>{letter}</h3>"
        + "".join(f"<dt>{letter}{i}</dt><dd><p>Means {letter}{i}.</p></dd>" for i in range(3))
        for letter in "abcd"
    )
    assert len(rows(best(body + "</div>"), page_of(body + "</div>"))) == 12


def test_two_links_of_each_row_are_its_values(best: Best, rows: Rows, page_of: Any) -> None:
    body = "<table>" + "".join(
        f"<tr><td></td><td><a href='/c/{i}.html#f{i}'><code>f{i}</code></a></td>"
        f"<td><a href='/c/{i}.html'>Section {i}</a></td></tr>"
        for i in range(20)
    )
    items = rows(best(body + "</table>"), page_of(body + "</table>"))
    assert len(items) == 20
    assert {"f3", "Section 3"} <= set(items[3].values())


def test_rows_of_similar_tables_are_one_list(best: Best) -> None:
    body = "".join(
        f"<table class='t'><tr><th>{league}</th><th>Won</th><th>Lost</th></tr>"
        + "".join(f"<tr><td>{league} {i}</td><td>{i}</td><td>{9 - i}</td></tr>" for i in range(5))
        + "</table>"
        for league in ("East", "West")
    )
    found = best(body)
    assert (found.kind, found.count) == ("table", 10)
    assert [field.name for field in found.fields] == ["text", "won", "lost"]


def test_rows_in_two_colours_are_selected_by_both(best: Best) -> None:
    head = "<tr class='head'><td colspan=3>League</td></tr>"
    body = "".join(
        (head if i % 5 == 0 else "")
        + f"<tr class='{'odd' if i % 2 else 'even'}row'><td><a href='/t/{i}'>Team {i}</a></td>"
        f"<td>{i}</td><td>{30 - i}</td></tr>"
        for i in range(20)
    )
    found = best(f"<table><tbody>{body}</tbody></table><table><tr class='x'><td>a</td></tr></table>")
    assert (found.items, found.count) == ("tr.evenrow, tr.oddrow", 20)
