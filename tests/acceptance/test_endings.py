"""The end of a run and its exit code."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from tests.acceptance.workshop import Workshop, graph_site, html, linked, title_task, until, written_site

from smartspider_testing.sites.graph import graph_task

pytestmark = pytest.mark.acceptance

QUICK_RETRY = {"max_attempts": 2, "backoff_s": 0.01}


def unused_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_a_host_that_cannot_be_reached_fails_the_run_with_one_clear_line(workshop: Workshop) -> None:
    url = f"http://127.0.0.1:{unused_port()}/"
    workshop.write(title_task(url, retry=QUICK_RETRY))
    finished = workshop.crawl("-o", "rows.jsonl").expect(6)
    summary = finished.json
    assert (summary["state"], summary["pages"], summary["failed"]) == ("failed", 0, 1)
    lines = [line for line in finished.err.splitlines() if "no entry URL could be fetched" in line]
    assert len(lines) == 1
    assert url in lines[0]
    assert "connect" in lines[0]
    assert "Traceback" not in finished.err


def test_a_failed_run_without_rows_leaves_the_file_of_an_earlier_one(workshop: Workshop) -> None:
    workshop.write(title_task(f"http://127.0.0.1:{unused_port()}/", retry=QUICK_RETRY))
    (workshop.folder / "rows.jsonl").write_text("precious\n")
    finished = workshop.crawl("-o", "rows.jsonl").expect(6)
    assert "rows.jsonl was not overwritten" in finished.err
    assert finished.json["outputs"] == []
    assert (workshop.folder / "rows.jsonl").read_text() == "precious\n"


def test_a_name_that_does_not_resolve_fails_the_run(workshop: Workshop) -> None:
    workshop.write(title_task("http://no-such-host.invalid/", retry=QUICK_RETRY))
    finished = workshop.crawl().expect(6)
    assert "dns" in finished.json["reason"]


def test_missing_pages_are_no_failures(workshop: Workshop) -> None:
    routes = {"/": [html("/", ["/gone", "/lost"])], "/gone": [{"status": 410}]}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/")))
        summary = workshop.crawl().expect(0).json
        assert (summary["pages"], summary["missing"], summary["failed"]) == (1, 2, 0)
        assert workshop.why(site.url("/lost"))["record"]["state"] == "missing"
        assert site.paths().count("/lost") == 1, "a missing page is not tried again"


def test_a_page_that_never_recovers_makes_the_run_partly_failed(workshop: Workshop) -> None:
    routes = {"/": [html("/", ["/bad", "/good"])], "/bad": [{"status": 500}], "/good": [html("/good")]}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/"), retry={"max_attempts": 3, "backoff_s": 0.01}))
        summary = workshop.crawl("-o", "rows.jsonl").expect(7).json
        assert (summary["state"], summary["pages"], summary["failed"]) == ("completed", 2, 1)
        assert len(workshop.rows()) == 2
        assert site.paths().count("/bad") == 3
        answer = workshop.why(site.url("/bad"))
        assert answer["record"]["state"] == "dead"
        assert "http 500 (3 attempts)" in answer["verdict"]
        assert [failure["status"] for failure in answer["record"]["failures"]] == [500, 500, 500]


def test_a_tripped_guard_pauses_the_run_and_the_same_command_resumes_it(workshop: Workshop) -> None:
    pages = [f"/p/{number}" for number in range(8)]
    routes = {"/": [html("/", pages)]} | {path: [{"status": 403}, html(path)] for path in pages}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(
            title_task(
                site.url("/"), concurrency=1, alerts={"consecutive_failures": 3}, retry={"max_attempts": 1}
            )
        )
        finished = workshop.crawl("-o", "rows.jsonl").expect(6)
        assert finished.json["state"] == "paused"
        assert finished.json["reason"] == "guard: 3 failures in a row"
        assert "guard: 3 failures in a row" in finished.err
        assert not (workshop.folder / "rows.jsonl").exists()
        assert len(site.paths()) == 4
        resumed = workshop.crawl("-o", "rows.jsonl").expect(6)
        assert resumed.json["run_id"] == finished.json["run_id"]
        assert len(site.paths()) == 7, "the guard counts anew after a resume"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_max_pages_is_exact(workshop: Workshop, workers: str) -> None:
    with graph_site(400, seed=31) as site:
        workshop.write(graph_task(f"{site.base}/") | {"limits": {"max_pages": 77}})
        finished = workshop.crawl("-o", "rows.jsonl", "--workers", workers).expect(0)
        summary = finished.json
        assert (summary["state"], summary["pages"]) == ("completed", 77)
        assert summary["reason"] == "limit: max_pages 77 reached"
        assert "limit: max_pages 77 reached" in finished.err
        assert len({row["page"] for row in workshop.rows()}) == 77
        counters = workshop.run("run", "show", "1", "--json").json["counters"]
        assert counters["done"] + counters["skipped"] == counters["total"]
        assert workshop.run("fsck").expect(0).err == ""


def test_max_items_is_exact(workshop: Workshop) -> None:
    with graph_site(400, seed=32) as site:
        workshop.write(graph_task(f"{site.base}/") | {"limits": {"max_items": 101}})
        summary = workshop.crawl("-o", "rows.jsonl").expect(0).json
        assert (summary["state"], summary["items"]) == ("completed", 101)
        assert summary["reason"] == "limit: max_items 101 reached"
        assert len(workshop.rows()) == 101


def test_max_duration_ends_the_run_and_counts_only_the_time_it_worked(workshop: Workshop) -> None:
    with graph_site(3000, seed=33, delay_ms=50) as site:
        task: dict[str, Any] = graph_task(f"{site.base}/") | {"limits": {"max_duration_s": 2.5}}
        workshop.write(task | {"concurrency": 2})
        crawl = workshop.start("crawl", "task.json", "--json")
        until(lambda: site.fetches() >= 5, "the first pages")
        crawl.signal(2)
        crawl.wait().expect(130)
        time.sleep(1.0)  # time without a worker must not count
        finished = workshop.crawl("-o", "rows.jsonl").expect(0)
        assert finished.json["state"] == "completed"
        assert finished.json["reason"] == "limit: max_duration_s 2.5 reached"
        assert 1.0 < finished.json["duration_s"] < 5.0
        assert finished.json["items"] == len(workshop.rows()) > 0


def test_max_depth_and_max_errors_bound_a_run(workshop: Workshop) -> None:
    chain = {f"/{number}": [f"/{number + 1}"] for number in range(9)}
    with written_site(workshop.folder, routes=linked(chain)) as site:
        workshop.write(title_task(site.url("/0"), limits={"max_depth": 3}))
        assert workshop.crawl().expect(0).json["pages"] == 4
    bad = {f"/bad/{number}": [{"status": 403}] for number in range(9)}
    with written_site(workshop.folder, routes={"/": [html("/", list(bad))], **bad}) as site:
        workshop.write(title_task(site.url("/"), limits={"max_errors": 2}, concurrency=1))
        summary = workshop.crawl("--data", "other").expect(7).json
        assert (summary["failed"], summary["reason"]) == (2, "limit: max_errors 2 reached")
