"""The command line on a data folder and at a server: the same commands, the same answers."""

from __future__ import annotations

import io
import json
import os
import signal
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.acceptance.server import ENVIRONMENT, TOKEN, Server, served
from tests.acceptance.workshop import Finished, Site, Workshop, html, linked, title_task, until, written_site

from smartspider.cli.main import main
from smartspider_testing.waiting import scaled

pytestmark = pytest.mark.acceptance

DEAD = "http://127.0.0.1:9"
WORDS = "four random words here"
PIPED = """
import subprocess, sys
command = [sys.executable, "-m", "smartspider", *sys.argv[2:]]
sys.exit(subprocess.run(command, input=sys.argv[1].encode()).returncode)
"""
"""Runs a command with a line in its standard input."""


class Terminal:
    """Commands that go to one place."""

    def __init__(self, workshop: Workshop, *place: str) -> None:
        self.workshop, self.place = workshop, place

    def run(self, *arguments: object, code: int = 0) -> Finished:
        """A command, in this process: many of them take a moment then."""
        out, err = io.StringIO(), io.StringIO()
        home = {"HOME": str(self.workshop.folder)}
        with (
            patch.dict(os.environ, {**ENVIRONMENT, **home}),
            chdir(self.workshop.folder),
            patch("sys.stdin", io.StringIO()),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            ended = main([*map(str, arguments), *self.place])
        return Finished(ended, out.getvalue(), err.getvalue(), 0.0).expect(code)

    def json(self, *arguments: object, code: int = 0) -> Any:
        return self.run(*arguments, "--json", code=code).json

    def lines(self, *arguments: object, code: int = 0) -> list[Any]:
        return [json.loads(line) for line in self.run(*arguments, "--json", code=code).out.splitlines()]


class RemoteSetup:
    """A server that runs, a site it may crawl, and both ways to it."""

    def __init__(self, workshop: Workshop, server: Server, site: Site) -> None:
        self.workshop, self.server, self.site = workshop, server, site
        self.near = Terminal(workshop, "--data", "data")
        self.far = Terminal(workshop, "--server", server.url, "--token", TOKEN)

    def keep(self, name: str, path: str = "/", **more: Any) -> str:
        """Keep a task; its name."""
        self.workshop.write(title_task(self.site.url(path), **more) | {"name": name}, f"{name}.json")
        self.near.run("task", "apply", f"{name}.json")
        return name


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteSetup]:
    workshop = Workshop(tmp_path_factory.mktemp("remote") / "here")
    routes: dict[str, Any] = linked({"/": ["/a", "/b"], "/a": [], "/b": []})
    routes["/slow"] = [html("slow", [f"/slow/{number}" for number in range(400)])]
    routes["/bad"] = [html("bad", ["/gone", "/broken"])]
    routes["/broken"] = [{"status": 500, "body": "no"}]
    routes["/failing"] = [html("failing", [f"/err/{number}" for number in range(20)])]
    prefixes = {
        "/slow/": html("one of many") | {"delay_s": 0.05},
        "/err/": {"status": 500, "body": "no"},
    }
    with written_site(workshop.folder, routes=routes, prefixes=prefixes) as site:
        try:
            with served(workshop, "--workers", "1") as server:
                yield RemoteSetup(workshop, server, site)
        finally:
            workshop.close()


@pytest.fixture(params=["near", "far"])
def place(request: pytest.FixtureRequest, setup: RemoteSetup) -> Terminal:
    terminal: Terminal = getattr(setup, request.param)
    return terminal


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A unique name for a task."""
    return "".join(char if char.isalnum() else "_" for char in request.node.name)[:60]


def test_a_task_is_kept_looked_at_and_deleted(setup: RemoteSetup, place: Terminal, name: str) -> None:
    file = setup.workshop.write(title_task(setup.site.url("/")) | {"name": name}, f"{name}.json").name
    made = place.json("task", "apply", file, "--note", "first")
    assert (made["name"], made["version"], made["status"], made["changes"]) == (name, 1, "created", [])
    assert place.run("task", "apply", file).err.startswith(f"task '{name}' unchanged: version 1 (")
    setup.workshop.write(title_task(setup.site.url("/"), concurrency=3) | {"name": name}, file)
    assert place.run("task", "apply", file).out == "+ concurrency: 3\n"
    assert place.json("task", "diff", name)["changes"] == [
        {"kind": "added", "path": "concurrency", "after": 3}
    ]
    assert place.json("task", "show", name)["version"] == 2
    assert "concurrency" not in place.json("task", "show", name, "--version", "1")["spec"]
    assert [one["note"] for one in place.json("task", "history", name)] == ["", "first"]
    assert name in [one["name"] for one in place.json("task", "list")]
    found = ("--search", name[3:].upper(), "--sort", "-name")
    assert [one["name"] for one in place.json("task", "list", *found)] == [name]
    assert place.json("task", "list", *found, "--state", "running") == []
    assert "add --yes" in place.run("task", "delete", name, code=4).err
    assert place.json("task", "delete", name, "--yes")["deleted"]
    place.run("task", "show", name, code=3)


def test_a_wrong_task_is_refused_by_both_in_the_same_words(setup: RemoteSetup) -> None:
    wrong = title_task(setup.site.url("/"), politness={"delay_s": 1}, limits={"max_pages": "ten"})
    setup.workshop.write(wrong, "wrong.json")
    near, far = (one.run("task", "apply", "wrong.json", code=2) for one in (setup.near, setup.far))
    assert near.err == far.err
    assert "did you mean 'politeness'?" in near.err


def test_a_file_of_urls_is_read_here_and_its_rows_go_to_standard_output(
    setup: RemoteSetup, place: Terminal, name: str
) -> None:
    urls = setup.workshop.folder / f"{name}.txt"
    urls.write_text(f"{setup.site.url('/a')}\n{setup.site.url('/b')}\n")
    task = title_task() | {"name": name, "entry_urls": [{"file": urls.name}]}
    setup.workshop.write(task, f"{name}.json")
    place.run("task", "apply", f"{name}.json")
    place.run("run", "start", name, "--watch")
    exported = place.run("results", "export", "--task", name, "-o", "-")
    assert sorted(json.loads(line)["title"] for line in exported.out.splitlines()) == ["/a", "/b"]
    urls.write_text(f"{setup.site.url('/a')}\n\nnowhere\n")
    assert f"{urls.name}, line 3: " in place.run("task", "apply", f"{name}.json", code=2).err


def test_a_run_is_started_and_watched_to_its_end(setup: RemoteSetup, place: Terminal, name: str) -> None:
    setup.keep(name)
    events = place.lines("run", "start", name, "--watch")
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["event"], events[-1]["data"]["to"]) == ("run.created", "completed")
    run = events[0]["run_id"]
    again = place.lines("run", "watch", run, "--after", str(events[-2]["id"]))
    assert again == events[-1:]
    begin, *_, end = place.run("run", "watch", run).err.splitlines()
    assert begin == "completed: 3 pages, 3 items, 0.0 pages/s, 0 in flight, 0 to go"
    assert end == f"run {run} completed: 3 pages, 3 items"


def test_the_exit_code_of_watching_is_that_of_the_run(setup: RemoteSetup, place: Terminal, name: str) -> None:
    setup.keep(f"{name}_a", "/bad", retry={"max_attempts": 1})
    watched = place.run("run", "start", f"{name}_a", "--watch", code=7)
    assert "1 missing, 1 failed" in watched.err
    setup.keep(f"{name}_b", "/broken", retry={"max_attempts": 1})
    place.run("run", "start", f"{name}_b", "--watch", code=6)
    guarded = {"alerts": {"consecutive_failures": 3}, "retry": {"max_attempts": 1}}
    setup.keep(f"{name}_c", "/failing", **guarded)
    assert "paused (guard: " in place.run("run", "start", f"{name}_c", "--watch", code=6).err


def test_a_run_is_steered(setup: RemoteSetup, place: Terminal, name: str) -> None:
    setup.keep(name, "/slow", concurrency=1)
    started = place.json("run", "start", name, "--set", "limits.max_pages=300")
    run = started["run_id"]
    assert "409" not in place.run("run", "start", name, code=4).err
    other = place.json("run", "start", name, "--overlap")["run_id"]
    assert place.json("run", "cancel", other)["state"] == "cancelled"
    setup.server.until_state(run, "running")
    assert place.json("run", "pause", run)["state"] == "paused"
    assert place.json("run", "stall", run)["causes"][0]["code"]
    tuned = place.run("run", "tune", run, "concurrency=4", "per_host=8", "limits.max_pages=none")
    assert "concurrency: 1 → 4" in tuned.out
    assert "max_pages: 300 → none" in tuned.out
    assert "did you mean" in place.run("run", "tune", run, "concurency=4", code=2).err
    place.run("run", "tune", run, "concurrency=0", code=2)
    assert place.json("run", "resume", run)["state"] in ("queued", "running")
    assert place.json("run", "stop", run)["state"] in ("stopping", "stopped")
    setup.server.until_state(run, "stopped")
    place.run("run", "watch", run, code=130)
    assert place.json("run", "cancel", run)["state"] == "cancelled"
    assert "cancelled" in place.run("run", "resume", run, code=4).err
    assert place.json("run", "delete", run)["deleted"]
    assert f"no run {run}" in place.run("run", "show", run, code=3).err


def test_what_failed_is_fetched_once_more(setup: RemoteSetup, place: Terminal, name: str) -> None:
    setup.keep(name, "/bad", retry={"max_attempts": 1})
    run = place.lines("run", "start", name, "--watch", code=7)[0]["run_id"]
    failures = place.json("run", "failures", run)
    assert [one["url"] for one in failures] == [setup.site.url("/broken")]
    assert [one["url"] for one in place.json("run", "pages", run, "--state", "missing")] == [
        setup.site.url("/gone")
    ]
    retried = place.json("run", "retry", run)
    assert (retried["run_id"], retried["requests"]) == (run, 1)
    place.run("run", "watch", run, code=7)
    assert place.json("run", "retry", run, "--all")["run_id"] != run


def test_both_ways_tell_the_same(setup: RemoteSetup, name: str) -> None:
    setup.keep(name)
    run = setup.far.lines("run", "start", name, "--watch")[0]["run_id"]
    setup.near.run("run", "start", name, "--watch")
    until(lambda: "run.ended" in setup.near.run("logs", "--run", run, "--json").out, "its log to be written")
    for command in (
        ("task", "show", name),
        ("task", "history", name),
        ("run", "list"),
        ("run", "list", "--task", name, "--state", "completed", "--limit", "1"),
        ("run", "show", run),
        ("run", "pages", run, "--limit", "2"),
        ("run", "failures", run),
        ("results", "show", "--run", run),
        ("results", "show", "--task", name, "--where", "title=/a", "--fields", "title"),
        ("results", "show", "--run", run, "--sort=-title", "--limit", "1"),
        ("results", "rejects", "--run", run),
        ("results", "cleaning", "--run", run),
        ("results", "diff", "--task", name, "--key", "url"),
        ("why", setup.site.url("/a"), "--run", run),
        ("logs", "--run", run),
        ("logs", "--task", name, "--level", "warning", "--since", "1h"),
        ("audit", "list", "--subject", f"run:{run}"),
        ("user", "list"),
        ("token", "list"),
        ("notification", "list"),
        ("schedule", "list"),
        ("schedule", "next", "--cron", "0 6 * * *", "--timezone", "Europe/Berlin"),
    ):
        near, far = (one.run(*command) for one in (setup.near, setup.far))
        assert (near.out, near.err) == (far.out, far.err), command
        near, far = (one.run(*command, "--json") for one in (setup.near, setup.far))
        assert told(near.out) == told(far.out), command


def told(text: str) -> Any:
    """A JSON value, or one in each line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "csv.gz", "xlsx", "xml"])
def test_rows_are_exported_to_the_same_files(setup: RemoteSetup, name: str, ending: str) -> None:
    setup.keep(name)
    run = setup.far.lines("run", "start", name, "--watch")[0]["run_id"]
    for way, terminal in (("near", setup.near), ("far", setup.far)):
        said = terminal.json("results", "export", "-o", f"out/{way}.{ending}", "--run", run)
        assert said == {"run_id": run, "items": 3, "outputs": [f"out/{way}.{ending}"]}
    near, far = ((setup.workshop.folder / f"out/{way}.{ending}").read_bytes() for way in ("near", "far"))
    assert len(near) > 20
    assert ending in ("csv.gz", "xlsx") or near == far


def test_only_rows_that_changed_are_exported_where_that_is_asked_for(
    setup: RemoteSetup, place: Terminal, name: str
) -> None:
    setup.keep(name)
    for _ in range(2):
        place.run("run", "start", name, "--watch")
    for options, rows in (((), 3), (("--only-changes",), 0)):
        place.run("results", "export", "-o", f"{name}.jsonl", "--task", name, *options)
        assert len(setup.workshop.rows(f"{name}.jsonl")) == rows


def test_a_server_writes_no_parts_and_a_wrong_name_leaves_nothing(setup: RemoteSetup, name: str) -> None:
    setup.keep(name)
    setup.far.run("run", "start", name, "--watch")
    split = setup.far.run("results", "export", "-o", "part.csv", "--split-rows", "1", code=2)
    assert "--split-rows" in split.err
    setup.far.run("results", "export", "-o", "rows.nothing", code=2)
    setup.far.run("results", "export", "-o", "lost.csv", "--run", "999999", code=3)
    assert not [path for path in setup.workshop.folder.iterdir() if path.name.startswith(("part", "lost"))]


def test_a_schedule_is_kept(setup: RemoteSetup, place: Terminal, name: str) -> None:
    setup.keep(name)
    made = place.json("schedule", "add", name, "--cron", "0 6 * * *", "--overlap", "queue", "--grace", "1h")
    assert (made["overlap"], made["misfire_s"], len(made["next_times"])) == ("queue", 3600.0, 5)
    schedule = made["id"]
    assert place.json("schedule", "show", schedule)["task"] == name
    assert place.json("schedule", "next", schedule) == made["next_times"]
    assert f"  {name}  0 6 * * *" in place.run("schedule", "list", "--task", name).out
    berlin = place.run("schedule", "next", "--cron", "0 6 1 1 *", "--timezone", "Europe/Berlin").out
    assert "-01-01T05:00:00.000Z" in berlin
    assert "-01-01 06:00:00 Europe/Berlin" in berlin
    assert not place.json("schedule", "pause", schedule)["enabled"]
    assert place.json("schedule", "resume", schedule)["enabled"]
    run = place.json("schedule", "fire", schedule)["run_id"]
    place.run("run", "watch", run)
    place.json("schedule", "history", schedule)
    assert [one["id"] for one in place.json("schedule", "list", "--task", name)] == [schedule]
    place.run("schedule", "delete", schedule)
    place.run("schedule", "show", schedule, code=3)
    place.run("schedule", "add", name, "--cron", "99 * * * *", code=2)
    place.run("schedule", "next", code=2)


def test_a_schedule_in_a_task_follows_it(setup: RemoteSetup, place: Terminal, name: str) -> None:
    file = f"{name}.json"
    for schedule in ("0 6 * * *", "0 7 * * *", None):
        task = title_task(setup.site.url("/"), schedule=schedule) | {"name": name}
        setup.workshop.write(task, file)
        place.run("task", "apply", file)
        crons = [one["cron"] for one in place.json("schedule", "list", "--task", name)]
        assert crons == ([] if schedule is None else [schedule])


def test_tokens_and_users_are_kept(setup: RemoteSetup, place: Terminal, name: str) -> None:
    who = f"u{name[-20:]}"
    added = place.json("user", "add", who, "--role", "operator")
    assert (added["name"], added["role"], added["has_password"]) == (who, "operator", False)
    assert place.json("user", "role", who, "viewer")["role"] == "viewer"
    token = place.run("token", "add", f"{who} eyes", "--role", "viewer", "--user", who, "--expires", "1h")
    eyes = Terminal(setup.workshop, "--server", setup.server.url, "--token", token.out.strip())
    eyes.run("run", "list")
    refused = eyes.run("token", "add", "more", "--role", "admin", code=4)
    assert "(viewer) has no permission to write tokens" in refused.err
    known = place.json("token", "list", "--user", who)
    assert [one["name"] for one in known] == [f"{who} eyes"]
    assert token.out.strip() not in json.dumps(known)
    assert place.json("token", "revoke", known[0]["id"])["revoked_at"]
    until(lambda: setup.workshop.run("run", "list", *eyes.place).code == 4, "the token to be refused")
    assert not place.json("user", "disable", who)["enabled"]
    assert place.json("user", "enable", who)["enabled"]
    place.run("user", "delete", who, code=4)
    assert place.json("user", "delete", who, "--yes")["deleted"]


def test_a_notice_is_kept_and_tried(setup: RemoteSetup, place: Terminal) -> None:
    made = place.json("notification", "add", "webhook", setup.site.url("/hook"), "--on", "run.failed")
    assert made["events"] == ["run.failed"]
    assert made["secret"].startswith("whsec_")
    tried = place.json("notification", "test", made["id"], code=6)
    assert (tried["delivered"], "404" in tried["error"]) == (False, True)
    assert place.json("notification", "history", made["id"]) == []
    changed = place.json("notification", "change", made["id"], "--on", "run.paused", "--task", "")
    assert (changed["events"], changed["address"]) == (["run.paused"], made["address"])
    assert not place.json("notification", "pause", made["id"])["enabled"]
    assert "paused" in place.run("notification", "list").out
    assert place.json("notification", "resume", made["id"])["enabled"]
    assert place.json("notification", "delete", made["id"])["deleted"]
    place.run("notification", "test", made["id"], code=3)
    place.run("notification", "add", "email", "nobody", code=2)


def test_a_server_is_checked_from_afar(setup: RemoteSetup) -> None:
    found = {one["what"]: one["is_ok"] for one in setup.far.json("doctor")["checks"]}
    assert all(found[what] for what in ("python", "sqlite", "store", "clock", "workers", "keeper"))
    assert "ok   keeper: a keeper is the leader" in setup.far.run("doctor").out


def test_machines_are_listed(place: Terminal) -> None:
    node = place.json("node", "list")[0]
    assert [one["state"] for one in node["workers"]] == ["alive"]
    assert node["node"] in place.run("node", "list").out
    place.run("node", "drain", "nowhere", code=3)


def test_the_audit_is_whole(place: Terminal) -> None:
    assert place.json("audit", "verify")["valid"]
    assert place.run("audit", "list", "--limit", "1").out.count("\n") == 1


def test_logs_are_followed(setup: RemoteSetup, place: Terminal, name: str) -> None:
    setup.keep(name, "/bad", retry={"max_attempts": 1})
    tail = setup.workshop.start("logs", "-f", "--json", "--task", name, *place.place, env=ENVIRONMENT)
    place.run("run", "start", name, "--watch", code=7)
    place.run("run", "start", name, "--watch", code=7)

    def broken() -> list[Any]:
        lines = [json.loads(line) for line in tail.out.splitlines()]
        return [line["id"] for line in lines if line["url"] == setup.site.url("/broken")]

    until(lambda: len(broken()) >= 2, f"two lines about the broken page\n{tail.err}")
    tail.signal(signal.SIGINT)
    assert tail.wait().code == 130
    assert len(set(broken())) == len(broken())
    numbers = [int(line["id"]) for line in place.lines("logs", "--task", name, "--limit", "5")]
    assert len(numbers) == 5
    assert numbers == sorted(numbers)


def test_ctrl_c_leaves_a_run_alone_that_is_watched(setup: RemoteSetup, place: Terminal, name: str) -> None:
    setup.keep(name, "/slow", concurrency=1)
    watch = setup.workshop.start("run", "start", name, "--watch", *place.place, env=ENVIRONMENT)
    until(lambda: "running" in watch.err, "the run to be seen running")
    watch.signal(signal.SIGINT)
    ended = watch.wait()
    assert (ended.code, "run watch" in ended.err) == (130, True)
    run = place.json("run", "list", "--task", name)[0]
    assert run["state"] == "running"
    place.run("run", "cancel", run["run_id"])


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--server", DEAD), 5, DEAD),
        (("--server", "ftp://nowhere"), 2, "http://"),
        (("--profile", "nobody"), 3, "there is no profile 'nobody'"),
        (("--data", "data", "--server", DEAD), 2, "--data and --server"),
        (("--data", "data", "--token", "x"), 2, "--token requires --server"),
        (("--data", "nowhere"), 3, "there is no data folder"),
    ],
)
def test_a_place_that_is_not_there_is_said_so(
    setup: RemoteSetup, options: tuple[str, ...], code: int, said: str
) -> None:
    refused = setup.workshop.run("run", "list", *options).expect(code)
    assert said in refused.err
    assert "Traceback" not in refused.err


def test_a_wrong_token_is_refused_and_not_repeated(setup: RemoteSetup) -> None:
    for token in ("sst_forged_token", ""):
        env = {"SMARTSPIDER_SERVER": setup.server.url, "SMARTSPIDER_TOKEN": token}
        refused = setup.workshop.run("run", "list", env=env).expect(4)
        assert "try: " in refused.err
        assert not token or token not in refused.err


def test_a_profile_is_added_used_and_removed(setup: RemoteSetup, tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "elsewhere")
    url = setup.server.url
    forged = ("profile", "add", "far", url, "--token", "-")
    wrong = shop.start_python("-c", PIPED, "forged", *forged).wait()
    assert wrong.code == 4
    assert shop.run("profile", "list").expect(0).out == ""
    (shop.folder / "token").write_text(TOKEN + "\n")
    added = shop.run("profile", "add", "far", url, "--token-file", "token", "--json").expect(0)
    assert added.json == {"name": "far", "url": url, "user": "admin", "role": "admin"}
    kept = tmp_path / "elsewhere.home" / ".config" / "smartspider" / "profiles.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert shop.run("profile", "list").out == f"* far  {url}\n"
    assert TOKEN not in shop.run("profile", "list", "--json").out
    assert shop.run("audit", "verify", "--json").expect(0).json["valid"]
    shop.run("profile", "use", "local").expect(0)
    assert "no data folder" in shop.run("audit", "verify").expect(3).err
    shop.run("audit", "verify", "--profile", "far").expect(0)
    shop.run("audit", "verify", env={"SMARTSPIDER_PROFILE": "far"}).expect(0)
    shop.run("profile", "use", "far").expect(0)
    shop.run("audit", "verify", env={"SMARTSPIDER_STORE_URL": "sqlite:///none"}).expect(3)
    shop.run("profile", "remove", "far").expect(0)
    shop.run("profile", "use", "far").expect(3)
    shop.close()


def test_who_signs_in_gets_a_token_of_their_own(setup: RemoteSetup, tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "elsewhere")
    add = ("user", "add", "ann", "--role", "operator", "--password", *setup.far.place)
    shop.start_python("-c", PIPED, WORDS, *add).wait().expect(0)
    sign_in = ("profile", "add", "far", setup.server.url, "--user", "ann")
    signed = shop.start_python("-c", PIPED, WORDS, *sign_in)
    assert "as ann (operator)" in signed.wait().expect(0).err
    tokens = shop.run("token", "list", "--json").expect(0).json
    assert [(one["actor"], one["role"]) for one in tokens] == [("ann", "operator")]
    shop.run("user", "list").expect(4)
    shop.close()


def test_a_watcher_goes_on_after_the_server_was_killed(workshop: Workshop) -> None:
    routes = {"/": [html("many", [f"/p/{number}" for number in range(60)])]}
    prefixes = {"/p/": html("one of many") | {"delay_s": 0.1}}
    with written_site(workshop.folder, routes=routes, prefixes=prefixes) as site:
        server = Server(workshop, "--workers", "1")
        server.start()
        far = Terminal(workshop, "--server", server.url, "--token", TOKEN)
        workshop.write(title_task(site.url("/"), concurrency=2))
        far.run("task", "apply", "task.json")
        watch = workshop.start("run", "start", "titles", "--watch", "--json", *far.place)
        until(lambda: watch.out.count(b"run.progress") > 2, f"progress\n{watch.err}")
        server.kill(with_children=True)
        server.start()
        done = watch.wait(scaled(90)).expect(0)
        numbers = [json.loads(line)["id"] for line in done.out.splitlines()]
        assert numbers == list(range(1, len(numbers) + 1))
        server.stop()


def test_a_server_can_be_run_process_by_process(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": ["/a"], "/a": []})) as site:
        assert "there is no data folder" in workshop.run("worker", "--data", "apart").expect(3).err
        api = workshop.start("api", "--data", "apart", "--port", "0", "--json", env=ENVIRONMENT)
        until(lambda: b"\n" in api.out, f"the API\n{api.err}")
        url = json.loads(api.out)["url"]
        far = Terminal(workshop, "--server", url, "--token", TOKEN)
        workshop.write(title_task(site.url("/")))
        until(lambda: workshop.run("task", "apply", "task.json", *far.place).code == 0, "the API to answer")
        assert "no workers are running" in far.run("run", "start", "titles").err
        keeper = workshop.start("keeper", "--data", "apart", env=ENVIRONMENT)
        worker = workshop.start("worker", "--data", "apart", "--concurrency", "4", env=ENVIRONMENT)
        assert "2 pages, 2 items" in far.run("run", "watch", "1").err
        assert far.json("node", "list")[0]["slots"] == 4
        node = far.json("node", "list")[0]["node"]
        assert far.json("node", "drain", node)["asked"] == 1
        assert worker.wait().code == 0
        for process in (keeper, api):
            process.signal(signal.SIGTERM)
            assert process.wait().code == 0, process.err
