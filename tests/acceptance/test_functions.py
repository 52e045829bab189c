"""A crawl runs functions of a Python file beside its task, in every worker process; a server does not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.acceptance.server import served
from tests.acceptance.workshop import Workshop, linked, title_task, until, written_site

pytestmark = pytest.mark.acceptance

STEPS = """
import neighbour

def shout(value):
    return neighbour.upper(value)

def size(document):
    return len(document.page.body)

def add(item):
    if item["title"] != "/A":
        item["extra"] = len(item["title"])

def break_page(document):
    return document.no_such_attribute
"""


def write_functions(workshop: Workshop) -> None:
    (workshop.folder / "steps.py").write_text(STEPS)
    (workshop.folder / "neighbour.py").write_text("def upper(text):\n    return text.upper()\n")


def shouting_task(*entries: str, **more: Any) -> dict[str, Any]:
    task = title_task(*entries, **more)
    task["selectors"]["fields"]["size"] = {"type": "./steps.py:size"}
    return {**task, "pipeline": [{"use": "./steps.py:shout", "fields": ["title"]}, "./steps.py:add"]}


@pytest.mark.parametrize("workers", [1, 2])
def test_functions_run_in_every_worker(workshop: Workshop, workers: int) -> None:
    write_functions(workshop)
    graph = {"/": ["/a", "/b"], "/a": [], "/b": []}
    with written_site(workshop.folder, routes=linked(graph)) as site:
        workshop.write(shouting_task(site.url("/")))
        workshop.crawl("-o", "rows.jsonl", "-o", "rows.csv", "--workers", workers).expect(0)
    rows = workshop.rows()
    # A table has a column for a field that only some rows have and `adds` does not name.
    assert (workshop.folder / "rows.csv").read_text().splitlines()[0] == "title,url,size,extra"
    assert sorted(row["title"] for row in rows) == ["/", "/A", "/B"]
    assert all(row["size"] > 10 for row in rows)


def test_an_edited_function_is_an_edited_task(workshop: Workshop) -> None:
    write_functions(workshop)
    answers = [{"body": "<h1>x</h1>", "delay_s": 60}]
    with written_site(workshop.folder, routes={"/": answers}) as site:
        workshop.write(shouting_task(site.url("/")))
        running = workshop.start("crawl", "task.json")
        until(lambda: bool(site.paths()), "the first request")
        running.kill()
        (workshop.folder / "steps.py").write_text(STEPS + "# edited\n")
        refused = workshop.crawl().expect(4)
    assert "edited" in refused.err
    assert "--fresh" in refused.err


def test_an_error_in_a_rule_breaks_the_page_and_names_the_line(workshop: Workshop) -> None:
    write_functions(workshop)
    with written_site(workshop.folder, routes=linked({"/": []})) as site:
        task = title_task(site.url("/"))
        task["selectors"]["fields"]["x"] = {"type": "./steps.py:break_page"}
        workshop.write(task)
        assert workshop.crawl().json["failed"] == 1
        assert "steps.py:15" in workshop.run("why", site.url("/")).out


def test_a_server_refuses_functions(workshop: Workshop) -> None:
    write_functions(workshop)
    task = shouting_task("http://127.0.0.1:9/")
    with served(workshop, "--workers", "1") as server:
        for path in ("/api/tasks", "/api/tasks?dry_run=true", "/api/tasks?dry_run=true&preview=true"):
            answer = server.ask("POST", path, task)
            assert "local commands" in answer.body.decode(), answer.body
        forged = {**title_task("http://127.0.0.1:9/"), "$functions": {"folder": "/", "files": {}}}
        server.ask("POST", "/api/tasks", forged).expect(422)
        preview = {"url": "http://127.0.0.1:9/", "rules": {"a": {"type": "./steps.py:size"}}}
        server.ask("POST", "/api/preview", preview).expect(422)
    workshop.write(task)
    refused = workshop.run("task", "apply", "task.json", "--data", "other").expect(2)
    assert "local commands" in refused.err
