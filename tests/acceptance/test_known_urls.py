"""A task that names a Bloom filter for its URLs is told what that may cost."""

from __future__ import annotations

import pytest
from tests.acceptance.workshop import Workshop

from smartspider_testing.sites.graph import graph_task

pytestmark = pytest.mark.acceptance


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
