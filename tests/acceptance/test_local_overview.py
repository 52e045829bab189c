"""Several tasks in one folder: their runs in one list, found by id, with the lines they logged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from tests.acceptance.workshop import Finished, Site, Workshop, html, linked, title_task, written_site

pytestmark = pytest.mark.acceptance

ROUTES: dict[str, Any] = {
    **linked({"/": ["/one", "/bad"], "/one": []}),
    "/bad": [{"status": 500}],
    "/two": [html("/two")],
}


@pytest.fixture
def site(workshop: Workshop) -> Iterator[Site]:
    with written_site(workshop.folder, routes=ROUTES) as served:
        yield served


def crawl(workshop: Workshop, site: Site, name: str, *more: str) -> Finished:
    """Crawl a task of this name: two pages, and one that fails."""
    task = title_task(site.url("/"), name=name, retry={"max_attempts": 2, "backoff_s": 0})
    workshop.write(task, f"{name}.json")
    return workshop.run("crawl", f"{name}.json", "--json", *more).expect(7)


def test_runs_of_all_folders_have_ids_of_their_own_that_every_command_takes(
    workshop: Workshop, site: Site
) -> None:
    ids = [crawl(workshop, site, name).json["run_id"] for name in ("shop", "news", "shop", "jobs")]
    assert ids == ["1", "2", "3", "4"]
    listed = workshop.run("run", "list", "--json").expect(0).json
    assert [(one["run_id"], one["task"], one["data"]) for one in listed] == [
        ("4", "jobs", ".smartspider/jobs"),
        ("3", "shop", ".smartspider/shop"),
        ("2", "news", ".smartspider/news"),
        ("1", "shop", ".smartspider/shop"),
    ]
    lines = workshop.run("run", "list", "--task", "shop").expect(0).out.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        ["3", "completed", "shop"],
        ["1", "completed", "shop"],
    ]
    assert workshop.run("run", "show", "2", "--json").expect(0).json["task"] == "news"
    assert workshop.run("results", "show", "--run", "2").expect(0).err.endswith("2 rows of 2 in run 2\n")
    assert workshop.why(site.url("/bad"), "--run", "2")["run_id"] == "2"
    (failed,) = workshop.run("run", "failures", "3", "--json").expect(0).json
    assert failed["url"] == site.url("/bad")
    assert "run 2 is deleted" in workshop.run("run", "delete", "2").expect(0).err
    assert "there is no run 2 in the 3 data folders here" in workshop.run("run", "show", "2").expect(3).err
    assert crawl(workshop, site, "news").json["run_id"] == "5", "the id of a deleted run is not used again"


def test_without_an_id_the_newest_run_of_all_folders_is_meant_and_named(
    workshop: Workshop, site: Site
) -> None:
    for name in ("shop", "news"):
        crawl(workshop, site, name)
    named = "newest run: 2 of 'news' (.smartspider/news)\n"
    for command in (
        ("run", "show"),
        ("run", "failures"),
        ("results", "show"),
        ("results", "export", "-o", "rows.csv"),
        ("why", site.url("/one")),
        ("logs",),
    ):
        finished = workshop.run(*command).expect(0)
        assert finished.err.startswith(named), command
    assert (
        workshop.run("results", "show", "--task", "shop").expect(0).err.startswith("newest run: 1 of 'shop'")
    )
    for command in (("results", "show"), ("run", "list"), ("logs",)):
        assert "did you mean 'shop'?" in workshop.run(*command, "--task", "shpo").expect(3).err


@pytest.mark.parametrize("workers", ["1", "2"])
def test_logs_shows_the_lines_of_a_crawl(workshop: Workshop, site: Site, workers: str) -> None:
    crawl(workshop, site, "shop")
    crawl(workshop, site, "news", "--workers", workers)
    lines = [json.loads(line) for line in workshop.run("logs", "--json").expect(0).out.splitlines()]
    assert {line["run_id"] for line in lines} == {"2"}
    assert [line["event"] for line in lines] == ["run.started", "fetch.retried", "page.buried", "run.ended"]
    (buried,) = workshop.run("logs", "--run", "1", "--level", "error").expect(0).out.splitlines()
    assert "page.buried" in buried
    assert buried.endswith(site.url("/bad"))
    several = ("--level", "error", "--level", "warning", "--json")
    levels = [json.loads(line)["level"] for line in workshop.run("logs", *several).expect(0).out.splitlines()]
    assert levels == ["warning", "error"]
    around = workshop.run("logs", "--around", lines[1]["id"], "--context", "1", "--json").expect(0).out
    assert [json.loads(line)["id"] for line in around.splitlines()] == [line["id"] for line in lines[:3]]
    counts = workshop.run("logs", "--histogram", "--points", "2").expect(0).out.splitlines()
    assert len(counts) == 2
    assert counts[1].endswith("info 2  warning 1  error 1")
    assert workshop.run("logs", "--all", "--text", "nosuchword").expect(0).err == "no log lines match\n"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_verbose_crawl_prints_its_lines_as_it_works(workshop: Workshop, site: Site, workers: str) -> None:
    finished = crawl(workshop, site, "shop", "--workers", workers, "-v")
    printed = [line for line in finished.err.splitlines() if "  run 1  " in line]
    assert printed == workshop.run("logs").expect(0).out.splitlines()
    told = crawl(workshop, site, "shop", "--workers", workers, "-vv").err
    assert sum("  page.closed  done " in line for line in told.splitlines()) == 2
    stored = workshop.run("logs", "--level", "debug").expect(0).out
    assert "page.closed" not in stored, "lines for debugging are in the files only"


def test_a_folder_that_cannot_be_read_hides_no_other(workshop: Workshop, site: Site) -> None:
    for name in ("shop", "news"):
        crawl(workshop, site, name)
    (workshop.folder / ".smartspider/news/smartspider.db").write_bytes(b"no database" * 1000)
    listed = workshop.run("run", "list").expect(0)
    assert ".smartspider/shop" in listed.out
    (note,) = listed.err.splitlines()
    assert note.startswith("note: skipped: the data folder .smartspider/news is damaged")
    assert "newest run: 1 of 'shop'" in workshop.run("run", "show").expect(0).err


def test_a_copied_folder_is_named_where_an_id_is_in_both(workshop: Workshop, site: Site) -> None:
    crawl(workshop, site, "shop")
    shutil.copytree(workshop.folder / ".smartspider/shop", workshop.folder / ".smartspider/copy")
    refused = workshop.run("run", "show", "1").expect(2).err
    assert ".smartspider/copy and .smartspider/shop" in refused
    assert "--data" in refused
    workshop.run("run", "show", "1", "--data", ".smartspider/copy").expect(0)
    assert crawl(workshop, site, "shop").json["run_id"] == "2"


def test_crawls_at_the_same_time_get_different_ids(workshop: Workshop, site: Site) -> None:
    names = ("shop", "news", "jobs")
    for name in names:
        workshop.write(title_task(site.url("/two"), name=name), f"{name}.json")
    crawls = [workshop.start("crawl", f"{name}.json", "--json") for name in names]
    assert sorted(one.wait().expect(0).json["run_id"] for one in crawls) == ["1", "2", "3"]
