"""Commands that fetch one page: their headers, exit codes and messages."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pytest

from smartspider.cli.main import main
from smartspider_testing.sites.threaded import serve_in_thread

SECRET = "s3cr3t-value"
ITEMS = "".join(
    f"<li class=item><a href=/{number}>Tea {number}</a> <b>{number}.50</b></li>" for number in range(9)
)


class Site(BaseHTTPRequestHandler):
    """Asks for a token, except at `/open` and `/down`."""

    seen: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def do_GET(self) -> None:
        type(self).seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        status = 200 if self.path == "/open" or self.headers["Authorization"] == f"Bearer {SECRET}" else 401
        status = {"/down": 503, "/robots.txt": 404}.get(self.path, status)
        body = f"<ul>{ITEMS}</ul>".encode() if status == 200 else b""
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The signal handlers of this process, which a crawl replaces."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The address of the site, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMARTSPIDER_VAR_TOKEN", SECRET)
    Site.seen.clear()
    with serve_in_thread(Site) as origin:
        yield origin


HEADER = ("-H", "Authorization: Bearer ${TOKEN}")


def test_a_header_is_sent_with_its_secret_and_never_shown(
    site: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", f"{site}/list", *HEADER, "-v"]) == 0
    out, err = capsys.readouterr()
    assert "Tea 1" in out
    robots, page = Site.seen
    assert (robots[0], "authorization" in robots[1]) == ("/robots.txt", False)
    assert page[1]["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in out + err
    assert "/robots.txt: 404" in err
    assert "/list: 200" in err


def test_a_suggested_task_keeps_the_header_with_the_name_of_the_secret(
    site: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["suggest", f"{site}/list", *HEADER, "--ignore-robots"]) == 0
    task = json.loads(capsys.readouterr().out)
    assert task["fetch"] == {"headers": {"Authorization": "Bearer ${TOKEN}"}}


@pytest.mark.parametrize("command", [("suggest",), ("crawl", "--yes")])
@pytest.mark.parametrize(("path", "code"), [("/list", 4), ("/down", 5)])
def test_a_page_that_is_refused_has_one_exit_code(
    site: str, command: tuple[str, ...], path: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = command
    assert main([name, f"{site}{path}", *options]) == code
    assert "try: " in capsys.readouterr().err


def test_headers_of_an_override_reach_the_page_of_the_suggestion(site: str) -> None:
    header = 'fetch.headers={"Authorization": "Bearer ${TOKEN}"}'
    crawl = ["crawl", f"{site}/list", "--yes", "--set", header, "--set", "politeness.robots=ignore"]
    assert main([*crawl, "-o", "rows.csv"]) == 0
    assert {path for path, _ in Site.seen} == {"/list"}
    assert len(Path("rows.csv").read_text().splitlines()) == 10


def test_other_lists_are_named_and_can_be_chosen(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crawl", f"{site}/open", "--yes", "--choice", "99"]) == 2
    assert "--choice" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["Accept", ": x", "a b: c", "X-A: ${not a name}"])
def test_a_malformed_header_is_a_usage_error(site: str, text: str) -> None:
    assert main(["fetch", f"{site}/open", "-H", text]) == 2
    assert Site.seen == []


def test_a_site_that_is_down_is_named_with_what_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", "http://127.0.0.1:9/list"]) == 5
    err = capsys.readouterr().err
    assert "robots.txt" not in err
    assert "http://127.0.0.1:9" in err
    assert "try: " in err


@pytest.mark.parametrize("command", ["dry-run", "validate"])
def test_a_url_in_place_of_a_task_file_is_told_of_crawl_and_suggest(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "http://h.example/list"]) == 2
    err = capsys.readouterr().err
    assert "smartspider suggest http://h.example/list" in err
    assert "smartspider crawl http://h.example/list" in err


def test_verbosity_may_stand_before_the_command(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-q", "fetch", f"{site}/open"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["-v", "fetch", f"{site}/open"]) == 0
    assert "/open: 200" in capsys.readouterr().err
