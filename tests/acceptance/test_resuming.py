"""Which run a command works on: the unfinished one, a new one, or none."""

from __future__ import annotations

import json
import signal

import pytest
from tests.acceptance.workshop import Workshop, graph_site, linked, title_task, until, written_site

from smartspider_testing.sites.graph import ChangingGraph, graph_task

pytestmark = pytest.mark.acceptance

COMMAND = ("crawl", "task.json", "-o", "rows.jsonl", "--json")


def test_an_edited_task_is_refused_with_a_hint_and_fresh_starts_anew(workshop: Workshop) -> None:
    graph = ChangingGraph(200, seed=51)
    with graph_site(200, seed=51, delay_ms=20) as site:
        task = graph_task(f"{site.base}/")
        workshop.write(task)
        crawl = workshop.start(*COMMAND)
        until(lambda: site.fetches() >= 50, "50 fetches")
        crawl.signal(signal.SIGINT)
        crawl.wait().expect(130)
        fetched = site.fetches()
        workshop.write(task | {"concurrency": 15})
        refused = workshop.run(*COMMAND).expect(4)
        assert "was edited" in refused.err
        assert "--fresh" in refused.err
        assert refused.out == ""
        assert site.fetches() == fetched
        anew = workshop.run(*COMMAND, "--fresh").expect(0).json
        assert (anew["run_id"], anew["state"]) == ("2", "completed")
        assert graph.problems(workshop.rows()) == []
        runs = workshop.run("run", "list", "--json").json
        assert [(run["run_id"], run["state"]) for run in runs] == [("2", "completed"), ("1", "cancelled")]


def test_the_order_of_keys_and_blanks_is_no_edit(workshop: Workshop) -> None:
    with graph_site(200, seed=52, delay_ms=20) as site:
        task = graph_task(f"{site.base}/")
        workshop.write(task)
        crawl = workshop.start(*COMMAND)
        until(lambda: site.fetches() >= 20, "20 fetches")
        crawl.kill()
        turned = dict(reversed(task.items()))
        (workshop.folder / "task.json").write_text(json.dumps(turned, indent=7), encoding="utf-8")
        assert workshop.run(*COMMAND).expect(0).json["run_id"] == "1"


def test_after_a_finished_run_the_same_command_starts_a_new_one(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": ["/a"], "/a": []})) as site:
        workshop.write(title_task(site.url("/")))
        assert workshop.crawl().expect(0).json["run_id"] == "1"
        again = workshop.crawl("-o", "rows.jsonl").expect(0).json
        assert (again["run_id"], again["pages"]) == ("2", 2)
        assert len(workshop.rows()) == 2, "an output holds the rows of one run"
        assert site.paths().count("/a") == 2


def test_set_changes_the_task_and_counts_as_an_edit(workshop: Workshop) -> None:
    with graph_site(100, seed=53, delay_ms=20) as site:
        workshop.write(graph_task(f"{site.base}/"))
        limited = workshop.crawl("--set", "limits.max_pages=7", "--set", "name=few").expect(0).json
        assert limited["pages"] == 7
        assert (workshop.folder / ".smartspider/few/smartspider.db").exists()
        crawl = workshop.start(*COMMAND)
        until(lambda: site.fetches() >= 30, "30 fetches")
        crawl.kill()
        assert "was edited" in workshop.run(*COMMAND, "--set", "concurrency=2").expect(4).err
        workshop.run(*COMMAND).expect(0)


def test_a_second_crawl_of_the_same_run_is_refused_and_the_first_goes_on(workshop: Workshop) -> None:
    graph = ChangingGraph(300, seed=54)
    with graph_site(300, seed=54, delay_ms=50) as site:
        workshop.write(graph_task(f"{site.base}/") | {"concurrency": 5})
        first = workshop.start(*COMMAND)
        until(lambda: site.fetches() >= 20, "20 fetches")
        for more in ((), ("--fresh",)):
            second = workshop.run("crawl", "task.json", "--json", *more).expect(4)
            assert "is in use by another process" in second.err
            assert second.out == ""
        assert first.wait().expect(0).json["state"] == "completed"
        assert graph.problems(workshop.rows()) == []
        assert site.fetches() == len({row["page"] for row in workshop.rows()})


def test_two_tasks_share_a_data_folder(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": ["/a"], "/a": []})) as site:
        workshop.write(title_task(site.url("/"), name="one"), "one.json")
        workshop.write(title_task(site.url("/"), name="two"), "two.json")
        both = [
            workshop.start("crawl", f"{name}.json", "--data", "both", "--json") for name in ("one", "two")
        ]
        assert [crawl.wait().expect(0).json["pages"] for crawl in both] == [2, 2]
        runs = workshop.run("run", "list", "--data", "both", "--json").json
        assert sorted(run["run_id"] for run in runs) == ["1", "2"]
