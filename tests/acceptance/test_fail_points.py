"""Dying at every named place between two steps of the ledger: nothing lost, nothing doubled."""

from __future__ import annotations

import signal
from typing import Any

import pytest
from tests.acceptance.workshop import Workshop, graph_site, html, title_task, written_site

from smartspider.core import failpoints
from smartspider_testing.sites.graph import ChangingGraph, graph_task

pytestmark = pytest.mark.acceptance

FLAKY = [f"/flaky/{number}" for number in range(6)]
"""Pages that are busy once, so that there are retries to die in."""
MOVED = "/moved"
PLACES = [(name, 1 + number % 5) for number, name in enumerate(failpoints.NAMES)]
KILLED = {"settle.before_commit", "settle.committed", "fetch.received"}
"""Places where a process is killed in every run of the suite; simulated workers die inside all settles."""


def flaky_routes() -> dict[str, list[dict[str, Any]]]:
    row = '<i class="row" data-page="{}" data-fetch=1 data-row=0>'
    routes = {path: [{"status": 429}, html(path, extra=row.format(path))] for path in FLAKY}
    return routes | {MOVED: [{"status": 301, "headers": {"Location": FLAKY[0]}}]}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        pytest.param(name, count, marks=() if name in KILLED else pytest.mark.soak, id=f"{name}:{count}")
        for name, count in PLACES
    ],
)
def test_dying_there_loses_and_doubles_nothing(workshop: Workshop, name: str, count: int) -> None:
    graph = ChangingGraph(60, seed=count)
    with graph_site(60, seed=count) as site, written_site(workshop.folder, routes=flaky_routes()) as flaky:
        task = graph_task(f"{site.base}/")
        task["entry_urls"] += [flaky.url(path) for path in (*FLAKY, MOVED)]
        workshop.write(task | {"concurrency": 4, "retry": {"backoff_s": 0.01}})
        died = workshop.crawl(env={"SMARTSPIDER_DIE_AT": f"{name}:{count}"})
        assert died.code == -signal.SIGKILL, f"{name} was not reached {count} times\n{died.err}"
        summary = workshop.crawl("-o", "rows.jsonl").expect(0).json
        rows = workshop.rows()
        assert graph.problems(row for row in rows if row["page"] not in FLAKY) == []
        assert sorted(row["page"] for row in rows if row["page"] in FLAKY) == FLAKY
        assert summary["items"] == len(rows)
        assert summary["pages"] == len({row["page"] for row in rows})
        assert workshop.run("fsck", "--json").expect(0).json == []


def test_a_run_that_died_when_its_limit_was_reached_ends_there(workshop: Workshop) -> None:
    routes = {"/quick": [html("/quick", ["/a", "/b"])], "/slow": [html("/slow") | {"delay_s": 2.0}]}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/slow"), site.url("/quick"), limits={"max_pages": 1}))
        died = workshop.crawl(env={"SMARTSPIDER_DIE_AT": "settle.committed:1"})
        assert died.code == -signal.SIGKILL
        assert workshop.run("run", "show", "1", "--json").json["state"] == "stopping"
        resumed = workshop.crawl("-o", "rows.jsonl").expect(0).json
        assert (resumed["run_id"], resumed["state"], resumed["pages"]) == ("1", "completed", 1)
        assert resumed["reason"] == "limit: max_pages 1 reached"
        assert [row["title"] for row in workshop.rows()] == ["/quick"]
        assert workshop.why(site.url("/slow"))["record"]["state"] == "skipped"
        assert workshop.run("fsck", "--json").expect(0).json == []
