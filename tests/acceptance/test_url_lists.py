"""Entry URLs from files and standard input, and rows to standard output, in real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.acceptance.workshop import Site, Workshop, html, title_task, until, written_site

from smartspider_testing.waiting import WAIT_S

pytestmark = pytest.mark.acceptance

PATHS = [f"/p/{number}" for number in range(6)]


@pytest.fixture
def site(workshop: Workshop) -> Iterator[Site]:
    with written_site(workshop.folder, routes={path: [html(path)] for path in PATHS}) as served:
        yield served


def lines(site: Site, *paths: str) -> str:
    return "".join(f"{site.url(path)}\n" for path in paths)


def titles(text: str) -> list[str]:
    return sorted(json.loads(line)["title"] for line in text.splitlines())


def list_task(entry: Any, **more: Any) -> dict[str, Any]:
    return {**title_task(), "entry_urls": [entry] if isinstance(entry, dict) else entry, **more}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_of_urls_is_crawled_and_resumed(workshop: Workshop, site: Site, workers: int) -> None:
    (workshop.folder / "lists").mkdir()
    (workshop.folder / "lists" / "urls.txt").write_text("# mine\r\n" + lines(site, *PATHS[1:]))
    workshop.write(list_task([site.url(PATHS[0]), {"file": "urls.txt"}]), "lists/task.json")
    command = ("crawl", "lists/task.json", "--workers", str(workers), "-o", "rows.jsonl")
    workshop.run(*command, "--set", "limits.max_pages=2").expect(0)
    assert len(workshop.rows()) == 2
    finished = workshop.run(*command, "--json").expect(0)
    assert finished.json["pages"] == len(PATHS)
    assert sorted(row["title"] for row in workshop.rows()) == PATHS


def test_a_csv_column_is_crawled_and_other_columns_reach_the_rows(workshop: Workshop, site: Site) -> None:
    rows = "".join(f'"item, {path}";{site.url(path)};{number}\n' for number, path in enumerate(PATHS))
    (workshop.folder / "urls.csv").write_text("\ufeffname;link;sku\n" + rows)
    fields = {"title": "h1", "name": {"type": "meta", "expr": "name"}, "sku": {"type": "meta", "expr": "sku"}}
    entry = {"file": "urls.csv", "column": "link", "meta": {"name": "{name}", "sku": "{sku}"}}
    workshop.write(list_task(entry, selectors={"fields": fields}))
    workshop.crawl("-o", "rows.jsonl").expect(0)
    assert sorted((row["title"], row["name"], row["sku"]) for row in workshop.rows()) == [
        (path, f"item, {path}", str(number)) for number, path in enumerate(PATHS)
    ]


def test_urls_come_in_by_a_pipe_and_rows_go_out_by_one(workshop: Workshop, site: Site) -> None:
    workshop.write(list_task({"file": "-"}))
    finished = workshop.run("crawl", "task.json", "-o", "-", stdin=lines(site, *PATHS)).expect(0)
    assert titles(finished.out) == PATHS
    assert "completed" in finished.err
    workshop.run("crawl", "task.json", stdin="").expect(2)


def test_the_same_list_resumes_and_an_edited_one_is_refused(workshop: Workshop, site: Site) -> None:
    urls = workshop.folder / "urls.txt"
    urls.write_text(lines(site, *PATHS))
    workshop.write(list_task({"file": "urls.txt"}, politeness={"robots": "ignore", "delay_s": 1}))
    crawl = workshop.start("crawl", "task.json")
    until(lambda: bool(site.paths()), "the first page")
    crawl.kill()
    urls.write_text(lines(site, *PATHS[:-1]))
    refused = workshop.run("crawl", "task.json").expect(4)
    assert "--fresh" in refused.err
    urls.write_text("\n" + lines(site, *PATHS).replace("\n", "\r\n"))
    fast = '{"robots": "ignore", "delay_s": 1}'
    resumed = workshop.crawl("-o", "rows.jsonl", "--set", f"politeness={fast}").expect(0)
    assert "resuming run 1" in resumed.err
    assert sorted(row["title"] for row in workshop.rows()) == PATHS


def test_a_wrong_line_is_named_before_anything_is_fetched(workshop: Workshop, site: Site) -> None:
    (workshop.folder / "urls.txt").write_text(lines(site, *PATHS) + "\nshop.example/7\n")
    workshop.write(list_task({"file": "urls.txt"}))
    for command in (("validate", "task.json"), ("crawl", "task.json"), ("dry-run", "task.json")):
        assert "urls.txt, line 8" in workshop.run(*command).expect(2).err
    found = workshop.run("validate", "task.json", "--json").expect(2).json
    assert [problem["path"] for problem in found["errors"]] == ["entry_urls[0]"]
    assert site.log() == []


def test_a_saved_task_holds_the_urls_of_its_file_and_its_description(workshop: Workshop, site: Site) -> None:
    (workshop.folder / "urls.txt").write_text(lines(site, *PATHS))
    workshop.write(
        {**list_task({"file": "urls.txt"}), "description": "Six pages", "$schema": "task.schema.json"}
    )
    workshop.run("task", "apply", "task.json").expect(0)
    shown = workshop.run("task", "show", "titles").expect(0).json
    assert shown["entry_urls"] == [{"urls": [site.url(path) for path in PATHS]}]
    assert (shown["description"], shown["$schema"]) == ("Six pages", "task.schema.json")


@pytest.mark.parametrize("command", [("crawl", "task.json"), ("results", "export")])
def test_a_reader_that_leaves_early_does_no_harm(
    workshop: Workshop, site: Site, command: tuple[str, ...]
) -> None:
    wide = {"title": "h1", "text": {"type": "const", "expr": "x" * 300_000}}
    workshop.write(list_task([site.url(path) for path in PATHS], selectors={"fields": wide}))
    if command[0] == "results":
        workshop.crawl().expect(0)
    shell = '"$@" -o - | head -c 10; exit ${PIPESTATUS[0]}'
    done = subprocess.run(
        ["bash", "-c", shell, "bash", sys.executable, "-m", "smartspider", *command],
        cwd=workshop.folder,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (done.returncode, len(done.stdout)) == (0, 10), done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert workshop.run("run", "show", "--json").expect(0).json["state"] == "completed"


@pytest.mark.parametrize("command", [("crawl", "task.json"), ("results", "export")])
def test_rows_and_a_summary_do_not_share_standard_output(
    workshop: Workshop, site: Site, command: tuple[str, ...]
) -> None:
    workshop.write(list_task([site.url(path) for path in PATHS]))
    workshop.crawl().expect(0)
    refused = workshop.run(*command, "-o", "-", "--json").expect(2)
    assert refused.out == ""
    assert "--json" in refused.err
    workshop.run(*command, "-o", "-", "--split-rows", "2").expect(2)
    workshop.run(*command, "-o", "-", "-o", "-").expect(2)


def test_rows_go_to_standard_output_and_files_at_once(workshop: Workshop, site: Site) -> None:
    workshop.write(list_task([site.url(path) for path in PATHS]))
    finished = workshop.run("crawl", "task.json", "-o", "-", "-o", "rows.jsonl", "--envelope").expect(0)
    assert [json.loads(line) for line in finished.out.splitlines()] == workshop.rows()
    assert {"url", "run", "fingerprint", "time", "data"} == set(workshop.rows()[0])
    exported = workshop.run("results", "export", "-o", "-").expect(0)
    assert titles(exported.out) == PATHS


def test_a_failed_first_run_leaves_no_file(workshop: Workshop) -> None:
    workshop.write(title_task("http://127.0.0.1:9/", retry={"max_attempts": 1}))
    finished = workshop.run("crawl", "task.json", "-o", "rows.csv", "-o", "-").expect(6)
    assert not (workshop.folder / "rows.csv").exists()
    assert "rows.csv was not written" in finished.err
    assert finished.out == ""
