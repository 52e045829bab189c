"""The judge of the benchmark on real pages is as strict as it says, and its labels are complete."""

from __future__ import annotations

import importlib
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from smartspider_testing.waiting import WAIT_S

ROOT = Path(__file__).parents[3]
URL = "https://site.example/news?page=1"
HTML = """
<nav><a href="/a">About</a><a href="/b">Blog</a></nav>
<table>
  <tr><th>Title</th><th>Price</th></tr>
  <tr class="item"><td><a href="/1">A first book about spiders</a></td><td>12,50 €</td></tr>
  <tr class="item"><td><a href="/2">A second book about spiders</a></td><td>8 €</td></tr>
</table>
"""
ROWS = {
    "0": {"title": ["A first book about spiders"], "url": ["/1"], "price": ["12,50 €", 12.5]},
    "-1": {"title": ["A second book about…"], "url": ["/2"], "price": ["8 €", 8]},
}
FOUND = [
    {"name": "A first book  about spiders", "link": "http://site.example/1", "cost": 12.5},
    {"name": "A second book about spiders", "link": "http://site.example/2", "cost": 8},
]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A module of the benchmark, by its name."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: importlib.import_module(f"benchmarks.outside.real_pages.{name}")


@pytest.fixture
def judge(module: Callable[[str], ModuleType]) -> Callable[..., Any]:
    """The judgement of a suggestion for the page above."""
    label = module("labels").Label("group/page", "page.html", URL, ["tr.item"], 2, ROWS, "/news?page=2")
    judging = module("judge")

    def result(items: str | None = "tr.item", rows: Any = FOUND, links: Any = ("/news?page=2",)) -> Any:
        return judging.judge(label, HTML, judging.Found(items, list(rows), list(links)))

    return result


def test_a_suggestion_with_the_wanted_rows_fields_and_next_page_is_right(judge: Callable[..., Any]) -> None:
    result = judge()
    assert result.list_right
    assert (result.fields_right, result.fields_wrong) == (["title", "url", "price"], [])
    assert result.next == "right"


@pytest.mark.parametrize("items", ["table", "tr", "tr.item a", "nav a"])
def test_groups_head_rows_parts_and_menus_are_other_lists(judge: Callable[..., Any], items: str) -> None:
    result = judge(items)
    assert not result.list_right
    assert result.fields_right == []


def test_a_field_is_wrong_if_one_row_is(judge: Callable[..., Any]) -> None:
    rows = [FOUND[0], {**FOUND[1], "cost": 8000}]
    assert judge(rows=rows).fields_wrong == ["price"]


def test_rows_that_are_no_elements_are_compared_by_their_values(judge: Callable[..., Any]) -> None:
    assert judge(None).list_right
    assert not judge(None, [*FOUND, *FOUND]).list_right, "twice as many"
    assert not judge(None, [{"name": "x"}, {"name": "y"}]).list_right


@pytest.mark.parametrize(
    ("links", "verdict"),
    [((), "missing"), (("/archive",), "wrong"), (("http://site.example/news?page=2",), "right")],
)
def test_a_next_page_is_right_wrong_or_missing(
    judge: Callable[..., Any], links: tuple[str, ...], verdict: str
) -> None:
    assert judge(links=links).next == verdict


@pytest.mark.parametrize(
    ("given", "right", "same"),
    [
        ("2016-03-09T10:00:00Z", "date:2016-03-09", True),
        ("2016-03-10", "date:2016-03-09", False),
        ("2016-03-10", "date:any", True),
        ("an hour ago", "date:any", False),
        (1899, "1.899 €", False),
        ("1.899", ["1.899 €", 1899], True),
        ("Price: 1.899 €", ["1.899 €", 1899], True),
        ("1.899 of 2", ["1.899 €", 1899], False),
        (True, 1, False),
        ("/a%20b", "https://site.example/a b", True),
        ("/a#two", "/a#one", False),
        (None, "x", False),
    ],
)
def test_values_are_compared_as_people_read_them(
    module: Callable[[str], ModuleType], given: Any, right: Any, same: bool
) -> None:
    assert module("judge").is_value(given, right if isinstance(right, list) else [right], URL) is same


def test_the_served_next_page_has_the_same_list_with_other_items(
    module: Callable[[str], ModuleType],
) -> None:
    label = module("labels").Label("group/page", "page.html", URL, ["tr.item"], 2, ROWS, "/news?page=2")
    other = module("site").other_items(HTML.encode(), label, "2").decode()
    assert other.count('class="item"') == 2
    assert '<a href="/1-2">A first book about spiders 2</a>' in other
    assert "12,50 €" in other
    assert '<a href="/a">About</a>' in other, "only the items differ"


def test_a_page_is_served_with_its_next_page_and_nothing_invented(
    module: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    (tmp_path / "page.html").write_text(HTML + '<a href="https://site.example/news?page=2">2</a>')
    label = module("labels").Label("group/page", "page.html", URL, ["tr.item"], 2, ROWS, "/news?page=2")
    with module("site").serve(label, tmp_path) as site:

        def body(target: str) -> str:
            with urllib.request.urlopen(site.origin + target, timeout=WAIT_S) as answer:
                return str(answer.read().decode())

        assert site.url == f"{site.origin}/news?page=1"
        assert f'href="{site.origin}/news?page=2"' in body("/news?page=1"), "its links lead to this site"
        assert 'href="/1-2"' in body("/news?page=2"), "other items"
        assert body("/news?sort=price") == body("/news?page=1"), "an unknown query changes nothing"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            body("/archive")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, None),
        ({"count": 3}, "2 items, not 3"),
        ({"items": ["tr.item", "li.item"]}, "li.item selects nothing"),
        ({"rows": {"1": {"title": ["A third book about spiders"]}}}, "row 1 has no title"),
        ({"rows": {"0": {"url": ["/2"]}}}, "row 0 has no url"),
        ({"rows": {"0": {"title": ["A first book…"], "url": ["https://site.example/1"]}}}, None),
        ({"next": "/news?page=3"}, "no link to /news?page=3"),
        ({"next": None}, None),
    ],
)
def test_a_label_is_compared_with_its_page_alone(
    module: Callable[[str], ModuleType], change: dict[str, Any], fault: str | None
) -> None:
    fields = {"items": ["tr.item"], "count": 2, "rows": ROWS, "next": "/news?page=2", **change}
    label = module("labels").Label("group/page", "page.html", URL, **fields)
    page = HTML + '<a href="?page=2">2</a>'
    faults = module("check").check_label(label, page.encode())
    assert bool(faults) == (fault is not None), faults
    assert fault is None or faults[0].startswith(fault)


def test_links_of_a_label_are_resolved_as_the_page_says(module: Callable[[str], ModuleType]) -> None:
    page = '<base href="/shop/"><ul><li><a href="1">A book</a></li><li><a href="2">A pen</a></li></ul>'
    label = module("labels").Label
    check = module("check").check_label
    rows = {"0": {"url": ["/shop/1"]}}
    assert check(label("g/p", "p", URL, ["li"], 2, rows, None), page.encode()) == []
    assert check(label("g/p", "p", URL, ["li"], 2, {"0": {"url": ["/1"]}}, None), page.encode())


def test_a_value_may_stand_between_an_item_and_the_next(module: Callable[[str], ModuleType]) -> None:
    page = "<h2>One</h2><p>First text</p><h2>Two</h2><p>Second text</p>"
    label = module("labels").Label
    check = module("check").check_label
    first = {"0": {"text": ["First text"]}}
    assert check(label("g/p", "p", URL, ["h2"], 2, first, None), page.encode()) == []
    assert check(label("g/p", "p", URL, ["h2"], 2, {"0": {"text": ["Second text"]}}, None), page.encode())


def test_blind_pages_are_run_only_when_asked_for(module: Callable[[str], ModuleType]) -> None:
    labels = module("labels")
    pages = [
        labels.Label(f"group/{half}", "page.html", URL, ["li"], 2, ROWS, None, half=half)
        for half in ("tune", "held", "blind")
    ]

    def keys(half: str | None, page: str | None = None) -> list[str]:
        return [label.key for label in labels.choose(pages, half, page)]

    assert keys(None) == ["group/tune", "group/held"]
    assert keys("blind") == ["group/blind"]
    assert keys(None, "group/blind") == []
    assert keys("blind", "group/blind") == ["group/blind"]


def test_blind_labels_are_kept_apart(module: Callable[[str], ModuleType]) -> None:
    labels = module("labels")
    blind = labels.read_labels(labels.LABELS / "blind")
    assert len(blind) >= 25
    assert [label.key for label in blind if label.half != "blind"] == []
    assert len(blind) == sum(label.belongs_to == "blind" for label in labels.read_labels())


def test_no_blind_page_is_also_a_page_to_tune_on(module: Callable[[str], ModuleType]) -> None:
    blind: set[tuple[str, str]] = set()
    open_: set[tuple[str, str]] = set()
    for label in module("labels").read_labels():
        pages = blind if label.belongs_to == "blind" else open_
        pages.add((label.source.partition("@")[0], label.path))
    assert blind.isdisjoint(open_)


def test_every_label_is_complete_and_the_halves_are_about_equal(module: Callable[[str], ModuleType]) -> None:
    labels = module("labels").read_labels()
    assert len(labels) >= 70
    assert len({label.source for label in labels}) >= 8
    assert [key for key, count in Counter(label.key for label in labels).items() if count > 1] == []
    assert [label.key for label in labels if label.count < 2 or not all(label.rows.values())] == []
    halves = Counter(label.belongs_to for label in labels)
    assert 0.35 <= halves["held"] / (halves["held"] + halves["tune"]) <= 0.6
