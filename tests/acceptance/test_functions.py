"""A crawl runs functions of a Python file beside its task, in every worker process; a server does not."""

from __future__ import annotations

import json
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


ENDINGS = """
import os
import subprocess
import threading
import time

print("noise of the module")

def leave(value):
    os._exit(0)

def linger(value):
    def chatter():
        while True:
            time.sleep(0.01)
            print("noise of a thread")

    threading.Thread(target=chatter).start()
    subprocess.run(["echo", "noise of a program"])
    print("noise of a function")
    time.sleep(0.1)
    return value

def half(value):
    return value if value == "/" else float("nan")

def out(value):
    raise SystemExit(0)

class Out:
    def apply_item(self, item, context):
        return item

    def columns(self, columns):
        raise SystemExit(0)
"""


def ending_task(workshop: Workshop, function: str, *entries: str) -> dict[str, Any]:
    (workshop.folder / "endings.py").write_text(ENDINGS)
    (workshop.folder / "gone.py").write_text("import os\nos._exit(0)\n")
    return {**title_task(*entries), "pipeline": [{"use": function, "fields": ["title"]}]}


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


@pytest.mark.parametrize("workers", [1, 2])
def test_a_function_that_ends_its_process_fails_the_run(workshop: Workshop, workers: int) -> None:
    with written_site(workshop.folder, routes=linked({"/": []})) as site:
        workshop.write(ending_task(workshop, "./endings.py:leave", site.url("/")))
        failed = workshop.crawl("-o", "rows.jsonl", "--workers", workers).expect(6)
        assert workshop.crawl("--workers", workers).json["run_id"] != failed.json["run_id"]
    assert (failed.json["state"], "os._exit" in failed.json["reason"]) == ("failed", True)
    assert f"exited by itself while it read {site.url('/')}" in failed.err


@pytest.mark.parametrize("workers", [1, 2])
def test_a_module_that_ends_its_process_is_an_error(workshop: Workshop, workers: int) -> None:
    workshop.write(ending_task(workshop, "./gone.py:x", "http://127.0.0.1:9/"))
    assert "`os._exit` was called" in workshop.crawl("--workers", workers).expect(6).err


@pytest.mark.parametrize("command", ["dry-run", "extract", "shell", "validate"])
def test_every_command_says_that_a_function_ended_it(workshop: Workshop, command: str) -> None:
    with written_site(workshop.folder, routes=linked({"/": []})) as site:
        task = ending_task(
            workshop, "./gone.py:x" if command == "validate" else "./endings.py:leave", site.url("/")
        )
        workshop.write(task)
        url = site.url("/")
        arguments = {
            "dry-run": ("task.json",),
            "extract": (url, "task.json", "--ignore-robots"),
            "shell": (url, "--ignore-robots"),
            "validate": ("task.json",),
        }
        rule = '{"expr": "h1", "steps": ["./endings.py:leave"]}\n'
        ended = workshop.run(command, *arguments[command], stdin=rule).expect(6)
    assert "error: the program exited by itself" in ended.err


@pytest.mark.parametrize("workers", [1, 2])
def test_threads_of_functions_keep_no_crawl_alive_and_noise_is_no_result(
    workshop: Workshop, workers: int
) -> None:
    with written_site(workshop.folder, routes=linked({"/": []})) as site:
        task = ending_task(workshop, "./endings.py:linger", site.url("/"))
        workshop.write({**task, "selectors": {"fields": {"title": "h1::text"}}})
        crawled = workshop.run("crawl", "task.json", "-o", "-", "--workers", workers).expect(0)
        assert crawled.out == '{"title":"/"}\n'
        previewed = workshop.run("dry-run", "task.json", "--json").expect(0)
        extracted = workshop.run("extract", site.url("/"), "task.json", "--ignore-robots").expect(0)
    assert previewed.json["rows"] == [{"title": "/"}]
    assert extracted.out == '{"title":"/"}\n'
    for finished in (crawled, previewed, extracted):
        for noise in ("the module", "a thread", "a program", "a function"):
            assert f"noise of {noise}\n" in finished.err


def test_a_result_that_cannot_be_stored_is_said_everywhere(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": ["/a"], "/a": []})) as site:
        workshop.write(ending_task(workshop, "./endings.py:half", site.url("/")))
        summary = workshop.crawl("-o", "rows.jsonl").expect(0).json
        preview = workshop.run("dry-run", "task.json").expect(0)
    assert (summary["items"], summary["rejected"]) == (1, 1)
    reason = "title became NaN, which cannot be stored"
    assert reason in workshop.run("results", "rejects").expect(0).out
    assert reason in json.dumps(workshop.why(site.url("/a")))
    assert reason in preview.out


def test_a_function_that_calls_exit_rejects_its_item(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": []})) as site:
        workshop.write(ending_task(workshop, "./endings.py:out", site.url("/")))
        crawled = workshop.crawl().expect(0)
        workshop.write(title_task(site.url("/"), pipeline=["./endings.py:Out"]))
        refused = workshop.crawl().expect(2)
    assert (crawled.json["state"], crawled.json["rejected"]) == ("completed", 1)
    assert "the step 'endings.py:Out' has no columns" in refused.err
    assert "Traceback" not in crawled.err + refused.err
