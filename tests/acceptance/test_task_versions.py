"""Tasks that are kept, runs that know their version, and an audit that tells when it was touched."""

from __future__ import annotations

import getpass
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.workshop import Workshop, linked, title_task, until, written_site

from smartspider.core import failpoints

pytestmark = pytest.mark.acceptance

NOWHERE = "http://127.0.0.1:9/"
ME = f"cli:{getpass.getuser()}"


def task_of(*entries: str, pages: int = 5) -> dict[str, Any]:
    return title_task(*(entries or (NOWHERE,)), limits={"max_pages": pages})


def database(workshop: Workshop) -> Path:
    return workshop.folder / ".smartspider" / "titles" / "smartspider.db"


def acts(workshop: Workshop, *arguments: str) -> list[tuple[str, str]]:
    """Action and subject of what the audit has, oldest first."""
    entries = workshop.run("audit", "list", "--json", "--limit", 1000, *arguments).expect(0).json
    assert {entry["actor"] for entry in entries} <= {ME}
    return [(entry["action"], entry["subject"]) for entry in reversed(entries)]


def test_a_task_is_applied_changed_and_looked_back_at(workshop: Workshop) -> None:
    workshop.write(task_of())
    created = workshop.run("task", "apply", "task.json", "--json", "--note", "the first").expect(0).json
    assert (created["task_id"], created["name"], created["version"]) == ("1", "titles", 1)
    assert (created["status"], created["changes"], created["data"]) == ("created", [], ".smartspider/titles")
    again = workshop.run("task", "apply", "task.json").expect(0)
    assert (again.out, again.err) == ("", "task 'titles' unchanged: version 1 (.smartspider/titles)\n")
    workshop.write(task_of(pages=7))
    changed = workshop.run("task", "apply", "task.json").expect(0)
    assert changed.out == "~ limits.max_pages: 5 → 7\n"
    assert "'titles' changed: version 2" in changed.err
    difference = workshop.run("task", "diff", "titles", "--json").expect(0).json
    assert difference["changes"] == [{"kind": "changed", "path": "limits.max_pages", "before": 5, "after": 7}]
    assert workshop.run("task", "diff", "titles", 2, 1).expect(0).out == "~ limits.max_pages: 7 → 5\n"
    for number, pages in ((1, 5), (2, 7)):
        spec = workshop.run("task", "show", "titles", "--version", number).expect(0).json
        assert spec["limits"] == {"max_pages": pages}
    newest = workshop.run("task", "show", "titles", "--json").expect(0).json
    assert (newest["version"], newest["author"], newest["spec"]["name"]) == (2, ME, "titles")
    history = workshop.run("task", "history", "titles", "--json").expect(0).json
    assert [(one["version"], one["note"], len(one["changes"])) for one in history] == [
        (2, "", 1),
        (1, "the first", 0),
    ]
    assert acts(workshop) == [("task.created", "task:1"), ("task.changed", "task:1")]


def test_a_version_that_was_shown_can_be_applied_again(workshop: Workshop) -> None:
    """What `task show` prints is a task file, the same one."""
    workshop.write(task_of())
    workshop.run("task", "apply", "task.json").expect(0)
    (workshop.folder / "shown.json").write_text(workshop.run("task", "show", "titles").out)
    assert workshop.run("task", "apply", "shown.json", "--json").expect(0).json["status"] == "unchanged"


def test_a_wrong_task_is_refused_and_nothing_is_made(workshop: Workshop) -> None:
    workshop.write(task_of() | {"selectors": {"fields": {"a": {"type": "xpath", "expr": "//["}}}})
    assert "selectors.fields.a" in workshop.run("task", "apply", "task.json").expect(2).err
    assert workshop.files() == ["task.json"]
    workshop.run("task", "apply", "none.json").expect(3)
    for arguments in (("show", "x"), ("history", "x"), ("diff", "x"), ("delete", "x", "--yes")):
        assert "no data folder" in workshop.run("task", *arguments).expect(3).err


def test_what_is_not_there_is_said_in_a_line(workshop: Workshop) -> None:
    workshop.write(task_of())
    workshop.run("task", "apply", "task.json").expect(0)
    assert "there is no task 'other'" in workshop.run("task", "show", "other").expect(3).err
    assert "has no version 2" in workshop.run("task", "show", "titles", "--version", 2).expect(3).err
    assert "no version before 1" in workshop.run("task", "diff", "titles").expect(3).err
    assert "1001 characters" in workshop.run("task", "apply", "task.json", "--note", "x" * 1001).expect(2).err
    assert acts(workshop) == [("task.created", "task:1")]


def test_a_task_that_cannot_be_run_yet_is_kept_with_a_note(workshop: Workshop) -> None:
    workshop.write(task_of() | {"archive": {"warc": True}})
    applied = workshop.run("task", "apply", "task.json", "--json").expect(0)
    assert [one["path"] for one in applied.json["warnings"]] == ["archive.warc"]


def test_a_run_keeps_the_version_it_began_with(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": ["/a"], "/a": []})) as site:
        workshop.write(task_of(site.url("/")))
        workshop.crawl().expect(0)
        workshop.write(task_of(site.url("/"), pages=9))
        workshop.run("task", "apply", "task.json").expect(0)
        workshop.crawl().expect(0)
        workshop.crawl("--set", "limits.max_pages=1").expect(0)
    versions = [workshop.run("run", "show", number, "--json").json["task_version"] for number in (1, 2, 3)]
    assert versions == [1, 2, 3]
    assert "run 1 of titles (version 1): completed" in workshop.run("run", "show", 1).out
    listed = workshop.run("run", "list", "--json").expect(0).json
    assert [(one["run_id"], one["task"], one["version"]) for one in listed] == [
        ("3", "titles", 3),
        ("2", "titles", 2),
        ("1", "titles", 1),
    ]
    assert "titles (version 3)" in workshop.run("run", "list").out
    overridden = [("politeness.overridden", "run:1")] * 3
    assert acts(workshop, "--subject", "run:1") == [
        *(("run.created", "run:1"), *overridden, ("run.state", "run:1")),
    ]
    assert acts(workshop, "--action", "task.changed") == [("task.changed", "task:1")] * 2
    assert workshop.run("audit", "verify", "--json").expect(0).json["valid"]


def test_an_edited_task_that_is_refused_leaves_no_version(workshop: Workshop) -> None:
    routes = linked({"/": ["/a"]}) | {"/a": [{"body": "<h1>a", "delay_s": 30.0}]}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(task_of(site.url("/")))
        crawl = workshop.start("crawl", "task.json")
        until(lambda: "/a" in site.paths(), "the second page is asked for")
        crawl.kill()
        workshop.write(task_of(site.url("/"), pages=9))
        workshop.crawl().expect(4)
        assert [one["version"] for one in workshop.run("task", "history", "titles", "--json").json] == [1]
        workshop.run("run", "delete", 1).expect(0)
    assert acts(workshop)[-2:] == [("run.state", "run:1"), ("run.deleted", "run:1")]


def test_a_deleted_task_leaves_its_runs_and_its_name(workshop: Workshop) -> None:
    routes = linked({"/": ["/a"]}) | {"/a": [{"body": "<h1>a", "delay_s": 30.0}]}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(task_of(site.url("/")))
        crawl = workshop.start("crawl", "task.json")
        until(lambda: "/a" in site.paths(), "the second page is asked for")
        assert "in use" in workshop.run("task", "delete", "titles", "--yes").expect(4).err
        crawl.kill()
    assert "add --yes" in workshop.run("task", "delete", "titles").expect(4).err
    assert workshop.run("task", "list", "--json").json[0]["name"] == "titles"
    deleted = workshop.run("task", "delete", "titles", "--yes", "--json").expect(0).json
    assert deleted == {"task_id": "1", "name": "titles", "deleted": True}
    assert workshop.run("task", "list", "--json").expect(0).json == []
    run = workshop.run("run", "show", 1, "--json").expect(0).json
    assert (run["state"], run["reason"], run["task_version"]) == ("cancelled", "its task was deleted", 1)
    assert [row["title"] for row in map(dict, _rows(workshop))] == ["/"]
    assert workshop.run("task", "apply", "task.json", "--json").expect(0).json["task_id"] == "2"
    assert workshop.run("fsck", "--json").expect(0).json == []


def _rows(workshop: Workshop) -> list[dict[str, Any]]:
    workshop.run("results", "export", "-o", "rows.jsonl").expect(0)
    return workshop.rows()


def test_tasks_of_all_folders_are_listed_and_found_by_name(workshop: Workshop) -> None:
    for name in ("one", "two", "one"):
        workshop.write(task_of() | {"name": name})
        workshop.run("task", "apply", "task.json").expect(0)
    listed = workshop.run("task", "list", "--json").expect(0).json
    assert [(one["name"], one["data"]) for one in listed] == [
        ("one", ".smartspider/one"),
        ("two", ".smartspider/two"),
    ]
    for name in ("one", "two"):
        assert workshop.run("task", "show", name).expect(0).json["name"] == name
    workshop.run("task", "apply", "task.json", "--data", "shared").expect(0)
    assert len(workshop.run("task", "list", "--data", "shared", "--json").json) == 1
    setting = {"SMARTSPIDER_STORE_URL": "sqlite:///shared"}
    assert (
        workshop.run("task", "show", "two", env=setting).expect(3).err.startswith("error: there is no task")
    )


@pytest.mark.parametrize(
    ("sql", "entry"),
    [
        ("UPDATE audit SET actor = 'cli:somebody' WHERE id = 2", "2"),
        ("UPDATE audit SET detail = replace(detail, '2', '3') WHERE id = 2", "2"),
        ("DELETE FROM audit WHERE id = 1", "1"),
        ("DELETE FROM audit WHERE id = 3", "3"),
    ],
)
def test_who_touches_the_audit_is_found_out(workshop: Workshop, sql: str, entry: str) -> None:
    for pages in (1, 2, 3):
        workshop.write(task_of(pages=pages))
        workshop.run("task", "apply", "task.json").expect(0)
    whole = workshop.run("audit", "verify").expect(0).out
    head = workshop.run("audit", "list", "--limit", 1, "--json").json[0]["hash"]
    assert whole == f"the audit log is intact: 3 entries\nhead {head}\n"
    connection = sqlite3.connect(database(workshop))
    connection.execute(sql)
    connection.commit()
    connection.close()
    broken = workshop.run("audit", "verify", "--json").expect(6).json
    assert (broken["valid"], broken["broken_entry"]) == (False, entry)
    what = "was modified" if sql.startswith("UPDATE") else "is missing"
    assert f"the audit log is broken: entry {entry} {what}" in workshop.run("audit", "verify").expect(6).out
    workshop.run("audit", "list").expect(0)


@pytest.mark.parametrize("place", ["task.versioned:1", "audit.added:1", "audit.headed:1"])
@pytest.mark.parametrize("is_new", [True, False])
def test_dying_while_a_task_is_written_leaves_all_or_nothing(
    workshop: Workshop, place: str, *, is_new: bool
) -> None:
    workshop.write(task_of())
    if not is_new:
        workshop.run("task", "apply", "task.json").expect(0)
        workshop.write(task_of(pages=7))
    before = acts(workshop) if not is_new else []
    died = workshop.run("task", "apply", "task.json", env={"SMARTSPIDER_DIE_AT": place})
    assert died.code == -signal.SIGKILL
    assert acts(workshop) == before
    assert workshop.run("audit", "verify", "--json").expect(0).json["entries"] == len(before)
    applied = workshop.run("task", "apply", "task.json", "--json").expect(0).json
    assert applied["version"] == (1 if is_new else 2)
    assert workshop.run("audit", "verify", "--json").expect(0).json["entries"] == len(before) + 1


@pytest.mark.parametrize("place", [*(f"{name}:1" for name in failpoints.TASKS), "audit.added:2"])
def test_dying_while_a_run_is_created_leaves_all_or_nothing(workshop: Workshop, place: str) -> None:
    with written_site(workshop.folder, routes=linked({"/": []})) as site:
        workshop.write(task_of(site.url("/")))
        died = workshop.crawl(env={"SMARTSPIDER_DIE_AT": place})
        assert died.code == -signal.SIGKILL
        assert workshop.run("task", "list", "--json").expect(0).json == []
        assert workshop.run("run", "list", "--json").expect(0).json == []
        assert workshop.run("audit", "verify", "--json").expect(0).json["entries"] == 0
        assert workshop.crawl().expect(0).json["run_id"] == "1"
    assert acts(workshop)[:2] == [("task.created", "task:1"), ("run.created", "run:1")]
    assert workshop.run("audit", "verify", "--json").expect(0).json["valid"]
    assert workshop.run("fsck", "--json").expect(0).json == []
