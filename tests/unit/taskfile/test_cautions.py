"""Warnings about tasks that are valid but may surprise."""

from __future__ import annotations

from typing import Any

from smartspider.taskfile.checks import find_cautions
from smartspider.taskfile.load import parse_task


def test_a_lossy_filter_is_said_with_its_rate(small: dict[str, Any]) -> None:
    (caution,) = find_cautions(parse_task({**small, "dedup": {"urls": "bloom"}}))
    assert caution.path == "dedup.urls"
    assert "pages are missed" in caution.message
    assert "on a cluster" in caution.message
    assert "one in 10,000 (0.01 %)" in caution.message


def test_an_ordinary_task_needs_none(small: dict[str, Any]) -> None:
    assert find_cautions(parse_task(small)) == []
    assert find_cautions(parse_task({**small, "dedup": {"urls": "exact"}})) == []


def test_items_without_fields_are_said_to_give_no_rows(small: dict[str, Any]) -> None:
    pages = {"detail": {"selectors": {"items": "li"}}}
    follow = [{"selector": "a", "to": "detail"}]
    (caution,) = find_cautions(parse_task({**small, "follow": follow, "pages": pages}))
    assert caution.path == "pages.detail.selectors.items"
    assert find_cautions(parse_task({**small, "selectors": {"items": "li", "fields": {"t": "b"}}})) == []


def test_repeated_urls_of_a_list_are_counted(small: dict[str, Any]) -> None:
    urls = ["http://a/1", "http://a/2", "http://a/1", "http://a/1"]
    (caution,) = find_cautions(parse_task({**small, "entry_urls": [{"urls": urls}]}))
    assert caution.path == "entry_urls[0]"
    assert caution.message.startswith("2 of 4 URLs repeat")
    carried = {"urls": urls, "values": {"n": [1, 2, 3, 1]}, "meta": {"n": "{n}"}}
    (caution,) = find_cautions(parse_task({**small, "entry_urls": [carried]}))
    assert caution.message.startswith("1 of 4 URLs repeat"), "another value makes another request"


def test_a_name_with_letters_that_look_alike_is_named(small: dict[str, Any]) -> None:
    (caution,) = find_cautions(parse_task({**small, "name": "sh\N{CYRILLIC SMALL LETTER O}p"}))
    assert (caution.path, caution.hint) == ("name", "write the name in one script")
    assert caution.message.endswith("is CYRILLIC SMALL LETTER O")
    for name in (
        "цены_shop",
        "Größe",
        "\u5546\u54c1shop",
        "shop-\N{GREEK SMALL LETTER ALPHA}\N{GREEK SMALL LETTER BETA}2",
    ):
        assert find_cautions(parse_task({**small, "name": name})) == []


def test_a_name_is_the_same_however_it_is_composed(small: dict[str, Any]) -> None:
    assert (
        parse_task({**small, "name": "cafe\N{COMBINING ACUTE ACCENT}"}).name
        == "caf\N{LATIN SMALL LETTER E WITH ACUTE}"
    )
