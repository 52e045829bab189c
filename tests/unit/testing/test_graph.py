from __future__ import annotations

import json
from typing import Any

import aiohttp
from selectolax.lexbor import LexborHTMLParser

from smartspider.demo.process import site_process
from smartspider_testing.sites.graph import ChangingGraph, graph_task

Row = dict[str, Any]


def _links(html: str) -> list[str]:
    found = [node.attributes["href"] or "" for node in LexborHTMLParser(html).css("a.child")]
    return [link.removeprefix("/p/") for link in found]


def _rows(html: str) -> list[Row]:
    nodes = LexborHTMLParser(html).css(".row")
    return [{name: node.attributes[f"data-{name}"] for name in ("page", "fetch", "row")} for node in nodes]


def _crawl(graph: ChangingGraph, fetch: int = 1) -> list[Row]:
    rows: list[Row] = []
    seen, waiting = {"0"}, ["0"]
    while waiting:
        page = waiting.pop()
        html = graph.html(page, fetch)
        rows += _rows(html)
        fresh = {link for link in _links(html) if link not in seen}
        seen |= fresh
        waiting += sorted(fresh)
    return rows


def test_a_careful_crawl_has_no_problems_whichever_fetch_it_stored() -> None:
    graph = ChangingGraph(300, seed=3)
    for fetch in (1, 2):
        rows = _crawl(graph, fetch)
        assert graph.problems(rows) == []
        assert {row["page"] for row in rows} >= {str(number) for number in range(300)}
        assert any("-" in row["page"] for row in rows)


def test_every_fetch_shows_the_tree_and_otherwise_something_else() -> None:
    graph = ChangingGraph(200, seed=1)
    shown = [_links(graph.html("0", fetch)) for fetch in range(1, 9)]
    for links in shown:
        assert set(graph.children("0")) <= set(links)
    assert len({tuple(links) for links in shown}) > 4
    assert len({graph.rows("0", fetch) for fetch in range(1, 9)}) > 1


def test_a_lost_page_is_seen() -> None:
    graph = ChangingGraph(50)
    rows = [row for row in _crawl(graph) if row["page"] != "17"]
    assert graph.problems(rows) == ["page 17 is lost"]


def test_a_lost_leaf_of_the_stored_fetch_is_seen() -> None:
    graph = ChangingGraph(200)
    leaf = next(row["page"] for row in _crawl(graph) if "-" in row["page"])
    rows = [row for row in _crawl(graph) if row["page"] != leaf]
    assert graph.problems(rows) == [f"page {leaf} is lost"]


def test_a_leaf_that_only_a_losing_fetch_linked_to_is_seen() -> None:
    graph = ChangingGraph(200)
    loser = next(str(number) for number in range(200) if graph.leaves(str(number), 2))
    leaf = graph.leaves(loser, 2)[0]
    rows = _crawl(graph) + _rows(graph.html(leaf, 1))
    assert graph.problems(rows) == [f"page {leaf} was never linked by a stored page"]


def test_a_doubled_page_and_a_doubled_row_are_seen() -> None:
    graph = ChangingGraph(50)
    rows = _crawl(graph)
    stranger = {"page": "9", "fetch": "2", "row": "0"}
    assert any("page 9 is doubled" in problem for problem in graph.problems([*rows, stranger]))
    assert any("is there 2 times" in problem for problem in graph.problems([*rows, rows[0]]))


def test_a_lost_row_is_seen() -> None:
    graph = ChangingGraph(50)
    page = next(str(number) for number in range(50) if graph.rows(str(number), 1) > 1)
    rows = [row for row in _crawl(graph) if (row["page"], row["row"]) != (page, "1")]
    assert graph.problems(rows) == [f"row ('{page}', 1, 1) is lost"]


def test_without_leaves_the_number_of_pages_is_known_beforehand() -> None:
    graph = ChangingGraph(120, leafy=0.0)
    assert len({row["page"] for row in _crawl(graph)}) == 120
    assert not graph.has("120")
    assert not graph.has("007")
    assert not graph.has("3-1-0")
    assert graph.has("119")


async def test_the_process_numbers_fetches_and_tells_its_statistics() -> None:
    graph = ChangingGraph(40, seed=5)
    with site_process("smartspider_testing.sites.graph", "--pages", "40", "--seed", "5") as url:
        async with aiohttp.ClientSession(url) as client:
            for fetch in (1, 2):
                async with client.get("/p/0") as answer:
                    assert await answer.text() == graph.html("0", fetch)
            async with client.get("/p/40") as answer:
                assert answer.status == 404
            async with client.get("/_stats") as answer:
                stats = await answer.json()
    assert stats["pages"] == {"0": 2}
    assert stats["total"] == 2
    assert [arrival[1:] for arrival in stats["arrivals"]] == [["0", 1], ["0", 2]]


def test_the_task_is_plain_json_and_starts_at_the_root() -> None:
    task = graph_task("http://127.0.0.1:1/")
    assert json.loads(json.dumps(task)) == task
    assert task["entry_urls"] == ["http://127.0.0.1:1/p/0"]
