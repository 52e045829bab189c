"""A data folder that is locked, full, damaged, newer or in use: a clear line, and nothing lost."""

from __future__ import annotations

import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.acceptance.workshop import (
    Finished,
    Site,
    Workshop,
    graph_site,
    linked,
    title_task,
    until,
    written_site,
)

from smartspider_testing.sites.graph import ChangingGraph, graph_task
from smartspider_testing.waiting import scaled

pytestmark = pytest.mark.acceptance

COMMAND = ("crawl", "task.json", "-o", "rows.jsonl", "--json")
DATABASE = ".smartspider/titles/smartspider.db"


def assert_clear(finished: Finished, *words: str) -> None:
    """Exit code 5, one line that says what and why, one that says what to try, and no traceback."""
    finished.expect(5)
    assert "Traceback" not in finished.err
    errors = [line for line in finished.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, finished.err
    for word in words:
        assert word in errors[0]
    assert [line for line in finished.err.splitlines() if line.startswith("  try: ")], finished.err
    assert finished.out == ""


def test_crawls_that_create_one_folder_at_once_all_run(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": []})) as site:
        tasks = [
            workshop.write(title_task(site.url("/"), name=name), f"{name}.json")
            for name in ("one", "two", "three", "four", "five", "six")
        ]
        crawls = [workshop.start("crawl", task, "--data", "new", "--json") for task in tasks]
        summaries = [crawl.wait().expect(0).json for crawl in crawls]
    assert sorted(int(summary["run_id"]) for summary in summaries) == [1, 2, 3, 4, 5, 6]
    assert [summary["items"] for summary in summaries] == [1] * 6


def until_still(site: Site) -> None:
    """Wait until nothing was fetched for half a second."""
    seen, since = site.fetches(), time.monotonic()

    def is_still() -> bool:
        nonlocal seen, since
        if seen != (now := site.fetches()):
            seen, since = now, time.monotonic()
        return time.monotonic() - since > 0.5

    until(is_still, "the crawl to stand still")


@pytest.fixture
def crawled(workshop: Workshop) -> Workshop:
    """A data folder with one finished run."""
    with written_site(workshop.folder, routes=linked({"/": ["/a", "/b"], "/a": [], "/b": []})) as site:
        workshop.write(title_task(site.url("/")))
        workshop.crawl().expect(0)
    return workshop


def test_a_newer_format_is_refused_and_left_alone(crawled: Workshop) -> None:
    path = crawled.folder / DATABASE
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = path.read_bytes()
    assert_clear(crawled.crawl(), "format 999")
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_refused(workshop: Workshop) -> None:
    workshop.write(title_task("http://127.0.0.1:9/"))
    (workshop.folder / "mine").mkdir()
    connection = apsw.Connection(str(workshop.folder / "mine" / "smartspider.db"))
    connection.execute("CREATE TABLE diary (text)")
    connection.close()
    assert_clear(workshop.crawl("--data", "mine"), "another program")


@pytest.mark.parametrize("place", ["head", "middle"])
def test_a_damaged_database_is_told_and_not_made_worse(crawled: Workshop, place: str) -> None:
    path = crawled.folder / DATABASE
    damaged = bytearray(path.read_bytes())
    first, last = (0, 4096) if place == "head" else (4096, len(damaged))
    damaged[first:last] = b"\x5a" * (last - first)
    path.write_bytes(damaged)
    assert_clear(crawled.crawl(), "damaged")
    finished = crawled.run("fsck")
    assert finished.code in (5, 6)
    assert "Traceback" not in finished.err
    assert "damage" in finished.err + finished.out
    assert path.read_bytes()[first:last] == damaged[first:last]


def test_a_data_folder_that_cannot_be_written_is_told(workshop: Workshop) -> None:
    workshop.write(title_task("http://127.0.0.1:9/"))
    (workshop.folder / "file").write_text("I am a file")
    assert_clear(workshop.crawl("--data", "file/below"), "file/below", "cannot be created")
    assert_clear(workshop.crawl("--data", "/proc/nowhere"), "/proc/nowhere")


def test_a_crawl_waits_while_another_program_holds_the_database(workshop: Workshop) -> None:
    graph = ChangingGraph(300, seed=41)
    with graph_site(300, seed=41, delay_ms=20) as site:
        workshop.write(graph_task(f"{site.base}/"))
        crawl = workshop.start(*COMMAND, "--workers", "2")
        until(lambda: site.fetches() >= 60, "60 fetches")
        connection = apsw.Connection(str(workshop.folder / ".smartspider/changing_graph/smartspider.db"))
        connection.set_busy_timeout(10_000)
        connection.execute("BEGIN EXCLUSIVE")
        until_still(site)
        assert not crawl.has_ended()
        connection.execute("COMMIT")
        connection.close()
        assert crawl.wait().expect(0).json["state"] == "completed"
        assert graph.problems(workshop.rows()) == []
        assert site.fetches() == len({row["page"] for row in workshop.rows()})


@pytest.mark.soak
@pytest.mark.timeout(180)
def test_a_database_that_stays_locked_ends_the_crawl_and_loses_nothing(workshop: Workshop) -> None:
    graph = ChangingGraph(300, seed=42)
    with graph_site(300, seed=42, delay_ms=20) as site:
        workshop.write(graph_task(f"{site.base}/"))
        crawl = workshop.start(*COMMAND)
        until(lambda: site.fetches() >= 60, "60 fetches")
        connection = apsw.Connection(str(workshop.folder / ".smartspider/changing_graph/smartspider.db"))
        connection.set_busy_timeout(10_000)
        connection.execute("BEGIN EXCLUSIVE")
        assert_clear(crawl.wait(scaled(120)), "locked by another program")
        connection.execute("COMMIT")
        connection.close()
        workshop.run(*COMMAND).expect(0)
        assert graph.problems(workshop.rows()) == []


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with little room."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not permitted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_full_disk_ends_the_crawl_and_room_lets_it_finish(
    workshop: Workshop, tiny_disk: Path, workers: str
) -> None:
    graph = ChangingGraph(1000, seed=43)
    subprocess.run(
        ["mount", "-o", "remount,size=4500k", str(tiny_disk)], check=True
    )  # an empty store has 0.4 MB
    with graph_site(1000, seed=43) as site:
        workshop.write(graph_task(f"{site.base}/"))
        command = (*COMMAND, "--data", tiny_disk / "data", "--workers", workers)
        finished = workshop.run(*command)
        assert_clear(finished)
        assert "is full" in finished.err
        fetched = site.fetches()
        assert fetched > 100
        assert_clear(workshop.run(*command))
        subprocess.run(["mount", "-o", "remount,size=200m", str(tiny_disk)], check=True)
        summary = workshop.run(*command).expect(0).json
        rows = workshop.rows()
        assert graph.problems(rows) == []
        assert summary["items"] == len(rows)
        workshop.run("fsck", "--data", tiny_disk / "data").expect(0)


def test_a_write_that_fails_ends_the_crawl_and_the_next_one_finishes(workshop: Workshop) -> None:
    graph = ChangingGraph(1000, seed=44)
    with graph_site(1000, seed=44) as site:
        workshop.write(graph_task(f"{site.base}/"))
        limited = (
            "import resource, sys; from smartspider.cli.main import main;"
            f"resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, {resource.RLIM_INFINITY}));"
            "sys.exit(main())"
        )
        assert_clear(workshop.start_python("-c", limited, *COMMAND).wait())
        workshop.run(*COMMAND).expect(0)
        assert graph.problems(workshop.rows()) == []


def test_an_output_that_cannot_be_written_is_written_by_the_next_command(
    workshop: Workshop, tiny_disk: Path
) -> None:
    graph = ChangingGraph(300, seed=45)
    with graph_site(300, seed=45) as site:
        workshop.write(graph_task(f"{site.base}/"))
        (tiny_disk / "filler").write_bytes(b"x" * (2 * 1024 * 1024 - 8192))
        outputs = ("-o", tiny_disk / "rows.jsonl", "-o", "rows.jsonl")
        finished = workshop.crawl(*outputs)
        assert_clear(finished, "rows.jsonl cannot be written")
        assert "free some space" in finished.err
        assert [path.name for path in tiny_disk.iterdir()] == ["filler"]
        assert not (workshop.folder / "rows.jsonl").exists()
        fetched = site.fetches()
        (tiny_disk / "filler").unlink()
        again = workshop.crawl(*outputs).expect(0).json
        assert (again["run_id"], again["state"], again["pages"]) == ("1", "completed", fetched)
        assert graph.problems(workshop.rows()) == []
        assert site.fetches() == fetched, "nothing was fetched again"
        assert workshop.crawl(*outputs).expect(0).json["run_id"] == "2"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_folder_that_is_removed_ends_the_crawl_with_one_line(workshop: Workshop, workers: int) -> None:
    with graph_site(3000, delay_ms=5) as site:
        workshop.write(graph_task(site.url("/")))
        crawl = workshop.start("crawl", "task.json", "--json", "-o", "rows.csv", "--workers", workers)
        until(lambda: site.fetches() > 50, "the crawl to run")
        shutil.rmtree(workshop.folder / ".smartspider")
        assert_clear(crawl.wait(), "removed")
    assert not (workshop.folder / "rows.csv").exists()
    assert not list(workshop.folder.rglob("smartspider.db"))
