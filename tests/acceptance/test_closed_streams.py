"""Rows are written although the output is closed early or never read."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.acceptance.workshop import Site, Workshop, html, linked, title_task, until, written_site

from smartspider_testing.waiting import WAIT_S

pytestmark = pytest.mark.acceptance

CRAWL = ("crawl", "task.json", "-o", "rows.jsonl")
PAGES = {"/": ["/a", "/b"], "/a": [], "/b": []}


@pytest.fixture
def site(workshop: Workshop) -> Iterator[Site]:
    with written_site(workshop.folder, routes=linked(PAGES)) as site:
        workshop.write(title_task(site.url("/")))
        yield site


def shell(workshop: Workshop, line: str, *arguments: str) -> int:
    """The exit code of a shell's line, in which "$@" is the command."""
    command = ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}", "bash", sys.executable, "-m", "smartspider"]
    done = subprocess.run(
        [*command, *arguments],
        cwd=workshop.folder,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.returncode


@pytest.mark.parametrize(
    "line",
    [
        *('"$@" 2>&1 | head -n 1', '"$@" 2>&1 | true', '"$@" 2>&1 >/dev/null | true'),
        *('"$@" | true', '"$@" >&-', '"$@" 2>&-', '"$@" <&- >&- 2>&-', '"$@" 2>/dev/full'),
    ],
)
@pytest.mark.parametrize("more", [(), ("--json",), ("--workers", "2")], ids=["plain", "json", "two workers"])
@pytest.mark.usefixtures("site")
def test_rows_are_written_whoever_looks(workshop: Workshop, line: str, more: tuple[str, ...]) -> None:
    assert shell(workshop, line, *CRAWL, *more) == 0
    assert sorted(row["title"] for row in workshop.rows()) == ["/", "/a", "/b"]


def test_the_exit_code_stays_that_of_the_run(workshop: Workshop) -> None:
    routes = {"/": [html("/", ["/bad"])], "/bad": [{"status": 500}]}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/"), retry={"max_attempts": 1}))
        assert shell(workshop, '"$@" 2>&1 | true', *CRAWL, "--json") == 7
    assert shell(workshop, '"$@" 2>&1 | true', "crawl", "nowhere.json") == 3


@pytest.mark.parametrize("arguments", [("schema",), ("--help",), ("crawl", "--help"), ("doctor",)])
def test_an_answer_that_nobody_reads_is_no_error(workshop: Workshop, arguments: tuple[str, ...]) -> None:
    for line in ('"$@" | true', '"$@" >&-'):
        assert shell(workshop, line, *arguments) == 0


def test_an_answer_that_cannot_be_stored_is_an_error(workshop: Workshop) -> None:
    for arguments in (("schema",), ("--version",)):
        assert shell(workshop, '"$@" >/dev/full', *arguments) == 5


def test_with_json_there_is_exactly_one_value_on_stdout(workshop: Workshop, site: Site) -> None:
    commands: list[tuple[str, ...]] = [
        *(CRAWL, ("demo",), ("init", "new.json"), ("validate", "task.json"), ("schema",), ("doctor",)),
        *(("fetch", site.url("/")), ("fetch", site.url("/"), "--head"), ("why", site.url("/a"))),
        *(("run", "list"), ("run", "show", "1"), ("results", "export", "-o", "again.csv"), ("fsck",)),
        ("run", "delete", "1"),
    ]
    for command in commands:
        assert workshop.run(*command, "--json").expect(0).json is not None
    assert workshop.run("validate", "nowhere.json", "--json").expect(3).out == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_a_command_that_is_still_starting_ends_as_interrupted(
    workshop: Workshop, number: signal.Signals
) -> None:
    workshop.write(title_task("http://127.0.0.1:9/"))
    stages = (
        "smartspider.cli.commands",
        "smartspider.cli.crawl.crawl",
        "smartspider.taskfile.load",
        "uvloop",
    )
    for stage in stages:
        code = (
            "import os, signal, sys\n"
            "class Finder:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            f"        if name == {stage!r}: os.kill(os.getpid(), {int(number)})\n"
            "from smartspider.cli.main import main\n"
            "sys.meta_path.insert(0, Finder())\n"
            "sys.exit(main())\n"
        )
        finished = workshop.start_python("-c", code, *CRAWL, "--json").wait().expect(130)
        assert finished.err.strip() == "interrupted", stage


def test_a_second_ctrl_c_still_gives_the_summary(workshop: Workshop) -> None:
    routes = {"/": [html("/", ["/slow"])], "/slow": [{"delay_s": 20.0}]}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/")))
        crawl = workshop.start(*CRAWL, "--json")
        until(lambda: "/slow" in site.paths(), "the slow page to be asked for")
        crawl.signal(signal.SIGTERM)
        until(lambda: "stopping" in crawl.err, "the first signal to be heard")
        crawl.signal(signal.SIGINT)
        summary = crawl.wait().expect(130).json
    assert (summary["state"], summary["pages"]) == ("paused", 1)
