"""Crawls with cookies of the vault: they are borrowed, kept up to date, and never shown."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.server import served
from tests.acceptance.workshop import Site, Workshop, until

from smartspider.demo.process import site_process
from smartspider_testing.servers.programs import chromium
from smartspider_testing.sites.members import CANARY, ENTRIES, cookie_task, session_cookie
from smartspider_testing.waiting import WAIT_S

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(280)]

CRAWL = ("crawl", "task.json", "-o", "rows.jsonl", "--json")


@contextmanager
def members(*options: str) -> Iterator[Site]:
    with site_process("smartspider_testing.sites.members", "--delay-ms", "30", *options) as url:
        yield Site(url)


def upload(workshop: Workshop, cookies: str, *options: object) -> dict[str, Any]:
    """Upload the cookies of a session; return what was printed."""
    command = ("cookie", "upload", "--domain", "127.0.0.1", *options, "-", "--json")
    found: dict[str, Any] = workshop.run(*command, stdin=cookies).expect(0).json
    return found


def until_served(site: Site, count: int) -> None:
    """Wait until members have read so many pages."""
    until(lambda: len(site.ask("/_stats")["served"]) >= count, f"{count} pages")


def listed(workshop: Workshop) -> list[dict[str, Any]]:
    """Return the cookies as the command lists them."""
    found: list[dict[str, Any]] = workshop.run("cookie", "list", "--json").expect(0).json
    return found


def assert_whole(workshop: Workshop) -> None:
    """Every entry is a row, once, and no cookie stands in any file."""
    assert sorted(row["name"] for row in workshop.rows()) == sorted(ENTRIES)
    for path in [*workshop.folder.rglob("*"), *workshop.logs.iterdir()]:
        if path.is_file() and path.suffix != ".in":  # what was sent to standard input
            assert CANARY.encode() not in path.read_bytes(), path


def test_a_task_crawls_with_the_cookies_that_it_names(workshop: Workshop) -> None:
    with members("--sessions", "3") as site:
        for number in (1, 2, 3):
            upload(workshop, session_cookie(number), "--limit", "2")
        workshop.write(cookie_task(site.url().rstrip("/"), cookie_id=3, concurrency=8))
        summary = workshop.run(*CRAWL).expect(0).json
        stats = site.ask("/_stats")
    assert (summary["state"], summary["failed"]) == ("completed", 0)
    assert_whole(workshop)
    assert stats["refused"] == []
    assert stats["most"] == {"-3": 2}
    assert [one["usage_count"] for one in listed(workshop)] == [0, 0, len(stats["served"])]
    assert workshop.why(f"{site.url()}entry/7")["record"]["cookies"] == "3"
    shown = workshop.run("cookie", "show", "3").expect(0)
    assert CANARY not in shown.out
    assert "session" in shown.out


def test_the_cookies_that_a_browser_has_open_its_site_to_a_crawl(workshop: Workshop, tmp_path: Path) -> None:
    profiles, temporary = tmp_path / "browser", tmp_path / "tmp"
    temporary.mkdir()
    grab = ("cookie", "grab", "--domain", "127.0.0.1", "--browser", "chromium")
    with members() as site:
        subprocess.run(
            [
                *(chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--password-store=basic"),
                *(f"--user-data-dir={profiles}", "--dump-dom", f"{site.url()}_open?session=5"),
            ],
            capture_output=True,
            check=True,
            timeout=WAIT_S,
        )
        env = {"TMPDIR": str(temporary)}
        done = workshop.run(*grab, "--browser-profile", profiles, "--name", "me", env=env).expect(0)
        assert done.err == (
            'cookies 1 me for 127.0.0.1 from Chromium, profile Default: 1 cookie, for "cookie_id": 1\n'
        )
        workshop.write(cookie_task(site.url().rstrip("/")))
        workshop.run(*CRAWL).expect(0)
        assert site.ask("/_stats")["refused"] == []
    assert_whole(workshop)
    assert list(temporary.iterdir()) == []


def test_cookies_that_every_answer_replaces_outlive_workers_that_are_killed(workshop: Workshop) -> None:
    with members("--sessions", "1", "--rotates", "1") as site:
        upload(workshop, session_cookie(1), "--limit", "1")
        workshop.write(cookie_task(site.url().rstrip("/")))
        for count in range(5, 30, 5):
            command = workshop.start(*CRAWL)
            until_served(site, count)
            command.kill()
        workshop.run(*CRAWL).expect(0)
        stats = site.ask("/_stats")
    assert_whole(workshop)
    assert (stats["logins"], stats["refused"], stats["most"]) == (0, [], {"-1": 1})


def test_a_crawl_waits_for_cookies_when_its_site_knows_none_of_them(workshop: Workshop) -> None:
    with members("--sessions", "2") as site:
        for number in (1, 2):
            upload(workshop, session_cookie(number), "--limit", "1")
        workshop.write(cookie_task(site.url().rstrip("/"), name="wall"))
        command = workshop.start(*CRAWL, "--workers", "2")
        until_served(site, 6)
        site.ask("/_end?session=1")
        site.ask("/_end?session=2")
        until(lambda: {one["state"] for one in listed(workshop)} == {"invalid"}, "both are set aside")
        assert all("asks for a password" in one["reason"] for one in listed(workshop))
        stall = workshop.run("run", "stall", "1", "--json").json
        assert [cause["code"] for cause in stall["causes"]] == ["no_identity"]
        site.ask("/_open?session=7")
        upload(workshop, session_cookie(7))
        done = command.wait().expect(0)
    assert done.json["failed"] == 0
    assert_whole(workshop)


def test_a_page_that_only_this_login_may_not_see_sets_no_cookies_aside(workshop: Workshop) -> None:
    with members("--sessions", "1") as site:
        upload(workshop, session_cookie(1), "--check-url", f"{site.url()}list/1", "--name", "ann")
        task = cookie_task(site.url().rstrip("/"))
        forbidden = {"url": f"{site.url()}forbidden", "page": "entry"}
        workshop.write({**task, "entry_urls": [*task["entry_urls"], forbidden]})
        done = workshop.run(*CRAWL).expect(7)
    assert done.json["failed"] == 1
    assert_whole(workshop)
    assert [one["state"] for one in listed(workshop)] == ["active"]
    assert "cookies 1 (ann) work at" in workshop.run("why", f"{site.url()}forbidden").out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"use_cookie": True}, "has none for 127.0.0.1"),
        ({"cookie_id": 9}, "the cookies '9' of the vault, which are not there"),
        ({"use_cookie": True, "fetch": {"headers": {"cookie": "a=1"}}}, "beside use_cookie"),
    ],
)
def test_a_task_without_its_cookies_is_refused_before_anything_is_fetched(
    workshop: Workshop, more: dict[str, Any], said: str
) -> None:
    workshop.write({**cookie_task("http://127.0.0.1:9"), **more})
    done = workshop.run(*CRAWL).expect(2)
    assert said in done.err
    assert "cookie" in done.err


def test_a_server_lends_cookies_to_its_workers_whatever_they_meet(workshop: Workshop) -> None:
    with members("--sessions", "1", "--rotates", "1") as site, served(workshop, "--workers", "2") as server:
        made = server.ask("POST", "/api/tokens", {"name": "up", "role": "uploader"}).expect(201).json
        only_upload = {"Authorization": f"Bearer {made['token']}"}
        cookies = {"domain": "127.0.0.1", "cookies": session_cookie(1), "limit": 1, "shared": True}
        id_ = server.ask("POST", "/api/cookies/upload", cookies, **only_upload).expect(201).json["id"]
        server.ask("GET", "/api/cookies", **only_upload).expect(403)
        task = cookie_task(site.url().rstrip("/"), cookie_id=id_)
        preview = server.ask("POST", "/api/tasks?dry_run=true&preview=true", task).expect(200).json
        assert (preview["valid"], len(preview["preview"])) == (True, 1), preview
        run = server.begin(server.create(task))
        for count in (8, 16):
            until_served(site, count)
            os.kill(server.command.workers()[0], signal.SIGKILL)
        assert server.until_state(run, "completed")["fail_count"] == 0
        rows, stats = server.rows(run), site.ask("/_stats")
        shown = server.ask("GET", f"/api/cookies/{id_}").expect(200)
    assert sorted(row["name"] for row in rows) == sorted(ENTRIES)
    assert (stats["refused"], stats["most"]) == ([], {"-1": 1})
    assert CANARY.encode() not in shown.body
