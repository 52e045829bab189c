"""Lists that a page holds as data, and pages that are one item."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from smartspider.suggest.json_lists import json_lists
from smartspider.suggest.suggest import find_suggestions
from smartspider.suggest.suggestion import Suggestion

Best = Callable[..., Suggestion]

THINGS = [{"id": i, "title": f"Thing {i}", "price": {"amount": i + 0.5, "currency": "EUR"}} for i in range(8)]


def script(state: Any) -> str:
    return (
        f'<div id="app"></div><script id="__NEXT_DATA__" type="application/json">{json.dumps(state)}</script>'
    )


def test_the_largest_list_of_a_json_answer_is_chosen(best: Best) -> None:
    body = json.dumps({"facets": [{"name": "a"}, {"name": "b"}], "result": {"hits": THINGS}})
    found = best(body, content_type="application/json")
    assert found.items == {"type": "jmespath", "expr": "result.hits"}
    assert [field.name for field in found.fields] == ["id", "title", "price", "currency"]


def test_an_answer_that_is_a_list_needs_no_path(rows: Any, page_of: Any) -> None:
    page = page_of(json.dumps(THINGS), content_type="application/json")
    found = find_suggestions(page).suggestions[0]
    assert rows(found, page)[2]["title"] == "Thing 2"


def test_lists_in_lists_are_put_together() -> None:
    value = {"sections": [{"name": "A", "goods": THINGS[:4]}, {"name": "B", "goods": THINGS[4:]}]}
    found = json_lists(value)[0]
    assert (found.expr, found.size) == ("sections[].goods[]", 8)


def test_things_come_before_the_lists_that_each_of_them_has() -> None:
    def paper(i: int, n: int) -> dict[str, Any]:
        about = {"id": i * 10 + n, "by": f"J{i}{n}", "title": f"Opinion {i}.{n}", "file": f"/f/{i}-{n}.pdf"}
        return about | {"kind": "ab"[n], "pages": i + n, "size": i * n}

    cases = [
        {
            "caption": f"Case {i}",
            "court": f"Court {i % 3}",
            "decided": f"2025-12-{i + 10}",
            "papers": [paper(i, 0), paper(i, 1)],
        }
        for i in range(9)
    ]
    assert json_lists({"cases": cases})[0].expr == "cases"


def test_an_object_of_objects_by_id_is_a_list() -> None:
    found = json_lists({"entities": {f"p{i}": thing for i, thing in enumerate(THINGS)}})[0]
    assert (found.expr, found.size) == ("entities.*", 8)


def test_keys_that_jmespath_cannot_take_are_quoted() -> None:
    found = json_lists({"a-b": [{"x y": 1, "k": "a"}, {"x y": 2, "k": "b"}]})[0]
    assert found.expr == '"a-b"'
    assert found.fields["x_y"] == '"x y"'


def test_the_state_of_a_page_is_read_when_its_html_is_empty(best: Best) -> None:
    found = best(script({"props": {"menu": [{"t": "a", "u": "/a"}, {"t": "b", "u": "/b"}], "goods": THINGS}}))
    assert found.items == {"type": "state", "expr": "__NEXT_DATA__.props.goods"}
    assert found.count == 8


def test_what_is_for_the_site_comes_after_what_is_on_the_page() -> None:
    lists = json_lists({"menu": THINGS, "goods": THINGS})
    assert [one.expr for one in lists] == ["goods", "menu"]


def test_products_in_json_ld_are_a_list(best: Best) -> None:
    blocks = [{"@type": "Product", "name": f"Lamp {i}", "url": f"https://x.example/{i}"} for i in range(4)]
    blocks.append({"@type": "Organization", "name": "Us"})
    found = best("".join(f'<script type="application/ld+json">{json.dumps(one)}</script>' for one in blocks))
    assert found.items == {"type": "json_ld", "expr": "[?\"@type\"=='Product']"}
    assert found.count == 4


def test_a_feed_is_its_entries(best: Best) -> None:
    entry = (
        "<entry><title>News {i}</title><id>n{i}</id><link href='/n/{i}'/>"
        "<updated>2026-01-0{i}T00:00:00Z</updated></entry>"
    )
    body = "".join(entry.format(i=i) for i in range(1, 4))
    found = best(
        f'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>T</title>{body}</feed>',
        content_type="application/atom+xml",
    )
    assert found.kind == "feed"
    assert found.count == 3
    assert found.pagination is None


def test_a_page_about_one_thing_is_one_item_with_its_details(best: Best) -> None:
    thing = {
        "@type": "Recipe",
        "name": "Pie",
        "author": {"@type": "Person", "name": "Ann"},
        "totalTime": "PT1H",
    }
    body = (
        f'<script type="application/ld+json">{json.dumps(thing)}</script><h1>Pie</h1>'
        "<table><tr><th>Oven</th><td>200 C</td></tr><tr><th>Serves</th><td>4</td></tr></table>"
        "<aside><ul>"
        + "".join(f"<li><a href='/r/{i}'>Recipe {i}</a></li>" for i in range(5))
        + "</ul></aside>"
    )
    found = best(body)
    assert found.kind == "page"
    assert found.items is None
    samples = {field.name: field.samples[0] for field in found.fields}
    assert samples["name"] == "Pie"
    assert samples["author"] == "Ann"
    assert samples["oven"] == "200 C"


def test_a_page_with_nothing_to_repeat_gives_nothing(page_of: Any) -> None:
    assert (
        find_suggestions(
            page_of("<form><input name=u></form><h1>Log in</h1><p>Welcome back.</p>")
        ).suggestions
        == []
    )


def test_json_values_keep_their_types_and_links_become_whole(best: Best) -> None:
    rows = [{"name": f"a{i}", "stock": i, "score": i / 2, "sold": i > 3, "href": f"/p/{i}"} for i in range(8)]
    found = best(json.dumps(rows), content_type="application/json")
    steps = {field.name: field.rule.get("steps") for field in found.fields}
    assert steps["name"] is None
    assert [steps[name] for name in ("stock", "score", "sold")] == [["integer"], ["number"], ["boolean"]]
    (link,) = [field for field in found.fields if field.samples[1] == "https://site.example/p/1"]
    assert link.rule["steps"] == ["url"]
