"""The judge of fault runs sees what is lost, doubled and hurried."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Sequence

import pytest

from smartspider.cli.main import main
from smartspider.taskfile.load import parse_task
from smartspider_testing.chaos import evaluation
from smartspider_testing.chaos.evaluation import StoredRow
from smartspider_testing.chaos.faults import FAULTS
from smartspider_testing.chaos.report import FaultResult, format_table
from smartspider_testing.chaos.runner import select_faults
from smartspider_testing.chaos.site import ChaosSite, SiteLayout, SiteVisit
from smartspider_testing.chaos.task import site_task
from smartspider_testing.waiting import WAIT_S

LAYOUT = SiteLayout(pages=40, hosts=3, has_twins=True, with_nul=("5",))


def crawled(layout: SiteLayout, fetch: int = 1) -> list[StoredRow]:
    """The rows of a correct crawl that stored this fetch of every page."""
    graph, stored = layout.graph, {"0": fetch}
    while missing := graph.expected(stored) - stored.keys():
        stored |= dict.fromkeys(missing, fetch)
    return [StoredRow(page, fetch, row) for page in stored for row in range(graph.rows(page, fetch))]


def visits(*moments: float, host: str = "127.0.0.1") -> list[SiteVisit]:
    return [SiteVisit(at, host, f"/p/{number}", str(number), 1, 200) for number, at in enumerate(moments)]


@pytest.mark.parametrize("fetch", [1, 2, 7])
def test_a_correct_crawl_is_found_correct_whichever_fetch_was_stored(fetch: int) -> None:
    assert evaluation.compare(LAYOUT, crawled(LAYOUT, fetch)) == evaluation.ItemDiff([], [], [])


def test_a_page_that_is_missing_is_lost() -> None:
    rows = [row for row in crawled(LAYOUT) if row.page != "17"]
    assert evaluation.compare(LAYOUT, rows).lost == ["page 17"]


def test_a_row_that_is_missing_is_lost() -> None:
    rows = crawled(LAYOUT)
    gone = next(row for row in rows if row.row == 1)
    rows.remove(gone)
    assert evaluation.compare(LAYOUT, rows).lost == [f"row 1 of page {gone.page}"]


def test_a_leaf_of_the_stored_fetch_must_be_there_and_one_of_another_fetch_must_not() -> None:
    graph, rows = LAYOUT.graph, crawled(LAYOUT)
    leaf = next(row.page for row in rows if "-" in row.page)
    assert evaluation.compare(LAYOUT, [row for row in rows if row.page != leaf]).lost == [f"page {leaf}"]
    foreign = next(leaf for page in range(40) for leaf in graph.leaves(str(page), 2))
    assert evaluation.compare(LAYOUT, [*rows, StoredRow(foreign, 1, 0)]).strange == [f"page {foreign}"]


def test_a_page_stored_from_two_fetches_and_a_row_stored_twice_are_doubled() -> None:
    rows = crawled(LAYOUT)
    assert evaluation.compare(LAYOUT, [*rows, StoredRow("3", 2, 0)]).doubled == ["page 3: fetches [1, 2]"]
    assert evaluation.compare(LAYOUT, [*rows, rows[0]]).doubled == ["row ('0', 1, 0)"]


@pytest.mark.parametrize(
    ("moments", "gap", "is_hurried"), [([0.0, 0.2, 0.41], 0.2, False), ([0.0, 0.17, 0.4], 0.17, True)]
)
def test_gaps_are_those_of_one_host(moments: Sequence[float], gap: float, is_hurried: bool) -> None:
    seen = [*visits(*moments), *visits(0.1, host="127.0.0.2")]
    assert evaluation.smallest_gap(seen) == pytest.approx(gap)
    assert bool(evaluation.early_requests(seen, 0.2)) == is_hurried


def test_the_longest_silence_counts_from_the_fault_on() -> None:
    assert evaluation.longest_silence(visits(0.0, 9.0, 10.0, 10.5, 13.0, 13.1), since=10.2) == pytest.approx(
        2.5
    )
    assert evaluation.longest_silence(visits(0.0), since=1.0) == 0.0


def test_requests_to_a_host_that_asked_for_a_pause_are_early() -> None:
    seen = [*visits(1.0, 3.0, 6.5), *visits(2.0, host="127.0.0.2")]
    early = evaluation.requests_during_hold(seen, "127.0.0.1", asked_at=1.0, hold_s=5.0)
    assert early == ["/p/1 2.00 s after 127.0.0.1 had asked for 5 s"]


def test_fetches_beyond_the_one_that_was_stored_are_extra() -> None:
    assert evaluation.extra_fetches(visits(0.0, 1.0, 2.0), [StoredRow("0", 1, 0), StoredRow("0", 1, 1)]) == 2


async def test_the_site_shows_another_page_at_every_fetch_and_remembers_who_came() -> None:
    site = ChaosSite(LAYOUT)
    async with site.serving() as url:
        port = int(url.rsplit(":", 1)[1].strip("/"))

        def ask(path: str, host: str = "127.0.0.1") -> tuple[int, bytes]:
            connection = http.client.HTTPConnection(host, port, timeout=WAIT_S)
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
            connection.close()
            return answer.status, body

        first, second = [await asyncio.to_thread(ask, "/p/0") for _ in range(2)]
        assert (first[0], second[0]) == (200, 200)
        assert first[1] != second[1]
        assert (await asyncio.to_thread(ask, "/p/1"))[0] == 404, "page 1 is on another host"
        assert b"\0" in (await asyncio.to_thread(ask, "/p/5", "127.0.0.3"))[1]
        assert (await asyncio.to_thread(ask, "/to/1/6"))[0] == 302
    assert [(visit.host, visit.page, visit.fetch, visit.status) for visit in site.visits] == [
        ("127.0.0.1", "0", 1, 200),
        ("127.0.0.1", "0", 2, 200),
        ("127.0.0.1", "", 0, 404),
        ("127.0.0.3", "5", 1, 200),
        ("127.0.0.1", "", 0, 302),
    ]


def test_the_task_of_the_site_is_a_valid_one() -> None:
    assert parse_task(site_task(LAYOUT, 1234, delay_s=0.2)).name == "chaos"


def test_faults_have_names_of_their_own_and_some_make_a_short_form() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(names) == len(set(names))
    assert 5 <= len(select_faults(FAULTS, (), is_short=True)) <= 8
    assert [fault.name for fault in select_faults(FAULTS, ("flushall",), is_short=False)] == ["flushall"]


def test_the_table_says_what_is_wrong_below_its_row() -> None:
    rows = [
        FaultResult("one", "", "", 0, 0, 3, 0.2, 0.2, 1.5, 12.0),
        FaultResult("two", "", "", 1, 0, 0, seconds=3.0, problems=["lost: page 3"]),
        FaultResult("three", "", "", skipped="only root can"),
    ]
    lines = format_table(rows).splitlines()
    assert lines[1].split() == ["one", "0", "0", "3", "200/200", "ms", "1.5", "s", "12", "s", "holds"]
    assert lines[2].endswith("FAILS")
    assert lines[3].strip() == "lost: page 3"
    assert lines[5].strip() == "only root can"


def test_the_command_lists_its_faults_and_knows_no_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chaos", "--list", "--short", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == [
        fault.name for fault in select_faults(FAULTS, (), is_short=True)
    ]
    assert main(["chaos", "--only", "meteorite"]) == 2
    assert "'meteorite'" in capsys.readouterr().err
