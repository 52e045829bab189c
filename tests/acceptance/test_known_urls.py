"""A task that remembers its URLs in a Bloom filter: what that may cost is told, and a kill costs nothing."""

from __future__ import annotations

import signal

import pytest
from tests.acceptance.workshop import Workshop, graph_site, until

from smartspider_testing.sites.graph import ChangingGraph, graph_task

pytestmark = pytest.mark.acceptance

PAGES = 300
"""So few that one which the filter mistakes is next to impossible."""


def known_files(workshop: Workshop) -> list[str]:
    """Bits of filters."""
    return [name for name in workshop.files() if "/known-urls/" in name and name.endswith(".bits")]


def test_a_killed_crawl_by_filter_goes_on_and_leaves_no_filter(workshop: Workshop) -> None:
    command = ("crawl", "task.json", "-o", "rows.jsonl", "--workers", "2", "--json")
    with graph_site(PAGES, delay_ms=10.0) as site:
        workshop.write({**graph_task(f"{site.base}/"), "dedup": {"urls": "bloom"}})
        crawl = workshop.start(*command)
        until(lambda: site.fetches() >= 60, "a part of the crawl")
        assert crawl.kill().code == -signal.SIGKILL
        assert known_files(workshop)
        ended = workshop.run(*command).expect(0)
    assert "note: dedup.urls: " in ended.err
    assert "0.01 %" in ended.err
    assert ended.json["state"] == "completed"
    assert ChangingGraph(PAGES, seed=1).problems(workshop.rows()) == []
    assert known_files(workshop) == []
    assert workshop.run("fsck", "--json").expect(0).json == []


def test_validate_says_what_a_filter_may_miss_and_that_the_task_is_valid(workshop: Workshop) -> None:
    workshop.write({**graph_task("http://127.0.0.1:9/"), "dedup": {"urls": "bloom"}})
    plain = workshop.run("validate", "task.json").expect(0)
    assert "their pages are missed" in plain.err
    assert plain.out.strip() == "task.json is a valid task"
    (warning,) = workshop.run("validate", "task.json", "--json").expect(0).json["warnings"]
    assert warning["path"] == "dedup.urls"
    folder = {"SMARTSPIDER_DEDUP": "exact"}
    refused = workshop.run("crawl", "task.json", env=folder).expect(2)
    assert "only the workers of a cluster share URL filters" in refused.err
